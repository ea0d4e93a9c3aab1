// The pictures of grid_rollout.h.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "visualise/grid_rollout.h"
#include "visualise/heat_scale.h"
#include "visualise/heatmap.h"
#include "visualise/montage.h"

namespace fovea::visualise {
namespace {

using attention::Probe;

constexpr Colour kQueryFrame{0, 158, 115};  // green: in none of the palettes of weights

// A frame of `side` pixels around a place.
void mark(Canvas& canvas, Probe::Place place, std::int64_t side) {
  const auto along = [&](double share, std::int64_t size) {
    const auto middle = static_cast<std::int64_t>(share * static_cast<double>(size));
    return std::clamp<std::int64_t>(middle - side / 2, 0, std::max<std::int64_t>(0, size - side));
  };
  canvas.frame(along(place.x, canvas.width), along(place.y, canvas.height), side, side, kQueryFrame,
               2);
}

// "block1.0" of "backbone.block1.0".
std::string short_name(const std::string& block) {
  constexpr std::string_view kBackbone = "backbone.";
  return block.starts_with(kBackbone) ? block.substr(kBackbone.size()) : block;
}

std::string title_of(const GridRollout& rollout) {
  if (rollout.query < 0) return "all blocks, mean of all tokens";
  const std::string first = short_name(rollout.first), last = short_name(rollout.last);
  if (first == last) return first;
  // "layers.0.blocks.0 to 1"
  const std::size_t number = first.rfind('.') + 1;
  const bool siblings = number > 0 && last.substr(0, number) == first.substr(0, number);
  return first + " to " + (siblings ? last.substr(number) : last);
}

// Of all tokens but the query, whose own weight hides the others.
Limits limits_beside(const GridRollout& rollout, bool from_least) {
  Limits limits{from_least ? INFINITY : 0, 0};
  for (std::size_t i = 0; i < rollout.weights.size(); ++i) {
    if (static_cast<std::int64_t>(i) == rollout.query) continue;
    limits.low = std::min(limits.low, rollout.weights[i]);
    limits.high = std::max(limits.high, rollout.weights[i]);
  }
  return limits.low < limits.high ? limits : Limits{};
}

}  // namespace

Canvas render(const GridRolloutFigure& f) {
  FOVEA_CHECK(!f.inputs.empty() && f.names.size() == f.inputs.size() &&
                  f.places.size() == f.inputs.size() && f.rollouts.size() == f.inputs.size(),
              ShapeError,
              fmt::format("grid rollout figure: {} inputs, {} names, {} places, {} rollouts; "
                          "expected equal numbers, at least one",
                          f.inputs.size(), f.names.size(), f.places.size(), f.rollouts.size()));
  Montage montage;
  montage.title = f.title;
  montage.factor = 1;  // frames are drawn on the enlarged pictures
  montage.row_labels = f.names;
  montage.column_labels = {"input, query framed"};
  for (const GridRollout& rollout : f.rollouts[0]) {
    montage.column_labels.push_back(
        fmt::format("{}, {}×{}", title_of(rollout), rollout.grid_h, rollout.grid_w));
  }
  const std::int64_t side =
      std::max<std::int64_t>(6, std::max(f.inputs[0].height, f.inputs[0].width) * f.factor / 16);
  for (std::size_t i = 0; i < f.inputs.size(); ++i) {
    const Canvas large = enlarge(f.inputs[i], f.factor);
    montage.rows.push_back({large});
    for (const GridRollout& rollout : f.rollouts[i]) {
      if (rollout.weights.empty()) {
        montage.rows[i].emplace_back();
        continue;
      }
      const Limits limits = limits_beside(rollout, f.from_least);
      const Matrix heat = heat_map(as_grid(rollout.weights, rollout.grid_h, rollout.grid_w),
                                   large.height, large.width, f.smooth);
      montage.rows[i].push_back(overlay(
          colourise(scale_between(heat, limits.low, limits.high), f.colours), large, f.overlay));
    }
    for (std::size_t k = 0; k < montage.rows[i].size(); ++k) {
      const bool of_query = k == 0 || f.rollouts[i][k - 1].query >= 0;
      if (of_query && montage.rows[i][k].width > 0) mark(montage.rows[i][k], f.places[i], side);
    }
  }
  MontageBar bar;
  bar.bar = {f.colours, 0, 1,
             f.from_least ? "weight, least to largest beside the query's own, of each picture"
                          : "weight / largest beside the query's own, of each picture"};
  bar.side = MontageBar::Side::kBelow;
  bar.first = 1;
  montage.bars.push_back(bar);
  return render(montage);
}

Canvas grid_heads(std::span<const GridAttention> blocks, Probe::Place place, const Canvas& image,
                  const std::string& title, bool smooth) {
  Montage montage;
  montage.title = title;
  montage.factor = 1;  // frames are drawn on the enlarged pictures
  // Networks may have 24 heads beside each other.
  constexpr std::int64_t kLeast = 96, kMost = 128;
  const std::int64_t longer = std::max<std::int64_t>({1, image.height, image.width});
  const std::int64_t factor = std::max<std::int64_t>(1, kLeast / longer);
  const auto side = [&](std::int64_t size) {
    return longer > kMost ? std::max<std::int64_t>(1, size * kMost / longer) : size * factor;
  };
  const std::int64_t height = side(image.height), width = side(image.width);
  std::int64_t columns = 0;
  for (const GridAttention& block : blocks) columns = std::max(columns, block.map.size(0));
  for (const GridAttention& block : blocks) {
    const Quantity quantity = attention_quantity(block.is_signed);
    Probe probe;
    probe.only(place);
    const std::int64_t row = probe.rows(0, block.grid_h, block.grid_w).first - block.first_row;
    const std::int64_t rows = block.map.size(1), keys = block.map.size(2);
    const auto values = block.map.host_values<double>();
    std::vector<double> of_query;
    for (std::int64_t head = 0; head < block.map.size(0); ++head) {
      const auto first = values.begin() + (head * rows + row) * keys;
      of_query.insert(of_query.end(), first, first + keys);
    }
    const Limits limits = limits_of(quantity, of_query);
    montage.row_labels.push_back(
        fmt::format("{}, {} × {}", short_name(block.block), block.keys_h, block.keys_w));
    std::vector<Canvas>& pictures = montage.rows.emplace_back();
    for (std::int64_t head = 0; head < block.map.size(0); ++head) {
      const std::span own(of_query.data() + head * keys, static_cast<std::size_t>(keys));
      const Matrix heat = heat_map(as_grid(own, block.keys_h, block.keys_w), height, width, smooth);
      pictures.push_back(
          colourise(scale_between(heat, limits.low, limits.high), palette_of(quantity)));
      mark(pictures.back(), place, std::max<std::int64_t>(6, height / 16));
    }
    MontageBar bar;
    bar.bar = {palette_of(quantity), limits.low, limits.high, quantity.name};
    bar.first = std::ssize(montage.rows) - 1;
    bar.count = 1;
    montage.bars.push_back(std::move(bar));
  }
  for (std::int64_t head = 1; head <= columns; ++head)
    montage.column_labels.push_back(fmt::format("head {}", head));
  return render(montage);
}

}  // namespace fovea::visualise
