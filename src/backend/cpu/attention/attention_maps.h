// The maps of one attention call, a block of queries at a time: what its forward and its backward
// pass share.
#pragma once

#include <limits>
#include <vector>

#include "backend/cpu/attention/attention_heads.h"
#include "backend/cpu/simd/amx.h"
#include "backend/cpu/simd/simd.h"

namespace fovea::cpu {

template <class C>
constexpr C kNever = -std::numeric_limits<C>::infinity();

// Rows of scores in a block: tens to hundreds of KiB, in blocks of nearly equal size. Causal blocks
// have few rows, since each ends at the last key that one of its queries sees.
inline std::int64_t block_rows(const AttentionArgs& args) {
  constexpr std::int64_t kLow = 32;
  const std::int64_t most =
      args.causal ? kLow : std::max(kLow, (1 << 15) / std::max<std::int64_t>(1, args.keys));
  const std::int64_t blocks = std::max<std::int64_t>(1, (args.queries + most - 1) / most);
  return std::max<std::int64_t>(1, (args.queries + blocks - 1) / blocks);
}

// One stream of queries and keys; `index` is its place in lse.
struct Stream {
  const HeadLayout& q;
  const HeadLayout& k;
  std::int64_t index;
};

// Queries [first, first + rows) and the leading keys that at least one of them may attend to. Their
// maps are (rows, ld): ld is the number of keys rounded up to whole vectors; no query attends to
// the columns behind the last key.
struct QueryBlock {
  std::int64_t first, rows, keys, ld;
};

// At least one vector, which the kernels of rows need. Long rows are no multiple of 1 KiB: a block
// of columns would lie in few sets of the first-level cache.
inline std::int64_t whole_vectors(std::int64_t keys) {
  constexpr std::int64_t kLong = 1024, kSame = 256;
  const std::int64_t vectors = std::max<std::int64_t>(1, (keys + simd::kSlack - 1) / simd::kSlack);
  const std::int64_t n = vectors * simd::kSlack;
  return n >= kLong && n % kSame == 0 ? n + simd::kSlack : n;
}

/// S: how the tensors are stored. A block has rows_ rows at most, and ld_ columns.
template <class S>
class AttentionMaps {
 public:
  using C = Compute<S>;

  AttentionMaps(const AttentionArgs& args, const Tensor& mask)
      : args_(args),
        rows_(block_rows(args)),
        ld_(whole_vectors(args.keys)),
        mask_(mask.defined() ? mask.data<std::uint8_t>() : nullptr),
        kernels_(simd::kernels().of<C>()),
        product_(product_of(args)) {
    streams_.push_back({args.q, args.k, 0});
    if (args.two_maps()) streams_.push_back({args.q2, args.k2, 1});
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
  // Keys that query `query` sees if the mask allows them.
  std::int64_t reach(std::int64_t query) const {
    if (!args_.causal) return args_.keys;
    return std::clamp<std::int64_t>(query + 1 + args_.keys - args_.queries, 0, args_.keys);
  }
  QueryBlock block(std::int64_t first, std::int64_t end) const {
    const std::int64_t rows = std::min(rows_, end - first);
    const std::int64_t keys = reach(first + rows - 1);
    return {first, rows, keys, whole_vectors(keys)};
  }
  // c without gaps between its rows.
  void product(simd::Product<C> p) const {
    p.ldc = p.n;
    product_(p);
  }

  // The maps of a block before the softmax; disallowed keys are -inf. keys_transposed: (dim, ld) of
  // all keys that the block sees.
  void scores(const C* queries, const C* keys_transposed, std::int64_t ld, std::int64_t item,
              const QueryBlock& of, C* to) const {
    product({.m = of.rows,
             .n = of.ld,
             .k = args_.q.dim,
             .alpha = static_cast<C>(args_.scale),
             .a = queries,
             .a_row = args_.q.dim,
             .b = keys_transposed,
             .b_row = ld,
             .c = to});
    const std::uint8_t* allowed = mask_ == nullptr ? nullptr : mask_ + item * args_.keys;
    for (std::int64_t r = 0; r < of.rows; ++r) {
      const std::int64_t seen = reach(of.first + r);
      C* row = to + r * of.ld;
      if (allowed != nullptr) {
        for (std::int64_t j = 0; j < seen; ++j) row[j] = allowed[j] ? row[j] : kNever<C>;
      }
      std::fill(row + seen, row + of.ld, kNever<C>);
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

 private:
  using ProductKernel = void (*)(const simd::Product<C>&);

  // Small maps of narrow heads do not fill tile registers and are slower there (measured).
  static ProductKernel product_of(const AttentionArgs& args) {
    constexpr std::int64_t kFilled = 4096;
    if constexpr (std::is_same_v<S, BFloat16>) {
      if (simd::amx() != nullptr && args.keys * args.q.dim >= kFilled) return simd::amx()->product;
    }
    return simd::kernels().of<C>().product;
  }

  ProductKernel product_;
};

}  // namespace fovea::cpu
