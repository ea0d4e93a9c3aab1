// The pictures of grid_rollout.h.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "visualise/drawing/heatmap.h"
#include "visualise/drawing/montage.h"
#include "visualise/maps/heat_scale.h"
#include "visualise/maps/rollouts/grid_rollout.h"

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

// One sequence of blocks in all inputs. The query's own weight would hide the others.
HeatColumn column_of(const GridRolloutFigure& f, std::size_t sequence) {
  const GridRollout& first = f.rollouts[0][sequence];
  HeatColumn column{title_of(first), {false, "attention rollout, share"}, {}, 0};
  column.even = even_share(column.quantity, first.grid_h * first.grid_w);
  for (const std::vector<GridRollout>& rollouts : f.rollouts) {
    std::vector<double> beside = rollouts[sequence].weights;
    const std::int64_t query = rollouts[sequence].query;
    if (query >= 0 && query < std::ssize(beside)) beside.erase(beside.begin() + query);
    column.values.push_back(std::move(beside));
  }
  return column;
}

// The weights as they are drawn: that of the query no larger than the largest beside it, which
// between patches would reach over its neighbours.
std::vector<double> drawn_weights(const GridRollout& rollout, const std::vector<double>& beside) {
  std::vector<double> weights = rollout.weights;
  if (rollout.query < 0 || beside.empty()) return weights;
  double& own = weights[static_cast<std::size_t>(rollout.query)];
  own = std::min(own, *std::max_element(beside.begin(), beside.end()));
  return weights;
}

}  // namespace

Canvas render(const GridRolloutFigure& f) {
  FOVEA_CHECK(!f.inputs.empty() && f.names.size() == f.inputs.size() &&
                  f.places.size() == f.inputs.size() && f.rollouts.size() == f.inputs.size(),
              ShapeError,
              fmt::format("grid rollout figure: {} inputs, {} names, {} places, {} rollouts; "
                          "expected equal numbers, at least one",
                          f.inputs.size(), f.names.size(), f.places.size(), f.rollouts.size()));
  for (const std::vector<GridRollout>& rollouts : f.rollouts) {
    FOVEA_CHECK(rollouts.size() == f.rollouts[0].size(), ShapeError,
                fmt::format("grid rollout figure: {} and {} rollouts of two inputs; expected those "
                            "of the same sequences of blocks",
                            f.rollouts[0].size(), rollouts.size()));
  }
  Montage montage;
  montage.title = f.title;
  montage.factor = 1;  // frames are drawn on the enlarged pictures
  montage.row_labels = f.names;
  montage.column_labels = {"input, query framed"};
  for (const GridRollout& rollout : f.rollouts[0]) {
    montage.column_labels.push_back(
        fmt::format("{}, {}×{}", title_of(rollout), rollout.grid_h, rollout.grid_w));
  }
  std::vector<HeatColumn> heats;
  for (std::size_t k = 0; k < f.rollouts[0].size(); ++k) heats.push_back(column_of(f, k));
  const auto limits = limits_of(heats, f.scale);
  const std::int64_t side =
      std::max<std::int64_t>(6, std::max(f.inputs[0].height, f.inputs[0].width) * f.factor / 16);
  const bool own_limits = f.scale.sharing == HeatSharing::kImage && f.inputs.size() > 1;
  for (std::size_t i = 0; i < f.inputs.size(); ++i) {
    const Canvas large = enlarge(f.inputs[i], f.factor);
    montage.rows.push_back({large});
    if (own_limits) montage.captions.push_back({""});
    mark(montage.rows[i][0], f.places[i], side);
    for (std::size_t k = 0; k < heats.size(); ++k) {
      const GridRollout& rollout = f.rollouts[i][k];
      Canvas& picture = montage.rows[i].emplace_back();
      if (own_limits) montage.captions[i].emplace_back();
      if (rollout.weights.empty()) continue;
      const Matrix grid =
          as_grid(drawn_weights(rollout, heats[k].values[i]), rollout.grid_h, rollout.grid_w);
      const Matrix heat = heat_map(grid, large.height, large.width, f.smooth);
      picture =
          overlay(colourise(positions_of(heat, limits[k][i]), f.sequential), large, f.overlay);
      if (rollout.query >= 0) mark(picture, f.places[i], side);
      if (own_limits)
        montage.captions[i].back() = limits_text(limits[k][i], f.scale.ends, heats[k].even);
    }
  }
  for (std::size_t k = 0; k < heats.size(); ++k) {
    montage.bars.push_back(
        bar_below(bar_of(heats[k], limits[k], f.scale, f.sequential, heats.size()),
                  static_cast<std::int64_t>(k) + 1, 1));
  }
  return render(montage);
}

Canvas grid_heads(std::span<const GridAttention> blocks, Probe::Place place, const Canvas& image,
                  const std::string& title, const HeadLook& look) {
  Montage montage;
  montage.title = title;
  montage.factor = 1;  // frames are drawn on the enlarged pictures
  const auto [height, width] = head_size(image);
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
    const double even = even_share(quantity, keys);
    const Limits limits = limits_of(quantity, of_query, look.ends, even);
    const ColourMap palette = palette_of(quantity, look.sequential, look.ends);
    montage.row_labels.push_back(
        fmt::format("{}, {} × {}", short_name(block.block), block.keys_h, block.keys_w));
    std::vector<Canvas>& pictures = montage.rows.emplace_back();
    for (std::int64_t head = 0; head < block.map.size(0); ++head) {
      const std::span own(of_query.data() + head * keys, static_cast<std::size_t>(keys));
      const Matrix heat =
          heat_map(as_grid(own, block.keys_h, block.keys_w), height, width, look.smooth);
      pictures.push_back(colourise(positions_of(heat, limits), palette));
      mark(pictures.back(), place, std::max<std::int64_t>(6, height / 16));
    }
    MontageBar bar;
    bar.bar = bar_of(quantity, limits, look.ends, look.sequential, even);
    bar.first = std::ssize(montage.rows) - 1;
    bar.count = 1;
    montage.bars.push_back(std::move(bar));
  }
  for (std::int64_t head = 1; head <= columns; ++head)
    montage.column_labels.push_back(fmt::format("head {}", head));
  return render(montage);
}

}  // namespace fovea::visualise
