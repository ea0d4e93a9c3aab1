#include "visualise/maps/features.h"

#include <cmath>

#include "base/error.h"
#include "ops/elementwise.h"
#include "ops/shape.h"
#include "visualise/drawing/heatmap.h"
#include "visualise/maps/principal_components.h"
#include "visualise/maps/probed.h"

namespace fovea::visualise {
namespace {

Tensor vectors_of(const Tensor& features, std::int64_t prefix_tokens) {
  if (features.rank() == 3) {
    const std::int64_t n = features.size(1) - prefix_tokens;
    return ops::reshape(ops::slice(features, 1, prefix_tokens, n), {n, features.size(2)});
  }
  const std::int64_t n = features.size(2) * features.size(3);
  return ops::permute(ops::reshape(features, {features.size(1), n}), {1, 0});
}

std::uint8_t byte_of(double share) { return static_cast<std::uint8_t>(std::lround(255 * share)); }

// Rows of (n, 3) from `first` on as a picture of the grid.
Canvas picture_of(const Matrix& colours, std::int64_t first, const LayerFeatures& grid,
                  std::int64_t height, std::int64_t width, bool smooth) {
  std::vector<Matrix> channels;
  for (std::int64_t c = 0; c < 3; ++c) {
    Matrix channel{grid.grid_h, grid.grid_w, {}};
    for (std::int64_t i = 0; i < grid.grid_h * grid.grid_w; ++i)
      channel.values.push_back(colours.at(first + i, c));
    channels.push_back(heat_map(channel, height, width, smooth));
  }
  Canvas picture(width, height);
  for (std::int64_t y = 0; y < height; ++y) {
    for (std::int64_t x = 0; x < width; ++x) {
      picture.set(x, y,
                  {byte_of(channels[0].at(y, x)), byte_of(channels[1].at(y, x)),
                   byte_of(channels[2].at(y, x))});
    }
  }
  return picture;
}

}  // namespace

std::vector<LayerFeatures> observe_features(models::Model& model, const Tensor& image) {
  attention::Probe probe;
  run_probed(model, image, probe);
  const attention::Context geometry = model.geometry();
  std::vector<LayerFeatures> layers;
  for (const attention::Probe::Record& record : probe.records()) {
    if (record.name != "features") continue;
    const bool is_map = record.value.rank() == 4;
    const Tensor vectors = vectors_of(record.value, geometry.prefix_tokens);
    layers.push_back({record.module, is_map ? record.value.size(2) : geometry.grid_h,
                      is_map ? record.value.size(3) : geometry.grid_w,
                      ops::cast(vectors, DType::kFloat64)});
  }
  FOVEA_CHECK(!layers.empty(), ConfigError,
              "model: its layers record no features; expected a Transformer, a ResNet, a U-Net or "
              "one over a backbone");
  return layers;
}

ComponentPictures component_pictures(std::span<const LayerFeatures> images, std::int64_t height,
                                     std::int64_t width, bool smooth) {
  std::vector<Tensor> vectors;
  for (const LayerFeatures& image : images) vectors.push_back(image.vectors);
  const PrincipalComponents found = principal_components(ops::concat(vectors, 0), 3);
  const Matrix colours = component_colours(found.scores);
  ComponentPictures result{found.variances, found.shares, {}};
  std::int64_t first = 0;
  for (const LayerFeatures& image : images) {
    result.pictures.push_back(picture_of(colours, first, image, height, width, smooth));
    first += image.vectors.size(0);
  }
  return result;
}

}  // namespace fovea::visualise
