// Linear attention with one map a head, or two over one value stream. Pieces are stretches of the
// tokens of an item, with all of their heads: first the keys, whose pieces' sums are added up, then
// the queries, a block of rows at a time, so that the rows of a projection are read in the order
// they lie in, and only the sums over the keys and a few blocks are in memory. Backward makes the
// sums again.
//
// Two maps share their products: with depth = 2 dim, K = [K1, K2] and u = [Q1 / z1, Q2 / z2],
//   y1 - lambda y2 = u [S1; -lambda S2],   [S1; S2] = K^T v.
#include "backend/cpu/attention_heads.h"
#include "backend/cpu/conv_pieces.h"
#include "backend/cpu/cpu_backend.h"

namespace fovea::cpu {
namespace {

constexpr std::int64_t kRows = 64;       // of a block: operands of its products stay in the cache
constexpr std::int64_t kStretches = 32;  // of all items, where there are so many blocks

// The queries or keys of one map or two. Where both lie next to each other they are one of twice
// the width.
struct Maps {
  const HeadLayout* layouts[2];
  std::int64_t count, width;

  Maps(const LinearAttentionArgs& args, const HeadLayout& one, const HeadLayout& two)
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

template <class S>
class LinearHeads {
 public:
  using C = Compute<S>;

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
        out_(merged(args)),
        sums_(sum_keys()),
        joined_(scratch<C>(args.batch * args.heads * depth_ * width_, in.q)) {
    for_heads([&](Pair at) { join(at); });
  }

  void forward(const Tensor& out) const {
    for_stretches(args_.queries, [&](std::int64_t, const Stretch& stretch) {
      Scratch<C> memory(kRows * (depth_ + width_ + maps_), in_.q);
      C* u = memory.take(kRows * depth_);
      C* y = memory.take(kRows * width_);
      C* divisors = memory.take(kRows * maps_);
      for_blocks(stretch, [&](std::int64_t first, std::int64_t rows, std::int64_t next) {
        near(in_.q, q_, stretch.item, first + rows, next);
        near(in_.gate, args_.gate, stretch.item, first + rows, next);
        for (std::int64_t head = 0; head < args_.heads; ++head) {
          const Pair at{stretch.item, head};
          divided_queries(at, first, rows, u, divisors);
          results(at, rows, u, y);
          kernels().finish_rows(finished(at, first, rows), y, row_of(out, out_, at, first),
                                out_.token_stride);
        }
      });
    });
  }

  void backward(const Tensor& dout, const LinearAttentionGradients& to) const {
    const Tensor sums = query_gradients(dout, to);
    if (to.weight.defined()) {
      const Tensor total = scratch<C>(width_, in_.q);
      std::fill_n(total.template data<C>(), width_, C{0});
      for (std::int64_t item = 0; item < args_.batch; ++item)
        add(weight_sums(sums, item), total.template data<C>(), width_);
      std::copy_n(total.template data<C>(), width_, to.weight.template data<C>());
    }
    if (args_.two_maps()) part_lambda(sums, to.lambda);
    if (to.k.defined() || to.v.defined()) key_gradients(sums, to);
  }

 private:
  // ---- Where things are ----

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
  // row (depth), then a row (width) for all.
  std::int64_t matrix_size() const { return depth_ * width_; }
  std::int64_t sums_size() const { return args_.heads * (matrix_size() + depth_) + width_; }
  C* matrix_of(const Tensor& sums, Pair at) const {
    return of_item(sums, at.item) + at.head * matrix_size();
  }
  C* row_sums(const Tensor& sums, Pair at) const {
    return of_item(sums, at.item) + args_.heads * matrix_size() + at.head * depth_;
  }
  C* weight_sums(const Tensor& sums, std::int64_t item) const {
    return of_item(sums, item) + args_.heads * (matrix_size() + depth_);
  }
  C* of_item(const Tensor& sums, std::int64_t item) const {
    return sums.template data<C>() + item * sums_size();
  }
  // Of matrices of heads that lie one after the other.
  C* of_head(const Tensor& matrices, Pair at) const {
    return matrices.template data<C>() + (at.item * args_.heads + at.head) * matrix_size();
  }
  // [S1; -lambda S2] of a head.
  C* joined(Pair at) const { return of_head(joined_, at); }

  // ---- How work is shared out ----

  // Calls body(number of the piece, its rows).
  template <class Body>
  void for_stretches(std::int64_t tokens, const Body& body) const {
    const std::int64_t length = stretch_length(tokens);
    const std::int64_t of_item = divide_up(tokens, length);
    pool_.run(args_.batch * of_item, [&](std::int64_t piece) {
      const std::int64_t first = piece % of_item * length;
      body(piece, {piece / of_item, first, std::min(tokens, first + length)});
    });
  }

  std::int64_t stretch_length(std::int64_t tokens) const {
    const std::int64_t stretches =
        std::max<std::int64_t>(1, kStretches / std::max<std::int64_t>(1, args_.batch));
    return std::max<std::int64_t>(1, divide_up(divide_up(tokens, kRows), stretches)) * kRows;
  }

  // Sums over all tokens of each item of what body(rows, sums of a piece) adds to zeros.
  template <class Body>
  Tensor sum_stretches(std::int64_t tokens, const Body& body) const {
    const std::int64_t of_item = divide_up(tokens, stretch_length(tokens));
    const std::int64_t size = sums_size();
    const Tensor parts = scratch<C>(args_.batch * of_item * size, in_.q);
    for_stretches(tokens, [&](std::int64_t piece, const Stretch& stretch) {
      const Tensor part = parts.rows(piece * size, (piece + 1) * size);
      std::fill_n(part.template data<C>(), size, C{0});
      body(stretch, part);
    });
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

  // Rows that come next, read in order: heads are met one after the other, each a short part of
  // every row, which the processor would fetch too late.
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
  static void near(const Tensor& x, const Maps& maps, std::int64_t item, std::int64_t first,
                   std::int64_t end) {
    for (std::int64_t i = 0; i < maps.count; ++i)
      near<kAccess>(x, *maps.layouts[i], maps.width, item, first, end);
  }

  // ---- Forward ----

  // phi of rows of a head, the maps next to each other: (rows, depth). Adds their sum to `sums`.
  void features(const Tensor& x, const Maps& maps, Pair at, std::int64_t first, std::int64_t rows,
                C* to, C* sums = nullptr) const {
    for (std::int64_t i = 0; i < maps.count; ++i) {
      const HeadLayout& layout = *maps.layouts[i];
      kernels().feature_rows(args_.feature_map, row_of(x, layout, at, first), layout.token_stride,
                             to + i * maps.width, depth_, rows, maps.width,
                             sums == nullptr ? nullptr : sums + i * maps.width);
    }
  }

  // u: features of queries over their denominators, which become `divisors` (maps, kRows).
  void divided_queries(Pair at, std::int64_t first, std::int64_t rows, C* u, C* divisors) const {
    features(in_.q, q_, at, first, rows, u);
    for (std::int64_t map = 0; map < maps_; ++map) {
      loops().divide_rows(row_sums(sums_, at) + map * dim_, static_cast<C>(args_.eps),
                          u + map * dim_, depth_, rows, dim_, divisors + map * kRows);
    }
  }

  // The sums over the keys, S and s.
  Tensor sum_keys() const {
    return sum_stretches(args_.keys, [&](const Stretch& stretch, const Tensor& sums) {
      Scratch<C> memory(kRows * (depth_ + width_), in_.q);
      C* k = memory.take(kRows * depth_);
      C* v = memory.take(kRows * width_);
      for_blocks(stretch, [&](std::int64_t first, std::int64_t rows, std::int64_t next) {
        near(in_.k, k_, stretch.item, first + rows, next);
        near(in_.v, args_.v, stretch.item, first + rows, next);
        for (std::int64_t head = 0; head < args_.heads; ++head) {
          const Pair at{stretch.item, head};
          const Pair in_part{0, head};
          features(in_.k, k_, at, first, rows, k, row_sums(sums, in_part));
          load<S>(in_.v, args_.v, at, first, rows, v);
          add_outer(k, v, rows, matrix_of(sums, in_part));
        }
      });
    });
  }

  void join(Pair at) const {
    C* to = joined(at);
    std::copy_n(matrix_of(sums_, at), matrix_size(), to);
    if (!args_.two_maps()) return;
    const C* lambda = in_.lambda.template data<C>() + at.head * width_;
    for (std::int64_t i = matrix_size() / 2; i < matrix_size(); ++i) to[i] *= -lambda[i % width_];
  }

  // m += left^T right.
  void add_outer(const C* left, const C* right, std::int64_t rows, C* m) const {
    loops().product({.m = depth_,
                     .n = width_,
                     .k = rows,
                     .a = left,
                     .a_row = 1,
                     .a_column = depth_,
                     .b = right,
                     .b_row = width_,
                     .c = m,
                     .ldc = width_,
                     .accumulate = true});
  }

  // to (rows, n) = x (rows, k) m (k, n).
  static void times(const C* x, const C* m, std::int64_t rows, std::int64_t k, std::int64_t n,
                    C* to) {
    loops().product(
        {.m = rows, .n = n, .k = k, .a = x, .a_row = k, .b = m, .b_row = n, .c = to, .ldc = n});
  }

  void results(Pair at, std::int64_t rows, const C* u, C* y) const {
    times(u, joined(at), rows, depth_, width_, y);
  }

  simd::FinishedRows<S> finished(Pair at, std::int64_t first, std::int64_t rows) const {
    simd::FinishedRows<S> h{.rows = rows,
                            .n = width_,
                            .weight = optional<C>(in_.weight),
                            .eps = static_cast<C>(args_.norm_eps)};
    if (!in_.gate.defined()) return h;
    h.gate = row_of(in_.gate, args_.gate, at, first);
    h.gate_ld = args_.gate.token_stride;
    h.op = args_.gate_op;
    return h;
  }

  // ---- Backward ----

  // Writes the gradients of queries and gates; gives those of `joined`, of s, and of the weight.
  Tensor query_gradients(const Tensor& dout, const LinearAttentionGradients& to) const {
    const Tensor turned = transposed([&](Pair at) { return joined(at); });
    return sum_stretches(args_.queries, [&](const Stretch& stretch, const Tensor& sums) {
      Scratch<C> memory(kRows * (2 * depth_ + 3 * width_ + maps_), in_.q);
      C* u = memory.take(kRows * depth_);
      C* du = memory.take(kRows * depth_);
      C* y = memory.take(kRows * width_);
      C* dy = memory.take(kRows * width_);
      C* dgate = memory.take(kRows * width_);
      C* divisors = memory.take(kRows * maps_);
      for_blocks(stretch, [&](std::int64_t first, std::int64_t rows, std::int64_t next) {
        near(in_.q, q_, stretch.item, first + rows, next);
        near(in_.gate, args_.gate, stretch.item, first + rows, next);
        near(dout, out_, stretch.item, first + rows, next);
        near<Access::kWrite>(to.q, q_, stretch.item, first, first + rows);
        near<Access::kWrite>(to.gate, args_.gate, stretch.item, first, first + rows);
        for (std::int64_t head = 0; head < args_.heads; ++head) {
          const Pair at{stretch.item, head};
          const Pair in_part{0, head};
          divided_queries(at, first, rows, u, divisors);
          results(at, rows, u, y);
          kernels().finish_rows_backward(finished(at, first, rows), y,
                                         row_of(dout, out_, at, first), out_.token_stride, dy,
                                         to.gate.defined() ? dgate : nullptr, weight_sums(sums, 0));
          if (to.gate.defined()) put<S>(dgate, args_.add, to.gate, args_.gate, at, first, rows);
          add_outer(u, dy, rows, matrix_of(sums, in_part));
          times(dy, of_head(turned, at), rows, width_, depth_, du);
          for (std::int64_t map = 0; map < maps_; ++map) {
            loops().query_gradient_rows(args_.feature_map, row_sums(sums_, at) + map * dim_,
                                        divisors + map * kRows, u + map * dim_, du + map * dim_,
                                        depth_, rows, dim_, row_sums(sums, in_part) + map * dim_);
          }
          if (to.q.defined()) put_maps(du, to.q, q_, at, first, rows);
        }
      });
    });
  }

  // The gradient of `joined` becomes that of S, and that of lambda is what is left of it.
  void part_lambda(const Tensor& sums, const Tensor& dlambda) const {
    for (std::int64_t head = 0; head < args_.heads; ++head) {
      const C* lambda = in_.lambda.template data<C>() + head * width_;
      C* gradient = dlambda.defined() ? dlambda.template data<C>() + head * width_ : nullptr;
      if (gradient != nullptr) std::fill_n(gradient, width_, C{0});
      for (std::int64_t item = 0; item < args_.batch; ++item) {
        const C* s = matrix_of(sums_, {item, head});
        C* ds = matrix_of(sums, {item, head});
        for (std::int64_t i = matrix_size() / 2; i < matrix_size(); ++i) {
          if (gradient != nullptr) gradient[i % width_] -= ds[i] * s[i];
          ds[i] *= -lambda[i % width_];
        }
      }
    }
  }

  void key_gradients(const Tensor& sums, const LinearAttentionGradients& to) const {
    const Tensor turned = transposed([&](Pair at) { return matrix_of(sums, at); });
    for_stretches(args_.keys, [&](std::int64_t, const Stretch& stretch) {
      Scratch<C> memory(kRows * (2 * depth_ + 2 * width_), in_.q);
      C* k = memory.take(kRows * depth_);
      C* dk = memory.take(kRows * depth_);
      C* v = memory.take(kRows * width_);
      C* dv = memory.take(kRows * width_);
      for_blocks(stretch, [&](std::int64_t first, std::int64_t rows, std::int64_t next) {
        near(in_.k, k_, stretch.item, first + rows, next);
        near(in_.v, args_.v, stretch.item, first + rows, next);
        near<Access::kWrite>(to.k, k_, stretch.item, first, first + rows);
        near<Access::kWrite>(to.v, args_.v, stretch.item, first, first + rows);
        for (std::int64_t head = 0; head < args_.heads; ++head) {
          const Pair at{stretch.item, head};
          features(in_.k, k_, at, first, rows, k);
          if (to.v.defined()) {
            times(k, matrix_of(sums, at), rows, depth_, width_, dv);
            put<S>(dv, args_.add, to.v, args_.v, at, first, rows);
          }
          if (!to.k.defined()) continue;
          load<S>(in_.v, args_.v, at, first, rows, v);
          times(v, of_head(turned, at), rows, width_, depth_, dk);
          loops().key_gradient_rows(args_.feature_map, row_sums(sums, at), k, dk, rows, depth_);
          put_maps(dk, to.k, k_, at, first, rows);
        }
      });
    });
  }

  // (rows, depth), the maps next to each other, to the heads of each map.
  void put_maps(const C* from, const Tensor& to, const Maps& maps, Pair at, std::int64_t first,
                std::int64_t rows) const {
    const std::int64_t at_once = maps.count == 1 ? rows : 1;
    for (std::int64_t i = 0; i < maps.count; ++i) {
      const HeadLayout& layout = *maps.layouts[i];
      S* row = row_of(to, layout, at, first);
      for (std::int64_t r = 0; r < rows; r += at_once)
        kernels().put_rows(1, from + r * depth_ + i * maps.width, args_.add,
                           row + r * layout.token_stride, layout.token_stride, at_once, maps.width);
    }
  }

  // The matrices (depth, width) of all heads as (width, depth).
  template <class Matrix>
  Tensor transposed(const Matrix& matrix) const {
    const Tensor turned = scratch<C>(args_.batch * args_.heads * matrix_size(), in_.q);
    for_heads([&](Pair at) {
      const C* from = matrix(at);
      C* to = of_head(turned, at);
      for (std::int64_t i = 0; i < depth_; ++i) {
        for (std::int64_t j = 0; j < width_; ++j) to[j * depth_ + i] = from[i * width_ + j];
      }
    });
    return turned;
  }

  ThreadPool& pool_;
  const LinearAttentionArgs& args_;
  const LinearAttentionInputs& in_;
  std::int64_t maps_, dim_, depth_, width_;
  Maps q_, k_;
  HeadLayout out_;
  Tensor sums_;    // S and s of every item
  Tensor joined_;  // of every head of every item
};

}  // namespace

void CpuBackend::linear_attention(const LinearAttentionArgs& args, const LinearAttentionInputs& in,
                                  const Tensor& out) const {
  dispatch_stored("linear_attention", in.q.dtype(),
                  [&]<class S>(S) { LinearHeads<S>(pool_, args, in).forward(out); });
}

void CpuBackend::linear_attention_backward(const LinearAttentionArgs& args,
                                           const LinearAttentionInputs& in, const Tensor& dout,
                                           const LinearAttentionGradients& to) const {
  dispatch_stored("linear_attention_backward", in.q.dtype(),
                  [&]<class S>(S) { LinearHeads<S>(pool_, args, in).backward(dout, to); });
}

}  // namespace fovea::cpu
