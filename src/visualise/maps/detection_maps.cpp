#include "visualise/maps/detection_maps.h"

#include <algorithm>
#include <cmath>

#include "autograd/mode.h"
#include "base/error.h"
#include "tensor/host.h"
#include "visualise/maps/probed.h"

namespace fovea::visualise {
namespace {

using attention::Probe;

// Of values (heads, n).
std::vector<double> mean_of_heads(const std::vector<double>& values, std::int64_t heads) {
  const std::size_t n = values.size() / static_cast<std::size_t>(heads);
  std::vector<double> mean(n, 0.0);
  for (std::size_t i = 0; i < values.size(); ++i)
    mean[i % n] += values[i] / static_cast<double>(heads);
  return mean;
}

// The last of the coarsest grid with at most this stride, of grids that become coarser.
template <class Part>
std::size_t reading_level(std::span<const Part> parts, std::int64_t image_h, std::int64_t stride) {
  const auto stride_of = [&](const Part& part) {
    return static_cast<double>(image_h) / static_cast<double>(part.grid_h);
  };
  // Sides that a stride does not divide are rounded up, so a grid's stride may seem a bit smaller.
  const double most = 1.25 * static_cast<double>(stride);
  std::size_t best = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const bool first_grid = parts[i].grid_h == parts.front().grid_h;
    if (first_grid || stride_of(parts[i]) <= most) best = i;
  }
  return best;
}

PlaceAttention at_place(const GridAttention& block, Probe::Place place) {
  Probe probe;
  probe.only(place);
  PlaceAttention seen{.block = block.block,
                      .grid_h = block.grid_h,
                      .grid_w = block.grid_w,
                      .keys_h = block.keys_h,
                      .keys_w = block.keys_w,
                      .query = probe.rows(0, block.grid_h, block.grid_w).first,
                      .heads = block.map.size(0),
                      .weights = {},
                      .is_signed = block.is_signed};
  const std::int64_t rows = block.map.size(1), keys = block.map.size(2);
  const auto values = block.map.host_values<double>();
  for (std::int64_t head = 0; head < seen.heads; ++head) {
    const auto first = values.begin() + (head * rows + seen.query - block.first_row) * keys;
    seen.weights.insert(seen.weights.end(), first, first + keys);
  }
  return seen;
}

}  // namespace

std::vector<double> PlaceAttention::mean() const { return mean_of_heads(weights, heads); }
std::vector<double> LayerWeights::mean() const { return mean_of_heads(weights, heads); }

models::Detections detections_in(models::Detector& detector, const Tensor& image,
                                 const models::ImageSize& size) {
  const autograd::NoGrad no_grad;
  Probe probe;
  probe.without_maps();
  return std::move(detector.detect(run_probed(detector, image, probe), {size}).front());
}

Probe::Place middle_of(const Tensor& boxes, std::int64_t i, const Tensor& image) {
  const auto corners = boxes.rows(i, i + 1).host_values<float>();
  const auto share = [](float from, float to, std::int64_t size) {
    const double middle = (static_cast<double>(from) + static_cast<double>(to)) / 2;
    return std::clamp(middle / static_cast<double>(size), 0.0, 1.0);
  };
  return {share(corners[1], corners[3], image.size(2)),
          share(corners[0], corners[2], image.size(3))};
}

std::vector<PlaceAttention> attention_at(models::Model& model, const Tensor& image,
                                         Probe::Place place) {
  std::vector<PlaceAttention> blocks;
  try {
    for (const GridAttention& block : observe_grids(model, image, place))
      blocks.push_back(at_place(block, place));
  } catch (const ConfigError&) {
    return {};
  }
  return blocks;
}

std::size_t block_of_level(std::span<const PlaceAttention> blocks, std::int64_t image_h,
                           std::int64_t stride) {
  return reading_level(blocks, image_h, stride);
}

std::vector<LayerWeights> layer_weights(models::Model& model, const Tensor& image) {
  // Without maps the only ones that are recorded are those over layers.
  Probe probe;
  probe.without_maps();
  run_probed(model, image, probe);
  std::vector<LayerWeights> stages;
  const Probe::Record* last = nullptr;
  bool carried = false;
  for (const Probe::Record& record : probe.records()) {
    if (record.name == "carried") carried = true;
    if (record.name == "attn") last = &record;  // (1, heads, 1, layers)
    if (record.name != "features" || record.value.rank() != 4) continue;
    if (last != nullptr) {
      stages.push_back({.stage = record.module,
                        .grid_h = record.value.size(2),
                        .grid_w = record.value.size(3),
                        .heads = last->value.size(1),
                        .layers = last->value.size(3),
                        .weights = host_doubles(last->value),
                        .carried = carried});
    }
    last = nullptr;
    carried = false;
  }
  return stages;
}

std::size_t stage_of_level(std::span<const LayerWeights> stages, std::int64_t image_h,
                           std::int64_t stride) {
  return reading_level(stages, image_h, stride);
}

}  // namespace fovea::visualise
