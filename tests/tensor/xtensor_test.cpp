// Tensors as xtensor views and back.
#include "tensor/xtensor.h"

#include <catch2/catch.hpp>
#include <xtensor/xsort.hpp>

#include "backend/devices.h"
#include "base/error.h"
#include "tests/support/opaque.h"

using namespace fovea;

namespace {

const Device& cpu() {
  static const Device device = make_cpu(1);
  return device;
}

Tensor counted(const Shape& shape, const Device& device = cpu()) {
  std::vector<float> values(static_cast<std::size_t>(shape.numel()));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  return Tensor::from(values, shape, device);
}

}  // namespace

TEST_CASE("as_xtensor: a view has the tensor's memory and shape", "[tensor][xtensor]") {
  const Tensor x = counted({2, 3, 4});
  const auto view = as_xtensor<const float, 3>(x);
  CHECK(view.data() == x.data<float>());
  CHECK(view.shape() == std::array<std::size_t, 3>{2, 3, 4});
  CHECK(view(1, 2, 3) == 23);
  const xt::xtensor<float, 2> sums = xt::sum(view, {1});
  CHECK(sums(1, 0) == 12 + 16 + 20);
}

TEST_CASE("as_xtensor: what is written to a view is in the tensor", "[tensor][xtensor]") {
  const Tensor x = counted({2, 3});
  auto view = as_xtensor<float, 2>(x);
  xt::view(view, 0, xt::all()) = 7;
  CHECK(x.host_values<float>()[2] == 7);
  CHECK(x.host_values<float>()[3] == 3);
  xt::noalias(view) = 2 * view + as_xtensor<const float, 2>(counted({2, 3}));
  CHECK(view.data() == x.data<float>());
  CHECK(x.host_values<float>()[0] == 14);
  CHECK(x.host_values<float>()[5] == 15);
}

TEST_CASE("as_xtensor: a view keeps the memory of its tensor", "[tensor][xtensor]") {
  const Device device = make_cpu(1);
  auto view = as_xtensor<float, 1>(counted({1000}, device));
  const auto read = as_xtensor<const float, 1>(counted({1000}, device));
  const Tensor other = Tensor::from(std::vector<float>(1000, -1.0f), {1000}, device);
  CHECK(view(999) == 999);
  CHECK(read(999) == 999);
  CHECK(xt::sum(as_xtensor<const float, 1>(counted({1000}, device)))() == 499500);
}

TEST_CASE("as_xtensor: a view of values that are no tensor", "[tensor][xtensor]") {
  std::vector<double> values = {0, 1, 2, 3, 4, 5};
  auto view = as_xtensor(std::span(values), {2, 3});
  view(1, 0) = 30;
  CHECK(values[3] == 30);
  const std::vector<double>& fixed = values;
  const auto read = as_xtensor(std::span(fixed), {3, 2});
  const xt::xtensor<double, 1> sums = xt::sum(read, {0}, xt::evaluation_strategy::immediate);
  CHECK(sums(0) == 6);
  CHECK(sums(1) == 36);
  CHECK_THROWS_WITH(as_xtensor(std::span(fixed), {2, 2}),
                    "as_xtensor: 6 values as (2, 2); expected 4");
}

TEST_CASE("as_xarray: any number of axes", "[tensor][xtensor]") {
  const Shape shape = GENERATE(values<Shape>({{}, {5}, {2, 3}, {2, 1, 3, 1, 2}, {3, 0}}));
  const Tensor x = counted(shape);
  const auto view = as_xarray<const float>(x);
  CHECK(static_cast<int>(view.dimension()) == shape.rank());
  CHECK(view.size() == static_cast<std::size_t>(shape.numel()));
  const xt::xarray<float> doubled = 2 * view;
  const Tensor back = from_xtensor(doubled, cpu());
  CHECK(back.shape() == shape);
  for (std::size_t i = 0; i < doubled.size(); ++i)
    CHECK(back.host_values<float>()[i] == 2 * static_cast<float>(i));
}

TEST_CASE("as_xtensor: another rank or dtype is an error that names both", "[tensor][xtensor]") {
  const Tensor x = counted({2, 3});
  CHECK_THROWS_WITH((as_xtensor<const float, 3>(x)),
                    "as_xtensor: tensor is (2, 3), 2 axes; expected 3");
  CHECK_THROWS_WITH((as_xtensor<double, 2>(x)),
                    "as_xtensor: tensor (2, 3) is float32; expected float64");
  CHECK_THROWS_AS((as_xarray<const std::int64_t>(x)), ShapeError);
}

TEST_CASE("as_xtensor: reads from any device and writes on the host only", "[tensor][xtensor]") {
  const Device device = test::make_opaque();
  const Tensor x = counted({2, 3}, device);
  const auto view = as_xtensor<const float, 2>(x);
  CHECK(view(1, 2) == 5);
  CHECK_THROWS_AS((as_xtensor<float, 2>(x)), BackendError);
}

TEST_CASE("from_xtensor: an expression becomes a tensor of its type", "[tensor][xtensor]") {
  const auto x = as_xtensor<const float, 2>(counted({2, 3}));
  const Tensor mean = from_xtensor(xt::mean(x, {0}), cpu());
  CHECK(mean.shape() == Shape{3});
  CHECK(mean.host_values<double>()[2] == 3.5);
  const Tensor sum = from_xtensor(xt::sum(x), cpu());
  CHECK(sum.shape() == Shape{});
  const Tensor large = from_xtensor(x > 2.5f, cpu());
  CHECK(large.dtype() == DType::kUint8);
  CHECK(large.host_values<std::uint8_t>()[2] == 0);
  CHECK(large.host_values<std::uint8_t>()[3] == 1);
  const Tensor best = from_xtensor(xt::argmax(x, 1), cpu());
  CHECK(best.shape() == Shape{2});
  CHECK(best.host_values<std::int64_t>()[1] == 2);
  const Tensor turned = from_xtensor(xt::transpose(x), cpu());
  CHECK(turned.shape() == Shape{3, 2});
  CHECK(turned.host_values<float>()[1] == 3);
}
