#include "training/inference/nnunet_windows.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>

#include "backend/devices.h"
#include "base/error.h"
#include "ops/create.h"
#include "ops/elementwise.h"

using namespace fovea;
using namespace fovea::training;

namespace {

const Device& host() {
  static const Device device = make_cpu(1);
  return device;
}

// Two classes by the sign of each voxel.
std::vector<Tensor> signs(const Tensor& x) {
  Shape shape = x.shape();
  shape[1] = 2;
  std::vector<float> logits;
  for (const double factor : {-1.0, 1.0}) {
    for (const float value : x.host_values<float>())
      logits.push_back(static_cast<float>(factor) * value);
  }
  return {Tensor::from(logits, shape, x.device())};
}

}  // namespace

TEST_CASE("nnunet windows: they lie evenly and end with the axis", "[training]") {
  using Starts = std::vector<std::int64_t>;
  CHECK(nnunet_starts(8, 8, 0.5) == Starts{0});
  CHECK(nnunet_starts(12, 8, 0.5) == Starts{0, 4});
  CHECK(nnunet_starts(13, 8, 0.5) == Starts{0, 2, 5});  // 2.5 goes to the even number
  CHECK(nnunet_starts(20, 8, 1) == Starts{0, 6, 12});
}

TEST_CASE("nnunet windows: the weights are 1 in the middle and nowhere 0", "[training]") {
  const auto weights = nnunet_weights({3, 8});
  CHECK(weights.size() == 24);
  CHECK(weights[8 + 4] == 1);
  CHECK(*std::min_element(weights.begin(), weights.end()) > 0);
}

TEST_CASE("nnunet windows: a network that sees single voxels gives what one pass gives",
          "[training]") {
  const Tensor x =
      ops::random_normal({1, 1, 5, 14, 9}, 0, 1, RandomStream(1), DType::kFloat32, host());
  for (const WindowMean mean : {WindowMean::kLogits, WindowMean::kProbabilities}) {
    const NnUnetWindowsOptions o{.roi_size = {6, 8, 8}, .mirror_axes = {0, 2}, .mean = mean};
    const Tensor found = (*make_nnunet_windows(o))(x, signs).front();
    CHECK(found.shape() == Shape{1, 2, 5, 14, 9});
    const auto values = x.host_values<float>();
    const auto maps = found.host_values<float>();
    for (std::size_t i = 0; i < values.size(); ++i)
      CHECK(maps[i + values.size()] - maps[i] == Approx(2 * values[i]).margin(1e-3));
  }
}

TEST_CASE("nnunet windows: version 2 has the mean of logits, version 1 that of probabilities",
          "[training]") {
  const Tensor x = Tensor::from<float>({1, 2, 3, 4}, {1, 1, 1, 1, 4}, host());
  // Windows are told apart by their first voxel: of both, one network is sure and the other not.
  const auto network = [](const Tensor& window) {
    const bool first = window.host_values<float>()[0] == 1;
    const float two = first ? 4.0f : -1.0f;
    return std::vector<Tensor>{
        Tensor::from<float>({0, 0, 0, two, two, two}, {1, 2, 1, 1, 3}, host())};
  };
  const auto shares = [&](WindowMean mean) {
    const Tensor maps = (*make_nnunet_windows(
        {.roi_size = {1, 1, 3}, .gaussian = false, .mirror_axes = {}, .mean = mean}))(x, network)
                            .front();
    const auto values = maps.host_values<float>();
    return 1 / (1 + std::exp(double{values[1]} - double{values[5]}));  // of the second voxel
  };
  const auto sigmoid = [](double value) { return 1 / (1 + std::exp(-value)); };
  CHECK(shares(WindowMean::kLogits) == Approx(sigmoid(1.5)));
  CHECK(shares(WindowMean::kProbabilities) == Approx((sigmoid(4) + sigmoid(-1)) / 2));
  const NnUnetWindowsOptions defaults = nnunet_windows_fields().parse(
      {"nnunet_windows",
       schema::Value::object({{"type", "nnunet_windows"},
                              {"roi_size", schema::Value::array(std::vector<std::int64_t>{4})}})},
      "eval.inferer");
  CHECK(defaults.mean == WindowMean::kLogits);
}

TEST_CASE("nnunet windows: options that do not fit are refused", "[training]") {
  CHECK_THROWS_AS(
      make_nnunet_windows({.roi_size = {4, 4}, .mirror_axes = {}})->window_of({8, 8, 8}),
      ConfigError);
  CHECK_THROWS_AS(make_nnunet_windows({.roi_size = {4}, .mirror_axes = {3}})->window_of({8, 8, 8}),
                  ConfigError);
  CHECK(make_nnunet_windows({.roi_size = {4}, .mirror_axes = {}})->window_of({8, 8, 8}) ==
        std::vector<std::int64_t>{4, 4, 4});
}
