// Memory that the host cannot reach: uploads, downloads, kernels on it.
#include <limits>

#include "backend/backend.h"
#include "ops/create.h"
#include "ops/elementwise.h"
#include "ops/losses/loss.h"
#include "tensor/safetensors.h"
#include "tests/support/opaque.h"
#include "tests/support/tensors.h"

using namespace fovea;
using namespace fovea::test;

TEST_CASE("device memory: values go up and come down, in parts too", "[backend]") {
  const Device device = make_opaque();
  const Tensor x = Tensor::from<float>({1, 2, 3, 4, 5, 6}, {3, 2}, device);
  const auto all = x.host_values<float>();
  CHECK(std::vector<float>(all.begin(), all.end()) == std::vector<float>{1, 2, 3, 4, 5, 6});
  const auto last = x.rows(2, 3).host_values<float>();
  CHECK(std::vector<float>(last.begin(), last.end()) == std::vector<float>{5, 6});
  CHECK(x.rows(1, 2).alias({2}).rows(1, 2).item<float>() == 4);
  x.rows(0, 1).upload(std::vector<float>{7, 8}.data());
  CHECK(x.copy_on(cpu()).values<float>()[1] == 8);
  CHECK(Tensor::from<float>(std::vector<float>{}, {0, 2}, device).host_values<float>().size() == 0);
  CHECK_THROWS_AS(x.host_values<double>(), ShapeError);
  // On the host they are not copied.
  const Tensor here = random_tensor({4}, 1);
  CHECK(here.host_values<double>().begin() == here.data<double>());
}

TEST_CASE("device memory: nobody but kernels touches it", "[backend]") {
  const Device device = make_opaque();
  const Tensor x = Tensor::from<float>({1, 2}, {2}, device);
  CHECK_THROWS_WITH(x.data<float>(), Catch::Contains("outside its kernels"));
  CHECK_THROWS_AS(x.values<float>(), BackendError);
  CHECK_THROWS_WITH(Tensor::empty({2}, DType::kFloat32, make_meta()).data<float>(),
                    Catch::Contains("cannot be read by the host"));
  const std::int64_t before = opaque_calls();
  CHECK(to_doubles(ops::to(ops::add(x, x), cpu())) == std::vector<double>{2, 4});
  CHECK(opaque_calls() == before + 1);
}

TEST_CASE("device memory: copies from device to device, files", "[backend]") {
  const Device one = make_opaque();
  const Device two = make_opaque();
  CHECK_FALSE(one == two);
  const Tensor x = random_tensor({2, 3}, 1);
  const Tensor there = ops::to(ops::to(x, one), two);
  CHECK(there.device().is(two));
  CHECK(max_difference(ops::to(there, cpu()), x) == 0);
  TensorFile file;
  file.tensors["x"] = there;
  const TensorFile read = parse_safetensors(serialise_safetensors(file), "x", one);
  CHECK(read.tensors.at("x").device().is(one));
  CHECK(max_difference(ops::to(read.tensors.at("x"), cpu()), x) == 0);
}

TEST_CASE("lists of tensors: sums of squares and finite values in one number", "[backend]") {
  const auto kind = GENERATE(OpaqueKernels::kAll, OpaqueKernels::kPrimitives);
  const Device device = GENERATE_COPY(Device(cpu()), make_opaque(kind));
  const auto row = [&](const std::vector<float>& values) {
    return Tensor::from(values, {static_cast<std::int64_t>(values.size())}, device);
  };
  const auto sum_of_squares = [&](const std::vector<Tensor>& xs) {
    const Tensor sum = Tensor::empty({}, DType::kFloat64, device);
    backend(sum).sum_squares(xs, sum);
    return sum.item<double>();
  };
  CHECK(sum_of_squares({}) == 0);
  CHECK(are_finite({}));
  const Tensor half = ops::cast(row({3}), DType::kBFloat16);
  CHECK(sum_of_squares({row({1, 2}), row({}), half, row({-4})}) == 30);
  // In float64: a float32 sum of these would lose the small ones.
  CHECK(sum_of_squares({row({4096, 1, 1}), row({1})}) == 16777219);
  CHECK(are_finite({row({1, 2}), row({}), half}));
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  CHECK_FALSE(are_finite({row({1, 2}), row({0, -kInfinity})}));
  CHECK_FALSE(are_finite({row({kInfinity - kInfinity}), row({1})}));
  CHECK(are_finite({Tensor::empty({3}, DType::kFloat32, make_meta())}));
}

TEST_CASE("device: names have an index from the second on", "[backend]") {
  const auto nth = [](int index) {
    return Device(DeviceType::kCuda, heap_memory(), nullptr, index);
  };
  CHECK(nth(0).name() == "cuda");
  CHECK(nth(1).name() == "cuda:1");
  CHECK_FALSE(nth(0) == nth(0));
}

TEST_CASE("device: what is not there is refused by name", "[backend]") {
  CHECK_THROWS_WITH(make_device("cuda:"), Catch::Contains("expected a number"));
  CHECK_THROWS_WITH(make_device("cuda:-1"), Catch::Contains("expected a number"));
  CHECK_THROWS_WITH(make_device("cpu:1"), Catch::Contains("no device called \"cpu:1\""));
  CHECK_THROWS_WITH(make_device("gpu"), Catch::Contains("no device called \"gpu\""));
  CHECK_THROWS_AS(make_device("cuda:99"), BackendError);
  CHECK_THROWS_WITH(make_device("opencl", {.batch_invariant = true}),
                    Catch::Contains("batch_invariant: only of device cpu, not of opencl"));
  CHECK_THROWS_WITH(make_device("opencl:99"), Catch::StartsWith("opencl"));
}

TEST_CASE("device: every listed one can be made", "[backend]") {
  const std::vector<DeviceInfo> all = list_devices();
  REQUIRE(all.front().name == "cpu");
  for (const DeviceInfo& info : all) {
    INFO(info.name);
    CHECK(make_device(info.name).name() == info.name);
    CHECK_FALSE(info.description.empty());
  }
}
