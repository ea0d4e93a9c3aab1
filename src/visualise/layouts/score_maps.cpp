#include "visualise/layouts/score_maps.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "ops/elementwise.h"
#include "visualise/drawing/heatmap.h"
#include "visualise/drawing/montage.h"
#include "visualise/maps/heat_scale.h"
#include "visualise/maps/probed.h"
#include "visualise/maps/rollouts/grid_rollout.h"

namespace fovea::visualise {
namespace {

using attention::Probe;

constexpr Colour kQueryPatch{255, 0, 0};

Probe at_place(Probe::Place place) {
  Probe probe;
  probe.only(place);
  return probe;
}

// Mean over heads of one row of a map (heads, rows, keys), without the first `prefix` keys.
std::vector<double> mean_row_of(const Tensor& map, std::int64_t row, std::int64_t prefix) {
  const auto values = map.host_values<double>();
  const std::int64_t heads = map.size(0), rows = map.size(1), keys = map.size(2);
  std::vector<double> mean(static_cast<std::size_t>(keys - prefix), 0.0);
  for (std::int64_t head = 0; head < heads; ++head) {
    for (std::int64_t k = prefix; k < keys; ++k) {
      mean[static_cast<std::size_t>(k - prefix)] +=
          values[static_cast<std::size_t>((head * rows + row) * keys + k)] /
          static_cast<double>(heads);
    }
  }
  return mean;
}

// Of a network whose blocks have one grid.
std::vector<ScoreMap> on_one_grid(models::Model& model, const Tensor& image, Probe::Place place) {
  Probe probe = at_place(place);
  run_probed(model, image, probe);
  const attention::Context geometry = model.geometry();
  const std::int64_t h = geometry.grid_h, w = geometry.grid_w, prefix = geometry.prefix_tokens;
  std::vector<ScoreMap> layers;
  for (const Probe::Record& record : probe.records()) {
    if (record.name != "attn") continue;
    const Tensor map =
        ops::cast(record.value.alias(record.value.shape().part(1, 4)), DType::kFloat64);
    const std::int64_t row = map.size(1) == 1 ? 0 : probe.rows(prefix, h, w).first;
    layers.push_back({record.module.substr(0, record.module.rfind('.')), h, w,
                      as_grid(mean_row_of(map, row, prefix), h, w)});
  }
  return layers;
}

std::vector<ScoreMap> on_several_grids(models::Model& model, const Tensor& image,
                                       Probe::Place place) {
  std::vector<ScoreMap> layers;
  for (const GridAttention& block : observe_grids(model, image, place)) {
    const std::int64_t query = at_place(place).rows(0, block.grid_h, block.grid_w).first;
    layers.push_back(
        {block.block, block.grid_h, block.grid_w,
         as_grid(mean_row_of(block.map, query - block.first_row, 0), block.keys_h, block.keys_w)});
  }
  return layers;
}

// Over its sum, where that is not nothing.
Matrix over_sum(Matrix scores) {
  double sum = 0;
  for (const double score : scores.values) sum += score;
  if (std::abs(sum) < 1e-12) return scores;
  for (double& score : scores.values) score /= sum;
  return scores;
}

// The patch that covers a place, in a picture.
void frame_query(Canvas& picture, const ScoreMap& map, Probe::Place place) {
  const std::int64_t token = at_place(place).rows(0, map.grid_h, map.grid_w).first;
  const auto along = [](std::int64_t i, std::int64_t patches, std::int64_t size) {
    return i * size / patches;
  };
  const std::int64_t row = token / map.grid_w, column = token % map.grid_w;
  const std::int64_t left = along(column, map.grid_w, picture.width);
  const std::int64_t top = along(row, map.grid_h, picture.height);
  const std::int64_t right = along(column + 1, map.grid_w, picture.width);
  const std::int64_t bottom = along(row + 1, map.grid_h, picture.height);
  picture.frame(left, top, right - left, bottom - top, kQueryPatch, 2);
}

void check(const ScoreFigure& f) {
  FOVEA_CHECK(!f.inputs.empty() && f.names.size() == f.inputs.size() &&
                  f.places.size() == f.inputs.size() && !f.columns.empty(),
              ShapeError,
              fmt::format("score figure: {} images, {} names, {} places and {} columns; expected "
                          "at least one image and column, a name and a place for each image",
                          f.inputs.size(), f.names.size(), f.places.size(), f.columns.size()));
  for (const ScoreColumn& column : f.columns) {
    FOVEA_CHECK(column.maps.size() == f.inputs.size(), ShapeError,
                fmt::format("score figure: {} has maps of {} images; expected {}", column.name,
                            column.maps.size(), f.inputs.size()));
  }
}

}  // namespace

std::vector<ScoreMap> score_maps(models::Model& model, const Tensor& image, Probe::Place place) {
  std::vector<ScoreMap> layers = model.geometry().grid_h > 0
                                     ? on_one_grid(model, image, place)
                                     : on_several_grids(model, image, place);
  FOVEA_CHECK(!layers.empty(), ConfigError, "model: has no attention over tokens to show");
  return layers;
}

ScoreMap mean_of(const std::vector<ScoreMap>& layers) {
  ScoreMap mean = layers.front();
  for (const ScoreMap& layer : layers) {
    FOVEA_CHECK(layer.scores.rows == mean.scores.rows && layer.scores.cols == mean.scores.cols,
                ConfigError,
                fmt::format("--layer mean: {} has {} x {} keys, {} has {} x {}; choose one layer",
                            layers.front().layer, mean.scores.rows, mean.scores.cols, layer.layer,
                            layer.scores.rows, layer.scores.cols));
  }
  std::fill(mean.scores.values.begin(), mean.scores.values.end(), 0.0);
  for (const ScoreMap& layer : layers) {
    for (std::size_t i = 0; i < mean.scores.values.size(); ++i)
      mean.scores.values[i] += layer.scores.values[i] / static_cast<double>(layers.size());
  }
  mean.layer = fmt::format("mean of {} layers", layers.size());
  return mean;
}

ScoreScale score_scale_from_name(std::string_view name) {
  if (name == "minmax") return ScoreScale::kMinMax;
  FOVEA_CHECK(name == "rowsum", ConfigError,
              fmt::format("--normalise {}: of --scores it is minmax or rowsum", name));
  return ScoreScale::kRowSum;
}

Canvas render(const ScoreFigure& f) {
  check(f);
  Montage montage;
  montage.title = f.title;
  montage.factor = 1;  // frames are drawn on the enlarged pictures
  montage.row_labels = f.names;
  montage.column_labels = {"input, query framed"};
  for (const ScoreColumn& column : f.columns)
    montage.column_labels.push_back(column.name + ", " + column.maps.front().layer);
  for (std::size_t i = 0; i < f.inputs.size(); ++i) {
    const Canvas large = enlarge(f.inputs[i], f.factor);
    montage.rows.push_back({large});
    frame_query(montage.rows[i][0], f.columns[0].maps[i], f.places[i]);
    std::vector<Matrix> heats;
    std::vector<double> all;
    for (const ScoreColumn& column : f.columns) {
      const Matrix& scores = column.maps[i].scores;
      heats.push_back(upsample_bilinear(f.scale == ScoreScale::kRowSum ? over_sum(scores) : scores,
                                        large.height, large.width));
      all.insert(all.end(), heats.back().values.begin(), heats.back().values.end());
    }
    const auto [low, high] = std::minmax_element(all.begin(), all.end());
    const Limits common = *low < *high ? Limits{*low, *high} : Limits{};
    for (std::size_t k = 0; k < heats.size(); ++k) {
      const Matrix shares = f.scale == ScoreScale::kMinMax
                                ? scale_minmax(heats[k])
                                : scale_between(heats[k], common.low, common.high);
      Canvas& picture =
          montage.rows[i].emplace_back(overlay(colourise(shares, f.colours), large, f.overlay));
      frame_query(picture, f.columns[k].maps[i], f.places[i]);
    }
    if (f.scale == ScoreScale::kMinMax) continue;
    MontageBar bar;
    bar.bar = {f.colours, common.low, common.high, "score / sum over patches"};
    bar.first = static_cast<std::int64_t>(i);
    bar.count = 1;
    montage.bars.push_back(std::move(bar));
  }
  if (f.scale == ScoreScale::kMinMax) {
    montage.bars.push_back(
        bar_below({f.colours, 0, 1, "score, least to largest of each picture"}, 1));
  }
  return render(montage);
}

}  // namespace fovea::visualise
