// Heads of the attention kernels, copied between projections and small contiguous matrices.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "backend/backend.h"
#include "backend/cpu/simd/simd.h"

namespace fovea::cpu {

// A head of an item.
struct Pair {
  std::int64_t item, head;
};

template <class S>
S* start_of(const Tensor& x, const HeadLayout& layout, Pair at) {
  return x.data<S>() + at.item * layout.batch_stride +
         layout.head_offsets[static_cast<std::size_t>(at.head)];
}

// Rows [first, first + rows) of a head -> (rows, dim).
template <class S>
void load_rows(const Tensor& x, const HeadLayout& layout, Pair at, std::int64_t first,
               std::int64_t rows, Compute<S>* to) {
  simd::kernels().of<S>().take_rows(start_of<S>(x, layout, at) + first * layout.token_stride,
                                    layout.token_stride, to, rows, layout.dim);
}

// All rows of a head -> (dim, ld), zeros behind the last one.
template <class S>
void load_transposed(const Tensor& x, const HeadLayout& layout, Pair at, std::int64_t rows,
                     std::int64_t ld, Compute<S>* to) {
  simd::kernels().of<S>().take_columns(start_of<S>(x, layout, at), layout.token_stride, to, ld,
                                       rows, layout.dim);
}

// Writes (rows, dim) to a head's rows of the gradient, or adds it.
template <class S>
void store_rows(const Compute<S>* from, bool add, const Tensor& gradient, const HeadLayout& layout,
                Pair at, std::int64_t first, std::int64_t rows) {
  simd::kernels().of<S>().put_rows(1, from, add,
                                   start_of<S>(gradient, layout, at) + first * layout.token_stride,
                                   layout.token_stride, rows, layout.dim);
}

// Scratch memory of one piece of work, allocated in aligned parts.
template <class C>
class Scratch {
 public:
  /// `size`: the sum of all parts, of which there may be kParts.
  Scratch(std::int64_t size, const Tensor& like)
      : memory_(Tensor::empty({size + kParts * simd::kSlack}, kDTypeOf<C>, like.device())),
        next_(memory_.data<C>()) {}
  C* allocate(std::int64_t size) {
    const std::int64_t whole = (size + simd::kSlack - 1) / simd::kSlack * simd::kSlack;
    return std::exchange(next_, next_ + whole);
  }

 private:
  static constexpr std::int64_t kParts = 32;
  Tensor memory_;
  C* next_;
};

}  // namespace fovea::cpu
