#include "explain/maps/cam.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace fovea::explain {

std::vector<double> class_activation_map(Cam kind, const std::vector<double>& activations,
                                         const std::vector<double>& gradients,
                                         std::int64_t channels) {
  FOVEA_CHECK(
      channels >= 1 && !activations.empty() && activations.size() == gradients.size() &&
          std::ssize(activations) % channels == 0,
      ShapeError,
      fmt::format("cam: {} activations and {} gradients of {} channels; expected as many of "
                  "each in every channel",
                  activations.size(), gradients.size(), channels));
  const std::size_t places = activations.size() / static_cast<std::size_t>(channels);
  std::vector<double> map(places, 0.0);
  for (std::size_t first = 0; first < activations.size(); first += places) {
    double mean = 0;
    for (std::size_t i = 0; i < places; ++i) mean += gradients[first + i];
    mean /= static_cast<double>(places);
    for (std::size_t i = 0; i < places; ++i) {
      double weight = mean;
      if (kind == Cam::kHiResCam) weight = gradients[first + i];
      if (kind == Cam::kLayerCam) weight = std::max(gradients[first + i], 0.0);
      map[i] += weight * activations[first + i];
    }
  }
  for (double& value : map) value = std::max(value, 0.0);
  return map;
}

std::vector<double> scaled_cam(std::vector<double> map) {
  const auto [low, high] = std::minmax_element(map.begin(), map.end());
  const double least = *low, range = 1e-7 + (*high - *low);
  for (double& value : map) value = (value - least) / range;
  return map;
}

}  // namespace fovea::explain
