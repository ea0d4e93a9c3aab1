// Attention rollout for softmax and signed attention maps (dgsa, section 9): fuse the heads of each
// layer, mix with the identity for the skip connection, normalise rows, multiply through the depth.
// Everything is float64, because the discard step orders entries by magnitude.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace fovea::visualise {

/// The maps of one layer for one sample, (heads, n, n) row-major: softmax maps, or the signed fused
/// map of a differential attention. Rows are queries.
struct AttentionMap {
  std::int64_t heads = 0;
  std::int64_t n = 0;
  std::vector<double> values;
};

/// A row-major (rows, cols) matrix.
struct Matrix {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::vector<double> values;

  double at(std::int64_t row, std::int64_t col) const {
    return values[static_cast<std::size_t>(row * cols + col)];
  }
  double& at(std::int64_t row, std::int64_t col) {
    return values[static_cast<std::size_t>(row * cols + col)];
  }
};

enum class Fusion { kMean, kMax, kMin };
enum class Sign { kRaw, kAbs, kPositive, kNegative };
enum class Normalise { kSum, kAbs, kNone };

/// The names used in JSON and on the command line: mean|max|min, raw|abs|positive|negative,
/// sum|abs|none. The `_from_name` functions throw ConfigError for anything else.
Fusion fusion_from_name(std::string_view name);
Sign sign_from_name(std::string_view name);
Normalise normalise_from_name(std::string_view name);
std::string_view name_of(Fusion fusion);
std::string_view name_of(Sign sign);
std::string_view name_of(Normalise normalise);

struct RolloutOptions {
  Fusion fusion = Fusion::kMean;          // over heads, after the sign policy
  Sign sign = Sign::kRaw;                 // per head: A, |A|, max(A, 0), max(-A, 0)
  Normalise normalise = Normalise::kSum;  // of the rows of alpha F + (1 - alpha) I
  double alpha = 0.5;                     // in [0, 1]: weight of the map against the skip
  double discard = 0;                     // in [0, 1): share of smallest |F| set to zero
  std::int64_t start_layer = 0;           // 0-based; earlier layers are skipped
};

/// The recommended policy: raw + sum for softmax maps (Abnar & Zuidema), raw + abs for signed maps,
/// whose row sums may be near zero so that `sum` would amplify such rows.
RolloutOptions default_rollout(bool signed_maps);

/// One (n, n) matrix from all heads of a map.
Matrix fused_heads(const AttentionMap& map, Fusion fusion);

/// R = G_L ... G_{start+2} G_{start+1}, an (n, n) matrix; layers in network order.
/// Throws ConfigError for options out of range, ShapeError if `layers` is empty, a map's values do
/// not fit its sizes, or two layers have different numbers of tokens (their maps do not compose),
/// and NumericError for values that are not finite.
Matrix attention_rollout(std::span<const AttentionMap> layers, const RolloutOptions& options);

/// Keeps the queries and keys whose `valid` is not zero. Text maps are cropped before rollout, so
/// that padding takes part nowhere. Throws ShapeError if valid.size() != n or nothing is valid.
AttentionMap crop(const AttentionMap& map, std::span<const std::uint8_t> valid);

/// What stands for the input in every head of a map, (heads, n - prefix_tokens): the class token's
/// row without its first `prefix_tokens` columns, or where there is none the mean over the rows of
/// the other tokens. Throws ShapeError if nothing would be left.
Matrix head_rows(const AttentionMap& map, std::int64_t prefix_tokens, bool class_token);

/// Row 0 of a rollout without its first `prefix_tokens` columns (class and register tokens): what
/// the class token reads from each patch or word. Throws ShapeError if nothing would be left.
std::vector<double> class_row(const Matrix& rollout, std::int64_t prefix_tokens = 1);

/// w_j = mean over rows i of R[i, j]: the weights for mean pooling.
std::vector<double> mean_row(const Matrix& rollout);
/// The same over valid rows, for the valid columns only, of a rollout that was not cropped.
std::vector<double> mean_row(const Matrix& rollout, std::span<const std::uint8_t> valid);

/// Scalars that describe how concentrated token weights w are; all 0 if every weight is 0.
struct WeightSummary {
  double entropy = 0;            // of |w| / sum |w|, in nats
  double relative_entropy = 0;   // entropy / log(size): 1 is uniform, 0 is one token
  double top_share = 0;          // share of |w| on the ceil(size / 10) largest tokens
  double negative_fraction = 0;  // share of |w| that is negative
};
WeightSummary summarise(std::span<const double> weights);

}  // namespace fovea::visualise
