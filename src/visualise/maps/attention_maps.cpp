#include "visualise/maps/attention_maps.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "tensor/host.h"
#include "visualise/drawing/heatmap.h"
#include "visualise/drawing/montage.h"
#include "visualise/maps/probed.h"

namespace fovea::visualise {
std::int64_t Observation::prediction() const {
  return std::max_element(logits.begin(), logits.end()) - logits.begin();
}

Observation observe(models::Model& model, const Tensor& input) {
  attention::Probe probe;
  Observation seen;
  const models::Outputs output = run_probed(model, input, probe);
  if (model.has_head()) seen.logits = host_doubles(output.logits);
  seen.layers = recorded_maps(probe);
  FOVEA_CHECK(!seen.layers.empty(), ConfigError, "model.attention: has no map over tokens to show");
  const attention::Context geometry = model.geometry();
  seen.grid_h = geometry.grid_h;
  seen.grid_w = geometry.grid_w;
  seen.prefix_tokens = geometry.prefix_tokens;
  seen.class_token = geometry.class_token;
  return seen;
}

std::vector<double> token_weights(const Observation& seen, const RolloutOptions& options) {
  const Matrix rollout = attention_rollout(seen.layers, options);
  if (seen.prefix_tokens == 0) return mean_row(rollout);
  if (seen.class_token) return class_row(rollout, seen.prefix_tokens);
  std::vector<std::uint8_t> patches(static_cast<std::size_t>(rollout.rows), 1);
  std::fill_n(patches.begin(), seen.prefix_tokens, 0);
  return mean_row(rollout, patches);
}

std::array<std::int64_t, 2> head_size(const Canvas& image) {
  constexpr std::int64_t kLeast = 96, kMost = 128;
  const std::int64_t longer = std::max<std::int64_t>({1, image.height, image.width});
  const auto side = [&](std::int64_t size) {
    return longer > kMost ? std::max<std::int64_t>(1, size * kMost / longer)
                          : size * std::max<std::int64_t>(1, kLeast / longer);
  };
  return {side(image.height), side(image.width)};
}

Canvas head_grid(const Observation& seen, bool signed_maps, const Canvas& image,
                 const std::string& title, const HeadLook& look) {
  const Quantity quantity = attention_quantity(signed_maps);
  const ColourMap palette = palette_of(quantity, look.sequential, look.ends);
  Montage montage;
  montage.title = title;
  montage.factor = 1;
  const auto [height, width] = head_size(image);
  for (std::size_t layer = 0; layer < seen.layers.size(); ++layer) {
    const AttentionMap& map = seen.layers[layer];
    montage.row_labels.push_back(fmt::format("layer {}", layer + 1));
    const Matrix rows =
        head_rows(map, seen.prefix_tokens, seen.prefix_tokens > 0 && seen.class_token);
    const double even = even_share(quantity, map.n);
    const Limits limits = limits_of(quantity, rows.values, look.ends, even);
    std::vector<Canvas>& pictures = montage.rows.emplace_back();
    for (std::int64_t head = 0; head < map.heads; ++head) {
      const std::span row(rows.values.data() + head * rows.cols,
                          static_cast<std::size_t>(rows.cols));
      const Matrix heat =
          heat_map(as_grid(row, seen.grid_h, seen.grid_w), height, width, look.smooth);
      pictures.push_back(colourise(positions_of(heat, limits), palette));
    }
    MontageBar bar;
    bar.bar = bar_of(quantity, limits, look.ends, look.sequential, even);
    bar.first = static_cast<std::int64_t>(layer);
    bar.count = 1;
    montage.bars.push_back(std::move(bar));
  }
  std::size_t columns = 0;
  for (const auto& row : montage.rows) columns = std::max(columns, row.size());
  for (std::size_t head = 1; head <= columns; ++head)
    montage.column_labels.push_back(fmt::format("head {}", head));
  return render(montage);
}

Canvas picture_of(const std::vector<float>& image, std::int64_t channels, std::int64_t height,
                  std::int64_t width) {
  if (channels != 3) channels = 1;
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
