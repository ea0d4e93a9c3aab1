#include "visualise/maps/sequences/speech_maps.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "autograd/mode.h"
#include "base/error.h"
#include "ops/decoding/ctc_decoding.h"
#include "ops/elementwise.h"
#include "tensor/host.h"
#include "visualise/maps/probed.h"

namespace fovea::visualise {
namespace {

// Rows of logits to rows of probabilities.
Matrix softmax_rows(Matrix m) {
  for (std::int64_t row = 0; row < m.rows; ++row) {
    double* const values = m.values.data() + row * m.cols;
    const double most = *std::max_element(values, values + m.cols);
    double sum = 0;
    for (std::int64_t c = 0; c < m.cols; ++c) sum += values[c] = std::exp(values[c] - most);
    for (std::int64_t c = 0; c < m.cols; ++c) values[c] /= sum;
  }
  return m;
}

// Adds token t of a symbol: to the last one, or as a new one.
void add_token(std::vector<HeardSymbol>& to, bool goes_on, std::int64_t symbol, std::int64_t t,
               double probability) {
  if (!goes_on) {
    to.push_back({symbol, t, t, t, probability});
    return;
  }
  HeardSymbol& last = to.back();
  last.last = t;
  if (probability <= last.probability) return;
  last.peak = t;
  last.probability = probability;
}

// `places`: of every token its place in `truth`, or -1.
std::vector<HeardSymbol> along(const std::vector<std::int64_t>& places,
                               const std::vector<std::int64_t>& truth, const Matrix& p) {
  std::vector<HeardSymbol> symbols;
  for (std::int64_t t = 0; t < std::ssize(places); ++t) {
    const std::int64_t place = places[static_cast<std::size_t>(t)];
    if (place < 0) continue;
    const std::int64_t symbol = truth[static_cast<std::size_t>(place)];
    const bool goes_on = t > 0 && places[static_cast<std::size_t>(t - 1)] == place;
    add_token(symbols, goes_on, symbol, t, p.at(t, symbol));
  }
  return symbols;
}

}  // namespace

TokenTimes token_times(const models::Transcriber& network) {
  // Frames that make so many tokens: what the first one sees, and what each further one needs.
  const auto least = [&](std::int64_t tokens, std::int64_t from) {
    while (network.frames_of(from) < tokens) ++from;
    return from;
  };
  const std::int64_t seen = least(1, 1);
  const std::int64_t step = least(2, seen) - seen;
  return {static_cast<double>(seen - 1) / 2, static_cast<double>(step)};
}

std::vector<HeardSymbol> best_path(const Matrix& p, std::int64_t blank) {
  std::vector<HeardSymbol> symbols;
  std::int64_t before = blank;
  for (std::int64_t t = 0; t < p.rows; ++t) {
    const double* const row = p.values.data() + t * p.cols;
    const std::int64_t best = std::max_element(row, row + p.cols) - row;
    if (best != blank) add_token(symbols, best == before, best, t, row[best]);
    before = best;
  }
  return symbols;
}

HeardSpeech observe_speech(models::Transcriber& network, const Tensor& features,
                           const std::vector<std::int64_t>& truth, std::int64_t blank) {
  const autograd::NoGrad no_grad;
  network.train(false);
  attention::Probe probe;
  const Device& device = network.parameters().front().tensor.device();
  const Tensor frames =
      Tensor::from(std::vector<std::int64_t>{features.size(1)}, {1}, features.device());
  const models::Outputs out = network(
      {.features = ops::to(features, device), .num_frames = ops::to(frames, device)}, &probe);
  const std::int64_t tokens = out.frames.front(), symbols = out.logits.size(2);
  FOVEA_CHECK(tokens >= 1, ConfigError,
              fmt::format("recording: has {} frames of features, of which the network makes no "
                          "frame of symbols; expected a longer one",
                          features.size(1)));
  std::vector<double> logits = host_doubles(out.logits);
  logits.resize(static_cast<std::size_t>(tokens * symbols));
  const std::vector<float> values(logits.begin(), logits.end());
  HeardSpeech result;
  result.probabilities = softmax_rows({tokens, symbols, std::move(logits)});
  if (!truth.empty())
    result.aligned =
        along(ops::ctc_alignment({values, symbols, blank}, truth), truth, result.probabilities);
  result.heard = best_path(result.probabilities, blank);
  result.layers = recorded_maps(probe);
  return result;
}

Matrix rows_of(const Matrix& rollout, std::span<const HeardSymbol> symbols) {
  Matrix rows{std::ssize(symbols), rollout.cols, {}};
  for (const HeardSymbol& one : symbols) {
    const auto begin = rollout.values.begin() + one.peak * rollout.cols;
    rows.values.insert(rows.values.end(), begin, begin + rollout.cols);
  }
  return rows;
}

}  // namespace fovea::visualise
