// The maps of one attention call, a block of queries at a time: what its forward and its backward
// pass share.
#pragma once

#include <limits>
#include <vector>

#include "backend/cpu/attention_heads.h"
#include "backend/cpu/simd/simd.h"

namespace fovea::cpu {

template <class C>
constexpr C kNever = -std::numeric_limits<C>::infinity();

// Rows of scores a block holds: a few tens of KiB to a few hundred, in blocks of nearly equal size.
inline std::int64_t block_rows(const AttentionArgs& args) {
  const std::int64_t most =
      std::max<std::int64_t>(32, (1 << 15) / std::max<std::int64_t>(1, args.keys));
  const std::int64_t blocks = std::max<std::int64_t>(1, (args.queries + most - 1) / most);
  return std::max<std::int64_t>(1, (args.queries + blocks - 1) / blocks);
}

// One stream of queries and keys; `index` is its place in lse.
struct Stream {
  const HeadLayout& q;
  const HeadLayout& k;
  std::int64_t index;
};

/// S: how the tensors are stored. Memory of a map is (rows, ld), `rows_` rows at most; ld is the
/// number of keys rounded up to whole vectors, and the columns behind the last key are keys that
/// nobody may attend to.
template <class S>
class AttentionMaps {
 public:
  using C = Compute<S>;

  AttentionMaps(const AttentionArgs& args, int maps, const Tensor& mask)
      : args_(args),
        rows_(block_rows(args)),
        ld_((args.keys + simd::kSlack - 1) / simd::kSlack * simd::kSlack),
        mask_(mask.defined() ? mask.data<std::uint8_t>() : nullptr),
        kernels_(simd::kernels().of<C>()) {
    streams_.push_back({args.q, args.k, 0});
    if (maps == 2) streams_.push_back({args.q2, args.k2, 1});
  }

  const AttentionArgs& args() const { return args_; }

 protected:
  Pair pair(std::int64_t index) const { return {index / args_.heads, index % args_.heads}; }
  // Of a query, in tensors laid out (batch, queries, heads).
  std::int64_t place(Pair at, std::int64_t query) const {
    return (at.item * args_.queries + query) * args_.heads + at.head;
  }
  std::int64_t row(const Stream& stream, Pair at, std::int64_t query) const {
    return ((stream.index * args_.batch + at.item) * args_.heads + at.head) * args_.queries + query;
  }
  // b and c without gaps between their rows.
  void product(simd::Product<C> p) const {
    p.b_row = p.n;
    p.ldc = p.n;
    kernels_.product(p);
  }

  // (rows, ld); disallowed keys are -inf. keys_transposed: (dim, ld).
  void scores(const C* queries, const C* keys_transposed, std::int64_t dim, std::int64_t item,
              std::int64_t first, std::int64_t rows, C* to) const {
    product({.m = rows,
             .n = ld_,
             .k = dim,
             .alpha = static_cast<C>(args_.scale),
             .a = queries,
             .a_row = dim,
             .b = keys_transposed,
             .c = to});
    const std::int64_t keys = args_.keys;
    const std::uint8_t* allowed = mask_ == nullptr ? nullptr : mask_ + item * keys;
    for (std::int64_t r = 0; r < rows; ++r) {
      const std::int64_t reach = first + r + 1 + keys - args_.queries;
      const std::int64_t seen =
          args_.causal ? std::max<std::int64_t>(0, std::min(keys, reach)) : keys;
      C* row = to + r * ld_;
      if (allowed != nullptr) {
        for (std::int64_t j = 0; j < seen; ++j) row[j] = allowed[j] ? row[j] : kNever<C>;
      }
      std::fill(row + seen, row + ld_, kNever<C>);
    }
  }

  // c of a block of queries.
  void coefficients(const S* c, Pair at, std::int64_t first, std::int64_t rows, C* to) const {
    for (std::int64_t r = 0; r < rows; ++r) to[r] = static_cast<C>(c[place(at, first + r)]);
  }

  const AttentionArgs& args_;
  std::int64_t rows_;
  std::int64_t ld_;
  const std::uint8_t* mask_;  // (batch, keys) or null
  const simd::Kernels<C>& kernels_;
  std::vector<Stream> streams_;
};

}  // namespace fovea::cpu
