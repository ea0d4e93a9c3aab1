// Linear attention with one map a head, or two over one value stream. A head of an item is one
// piece of work: its keys are met a block at a time, then its queries, so that only the sums over
// the keys (dim x width) and a few blocks of rows are in memory. Backward makes these sums again.
#include <limits>
#include <span>

#include "backend/cpu/attention_heads.h"
#include "backend/cpu/cpu_backend.h"

namespace fovea::cpu {
namespace {

constexpr std::int64_t kRows = 128;  // of a block: operands of its products stay in the cache

template <class S>
class LinearHead {
 public:
  using C = Compute<S>;

  LinearHead(const LinearAttentionArgs& args, const LinearAttentionInputs& in, Pair at)
      : args_(args),
        in_(in),
        at_(at),
        dim_(args.q.dim),
        width_(args.v.dim),
        scratch_(size(), in.q),
        ones_(scratch_.take(kRows)),
        features_(scratch_.take(kRows * dim_)),
        below_(scratch_.take(kRows * dim_)),
        gradient_(scratch_.take(kRows * dim_)),
        values_(scratch_.take(kRows * width_)),
        upstream_(scratch_.take(kRows * width_)),
        result_(scratch_.take(kRows * width_)),
        dvalues_(scratch_.take(kRows * width_)),
        dz_(scratch_.take(kRows)),
        dlambda_(scratch_.take(width_)) {
    std::fill_n(ones_, kRows, C{1});
    streams_[0] = {&args.q, &args.k};
    if (args.two_maps()) streams_[count_++] = {&args.q2, &args.k2};
    for (Stream& stream : streams()) {
      for (C** part : {&stream.s, &stream.ds}) *part = scratch_.take(dim_ * width_);
      for (C** part : {&stream.sum, &stream.dsum}) *part = scratch_.take(dim_);
    }
    sum_keys();
  }

  void forward(const HeadLayout& out_layout, const Tensor& out) {
    for_blocks(args_.queries, [&](std::int64_t first, std::int64_t rows) {
      for (const Stream& stream : streams()) {
        const bool second = &stream != streams_;
        C* y = second ? upstream_ : result_;
        load_features(in_.q, *stream.q, first, rows);
        divided(stream, rows, y);
        if (second) subtract(rows);
      }
      put<S>(result_, false, out, out_layout, at_, first, rows);
    });
  }

  /// dlambda: (width) partial sums of this head of this item, or null.
  void backward(const HeadLayout& out_layout, const Tensor& dout,
                const LinearAttentionGradients& to, C* dlambda) {
    for (const Stream& stream : streams()) {
      std::fill_n(stream.ds, dim_ * width_, C{0});
      std::fill_n(stream.dsum, dim_, C{0});
    }
    std::fill_n(dlambda_, width_, C{0});
    for_blocks(args_.queries, [&](std::int64_t first, std::int64_t rows) {
      load<S>(dout, out_layout, at_, first, rows, upstream_);
      for (const Stream& stream : streams()) query_gradients(stream, first, rows, to.q);
    });
    if (dlambda != nullptr) std::copy_n(dlambda_, width_, dlambda);
    if (!to.k.defined() && !to.v.defined()) return;
    for_blocks(args_.keys, [&](std::int64_t first, std::int64_t rows) {
      load<S>(in_.v, args_.v, at_, first, rows, values_);
      for (const Stream& stream : streams()) key_gradients(stream, first, rows, to.k);
      if (to.v.defined()) put<S>(dvalues_, args_.add, to.v, args_.v, at_, first, rows);
    });
  }

 private:
  struct Stream {
    const HeadLayout* q = nullptr;
    const HeadLayout* k = nullptr;
    C* s = nullptr;  // S (dim, width), and its gradient
    C* ds = nullptr;
    C* sum = nullptr;  // s (dim), and its gradient
    C* dsum = nullptr;
  };

  std::span<Stream> streams() { return {streams_, count_}; }

  std::int64_t size() const {
    return 4 * dim_ * (width_ + 1) + kRows * (2 + 3 * dim_ + 4 * width_) + width_;
  }

  template <class Body>
  static void for_blocks(std::int64_t count, const Body& body) {
    for (std::int64_t first = 0; first < count; first += kRows)
      body(first, std::min(kRows, count - first));
  }

  const C* lambda() const { return in_.lambda.data<C>() + at_.head * width_; }

  void unary(UnaryOp op, double a, double b, const C* x, C* y, std::int64_t n) const {
    simd::kernels().of<C>().unary(op, a, b, x, y, n);
  }
  void product(const simd::Product<C>& p) const { simd::kernels().of<C>().product(p); }

  // phi of rows of a head into features_. gdla 2.2; exp(x) below 0, not elu(x) + 1, which would
  // round small ones away.
  void load_features(const Tensor& x, const HeadLayout& layout, std::int64_t first,
                     std::int64_t rows) {
    load<S>(x, layout, at_, first, rows, features_);
    if (args_.feature_map == FeatureMap::kNone) return;
    const std::int64_t n = rows * dim_;
    unary(UnaryOp::kClamp, -std::numeric_limits<double>::infinity(), 0, features_, below_, n);
    unary(UnaryOp::kExp, 0, 0, below_, below_, n);
    unary(UnaryOp::kRelu, 0, 0, features_, features_, n);
    simd::kernels().of<C>().axpy(C{1}, below_, features_, n);
  }

  // gradient_ of features_ to that of what they were made of, into its place in `to`.
  void put_through(const Tensor& to, const HeadLayout& layout, std::int64_t first,
                   std::int64_t rows) {
    if (args_.feature_map != FeatureMap::kNone) {
      const std::int64_t n = rows * dim_;
      unary(UnaryOp::kClamp, -std::numeric_limits<double>::infinity(), 1, features_, below_, n);
      simd::kernels().of<C>().binary(BinaryOp::kMul, gradient_, 1, below_, 1, gradient_, n);
    }
    put<S>(gradient_, args_.add, to, layout, at_, first, rows);
  }

  // S and s of every stream.
  void sum_keys() {
    for (const Stream& stream : streams()) {
      std::fill_n(stream.s, dim_ * width_, C{0});
      std::fill_n(stream.sum, dim_, C{0});
    }
    for_blocks(args_.keys, [&](std::int64_t first, std::int64_t rows) {
      load<S>(in_.v, args_.v, at_, first, rows, values_);
      for (const Stream& stream : streams()) {
        load_features(in_.k, *stream.k, first, rows);
        add_outer(features_, values_, ones_, rows, stream.s, stream.sum);
      }
    });
  }

  // s += left^T right, sum += weights . rows of left.
  void add_outer(const C* left, const C* right, const C* weights, std::int64_t rows, C* s,
                 C* sum) const {
    product({.m = dim_,
             .n = width_,
             .k = rows,
             .a = left,
             .a_row = 1,
             .a_column = dim_,
             .b = right,
             .b_row = width_,
             .c = s,
             .ldc = width_,
             .accumulate = true});
    product({.m = 1,
             .n = dim_,
             .k = rows,
             .a = weights,
             .a_row = rows,
             .b = left,
             .b_row = dim_,
             .c = sum,
             .ldc = dim_,
             .accumulate = true});
  }

  // y = (Q S) / (Q . s + eps) for features_ Q; dz_ becomes one over the denominator.
  void divided(const Stream& stream, std::int64_t rows, C* y) {
    product({.m = rows,
             .n = width_,
             .k = dim_,
             .a = features_,
             .a_row = dim_,
             .b = stream.s,
             .b_row = width_,
             .c = y,
             .ldc = width_});
    for (std::int64_t r = 0; r < rows; ++r) {
      const C z = simd::kernels().of<C>().dot(features_ + r * dim_, stream.sum, dim_);
      dz_[r] = C{1} / (z + static_cast<C>(args_.eps));
      unary(UnaryOp::kAffine, static_cast<double>(dz_[r]), 0, y + r * width_, y + r * width_,
            width_);
    }
  }

  // result_ -= lambda upstream_.
  void subtract(std::int64_t rows) {
    const C* weight = lambda();
    for (std::int64_t r = 0; r < rows; ++r) {
      C* y = result_ + r * width_;
      const C* y2 = upstream_ + r * width_;
      for (std::int64_t j = 0; j < width_; ++j) y[j] -= weight[j] * y2[j];
    }
  }

  // Adds to the gradients of S, s and lambda, and puts that of the queries. upstream_ is the
  // gradient of the first map's result; the second map, which comes last, turns it into its own.
  void query_gradients(const Stream& stream, std::int64_t first, std::int64_t rows,
                       const Tensor& dq) {
    load_features(in_.q, *stream.q, first, rows);
    divided(stream, rows, result_);
    if (&stream != streams_) turn_to_second(rows);
    for (std::int64_t r = 0; r < rows; ++r) {
      const C dot =
          simd::kernels().of<C>().dot(upstream_ + r * width_, result_ + r * width_, width_);
      unary(UnaryOp::kAffine, static_cast<double>(dz_[r]), 0, upstream_ + r * width_,
            result_ + r * width_, width_);
      dz_[r] *= -dot;
    }
    add_outer(features_, result_, dz_, rows, stream.ds, stream.dsum);
    if (!dq.defined()) return;
    times_transposed(result_, stream.s, rows);
    for (std::int64_t r = 0; r < rows; ++r)
      simd::kernels().of<C>().axpy(dz_[r], stream.sum, gradient_ + r * dim_, dim_);
    put_through(dq, *stream.q, first, rows);
  }

  // For the second result y2: dlambda -= upstream y2, upstream = -lambda upstream.
  void turn_to_second(std::int64_t rows) {
    const C* weight = lambda();
    for (std::int64_t r = 0; r < rows; ++r) {
      C* upstream = upstream_ + r * width_;
      const C* y2 = result_ + r * width_;
      for (std::int64_t j = 0; j < width_; ++j) {
        dlambda_[j] -= upstream[j] * y2[j];
        upstream[j] *= -weight[j];
      }
    }
  }

  // gradient_ = left s^T: (rows, width) (dim, width)^T.
  void times_transposed(const C* left, const C* s, std::int64_t rows) const {
    product({.m = rows,
             .n = dim_,
             .k = width_,
             .a = left,
             .a_row = width_,
             .b = s,
             .b_row = 1,
             .b_column = width_,
             .c = gradient_,
             .ldc = dim_});
  }

  // Puts the gradient of the keys; dvalues_ becomes that of the values, or more of it.
  void key_gradients(const Stream& stream, std::int64_t first, std::int64_t rows,
                     const Tensor& dk) {
    load_features(in_.k, *stream.k, first, rows);
    product({.m = rows,
             .n = width_,
             .k = dim_,
             .a = features_,
             .a_row = dim_,
             .b = stream.ds,
             .b_row = width_,
             .c = dvalues_,
             .ldc = width_,
             .accumulate = &stream != streams_});
    if (!dk.defined()) return;
    times_transposed(values_, stream.ds, rows);
    for (std::int64_t r = 0; r < rows; ++r)
      simd::kernels().of<C>().axpy(C{1}, stream.dsum, gradient_ + r * dim_, dim_);
    put_through(dk, *stream.k, first, rows);
  }

  const LinearAttentionArgs& args_;
  const LinearAttentionInputs& in_;
  Pair at_;
  std::int64_t dim_, width_;
  Scratch<C> scratch_;
  Stream streams_[2];
  std::size_t count_ = 1;
  C* ones_;
  C* features_;  // (rows, dim), phi of queries or keys
  C* below_;
  C* gradient_;  // (rows, dim)
  C* values_;    // (rows, width), and the following
  C* upstream_;
  C* result_;
  C* dvalues_;
  C* dz_;  // (rows)
  C* dlambda_;
};

// Of the result, heads next to each other.
HeadLayout merged(const LinearAttentionArgs& args) {
  const std::int64_t width = args.heads * args.v.dim;
  HeadLayout layout{args.queries * width, width, {}, args.v.dim};
  for (std::int64_t head = 0; head < args.heads; ++head)
    layout.head_offsets.push_back(head * args.v.dim);
  return layout;
}

Pair pair_of(const LinearAttentionArgs& args, std::int64_t piece) {
  return {piece / args.heads, piece % args.heads};
}

}  // namespace

void CpuBackend::linear_attention(const LinearAttentionArgs& args, const LinearAttentionInputs& in,
                                  const Tensor& out) const {
  const HeadLayout layout = merged(args);
  dispatch_stored("linear_attention", in.q.dtype(), [&]<class S>(S) {
    pool_.run(args.batch * args.heads, [&](std::int64_t piece) {
      LinearHead<S>(args, in, pair_of(args, piece)).forward(layout, out);
    });
  });
}

void CpuBackend::linear_attention_backward(const LinearAttentionArgs& args,
                                           const LinearAttentionInputs& in, const Tensor& dout,
                                           const LinearAttentionGradients& to) const {
  const HeadLayout layout = merged(args);
  dispatch_stored("linear_attention_backward", in.q.dtype(), [&]<class S>(S) {
    using C = Compute<S>;
    const std::int64_t width = args.heads * args.v.dim;
    Tensor partial;  // of lambda, from every item
    if (to.lambda.defined())
      partial = Tensor::empty({args.batch, width}, kDTypeOf<C>, in.q.device());
    pool_.run(args.batch * args.heads, [&](std::int64_t piece) {
      const Pair at = pair_of(args, piece);
      C* dlambda = optional<C>(partial);
      if (dlambda != nullptr) dlambda += at.item * width + at.head * args.v.dim;
      LinearHead<S>(args, in, at).backward(layout, dout, to, dlambda);
    });
    if (!to.lambda.defined()) return;
    reduce(ReduceOp::kSum, partial, to.lambda.alias({1, width}));
  });
}

}  // namespace fovea::cpu
