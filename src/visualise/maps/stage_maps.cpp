#include "visualise/maps/stage_maps.h"

#include <fmt/format.h>

#include <cmath>
#include <numeric>

#include "base/error.h"
#include "tensor/host.h"
#include "visualise/drawing/heatmap.h"
#include "visualise/maps/probed.h"

namespace fovea::visualise {
namespace {

// Tokens (1, n, dim), or a map (1, dim, h, w), as (n, dim).
Matrix tokens_matrix(const Tensor& record) {
  const std::vector<double> values = host_doubles(record);
  if (record.rank() == 3) return {record.size(1), record.size(2), values};
  const std::int64_t dim = record.size(1), n = record.size(2) * record.size(3);
  Matrix tokens{n, dim, std::vector<double>(values.size())};
  for (std::int64_t c = 0; c < dim; ++c) {
    for (std::int64_t i = 0; i < n; ++i)
      tokens.at(i, c) = values[static_cast<std::size_t>(c * n + i)];
  }
  return tokens;
}

// Sums over the channels of every token.
std::vector<double> token_squares(const Matrix& tokens) {
  std::vector<double> sums;
  for (std::int64_t i = 0; i < tokens.rows; ++i) {
    double sum = 0;
    for (std::int64_t c = 0; c < tokens.cols; ++c) sum += tokens.at(i, c) * tokens.at(i, c);
    sums.push_back(sum);
  }
  return sums;
}

}  // namespace

std::vector<DecoderStage> observe_stages(models::Model& model, const Tensor& image) {
  attention::Probe probe;
  probe.without_maps();
  run_probed(model, image, probe);
  std::vector<DecoderStage> stages;
  DecoderStage stage;
  for (const attention::Probe::Record& record : probe.records()) {
    if (record.name == "block_input")
      stage = {record.module, 0, 0, tokens_matrix(record.value), {}, {}};
    if (record.module != stage.name) continue;
    if (record.name == "attn_delta") stage.update = tokens_matrix(record.value);
    if (record.name != "features") continue;
    stage.grid_h = record.value.size(2);
    stage.grid_w = record.value.size(3);
    stage.output = tokens_matrix(record.value);
    stages.push_back(std::move(stage));
    stage = {};
  }
  FOVEA_CHECK(!stages.empty(), ConfigError,
              "model: has no decoder of attention blocks; expected pvt_gdla, pvt_self_attn, "
              "pvt_linear_attn or pvt_diff_attn");
  return stages;
}

Matrix token_norms(const Matrix& tokens, std::int64_t grid_h, std::int64_t grid_w) {
  std::vector<double> norms = token_squares(tokens);
  for (double& norm : norms) norm = std::sqrt(norm);
  return as_grid(norms, grid_h, grid_w);
}

Matrix shown_map(const Matrix& map, std::int64_t height, std::int64_t width) {
  return upsample_bilinear(scale_minmax(map), height, width);
}

Matrix shown_difference(const Matrix& map, const Matrix& minus, std::int64_t height,
                        std::int64_t width) {
  FOVEA_CHECK(map.rows == minus.rows && map.cols == minus.cols, ShapeError,
              fmt::format("difference of maps: {} x {} and {} x {}; expected one size", map.rows,
                          map.cols, minus.rows, minus.cols));
  Matrix difference = scale_minmax(map);
  const Matrix other = scale_minmax(minus);
  for (std::size_t i = 0; i < difference.values.size(); ++i)
    difference.values[i] -= other.values[i];
  return upsample_bilinear(difference, height, width);
}

std::vector<double> token_saliency(const Matrix& tokens) {
  std::vector<double> saliency = token_squares(tokens);
  for (double& r : saliency) r = std::sqrt(r / static_cast<double>(tokens.cols));
  return saliency;
}

std::vector<double> channel_saliency(const Matrix& tokens) {
  std::vector<double> sums(static_cast<std::size_t>(tokens.cols), 0.0);
  for (std::int64_t i = 0; i < tokens.rows; ++i) {
    for (std::size_t c = 0; c < sums.size(); ++c) {
      const double value = tokens.at(i, static_cast<std::int64_t>(c));
      sums[c] += value * value;
    }
  }
  for (double& sum : sums) sum = std::sqrt(sum / static_cast<double>(tokens.rows));
  return sums;
}

double first_token_ratio(std::span<const double> saliency) {
  FOVEA_CHECK(!saliency.empty(), ShapeError, "saliency: no tokens");
  const double sum = std::accumulate(saliency.begin(), saliency.end(), 0.0);
  return sum > 0 ? saliency[0] * static_cast<double>(saliency.size()) / sum : 1.0;
}

}  // namespace fovea::visualise
