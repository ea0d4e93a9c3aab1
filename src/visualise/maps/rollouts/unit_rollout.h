// Rollout over blocks that attend inside units: from a token to what it saw, without a map of all
// tokens on all. dformer 8.
#pragma once

#include <cstdint>
#include <vector>

#include "attention/probe.h"

namespace fovea::visualise {

/// What the tokens of an image attended to in a block: the mean over the heads of the maps of its
/// units. Padding is left out, and rows are divided by what is left of them.
class UnitMap {
 public:
  /// The units of image `item` of the batch, from a record "unit_attn" on the host.
  explicit UnitMap(const attention::Probe::Record& record, std::int64_t item = 0);

  std::int64_t tokens() const { return n_; }
  /// row A, for a row of as many weights as there are tokens.
  std::vector<double> times(const std::vector<double>& row) const;
  /// (tokens, tokens) row-major, 0 between tokens of different units.
  std::vector<double> dense() const;

 private:
  std::int64_t n_ = 0, members_ = 0;
  std::vector<std::int64_t> places_;  // (units, members): the token, -1 = padding
  std::vector<double> weights_;       // (units, members, members)
};

/// Rows `first` to `first + count` of the maps of every head, of all tokens for count = -1: (heads,
/// count, tokens) float64, 0 between tokens of different units. Weights of padding are left out.
Tensor unit_rows(const attention::Probe::Record& record, std::int64_t first, std::int64_t count,
                 std::int64_t item = 0);

/// row R, where R is the product over the blocks, the last one on the left, of residual I + (1 -
/// residual) A. For the row of a token alone that is its row of the rollout.
std::vector<double> unit_rollout(const std::vector<UnitMap>& blocks, std::vector<double> row,
                                 double residual = 0.5);

}  // namespace fovea::visualise
