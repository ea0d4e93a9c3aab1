#include "models/pyramids/grid_windows.h"

#include <algorithm>

#include "ops/shape.h"

namespace fovea::models {

std::vector<GridWindows::Run> GridWindows::cut(std::int64_t length, std::int64_t side,
                                               bool shifted) {
  const std::int64_t head = shifted && length > side ? side / 2 : 0;
  std::vector<Run> runs;
  if (head > 0) runs.push_back({0, 1, head});
  const std::int64_t whole = (length - head) / side;
  if (whole > 0) runs.push_back({head, whole, side});
  const std::int64_t rest = length - head - whole * side;
  if (rest > 0) runs.push_back({length - rest, 1, rest});
  return runs;
}

GridWindows::GridWindows(const nn::Grid& grid, std::int64_t side, bool shifted)
    : grid_(grid), rows_(cut(grid.h, side, shifted)), columns_(cut(grid.w, side, shifted)) {}

Tensor GridWindows::map(const Tensor& x, const Function& f) const {
  const std::int64_t b = x.size(0), dim = x.size(2);
  const Tensor whole = ops::reshape(x, {b, grid_.h, grid_.w, dim});
  const auto of_block = [&](const Tensor& block, const Run& row, const Run& column) {
    const Tensor parts =
        ops::reshape(block, {b, row.count, row.size, column.count, column.size, dim});
    const Tensor windows =
        ops::reshape(ops::permute(parts, {0, 1, 3, 2, 4, 5}),
                     {b * row.count * column.count, row.size * column.size, dim});
    const Tensor y = ops::reshape(f(windows, {row.size, column.size}),
                                  {b, row.count, column.count, row.size, column.size, dim});
    return ops::reshape(ops::permute(y, {0, 1, 3, 2, 4, 5}),
                        {b, row.length(), column.length(), dim});
  };
  std::vector<Tensor> bands;
  for (const Run& row : rows_) {
    const Tensor band = ops::slice(whole, 1, row.first, row.length());
    std::vector<Tensor> blocks;
    for (const Run& column : columns_)
      blocks.push_back(of_block(ops::slice(band, 2, column.first, column.length()), row, column));
    bands.push_back(blocks.size() == 1 ? blocks[0] : ops::concat(blocks, 2));
  }
  const Tensor y = bands.size() == 1 ? bands[0] : ops::concat(bands, 1);
  return ops::reshape(y, x.shape());
}

std::int64_t GridWindows::members() const {
  const auto largest = [](const std::vector<Run>& runs) {
    std::int64_t size = 0;
    for (const Run& run : runs) size = std::max(size, run.size);
    return size;
  };
  return largest(rows_) * largest(columns_);
}

Tensor GridWindows::tokens(const Device& device) const {
  std::vector<std::int64_t> all;
  const auto add_window = [&](const Run& row, const Run& column, std::int64_t i, std::int64_t j) {
    const std::size_t end = all.size() + static_cast<std::size_t>(members());
    for (std::int64_t y = 0; y < row.size; ++y) {
      const std::int64_t first = (row.first + i * row.size + y) * grid_.w + column.first;
      for (std::int64_t x = 0; x < column.size; ++x) all.push_back(first + j * column.size + x);
    }
    all.resize(end, -1);
  };
  for (const Run& row : rows_) {
    for (const Run& column : columns_) {
      for (std::int64_t i = 0; i < row.count; ++i) {
        for (std::int64_t j = 0; j < column.count; ++j) add_window(row, column, i, j);
      }
    }
  }
  return Tensor::from(all, {std::ssize(all) / members(), members()}, device);
}

}  // namespace fovea::models
