// Softmax attention a block of the map at a time: what its forward and its backward pass share. A
// block is some queries by up to kBlockKeys keys; its scores stay in the second-level cache. All
// sizes are constants or come from one head, so bits do not depend on threads or on the batch.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "backend/cpu/attention/attention_heads.h"
#include "backend/cpu/attention/map_rows.h"
#include "backend/cpu/attention/next_head.h"
#include "backend/cpu/attention/right_operand.h"
#include "backend/cpu/pieces.h"
#include "backend/cpu/simd/amx.h"
#include "backend/cpu/simd/simd.h"

namespace fovea::cpu {

/// 224: whole panels of every set of vectors; 14 lines of float, so that a column of a block lies
/// in half of the sets of the first-level cache.
inline constexpr std::int64_t kBlockKeys = AttentionArgs::kBlockKeys;

/// Queries of a block; fewer where more lies in the cache, or keys above the diagonal are left out.
inline std::int64_t block_queries(const AttentionArgs& args, bool backward) {
  return args.causal || (backward && args.two_maps()) ? 48 : 96;
}

/// One stream of queries and keys; `index` is its place in lse.
struct Stream {
  const HeadLayout& q;
  const HeadLayout& k;
  std::size_t index;
};

/// Rows or columns [first, first + count).
struct Span {
  std::int64_t first = 0, count = 0;
  std::int64_t end() const { return first + count; }
};

/// S: how the tensors are stored.
template <class S>
class AttentionBlocks {
 public:
  using C = Compute<S>;

  AttentionBlocks(const AttentionArgs& args, const Tensor& mask)
      : args_(args),
        mask_(mask.defined() ? mask.data<std::uint8_t>() : nullptr),
        kernels_(simd::kernels().of<C>()),
        tiles_(tiles_for(args)) {
    streams_.push_back({args.q, args.k, 0});
    if (args.two_maps()) streams_.push_back({args.q2, args.k2, 1});
  }

  const AttentionArgs& args() const { return args_; }

  /// At least one, so that a head without keys has results.
  std::int64_t key_blocks() const {
    return std::max<std::int64_t>(1, divide_up(args_.keys, kBlockKeys));
  }

 protected:
  std::int64_t maps() const { return std::ssize(streams_); }
  bool two_maps() const { return streams_.size() == 2; }
  // What a block of queries sees of a block of keys: no product meets what none of them sees.
  Span seen_of(const Span& keys, const Span& rows) const {
    return {keys.first,
            std::clamp<std::int64_t>(reach(rows.end() - 1) - keys.first, 0, keys.count)};
  }
  Span key_block(std::int64_t i) const {
    const std::int64_t first = i * kBlockKeys;
    return {first, std::clamp<std::int64_t>(args_.keys - first, 0, kBlockKeys)};
  }
  // Of a query, in tensors laid out (batch, queries, heads).
  std::int64_t place(Pair at, std::int64_t query) const {
    return (at.item * args_.queries + query) * args_.heads + at.head;
  }
  std::int64_t row(std::size_t stream, Pair at, std::int64_t query) const {
    return ((static_cast<std::int64_t>(stream) * args_.batch + at.item) * args_.heads + at.head) *
               args_.queries +
           query;
  }
  // Keys that query `query` sees if the mask allows them.
  std::int64_t reach(std::int64_t query) const {
    if (!args_.causal) return args_.keys;
    return std::clamp<std::int64_t>(query + 1 + args_.keys - args_.queries, 0, args_.keys);
  }

  // ---- Right operands ----

  // b = rows of a head: (rows, dim).
  RightOperand<C> pack_rows_of(const Tensor& x, const HeadLayout& layout, Pair at, const Span& rows,
                               C* to) const {
    const S* from = start_of<S>(x, layout, at) + rows.first * layout.token_stride;
    return pack(from, layout.token_stride, rows.count, layout.dim, to);
  }
  // b = rows ld elements apart.
  template <class T>
  RightOperand<C> pack(const T* from, std::int64_t ld, std::int64_t rows, std::int64_t dim,
                       C* to) const {
    if (tiles_ != nullptr) {
      simd::kernels().of<T>().take_rows(from, ld, to, rows, dim);
      return {to, dim};
    }
    simd::kernels().of<T>().pack_columns(from, ld, 1, rows, dim, to);
    return {to, rows};
  }
  // b = rows of a head transposed: (dim, rows), with zeros up to whole_vectors(rows) columns.
  RightOperand<C> pack_transposed(const Tensor& x, const HeadLayout& layout, Pair at,
                                  const Span& rows, C* to) const {
    const S* from = start_of<S>(x, layout, at) + rows.first * layout.token_stride;
    const auto& loops = simd::kernels().of<S>();
    if (tiles_ != nullptr) {
      const std::int64_t ld = whole_vectors<C>(rows.count);
      loops.take_columns(from, layout.token_stride, to, ld, rows.count, layout.dim);
      return {to, ld};
    }
    loops.pack_columns(from, 1, layout.token_stride, layout.dim, rows.count, to);
    return {to, layout.dim};
  }

  // p.b comes from `b`; c without gaps between its rows unless p says so.
  void product(simd::Product<C> p, const RightOperand<C>& b) const {
    if (tiles_ == nullptr) return times_packed(p, b);
    p.b = b.data;
    p.b_row = b.ld;
    if (p.ldc == 0) p.ldc = p.n;
    tiles_(p);
  }

  // ---- The map ----

  // Scores of a block, rows whole_vectors(keys.count) apart; those of keys that are not allowed are
  // -inf. queries: (rows.count, dim); keys_transposed: of these keys.
  void scores(const C* queries, const RightOperand<C>& keys_transposed, std::int64_t item,
              const Span& rows, const Span& keys, C* to, std::span<const simd::Ahead> ahead) const {
    const std::int64_t ld = whole_vectors<C>(keys.count);
    product({.m = rows.count,
             .n = whole_lanes<C>(keys.count),
             .k = args_.q.dim,
             .alpha = static_cast<C>(args_.scale),
             .a = queries,
             .a_row = args_.q.dim,
             .c = to,
             .ldc = ld,
             .ahead = ahead},
            keys_transposed);
    const std::uint8_t* allowed =
        mask_ == nullptr ? nullptr : mask_ + item * args_.keys + keys.first;
    for (std::int64_t r = 0; r < rows.count; ++r) {
      const std::int64_t seen =
          std::clamp<std::int64_t>(reach(rows.first + r) - keys.first, 0, keys.count);
      C* row = to + r * ld;
      if (allowed != nullptr) {
        for (std::int64_t j = 0; j < seen; ++j) row[j] = allowed[j] ? row[j] : kNever<C>;
      }
      std::fill(row + seen, row + ld, kNever<C>);
    }
  }

  // c of a block of queries.
  void coefficients(const S* c, Pair at, const Span& rows, C* to) const {
    for (std::int64_t r = 0; r < rows.count; ++r)
      to[r] = static_cast<C>(c[place(at, rows.first + r)]);
  }

  const AttentionArgs& args_;
  const std::uint8_t* mask_;  // (batch, keys) or null
  const simd::Kernels<C>& kernels_;
  std::vector<Stream> streams_;

 private:
  using Tiles = void (*)(const simd::Product<C>&);

  // Tile registers, or null. Small maps of narrow heads do not fill them and are slower there
  // (measured).
  static Tiles tiles_for(const AttentionArgs& args) {
    constexpr std::int64_t kFilled = 4096;
    if constexpr (std::is_same_v<S, BFloat16>) {
      if (simd::amx() != nullptr && args.keys * args.q.dim >= kFilled) return simd::amx()->product;
    }
    return nullptr;
  }

  Tiles tiles_;
};

}  // namespace fovea::cpu
