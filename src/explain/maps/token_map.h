// A relevance of tokens for tokens as networks with windows and reduced keys have it: without a
// matrix of all tokens. And what follows from such maps through a pyramid of grids.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "explain/maps/tokens.h"
#include "tensor/tensor.h"

namespace fovea::explain {

struct GridSize {
  std::int64_t h = 0, w = 0;
  std::int64_t d = 1;  // of volumes; places count slice by slice
  std::int64_t count() const { return d * h * w; }
  bool operator==(const GridSize&) const = default;
};

/// The place of a grid at which the place i of a finer one, over the same image, lies.
std::int64_t place_on(std::int64_t i, const GridSize& fine, const GridSize& coarse);
/// "14 x 14"; of volumes "8 x 14 x 14", slices first.
std::string text_of(const GridSize& grid);

/// What a map is made into before its heads are averaged.
enum class Weighing {
  kWeights,           // A
  kRollout,           // max(A, 0)
  kPositiveGradient,  // [A dA]+
  kSignedGradient,    // A dA
  kMeanGradient,      // of every head A times the mean of dA
};
/// The mean over heads, the first axis of both. kWeights and kRollout need no gradient. Throws
/// ShapeError where sizes differ.
std::vector<double> mean_over_heads(const std::vector<double>& map,
                                    const std::vector<double>& gradient, std::int64_t heads,
                                    Weighing weighing);

/// Which tokens are keys of which, and what their weights are.
class TokenMap {
 public:
  /// Of (n, keys): keys of a coarser grid stand for the tokens below them, each of which gets an
  /// equal share of the weight. Throws ShapeError where the sizes do not fit.
  TokenMap(Matrix weights, GridSize grid, GridSize keys);
  /// Of all tokens on all.
  explicit TokenMap(Matrix weights);
  /// Of units: weights (units, members, members) and the token at each place (units, members), -1
  /// where there is none. Tokens of different units have no weight for each other.
  TokenMap(std::vector<double> weights, std::vector<std::int64_t> places, std::int64_t units,
           std::int64_t n);

  std::int64_t tokens() const { return n_; }
  /// row M.
  std::vector<double> times(const std::vector<double>& row) const;
  /// Each row divided by its sum; rows of zeros stay.
  void normalise_rows();
  /// The sums of rows.
  std::vector<double> row_sums() const;
  /// (n, n).
  Matrix dense() const;

 private:
  std::int64_t n_ = 0;
  Matrix weights_;                    // (n, keys)
  std::vector<std::int64_t> key_of_;  // the key that stands for a token; empty: itself
  std::vector<double> tokens_of_;     // how many a key stands for
  std::int64_t units_ = 0, members_ = 0;
  std::vector<std::int64_t> places_;  // of units
  std::vector<double> unit_weights_;
};

/// Blocks that work on one grid, in order of the network. Their tokens were made of those of the
/// stage before; of a decoder also of an earlier one on the same grid, by a skip connection.
struct StageMaps {
  GridSize grid;
  std::vector<TokenMap> layers;
  std::optional<std::size_t> skip = {};  // the number of that earlier stage
  bool skip_of_begin = false;            // it comes from before that stage's blocks
};

/// What a layer makes of the row r of the layers behind it.
enum class StageRule {
  kRollout,          // (r + r A) / 2
  kGradientRollout,  // r G, G = C + I with rows divided by their sums
  kGeneric,          // r + r C
};

/// The relevance of the tokens of the first grid: of stages that follow each other the rows of
/// R_S T_{S-1} R_{S-1} ... T_1 R_1, where R_s follows from the rule inside a stage. T: a token of a
/// coarser grid was made of the tokens of the stage before that lie at its place, in equal parts
/// (explain 0.6); a token of a finer grid of the one in whose place it lies; with a skip connection
/// half of it was made of that, and half of the token at its own place of the earlier stage (both
/// ours). `readings`: the weights of the rows of each stage that the output is read from; none
/// where it is not. Throws ConfigError where a grid is finer along one axis and coarser along
/// another than the one before, and ShapeError where sizes do not fit.
std::vector<double> through_stages(std::span<const StageMaps> stages, StageRule rule,
                                   std::vector<std::vector<double>> readings);
/// The same with the mean over the rows of the last grid.
std::vector<double> through_stages(std::span<const StageMaps> stages, StageRule rule);

}  // namespace fovea::explain
