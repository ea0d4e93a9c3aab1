// How the maps of a network become one loss.
#include <fmt/format.h>

#include <memory>

#include "base/error.h"
#include "ops/conv/convolution.h"
#include "ops/elementwise.h"
#include "ops/losses/loss.h"
#include "ops/losses/volume_loss.h"
#include "training/losses/loss_entry.h"

namespace fovea::training {
namespace {

std::vector<double> weights_of(const MapOptions& options, std::size_t maps) {
  if (!options.map_weights.empty() || options.map_decay == 0) return options.map_weights;
  std::vector<double> weights;
  double total = 0;
  for (std::size_t i = 0; i < maps; ++i) {
    weights.push_back(i == 0 ? 1 : weights.back() * options.map_decay);
    total += weights.back();
  }
  for (double& weight : weights) weight /= total;
  return weights;
}

// The sum of every choice of maps but none, all of one size.
std::vector<Tensor> sums_of_subsets(const std::vector<Tensor>& maps, const ops::Sizes& size) {
  std::vector<Tensor> sums;
  for (const Tensor& map : maps) {
    const bool fits = map.shape().part(2, map.rank()).to_vector() == size;
    const Tensor at_size = fits ? map : ops::resize(map, size, ops::Interpolation::kLinear);
    const std::size_t before = sums.size();
    sums.push_back(at_size);
    for (std::size_t i = 0; i < before; ++i) sums.push_back(ops::add(sums[i], at_size));
  }
  return sums;
}

// Labels (b, ...), or masks (b, k, ...) of every map, by the nearest place.
Tensor at_size_of(const Tensor& map, const Tensor& target) {
  const ops::Sizes size = map.shape().part(2, map.rank()).to_vector();
  if (target.rank() != map.rank()) return ops::nearest_labels(target, size);
  Shape rows{target.size(0) * target.size(1)};
  for (int axis = 2; axis < target.rank(); ++axis) rows.push_back(target.size(axis));
  return ops::nearest_labels(target.alias(rows), size).alias(map.shape());
}

}  // namespace

Loss loss_of_logits(const MapOptions& options,
                    std::function<Tensor(const Tensor&, const Tensor&)> compare) {
  FOVEA_CHECK(options.map_weights.empty() && !options.map_subsets, ConfigError,
              "loss.map_weights: given, but the network gives classes; expected []");
  return [compare = std::move(compare)](const models::Outputs& output, const Tensor& target) {
    return compare(output.logits, target);
  };
}

Loss loss_of_maps(const MapOptions& options,
                  std::function<Tensor(const Tensor&, const Tensor&)> compare) {
  FOVEA_CHECK(!options.map_subsets || options.map_weights.empty(), ConfigError,
              "loss.map_weights: given with map_subsets; expected []");
  return
      [options, compare = std::move(compare)](const models::Outputs& output, const Tensor& target) {
        const std::size_t given = options.map_weights.size();
        FOVEA_CHECK(given == 0 || given == output.maps.size(), ConfigError,
                    fmt::format("loss.map_weights: {} numbers for the {} maps of the network",
                                given, output.maps.size()));
        const std::vector<double> weights = weights_of(options, output.maps.size());
        if (options.at_map_size && !options.map_subsets) {
          Tensor total;
          for (std::size_t i = 0; i < output.maps.size(); ++i) {
            const Tensor& map = output.maps[i];
            Tensor part = compare(map, at_size_of(map, target));
            if (!weights.empty()) part = ops::mul(part, weights[i]);
            total = total.defined() ? ops::add(total, part) : part;
          }
          return total;
        }
        const int axes = output.maps.front().rank() - 2;
        const Shape size = target.shape().part(target.rank() - axes, target.rank());
        const std::vector<Tensor> maps =
            options.map_subsets ? sums_of_subsets(output.maps, size.to_vector()) : output.maps;
        return ops::over_maps(maps, weights, size.to_vector(),
                              [&](const Tensor& map) { return compare(map, target); });
      };
}

}  // namespace fovea::training
