#include "ops/detection/roi_align.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "ops/elementwise.h"
#include "ops/reduce.h"
#include "ops/shape.h"
#include "tests/ops/detection/host_tables.h"
#include "tests/support/ramp.h"

using namespace fovea;
using namespace fovea::test;

namespace {

// Inside, over the edges, thinner than a pixel, larger than the map, of no area, turned around.
const std::vector<float> kRois{1, 3.1f, 2, 21, 17, 0, -9, -6, 13, 20, 0, 5,  5,  5.5f, 30,
                               1, -30,  0, 90, 70, 0, 4,  9,  4,  20, 1, 20, 18, 4,    3};

// By the definition, sample for sample.
double sampled(const std::vector<double>& plane, std::int64_t h, std::int64_t w, double y,
               double x) {
  if (y < -1 || y > static_cast<double>(h) || x < -1 || x > static_cast<double>(w)) return 0;
  y = std::clamp(y, 0.0, static_cast<double>(h - 1));
  x = std::clamp(x, 0.0, static_cast<double>(w - 1));
  const auto top = static_cast<std::int64_t>(y), left = static_cast<std::int64_t>(x);
  const double v = y - static_cast<double>(top), u = x - static_cast<double>(left);
  const auto at = [&](std::int64_t row, std::int64_t column) {
    return plane[static_cast<std::size_t>(std::min(row, h - 1) * w + std::min(column, w - 1))];
  };
  return (1 - v) * ((1 - u) * at(top, left) + u * at(top, left + 1)) +
         v * ((1 - u) * at(top + 1, left) + u * at(top + 1, left + 1));
}

std::vector<double> by_definition(const Tensor& x, const std::vector<float>& boxes,
                                  const ops::RoiAlignOptions& o) {
  const std::int64_t c = x.size(1), h = x.size(2), w = x.size(3);
  const std::vector<double> all = to_doubles(x);
  std::vector<double> result;
  for (std::size_t i = 0; i < boxes.size(); i += 5) {
    const auto place = [&](std::size_t k) {
      return static_cast<double>(boxes[i + k]) * o.spatial_scale - 0.5;
    };
    const double bin_w = (place(3) - place(1)) / static_cast<double>(o.width);
    const double bin_h = (place(4) - place(2)) / static_cast<double>(o.height);
    const auto samples = [&](double bin) {
      return o.sampling_ratio > 0 ? o.sampling_ratio : static_cast<std::int64_t>(std::ceil(bin));
    };
    const std::int64_t rows = samples(bin_h), columns = samples(bin_w);
    for (std::int64_t k = 0; k < c; ++k) {
      const auto first = all.begin() + (static_cast<std::int64_t>(boxes[i]) * c + k) * h * w;
      const std::vector<double> plane(first, first + h * w);
      for (std::int64_t bin = 0; bin < o.height * o.width; ++bin) {
        double sum = 0;
        for (std::int64_t r = 0; r < rows; ++r) {
          for (std::int64_t s = 0; s < columns; ++s) {
            const auto offset = [](std::int64_t number, std::int64_t sample, std::int64_t of) {
              return static_cast<double>(number) +
                     (static_cast<double>(sample) + 0.5) / static_cast<double>(of);
            };
            sum += sampled(plane, h, w, place(2) + offset(bin / o.width, r, rows) * bin_h,
                           place(1) + offset(bin % o.width, s, columns) * bin_w);
          }
        }
        result.push_back(rows > 0 && columns > 0 ? sum / static_cast<double>(rows * columns) : 0);
      }
    }
  }
  return result;
}

}  // namespace

TEST_CASE("roi_align: by definition", "[ops]") {
  const Tensor x = random_tensor({2, 3, 9, 11}, 1);
  for (const std::int64_t ratio : {0, 1, 2}) {
    for (const std::int64_t height : {1, 3, 8, 14}) {
      const ops::RoiAlignOptions options{
          .height = height, .width = 4, .spatial_scale = 0.5, .sampling_ratio = ratio};
      CAPTURE(ratio, height);
      check_values(ops::roi_align(x, rois(kRois), options), by_definition(x, kRois, options));
    }
  }
}

TEST_CASE("roi_align: gradients", "[ops]") {
  for (const std::int64_t ratio : {0, 2}) {
    check_gradients(
        [&](const auto& t) {
          return ops::roi_align(
              t[0], rois(kRois),
              {.height = 2, .width = 3, .spatial_scale = 0.5, .sampling_ratio = ratio});
        },
        {random_tensor({2, 2, 5, 7}, 1)});
  }
  check_gradients(
      [&](const auto& t) {
        return ops::roi_align(t[0], rois(kRois), {.height = 11, .width = 1, .spatial_scale = 0.5});
      },
      {random_tensor({2, 1, 5, 7}, 1)});
  // A map of one pixel.
  check_gradients(
      [&](const auto& t) {
        return ops::roi_align(t[0], rois({0, 0, 0, 2, 2}),
                              {.height = 2, .width = 2, .spatial_scale = 0.5});
      },
      {random_tensor({1, 1, 1, 1}, 1)});
}

TEST_CASE("roi_align: no boxes give nothing, and a gradient of zero", "[ops]") {
  const Tensor x = trainable(random_tensor({2, 3, 5, 7}, 1));
  const Tensor y = ops::roi_align(x, rois({}), {});
  REQUIRE(y.shape() == Shape{0, 3, 7, 7});
  autograd::backward(y, y.detach());
  CHECK(largest(to_doubles(x.grad())) == 0);
}

TEST_CASE("roi_align: boxes that are not finite give zeros", "[ops]") {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  const Tensor x = random_tensor({1, 2, 5, 7}, 1);
  for (const std::int64_t ratio : {0, 2}) {
    const Tensor y =
        ops::roi_align(x, rois({0, 0, 0, inf, 4, 0, nan, 0, 4, 4, 0, -3e38f, 0, 3e38f, 4}),
                       {.height = 2, .width = 2, .sampling_ratio = ratio});
    CHECK(largest(to_doubles(y)) == 0);
  }
  CHECK_THROWS_WITH(ops::roi_align(x, rois({1, 0, 0, 4, 4}), {}),
                    "roi_align: box 0 is of item 1; the batch has 1");
  CHECK_THROWS_AS(ops::roi_align(x, rois({0.5f, 0, 0, 4, 4}), {}), ShapeError);
  CHECK_THROWS_AS(ops::roi_align(x, rois({}), {.height = 0}), ShapeError);
}

TEST_CASE("roi_align: the same bits for any number of threads", "[ops][host]") {
  std::vector<float> many;
  for (std::uint64_t i = 0; i < 300; ++i) {
    const RandomStream random = RandomStream(9).fork(i);
    const float x = 40 * random.uniform(0), y = 30 * random.uniform(1);
    many.insert(many.end(), {static_cast<float>(i % 2), x, y, x + 25 * random.uniform(2),
                             y + 25 * random.uniform(3)});
  }
  check_threads([&](const auto& t) { return ops::roi_align(t[0], rois(many), {}); },
                {{2, 19, 33, 45}});
}

TEST_CASE("roi_align: bfloat16 maps are added up in float32", "[ops]") {
  const Tensor wide = random_tensor({2, 9, 9, 33}, 1, DType::kFloat32);
  const auto run = [&](DType dtype) {
    const Tensor x = trainable(ops::cast(ops::cast(wide, DType::kBFloat16), dtype));
    const Tensor y =
        ops::roi_align(x, rois(kRois), {.height = 3, .width = 4, .spatial_scale = 0.5});
    autograd::backward(y, ops::cast(random_tensor(y.shape(), 2), dtype));
    return std::pair{to_doubles(y), to_doubles(x.grad())};
  };
  const auto [y, dx] = run(DType::kFloat32);
  const auto [half_y, half_dx] = run(DType::kBFloat16);
  for (std::size_t i = 0; i < y.size(); ++i) CHECK(std::abs(y[i] - half_y[i]) <= 0.02);
  for (std::size_t i = 0; i < dx.size(); ++i)
    CHECK(std::abs(dx[i] - half_dx[i]) <= 0.02 * (1 + std::abs(dx[i])));
}

TEST_CASE("roi_levels: by the side of the box", "[ops]") {
  const Tensor boxes =
      rois({0,  0,   0, 111, 111, 0,    0,    0, 112, 112, 0, 0, 0, 223, 223, 0, 0, 0,
            56, 896, 0, 0,   0,   5000, 5000, 0, 3,   3,   3, 9, 0, 9,   3,   3, 9});
  CHECK(ops::roi_levels(boxes, 4, 56) == std::vector<std::int64_t>{0, 1, 1, 2, 3, 0, 0});
  CHECK_THROWS_WITH(ops::roi_levels(boxes.alias({5, 7}), 4, 56),
                    "roi_levels: rois are float32 (5, 7); expected float32 (n, 5)");
}

TEST_CASE("extract_rois: every box on its level, in the order of boxes", "[ops]") {
  const std::vector<float> boxes{0, 0, 0, 60, 60, 1, 2, 2, 12, 9, 1, 9, 0, 50, 40, 0, 3, 3, 9, 14};
  const Tensor fine = random_tensor({2, 3, 16, 16}, 1), coarse = random_tensor({2, 3, 8, 8}, 2);
  const ops::RoiLevelOptions options{.finest_scale = 14};
  const auto extract = [&](const auto& t) {
    return ops::extract_rois({t[0], t[1], t[2]}, {4, 8, 16}, rois(boxes), 3, options);
  };
  const Tensor unread = random_tensor({2, 3, 4, 4}, 3);
  CHECK(ops::roi_levels(rois(boxes), 2, 14) == std::vector<std::int64_t>{1, 0, 1, 0});
  const Tensor y = ops::extract_rois({fine, coarse}, {4, 8}, rois(boxes), 3, options);
  for (std::int64_t i = 0; i < 4; ++i) {
    const std::vector<float> one(boxes.begin() + 5 * i, boxes.begin() + 5 * i + 5);
    const bool large = i % 2 == 0;
    const Tensor alone =
        ops::roi_align(large ? coarse : fine, rois(one),
                       {.height = 3, .width = 3, .spatial_scale = large ? 0.125 : 0.25});
    CHECK(max_difference(y.rows(i, i + 1), alone) == 0);
  }
  check_gradients(extract, {random_tensor({2, 1, 6, 6}, 1), random_tensor({2, 1, 4, 4}, 2),
                            random_tensor({2, 1, 2, 2}, 3)});
  CHECK_THROWS_AS(ops::extract_rois({fine, coarse}, {4}, rois(boxes), 3), ShapeError);
  CHECK_THROWS_AS(ops::extract_rois({fine, random_tensor({2, 4, 8, 8}, 1)}, {4, 8}, rois(boxes), 3),
                  ShapeError);
}

TEST_CASE("roi_align: gradients of two readings of a map add up in one memory", "[ops][host]") {
  const Device device = make_cpu(1);
  const auto dtype = GENERATE(DType::kFloat32, DType::kFloat64);
  const Shape shape{2, 9, 24, 20};
  const auto boxes = [&](const std::vector<float>& values) {
    return Tensor::from(values, {std::ssize(values) / 5, 5}, device);
  };
  const Tensor one = boxes({0, 1, 2, 20, 18, 1, 3, 3, 9, 9}), other = boxes({0, 4, 4, 19, 11});
  const ops::RoiAlignOptions bins{.height = 3, .width = 2};
  const Tensor dy_one = random_tensor({2, 9, 3, 2}, 1, dtype).copy_on(device);
  const Tensor dy_other = random_tensor({1, 9, 3, 2}, 2, dtype).copy_on(device);
  const auto backward = [&](bool first, bool second) {
    const Tensor x = trainable(random_tensor(shape, 3, dtype).copy_on(device));
    const Tensor map = ops::reshape(x, shape);
    Tensor sum;
    const auto add = [&](const Tensor& rois, const Tensor& dy) {
      const Tensor part = ops::sum(ops::mul(ops::roi_align(map, rois, bins), dy));
      sum = sum.defined() ? ops::add(sum, part) : part;
    };
    if (first) add(one, dy_one);
    if (second) add(other, dy_other);
    device.allocator().reset_peak();
    const std::int64_t before = device.allocator().stats().bytes_in_use;
    autograd::backward(sum);
    CHECK(device.allocator().stats().peak_bytes - before < 2 * x.bytes());
    return x.grad();
  };
  CHECK(max_difference(backward(true, true),
                       ops::add(backward(true, false), backward(false, true))) == 0);
}
