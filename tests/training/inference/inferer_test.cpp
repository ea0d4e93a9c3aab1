#include "training/inference/inferer.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "base/error.h"
#include "ops/elementwise.h"
#include "tests/support/tensors.h"
#include "tests/training/toy_task.h"

using namespace fovea;
using training::Inferer;
using training::SlidingWindowOptions;
using training::WindowMode;

namespace {

using Sizes = std::vector<std::int64_t>;

Shape with_batch(std::int64_t b, std::int64_t c, const Sizes& sizes) {
  Shape shape{b, c};
  for (const std::int64_t size : sizes) shape.push_back(size);
  return shape;
}

Tensor made(const Shape& shape, const std::function<float(std::int64_t)>& value) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < shape.numel(); ++i) values.push_back(value(i));
  return Tensor::from(values, shape, test::cpu());
}

// Its output depends on where in a window a pixel is: times (1 + 0.1 (axis + 1) place) for each.
std::vector<Tensor> by_place(const Tensor& windows) {
  const Sizes sizes = windows.shape().part(2, windows.rank()).to_vector();
  const Shape shape = windows.shape();
  return {made(shape, [&](std::int64_t n) {
    double factor = 1;
    std::int64_t rest = n;
    for (std::size_t axis = sizes.size(); axis-- > 0; rest /= sizes[axis])
      factor *= 1 + 0.1 * static_cast<double>(axis + 1) * static_cast<double>(rest % sizes[axis]);
    return static_cast<float>(factor * windows.values<float>()[static_cast<std::size_t>(n)]);
  })};
}

std::unique_ptr<const Inferer> windows(const Sizes& roi_size, double overlap, WindowMode mode,
                                       std::int64_t sw_batch_size = 3) {
  return training::make_sliding_window(
      {.roi_size = roi_size, .sw_batch_size = sw_batch_size, .overlap = overlap, .mode = mode});
}

struct Golden {
  Sizes size, roi_size;
  double overlap;
  WindowMode mode;
  double sum, weighted;  // of all pixels, and times cos(number)
};

}  // namespace

// numpy, by the rules of MONAI's sliding_window_inference: starts, weights, padding.
TEST_CASE("sliding window: MONAI's windows and weights along one, two and three axes",
          "[training]") {
  const auto constant = WindowMode::kConstant, gaussian = WindowMode::kGaussian;
  const auto& [size, roi_size, overlap, mode, sum, weighted] = GENERATE_COPY(values<Golden>({
      {{7, 9}, {4, 5}, 0.25, constant, 71.16976190476191, -1.4453470175426606},
      {{7, 9}, {4, 5}, 0.25, gaussian, 71.49965924028672, -1.444841151366115},
      {{7, 9}, {4, 5}, 0.5, constant, 71.5752380952381, -1.8273505754015251},
      {{7, 9}, {4, 5}, 0.5, gaussian, 71.5046304006935, -1.2629189630104776},
      {{3, 9}, {4, 5}, 0.5, constant, 28.54857142857142, 1.8463448090800578},
      {{3, 9}, {4, 5}, 0.5, gaussian, 28.367018094180942, 1.7656040456693938},
      {{5, 6, 7}, {3, 4, 4}, 0.25, gaussian, 311.1134914803549, 3.609832079224662},
      {{5, 6, 7}, {3, 4, 4}, 0.5, constant, 308.92278571428574, 5.231791283444744},
      {{13}, {5}, 0.25, constant, 10.185714285714287, -0.5293959110029595},
      {{13}, {5}, 0.5, gaussian, 10.171258842222906, -0.4690266618225295},
  }));
  const Tensor image = made(with_batch(1, 1, size),
                            [](std::int64_t n) { return static_cast<float>(n * 37 % 11) / 7.0f; });
  const auto maps = (*windows(roi_size, overlap, mode))(image, by_place);
  REQUIRE(maps.size() == 1);
  REQUIRE(maps[0].shape() == image.shape());
  double total = 0, times_cosine = 0;
  for (std::size_t n = 0; n < maps[0].values<float>().size(); ++n) {
    total += maps[0].values<float>()[n];
    times_cosine += maps[0].values<float>()[n] * std::cos(static_cast<double>(n));
  }
  CHECK(total == Approx(sum).epsilon(1e-5));
  CHECK(times_cosine == Approx(weighted).epsilon(1e-4));
}

TEST_CASE("sliding window: what does not depend on the place comes out as it is", "[training]") {
  const auto mode = GENERATE(WindowMode::kConstant, WindowMode::kGaussian);
  const Sizes roi_size = GENERATE(values<Sizes>({{5}, {4, 7}, {40, 3}, {0, 6}, {}}));
  const double overlap = GENERATE(0.0, 0.3, 0.8);
  const Shape shape{3, 2, 11, 13};
  const Tensor image = test::random_tensor(shape, 7, DType::kFloat32);
  // Two channels to three classes, pixel by pixel.
  const auto network = [](const Tensor& x) {
    const std::int64_t pixels = x.numel() / x.size(0) / 2;
    const Shape out{x.size(0), 3, x.size(2), x.size(3)};
    return std::vector<Tensor>{made(out, [&](std::int64_t n) {
      const std::int64_t item = n / (3 * pixels), k = n / pixels % 3, pixel = n % pixels;
      const float* at = x.data<float>() + item * 2 * pixels + pixel;
      return std::tanh(at[0] * static_cast<float>(k) + at[pixels]);
    })};
  };
  const Tensor whole = network(image).front();
  const Tensor stitched = (*windows(roi_size, overlap, mode))(image, network).front();
  REQUIRE(stitched.shape() == whole.shape());
  CHECK(test::max_difference(stitched, whole) < 1e-6);
}

TEST_CASE("sliding window: a ramp has no seams", "[training]") {
  const auto mode = GENERATE(WindowMode::kConstant, WindowMode::kGaussian);
  const Tensor ramp = made({1, 1, 17, 23}, [](std::int64_t n) {
    return 0.5f * static_cast<float>(n / 23) - 0.25f * static_cast<float>(n % 23);
  });
  const auto same = [](const Tensor& x) { return std::vector<Tensor>{x}; };
  const Tensor out = (*windows({6, 8}, 0.5, mode))(ramp, same).front();
  const float* y = out.data<float>();
  for (std::int64_t i = 1; i < 17; ++i) {
    for (std::int64_t j = 1; j < 23; ++j) {
      CHECK(std::abs(y[i * 23 + j] - y[(i - 1) * 23 + j] - 0.5f) < 1e-5f);
      CHECK(std::abs(y[i * 23 + j] - y[i * 23 + j - 1] + 0.25f) < 1e-5f);
    }
  }
}

TEST_CASE("sliding window: passes have the batch that was asked for", "[training]") {
  const Tensor image = test::random_tensor({2, 1, 9, 9}, 3, DType::kFloat32);
  Tensor first;
  for (const std::int64_t size : {1, 2, 5, 100}) {
    std::vector<std::int64_t> passes;
    const auto network = [&](const Tensor& x) {
      CHECK(x.shape().part(1, 4) == Shape{1, 4, 4});
      passes.push_back(x.size(0));
      return by_place(x);
    };
    const Tensor out = (*windows({4}, 0.5, WindowMode::kGaussian, size))(image, network).front();
    const std::int64_t all = 2 * 4 * 4;  // starts 0, 2, 4, 5
    CHECK(std::accumulate(passes.begin(), passes.end(), std::int64_t{0}) == all);
    CHECK(std::ssize(passes) == (all + size - 1) / size);
    CHECK(*std::max_element(passes.begin(), passes.end()) == std::min(size, all));
    if (!first.defined()) first = out;
    CHECK(test::max_difference(out, first) == 0);
  }
}

TEST_CASE("sliding window: coarser maps become as large as the sample", "[training]") {
  const Tensor image = test::random_tensor({1, 1, 8, 10}, 5, DType::kFloat32);
  const auto network = [](const Tensor& x) {
    return std::vector<Tensor>{x, made({x.size(0), 2, 2, 2}, [](std::int64_t) { return 3.0f; })};
  };
  const auto maps = (*windows({4}, 0.25, WindowMode::kConstant))(image, network);
  REQUIRE(maps.size() == 2);
  CHECK(maps[1].shape() == Shape{1, 2, 8, 10});
  for (const float value : maps[1].values<float>()) CHECK(value == Approx(3));
}

TEST_CASE("inferer: by its keys, and what does not fit is refused", "[training]") {
  const auto whole = training::make_inferer({"whole", {}});
  CHECK(whole->is_whole());
  const Tensor image = test::random_tensor({1, 1, 4, 4}, 2, DType::kFloat32);
  const auto same = [](const Tensor& x) { return std::vector<Tensor>{x}; };
  CHECK(test::max_difference((*whole)(image, same).front(), image) == 0);
  const auto sliding = training::make_inferer(test::component(
      R"({"type": "sliding_window", "roi_size": [3, 3, 3], "overlap": 0.5, "mode": "gaussian"})"));
  CHECK_FALSE(sliding->is_whole());
  CHECK_THROWS_WITH((*sliding)(image, same),
                    "eval.inferer.roi_size: 3 numbers for samples of 2 axes; expected one for "
                    "each, or one for all");
  CHECK_THROWS_WITH(training::make_inferer({"sliding_windows", {}}),
                    Catch::Contains("did you mean \"sliding_window\"?"));
  CHECK_THROWS_WITH(
      training::make_inferer(test::component(R"({"type": "sliding_window", "overlap": 1})")),
      Catch::Contains("eval.inferer.overlap"));
  CHECK_THROWS_WITH(
      training::make_inferer(test::component(R"({"type": "sliding_window", "size": [8]})")),
      Catch::Contains("did you mean \"roi_size\"?"));
}

TEST_CASE("window weights: highest in the middle, nowhere nothing", "[training]") {
  const auto weights = training::window_weights({5, 64}, WindowMode::kGaussian, 0.125);
  CHECK(*std::max_element(weights.begin(), weights.end()) == Approx(1).epsilon(0.01));
  CHECK(*std::min_element(weights.begin(), weights.end()) == Approx(1e-3));
  CHECK(weights[2 * 64 + 31] == weights[2 * 64 + 32]);
  CHECK(training::window_weights({2, 3}, WindowMode::kConstant, 1) == std::vector<float>(6, 1.0f));
  CHECK(training::window_starts(10, 10, 0.9) == Sizes{0});
  CHECK(training::window_starts(10, 1, 0.9) == Sizes{0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
}
