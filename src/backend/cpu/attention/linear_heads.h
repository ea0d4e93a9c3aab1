// What the kernels of linear attention share: the layout of heads and their sums, how tokens are
// divided among threads, and the steps on a block of rows of a head.
#pragma once

#include <algorithm>
#include <vector>

#include "backend/cpu/attention/attention_heads.h"
#include "backend/cpu/attention/small_products.h"
#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/pieces.h"

namespace fovea::cpu {

// The queries or keys of one map or two. Two that lie next to each other are read as one of twice
// the width.
struct LinearMaps {
  const HeadLayout* layouts[2];
  std::int64_t count, width;

  LinearMaps(const LinearAttentionArgs& args, const HeadLayout& one, const HeadLayout& two)
      : layouts{&one, &two}, count(args.two_maps() ? 2 : 1), width(args.q.dim) {
    bool adjacent = count == 2;
    for (std::size_t head = 0; adjacent && head < one.head_offsets.size(); ++head)
      adjacent = two.head_offsets[head] == one.head_offsets[head] + width;
    if (!adjacent) return;
    count = 1;
    width *= 2;
  }
};

// Rows [first, end) of an item.
struct Stretch {
  std::int64_t item, first, end;
};

// beta, gamma and z of the rows of a block, by magnitude; `keys` of the row's sums.
template <class C>
struct Magnitudes {
  C *beta, *gamma, *z, *keys;
};

template <class S>
class LinearHeads {
 public:
  using C = Compute<S>;

 protected:
  static constexpr std::int64_t kRows =
      64;  // of a block: operands of its products stay in the cache

  LinearHeads(ThreadPool& pool, const LinearAttentionArgs& args, const LinearAttentionInputs& in)
      : pool_(pool),
        args_(args),
        in_(in),
        maps_(args.two_maps() ? 2 : 1),
        dim_(args.q.dim),
        depth_(maps_ * dim_),
        width_(args.v.dim),
        q_(args, args.q, args.q2),
        k_(args, args.k, args.k2),
        out_(merged(args)) {}

  // ---- Layout ----

  static HeadLayout merged(const LinearAttentionArgs& args) {
    const std::int64_t width = args.heads * args.v.dim;
    HeadLayout layout{args.queries * width, width, {}, args.v.dim};
    for (std::int64_t head = 0; head < args.heads; ++head)
      layout.head_offsets.push_back(head * args.v.dim);
    return layout;
  }

  static const auto& kernels() { return simd::kernels().of<S>(); }
  static const auto& loops() { return simd::kernels().of<C>(); }
  static void add(const C* from, C* to, std::int64_t n) { loops().axpy(C{1}, from, to, n); }

  static S* row_of(const Tensor& x, const HeadLayout& layout, Pair at, std::int64_t first) {
    return start_of<S>(x, layout, at) + first * layout.token_stride;
  }

  // Sums over the tokens of an item: of every head a matrix (depth, width), then of every head a
  // row (depth), of every head a row (width), and a row (width) for all.
  std::int64_t matrix_size() const { return depth_ * width_; }
  std::int64_t sums_size() const {
    return args_.heads * (matrix_size() + depth_ + width_) + width_;
  }
  C* matrix_of(const Tensor& sums, Pair at) const {
    return of_item(sums, at.item) + at.head * matrix_size();
  }
  C* row_sums(const Tensor& sums, Pair at) const {
    return of_item(sums, at.item) + args_.heads * matrix_size() + at.head * depth_;
  }
  C* value_sums(const Tensor& sums, Pair at) const {
    return of_item(sums, at.item) + args_.heads * (matrix_size() + depth_) + at.head * width_;
  }
  C* weight_sums(const Tensor& sums, std::int64_t item) const {
    return of_item(sums, item) + args_.heads * (matrix_size() + depth_ + width_);
  }
  C* of_item(const Tensor& sums, std::int64_t item) const {
    return sums.template data<C>() + item * sums_size();
  }
  // The part of a head in `all`, which has `size` elements for each.
  C* of_head(const Tensor& all, std::int64_t size, Pair at) const {
    return all.template data<C>() + (at.item * args_.heads + at.head) * size;
  }

  // ---- Pieces of work ----

  // Calls body(number of the piece, its rows) for stretches that each have sums of their own.
  template <class Body>
  void for_stretches(std::int64_t tokens, const Body& body) const {
    for_stretches(tokens, stretch_length(tokens), body);
  }
  // Of rows that do not depend on each other.
  template <class Body>
  void for_rows(std::int64_t tokens, const Body& body) const {
    constexpr std::int64_t kPieces = 32;
    const std::int64_t of_item = divide_up(kPieces, std::max<std::int64_t>(1, args_.batch));
    for_stretches(tokens, length_for(tokens, of_item), body);
  }
  template <class Body>
  void for_stretches(std::int64_t tokens, std::int64_t length, const Body& body) const {
    const std::int64_t of_item = divide_up(tokens, length);
    pool_.run(args_.batch * of_item, [&](std::int64_t piece) {
      const std::int64_t first = piece % of_item * length;
      body(piece, {piece / of_item, first, std::min(tokens, first + length)});
    });
  }

  bool is_one_stretch(std::int64_t tokens) const {
    return tokens > 0 && stretch_length(tokens) >= tokens;
  }
  // It does not depend on the other items of the batch, nor does any sum.
  std::int64_t stretch_length(std::int64_t tokens) const {
    return length_for(tokens, piece_count(tokens * args_.heads * matrix_size(),
                                          {.few = 1, .least = least_work(), .size = sums_size()}));
  }
  static std::int64_t length_for(std::int64_t tokens, std::int64_t stretches) {
    return std::max<std::int64_t>(1, divide_up(divide_up(tokens, kRows), stretches)) * kRows;
  }

  // Multiply-adds of one product over a stretch, beside which its sums cost little.
  std::int64_t least_work() const {
    constexpr std::int64_t kLeastRows = 256, kLeastWork = 1 << 20;
    return std::max(kLeastWork, kLeastRows * args_.heads * matrix_size());
  }

  // The sums of each stretch, one after the other; body(rows, sums) adds them to zeros.
  template <class Body>
  Tensor stretch_sums(std::int64_t tokens, const Body& body) const {
    const std::int64_t size = sums_size();
    const Tensor parts =
        scratch<C>(args_.batch * divide_up(tokens, stretch_length(tokens)) * size, in_.q);
    for_stretches(tokens, [&](std::int64_t piece, const Stretch& stretch) {
      const Tensor part = parts.rows(piece * size, (piece + 1) * size);
      std::fill_n(part.template data<C>(), size, C{0});
      body(stretch, part);
    });
    return parts;
  }

  // The sums over all tokens of each item.
  template <class Body>
  Tensor sum_stretches(std::int64_t tokens, const Body& body) const {
    const std::int64_t of_item = divide_up(tokens, stretch_length(tokens));
    const std::int64_t size = sums_size();
    const Tensor parts = stretch_sums(tokens, body);
    if (of_item == 1) return parts;
    const Tensor total = scratch<C>(args_.batch * size, in_.q);
    for (std::int64_t item = 0; item < args_.batch; ++item)
      sum_parts(pool_, parts.template data<C>() + item * of_item * size, of_item, size,
                total.template data<C>() + item * size);
    return total;
  }

  // Calls body(first row, rows, end of the rows after these).
  template <class Body>
  static void for_blocks(const Stretch& stretch, const Body& body) {
    for (std::int64_t first = stretch.first; first < stretch.end; first += kRows) {
      body(first, std::min(kRows, stretch.end - first), std::min(stretch.end, first + 2 * kRows));
    }
  }

  template <class Body>
  void for_heads(const Body& body) const {
    pool_.run(args_.batch * args_.heads, [&](std::int64_t i) {
      body(Pair{i / args_.heads, i % args_.heads});
    });
  }

  // Prefetches rows that are about to be written, unless they are written past the caches.
  void near_gradient(const Tensor& to, const HeadLayout& layout, std::int64_t width,
                     std::int64_t item, std::int64_t first, std::int64_t end) const {
    if (!to.defined() || past_caches(to, layout, row_of(to, layout, {item, 0}, first), width))
      return;
    near<Access::kWrite>(to, layout, width, item, first, end);
  }
  void near_gradient(const Tensor& to, const LinearMaps& maps, std::int64_t item,
                     std::int64_t first, std::int64_t end) const {
    for (std::int64_t i = 0; i < maps.count; ++i)
      near_gradient(to, *maps.layouts[i], maps.width, item, first, end);
  }

  // Prefetches the next rows in order: each head reads a short part of every row, which the
  // processor would fetch too late.
  template <Access kAccess = Access::kRead>
  static void near(const Tensor& x, const HeadLayout& layout, std::int64_t width, std::int64_t item,
                   std::int64_t first, std::int64_t end) {
    if (!x.defined()) return;
    const auto [low, high] =
        std::minmax_element(layout.head_offsets.begin(), layout.head_offsets.end());
    const S* from = x.template data<S>() + item * layout.batch_stride + *low;
    for (std::int64_t row = first; row < end; ++row)
      bring_near<kAccess>(from + row * layout.token_stride, *high - *low + width);
  }
  template <Access kAccess = Access::kRead>
  static void near(const Tensor& x, const HeadLayout& layout, std::int64_t item, std::int64_t first,
                   std::int64_t end) {
    near<kAccess>(x, layout, layout.dim, item, first, end);
  }
  template <Access kAccess = Access::kRead>
  static void near(const Tensor& x, const LinearMaps& maps, std::int64_t item, std::int64_t first,
                   std::int64_t end) {
    for (std::int64_t i = 0; i < maps.count; ++i)
      near<kAccess>(x, *maps.layouts[i], maps.width, item, first, end);
  }

  // Rows [first, end) of all heads that a block of queries, or of keys, will read, and those that
  // it will write gradients to.
  void near_queries(std::int64_t item, std::int64_t first, std::int64_t end) const {
    near(in_.q, q_, item, first, end);
    near(in_.residual, args_.residual, item, first, end);
    near(in_.gate, args_.gate, item, first, end);
  }
  void near_keys(std::int64_t item, std::int64_t first, std::int64_t end) const {
    near(in_.k, k_, item, first, end);
    near(in_.v, args_.v, item, first, end);
  }
  void near_query_gradients(const LinearAttentionGradients& to, std::int64_t item,
                            std::int64_t first, std::int64_t end) const {
    near_gradient(to.q, q_, item, first, end);
    near_gradient(to.residual, args_.residual, width_, item, first, end);
    near_gradient(to.gate, args_.gate, width_, item, first, end);
  }
  void near_key_gradients(const LinearAttentionGradients& to, std::int64_t item, std::int64_t first,
                          std::int64_t end) const {
    near_gradient(to.k, k_, item, first, end);
    near_gradient(to.v, args_.v, width_, item, first, end);
  }

  // ---- Steps on rows of a head ----

  // phi of rows, the maps next to each other: (rows, depth). Adds their sum to `sums`.
  void features(const Tensor& x, const LinearMaps& maps, Pair at, std::int64_t first,
                std::int64_t rows, C* to, C* sums = nullptr) const {
    for (std::int64_t i = 0; i < maps.count; ++i) {
      const HeadLayout& layout = *maps.layouts[i];
      kernels().feature_rows(args_.feature_map, row_of(x, layout, at, first), layout.token_stride,
                             to + i * maps.width, depth_, rows, maps.width,
                             sums == nullptr ? nullptr : sums + i * maps.width);
    }
  }

  // phi of keys, 0 for those that are masked.
  void key_features(Pair at, std::int64_t first, std::int64_t rows, C* to,
                    C* sums = nullptr) const {
    if (!in_.mask.defined()) return features(in_.k, k_, at, first, rows, to, sums);
    features(in_.k, k_, at, first, rows, to);
    hide(at.item, first, rows, depth_, to);
    if (sums != nullptr) loops().sum_rows(nullptr, to, rows, depth_, sums);
  }

  // Values, with zeros where they are masked.
  void values(Pair at, std::int64_t first, std::int64_t rows, C* to) const {
    load_rows<S>(in_.v, args_.v, at, first, rows, to);
    hide(at.item, first, rows, width_, to);
  }

  // Clears the rows (n wide) of tokens that are masked.
  void hide(std::int64_t item, std::int64_t first, std::int64_t rows, std::int64_t n, C* x) const {
    if (!in_.mask.defined()) return;
    const std::uint8_t* mask = in_.mask.template data<std::uint8_t>() + item * args_.keys + first;
    for (std::int64_t r = 0; r < rows; ++r) {
      if (mask[r] == 0) std::fill_n(x + r * n, n, C{0});
    }
  }
  // The same for queries, where these are the tokens of the keys.
  void hide_queries(std::int64_t item, std::int64_t first, std::int64_t rows, std::int64_t n,
                    C* x) const {
    if (args_.queries == args_.keys) hide(item, first, rows, n, x);
  }

  // Rows of x turned by their rotary positions (`back`: the other way), in `room`.
  C* rotated(bool back, std::int64_t first, std::int64_t rows, const C* x, C* room) const {
    const C* cos = in_.cos.template data<C>() + first * dim_ / 2;
    const C* sin = in_.sin.template data<C>() + first * dim_ / 2;
    loops().rotate_rows(back, cos, sin, x, depth_, room, depth_, rows, depth_);
    return room;
  }
  bool rotates() const { return in_.cos.defined(); }

  // beta and gamma of rows, from z and the number of keys.
  void weigh(std::int64_t rows, const Magnitudes<C>& m) const {
    const MagnitudeArgs& by = args_.magnitude;
    const C eps = static_cast<C>(args_.eps);
    const C otherwise{in_.gamma.defined() ? C{1} : C{0}};
    for (std::int64_t r = 0; r < rows; ++r) {
      if (by.sums_at_least_eps) m.z[r] = std::max(m.z[r], eps);
      m.beta[r] = by.beta ? 1 + 1 / (m.z[r] + eps) : C{1};
      m.gamma[r] = by.gamma ? m.z[r] / m.keys[r] : otherwise;
    }
  }

  // The gradient of z, from those of beta and gamma.
  void weigh_backward(std::int64_t rows, const Magnitudes<C>& m, const C* dbeta, const C* dgamma,
                      C* dz) const {
    const MagnitudeArgs& by = args_.magnitude;
    const C eps = static_cast<C>(args_.eps);
    for (std::int64_t r = 0; r < rows; ++r) {
      C total{0};
      const C shifted = m.z[r] + eps;
      if (by.beta) total -= dbeta[r] / shifted / shifted;
      if (by.gamma) total += dgamma[r] / m.keys[r];
      dz[r] = by.sums_at_least_eps && m.z[r] <= eps ? C{0} : total;
    }
  }

  // c for this number of keys.
  C scale_of(C keys) const {
    const MagnitudeArgs& by = args_.magnitude;
    const C scale = static_cast<C>(by.scale);
    return by.over_keys ? scale / keys : scale;
  }

  // m (depth, width) += factor left^T right, of `rows` rows.
  void add_outer(const C* left, const C* right, std::int64_t rows, C* m, C factor = 1) const {
    transposed_times({depth_, width_, rows}, left, depth_, right, m,
                     {.alpha = factor, .accumulate = true});
  }

  // Whether a norm, a gate or a residual sum follows the heads' results.
  bool finishes() const {
    return in_.weight.defined() || in_.gate.defined() || in_.residual.defined();
  }

  simd::FinishedRows<S> finished(Pair at, std::int64_t first, std::int64_t rows) const {
    simd::FinishedRows<S> h{.rows = rows,
                            .n = width_,
                            .weight = optional<C>(in_.weight),
                            .eps = static_cast<C>(args_.norm_eps)};
    if (in_.residual.defined()) {
      h.residual = row_of(in_.residual, args_.residual, at, first);
      h.residual_ld = args_.residual.token_stride;
    }
    if (!in_.gate.defined()) return h;
    h.gate = row_of(in_.gate, args_.gate, at, first);
    h.gate_ld = args_.gate.token_stride;
    h.op = args_.gate_op;
    return h;
  }

  // dy, the gradient of the results y. Writes the gradients of residual and gate, adds to that of
  // the weight. room: (2 rows, width).
  void finish_backward(Pair at, std::int64_t first, std::int64_t rows, const C* y,
                       const Tensor& dout, const LinearAttentionGradients& to, C* dy, C* room,
                       C* dweight) const {
    if (!finishes()) return load_rows<S>(dout, out_, at, first, rows, dy);
    const simd::FinishedGradients<C> gradients{
        .residual = to.residual.defined() ? room : nullptr,
        .gate = to.gate.defined() ? room + rows * width_ : nullptr,
        .weight = dweight};
    kernels().finish_rows_backward(finished(at, first, rows), y, row_of(dout, out_, at, first),
                                   out_.token_stride, dy, gradients);
    if (to.residual.defined())
      put_gradients(gradients.residual, width_, to.residual, args_.residual, at, first, rows);
    if (to.gate.defined())
      put_gradients(gradients.gate, width_, to.gate, args_.gate, at, first, rows);
  }

  // Writes the gradients (rows, n) of a head to its rows, or adds them.
  void put_gradients(const C* from, std::int64_t n, const Tensor& to, const HeadLayout& layout,
                     Pair at, std::int64_t first, std::int64_t rows) const {
    S* row = row_of(to, layout, at, first);
    if (past_caches(to, layout, row, n)) {
      kernels().stream_rows(from, row, layout.token_stride, rows, n);
    } else {
      kernels().put_rows(1, from, args_.add, row, layout.token_stride, rows, n);
    }
  }
  bool past_caches(const Tensor& to, const HeadLayout& layout, const S* row, std::int64_t n) const {
    constexpr auto kBytes = static_cast<std::int64_t>(sizeof(S));
    return !args_.add &&
           simd::goes_past_caches(to.bytes(), row, layout.token_stride * kBytes, n * kBytes);
  }

  // Writes (rows, depth), with the maps next to each other, to the heads of each map.
  void put_maps(const C* from, const Tensor& to, const LinearMaps& maps, Pair at,
                std::int64_t first, std::int64_t rows) const {
    const std::int64_t at_once = maps.count == 1 ? rows : 1;
    for (std::int64_t i = 0; i < maps.count; ++i) {
      for (std::int64_t r = 0; r < rows; r += at_once)
        put_gradients(from + r * depth_ + i * maps.width, maps.width, to, *maps.layouts[i], at,
                      first + r, at_once);
    }
  }

  // The gradient of the norm's weight from its parts, one for each item or stretch.
  template <class PartOf>
  void write_weight_gradient(std::int64_t parts, const PartOf& part, const Tensor& to) const {
    if (!to.defined()) return;
    const Tensor total = scratch<C>(width_, in_.q);
    std::fill_n(total.template data<C>(), width_, C{0});
    for (std::int64_t i = 0; i < parts; ++i) add(part(i), total.template data<C>(), width_);
    std::copy_n(total.template data<C>(), width_, to.template data<C>());
  }

  ThreadPool& pool_;
  const LinearAttentionArgs& args_;
  const LinearAttentionInputs& in_;
  std::int64_t maps_, dim_, depth_, width_;
  LinearMaps q_, k_;
  HeadLayout out_;
};

}  // namespace fovea::cpu
