// Heads of the attention kernels, copied between projections and small contiguous matrices.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "backend/backend.h"

namespace fovea::cpu {

// Which head of which item.
struct Pair {
  std::int64_t item, head;
};

template <class S>
S* start_of(const Tensor& x, const HeadLayout& layout, Pair at) {
  return x.data<S>() + at.item * layout.batch_stride +
         layout.head_offsets[static_cast<std::size_t>(at.head)];
}

// Rows [first, first + rows) of a head -> (rows, dim).
template <class S, class C>
void load(const Tensor& x, const HeadLayout& layout, Pair at, std::int64_t first, std::int64_t rows,
          C* to) {
  const S* from = start_of<S>(x, layout, at) + first * layout.token_stride;
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t i = 0; i < layout.dim; ++i)
      to[r * layout.dim + i] = static_cast<C>(from[r * layout.token_stride + i]);
  }
}

// (rows, columns) -> (columns, rows).
template <class C>
void transpose(const C* from, std::int64_t rows, std::int64_t columns, C* to) {
  constexpr std::int64_t kBlock = 16;
  for (std::int64_t r = 0; r < rows; r += kBlock) {
    const std::int64_t end = std::min(rows, r + kBlock);
    for (std::int64_t i = 0; i < columns; ++i) {
      for (std::int64_t j = r; j < end; ++j) to[i * rows + j] = from[j * columns + i];
    }
  }
}

// A head's rows of the gradient += (rows, dim).
template <class S, class C>
void add(const C* from, const Tensor& gradient, const HeadLayout& layout, Pair at,
         std::int64_t first, std::int64_t rows) {
  S* to = start_of<S>(gradient, layout, at) + first * layout.token_stride;
  for (std::int64_t r = 0; r < rows; ++r) {
    S* row = to + r * layout.token_stride;
    for (std::int64_t i = 0; i < layout.dim; ++i)
      row[i] = static_cast<S>(static_cast<C>(row[i]) + from[r * layout.dim + i]);
  }
}

// Scratch memory of one piece of work, handed out in parts.
template <class C>
class Scratch {
 public:
  Scratch(std::int64_t size, const Tensor& like)
      : memory_(Tensor::empty({size}, kDTypeOf<C>, like.device())), next_(memory_.data<C>()) {}
  C* take(std::int64_t size) { return std::exchange(next_, next_ + size); }

 private:
  Tensor memory_;
  C* next_;
};

}  // namespace fovea::cpu
