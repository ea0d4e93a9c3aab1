// Units of the tokens of a grid: local windows, dilated ones, shifted ones, of grids with one to
// three axes that may have to be padded. mala 3.8 (Swin); dformer 3.2, 3.10, 3.11.
#pragma once

#include <vector>

#include "tensor/tensor.h"

namespace fovea::ops {

/// How a grid is cut into units, axis by axis. The grid is padded at the end of each axis to
/// P = unit x count places. Unit a has the places a unit + i for 0 <= i < unit; dilated: a + i
/// count. Tokens, units and members are numbered row by row, the last axis fastest.
struct UnitPlan {
  std::vector<std::int64_t> grid;        // tokens: (h, w) or (d, h, w)
  std::vector<std::int64_t> unit;        // members
  std::vector<std::int64_t> count = {};  // units; empty: as few as cover the grid
  bool dilated = false;
  /// Rolls the grid by -shift first, cyclically; empty: does not. Tokens that meet only across its
  /// edge are in different regions of a unit: those of the places [0, P - unit), [P - unit, P -
  /// shift) and [P - shift, P) of an axis.
  std::vector<std::int64_t> shift = {};
  bool padded_first = true;  // padded, then rolled; false: rolled, then padded, as in timm
};

/// Which tokens are in which unit.
class Units {
 public:
  Units() = default;
  /// Throws ShapeError for sizes that do not fit together.
  Units(const UnitPlan& plan, const Device& device);
  /// tokens: (units, members) row by row, -1 for padding; every token of [0, n) stands there once.
  /// regions: of every place, or empty: all are in one.
  Units(std::int64_t n, std::int64_t members, const std::vector<std::int64_t>& tokens,
        const std::vector<std::int64_t>& regions, const Device& device);

  std::int64_t n() const { return n_; }
  std::int64_t count() const { return tokens_.size(0); }
  std::int64_t members() const { return tokens_.size(1); }
  bool padded() const { return count() * members() > n_; }
  /// (units, members) int64: the token at that place, -1 = padding.
  const Tensor& tokens() const { return tokens_; }
  /// (units, members) int64, or undefined: no unit has more than one region.
  const Tensor& regions() const { return regions_; }

 private:
  std::int64_t n_ = 0;
  Tensor tokens_, regions_;
};

/// A row of a table for every position of one member of a unit relative to another: for a query p
/// and a key k with coordinates along each axis the number of p - k + unit - 1 among 2 unit - 1,
/// row by row. mala 3.8; dformer 3.11.
class RelativePositions {
 public:
  RelativePositions() = default;
  RelativePositions(const std::vector<std::int64_t>& unit, const Device& device);

  std::int64_t rows() const { return rows_; }
  /// (members, members) int64.
  const Tensor& index() const { return index_; }
  /// table (rows, heads) -> (heads, members, members).
  Tensor bias(const Tensor& table) const;

 private:
  std::int64_t rows_ = 1;
  Tensor index_;
};

}  // namespace fovea::ops
