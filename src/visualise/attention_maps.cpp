#include "visualise/attention_maps.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "autograd/mode.h"
#include "base/error.h"
#include "ops/elementwise.h"
#include "visualise/montage.h"

namespace fovea::visualise {
namespace {

std::vector<double> host_values(const Tensor& x) {
  const Tensor wide = ops::cast(x, DType::kFloat64);
  const auto values = wide.values<double>();
  return {values.begin(), values.end()};
}

// Row of one head's map that stands for the input: the class token's, or the mean.
std::vector<double> head_row(const AttentionMap& map, std::int64_t head, std::int64_t prefix) {
  const auto first = map.values.begin() + head * map.n * map.n;
  const Matrix matrix{map.n, map.n, std::vector<double>(first, first + map.n * map.n)};
  if (prefix > 0) return class_row(matrix, prefix);
  return mean_row(matrix);
}

}  // namespace

std::int64_t Observation::prediction() const {
  return std::max_element(logits.begin(), logits.end()) - logits.begin();
}

Observation observe(models::Model& model, const Tensor& input) {
  const autograd::NoGrad no_grad;
  model.train(false);
  attention::Probe probe;
  Observation seen;
  seen.logits = host_values(model(input, &probe));
  for (const Tensor& map : probe.all("attn")) {
    seen.layers.push_back({map.size(1), map.size(2), host_values(map)});
  }
  FOVEA_CHECK(!seen.layers.empty(), ConfigError, "model.attention: has no map over tokens to show");
  const attention::Context geometry = model.geometry();
  seen.grid_h = geometry.grid_h;
  seen.grid_w = geometry.grid_w;
  seen.prefix_tokens = geometry.prefix_tokens;
  return seen;
}

std::vector<double> token_weights(const Observation& seen, const RolloutOptions& options) {
  const Matrix rollout = attention_rollout(seen.layers, options);
  return seen.prefix_tokens > 0 ? class_row(rollout, seen.prefix_tokens) : mean_row(rollout);
}

Canvas heat_picture(const std::vector<double>& weights, const Observation& seen,
                    const Canvas& image, const HeatOptions& options) {
  const Matrix grid = as_grid(weights, seen.grid_h, seen.grid_w);
  const Matrix scaled =
      scale_values(upsample_bilinear(grid, image.height, image.width), options.scale);
  return overlay(colourise(scaled, options.colours), image, options.overlay);
}

Canvas head_grid(const Observation& seen, bool signed_maps, const Canvas& image,
                 const std::string& title) {
  Montage montage;
  montage.title = title;
  montage.factor = std::max<std::int64_t>(1, 64 / std::max<std::int64_t>(1, image.height));
  for (std::size_t layer = 0; layer < seen.layers.size(); ++layer) {
    montage.row_labels.push_back(fmt::format("layer {}", layer + 1));
    std::vector<Canvas> row;
    for (std::int64_t head = 0; head < seen.layers[layer].heads; ++head) {
      if (layer == 0) montage.column_labels.push_back(fmt::format("head {}", head + 1));
      const Matrix grid =
          as_grid(head_row(seen.layers[layer], head, seen.prefix_tokens), seen.grid_h, seen.grid_w);
      const Matrix up = upsample_bilinear(grid, image.height, image.width);
      row.push_back(signed_maps ? colourise(scale_symmetric(up), ColourMap::kDiverging)
                                : colourise(scale_minmax(up), ColourMap::kPlasma));
    }
    montage.rows.push_back(std::move(row));
  }
  MontageBar bar;
  bar.bar = signed_maps ? ColourBar{ColourMap::kDiverging, -1, 1,
                                    "attention / largest |attention| of the map"}
                        : ColourBar{ColourMap::kPlasma, 0, 1, "attention, min-max of the map"};
  montage.bars.push_back(bar);
  return render(montage);
}

Canvas picture_of(const std::vector<float>& image, std::int64_t channels, std::int64_t height,
                  std::int64_t width) {
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(channels * height * width));
  for (std::int64_t pixel = 0; pixel < height * width; ++pixel) {
    for (std::int64_t c = 0; c < channels; ++c) {
      const float value = image[static_cast<std::size_t>(c * height * width + pixel)];
      bytes[static_cast<std::size_t>(pixel * channels + c)] =
          static_cast<std::uint8_t>(std::clamp(value, 0.0f, 1.0f) * 255.0f + 0.5f);
    }
  }
  return canvas_from_bytes(bytes, height, width, channels);
}

}  // namespace fovea::visualise
