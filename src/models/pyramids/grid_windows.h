// Windows of a token grid for attentions that have no masks: each window is a part of the grid.
#pragma once

#include <functional>
#include <vector>

#include "nn/ffn.h"
#include "tensor/tensor.h"

namespace fovea::models {

/// A grid cut into windows of `side`, smaller ones at its end, or shifted by half a window. Where
/// Swin masks or pads inside a window, windows are cut here: a window whose tokens lie at two edges
/// of the grid becomes two (for a grid that is padded first and then rolled). mala 3.2 (pairwise
/// 0/1 masks).
class GridWindows {
 public:
  GridWindows(const nn::Grid& grid, std::int64_t side, bool shifted);

  /// Calls f((b windows, h w, dim), (h, w)) -> the same shape for the windows of every size: (b, n,
  /// dim) -> (b, n, dim).
  using Function = std::function<Tensor(const Tensor& x, const nn::Grid& window)>;
  Tensor map(const Tensor& x, const Function& f) const;

  /// Tokens of the largest window.
  std::int64_t members() const;
  /// The tokens of each window, row by row: (windows, members) int64, -1 behind the tokens of
  /// smaller windows. Windows are ordered by size, sizes in the order of map()'s calls.
  Tensor tokens(const Device& device) const;

 private:
  // Windows of one size that follow each other along an axis.
  struct Run {
    std::int64_t first, count, size;
    std::int64_t length() const { return count * size; }
  };
  static std::vector<Run> cut(std::int64_t length, std::int64_t side, bool shifted);

  nn::Grid grid_;
  std::vector<Run> rows_, columns_;
};

}  // namespace fovea::models
