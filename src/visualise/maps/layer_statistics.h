// What the figures of kcla measure across the layers of a stage: how alike keys are, how fast
// earlier layers are forgotten, how much each layer weighs. kcla section 7.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace fovea::visualise {

enum class KeyPairs { kAdjacent, kArbitrary };
/// Cosines between the keys of layers, for each of the sets in `keys`, (sets, layers, dim): of
/// layers i and i + 1, or of all i < j row by row. Norms below 1e-12 count as that. kcla figure 2.
std::vector<double> key_cosines(std::span<const double> keys, std::int64_t layers, std::int64_t dim,
                                KeyPairs pairs);

/// Share of the values in each of `bins` equal parts of [low, high]; high belongs to the last one.
/// Values outside count nowhere but in the total.
std::vector<double> histogram(std::span<const double> values, std::int64_t bins, double low,
                              double high);

/// Weights of earlier outputs in the last layer of a stage of MRLA-L: beta_0 = 1, beta_l =
/// beta_{l-1} lambda of layer n - l + 1 (from 1). lambda: (layers, channels) -> (layers, channels).
/// kcla fig. 4.
std::vector<double> beta_decay(std::span<const double> lambda, std::int64_t layers,
                               std::int64_t channels);

struct Spread {
  double mean = 0, std = 0;  // std divides by n
};
Spread spread_of(std::span<const double> values, bool absolute);

/// Weight of layer j at layer t, one head: exp(n_j / D) / sum over i <= t of exp(n_i / D), 0 for
/// j > t. norms: (layers) -> (layers, layers). kcla figure 7, Eq. 12.
std::vector<double> layer_scores(std::span<const double> norms, double divisor);

}  // namespace fovea::visualise
