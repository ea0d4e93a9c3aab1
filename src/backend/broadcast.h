// Walks an elementwise operation over broadcast operands as rows of contiguous memory.
#pragma once

#include <array>
#include <vector>

#include "tensor/shape.h"

namespace fovea {

/// Output axes with neighbours joined, and for each operand the distance per axis (0 = repeated).
/// The innermost distance of an operand is 1 or 0.
template <std::size_t kOperands>
struct Broadcast {
  std::vector<std::int64_t> sizes;  // outermost first; the last one is the row
  std::array<std::vector<std::int64_t>, kOperands> steps;

  Broadcast(const Shape& output, const std::array<Shape, kOperands>& operands) {
    std::array<std::int64_t, kOperands> running;
    running.fill(1);
    for (int axis = output.rank() - 1; axis >= 0; --axis) {
      std::array<std::int64_t, kOperands> step;
      for (std::size_t i = 0; i < kOperands; ++i) {
        const int own = axis - (output.rank() - operands[i].rank());
        const std::int64_t size = own < 0 ? 1 : operands[i][own];
        step[i] = size == 1 ? 0 : running[i];
        running[i] *= size;
      }
      if (output[axis] == 1) continue;
      if (!sizes.empty() && joins(step)) {
        sizes.front() *= output[axis];
        continue;
      }
      sizes.insert(sizes.begin(), output[axis]);
      for (std::size_t i = 0; i < kOperands; ++i) steps[i].insert(steps[i].begin(), step[i]);
    }
    if (sizes.empty()) {
      sizes.push_back(1);
      for (auto& step : steps) step.push_back(0);
    }
  }

  std::int64_t row() const { return sizes.back(); }
  std::int64_t row_step(std::size_t operand) const { return steps[operand].back(); }
  std::int64_t rows() const {
    std::int64_t count = 1;
    for (std::size_t axis = 0; axis + 1 < sizes.size(); ++axis) count *= sizes[axis];
    return count;
  }
  /// Where row `index` of an operand starts.
  std::int64_t offset(std::size_t operand, std::int64_t index) const {
    std::int64_t at = 0;
    for (std::size_t axis = sizes.size() - 1; axis-- > 0;) {
      at += index % sizes[axis] * steps[operand][axis];
      index /= sizes[axis];
    }
    return at;
  }

 private:
  // An axis joins the one inside it if every operand continues or repeats over both.
  bool joins(const std::array<std::int64_t, kOperands>& step) const {
    for (std::size_t i = 0; i < kOperands; ++i) {
      if (step[i] != steps[i].front() * sizes.front()) return false;
    }
    return true;
  }
};

}  // namespace fovea
