#include "ops/conv/patch_logits.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

#include "autograd/graph.h"
#include "backend/backend.h"
#include "base/error.h"
#include "ops/reduce.h"

namespace fovea::ops {
namespace {

using autograd::Gradients;
using autograd::Op;

// A grid of three axes (a grid of two is one plane) whose tokens have patches. A stretch is some
// rows of one plane of tokens. One row of places of its patches is computed at a time: these are
// whole rows of the result, a plane of which has `patch_rows` times as many.
struct PatchGrid {
  std::int64_t batch, d, h, w, channels;
  std::array<std::int64_t, 3> patch;
  std::int64_t classes;
  std::int64_t rows;  // of a stretch

  PatchGrid(const Tensor& x, const PatchHead& head, const Sizes& sizes)
      : batch(x.size(0)),
        d(x.rank() == 5 ? x.size(1) : 1),
        h(x.size(-3)),
        w(x.size(-2)),
        channels(x.size(-1)),
        patch{sizes.size() == 3 ? sizes[0] : 1, sizes[sizes.size() - 2], sizes.back()},
        classes(head.classes.size(0)) {
    constexpr std::int64_t kElements = 1 << 19;  // of a stretch's channels, so that caches hold it
    rows =
        std::clamp<std::int64_t>(kElements / std::max<std::int64_t>(1, out_row() * channels), 1, h);
  }
  std::int64_t out_row() const { return w * patch[2]; }
  std::int64_t out_plane() const { return h * patch[1] * out_row(); }
  std::int64_t out_size() const { return d * patch[0] * out_plane(); }  // of a class
  std::int64_t places() const { return patch[0] * patch[1]; }           // rows of places of a patch
  /// Rows of `expand` for a row of places.
  std::int64_t wide() const { return patch[2] * channels; }
};

// Part of a tensor's memory as a matrix of its own.
Tensor piece(const Tensor& x, std::int64_t first, const Shape& shape) {
  return x.alias({x.numel()}).rows(first, first + shape.numel()).alias(shape);
}

Tensor stored_as(const Tensor& x, DType dtype) {
  if (x.dtype() == dtype) return x;
  const Tensor y = Tensor::empty(x.shape(), dtype, x.device());
  backend(x).cast(x, y);
  return y;
}

// y (shape) = a op b
Tensor binary(BinaryOp op, const Tensor& a, const Tensor& b, const Shape& shape) {
  const Tensor y = Tensor::empty(shape, a.dtype(), a.device());
  backend(y).binary(op, a, b, y);
  return y;
}

// A row of places of a stretch, in forward and backward.
class Stretch {
 public:
  explicit Stretch(const PatchGrid& g) : g_(g) {}

  /// Calls visit() for all of them.
  template <class Visit>
  void for_each(const Visit& visit) {
    seen_ = 0;
    for (std::int64_t plane = 0; plane < g_.batch * g_.d; ++plane) {
      for (std::int64_t first = 0; first < g_.h; first += g_.rows) {
        rows_ = std::min(g_.rows, g_.h - first);
        token_ = (plane * g_.h + first) * g_.w;
        for (place_ = 0; place_ < g_.places(); ++place_) {
          const std::int64_t item = plane / g_.d;
          const std::int64_t out_plane = plane % g_.d * g_.patch[0] + place_ / g_.patch[1];
          const std::int64_t out_row = first * g_.patch[1] + place_ % g_.patch[1];
          out_ = item * g_.classes * g_.out_size() + out_plane * g_.out_plane() +
                 out_row * g_.out_row();
          visit();
          seen_ += size();
        }
      }
    }
  }

  std::int64_t tokens() const { return rows_ * g_.w; }
  /// Places: of each token those of a row of its patch.
  std::int64_t size() const { return tokens() * g_.patch[2]; }
  /// Of a tensor like x, the tokens: (tokens, c).
  Tensor of_tokens(const Tensor& x) const {
    return piece(x, token_ * g_.channels, {tokens(), g_.channels});
  }
  /// Of a number for every place of the map, in the order of visits, those of these: (size).
  Tensor of_places(const Tensor& numbers) const { return numbers.rows(seen_, seen_ + size()); }
  /// Of (rows, c) for every place of a patch those for these, below each other: (patch_w rows, c).
  Tensor of_patch(const Tensor& matrices) const {
    const std::int64_t rows = matrices.numel() / (g_.places() * g_.channels);
    return piece(matrices, place_ * rows * g_.channels, {rows, g_.channels});
  }
  /// Of a map of classes the rows of these places, as sums are stored: (k, size).
  Tensor of_map(const Tensor& map) const {
    const Tensor part = Tensor::empty({g_.classes, size()}, map.dtype(), map.device());
    backend(map).copy(rows_of(true), map, part);
    return stored_as(part, compute_dtype(map.dtype()));
  }
  /// The reverse, as the map is stored.
  void put(const Tensor& part, const Tensor& map) const {
    backend(map).copy(rows_of(false), part, map);
  }

 private:
  // Copies between the whole map and the rows of these places.
  CopyArgs rows_of(bool from_map) const {
    CopyArgs args;
    args.shape = {g_.classes, rows_, g_.out_row()};
    args.src_strides = {g_.out_size(), g_.patch[1] * g_.out_row(), 1};
    args.dst_strides = args.shape.strides().to_vector();
    args.src_offset = out_;
    if (from_map) return args;
    std::swap(args.src_strides, args.dst_strides);
    std::swap(args.src_offset, args.dst_offset);
    return args;
  }

  const PatchGrid& g_;
  std::int64_t rows_ = 0, token_ = 0, place_ = 0, out_ = 0, seen_ = 0;
};

// Logits, and to `rstd`, where it is defined, 1 / deviation of the channels of every place, in the
// order of visits.
void forward(const PatchGrid& g, const PatchHead& head, const Tensor& x, const Tensor& y,
             const Tensor& rstd) {
  const Tensor expand = stored_as(head.expand, x.dtype());
  const Tensor classes = stored_as(head.classes, x.dtype());
  const std::int64_t c = g.channels;
  Stretch s(g);
  s.for_each([&] {
    const Backend& kernels = backend(x);
    const Tensor channels = Tensor::empty({s.size(), c}, x.dtype(), x.device());
    kernels.gemm({.trans_b = true,
                  .m = s.tokens(),
                  .n = g.wide(),
                  .k = c,
                  .lda = c,
                  .ldb = c,
                  .ldc = g.wide()},
                 s.of_tokens(x), s.of_patch(expand), {}, channels);
    const Tensor normed = Tensor::empty_like(channels);
    const Tensor mean = Tensor::empty({s.size()}, compute_dtype(x.dtype()), x.device());
    kernels.layer_norm({.eps = head.eps,
                        .x = channels,
                        .weight = head.weight,
                        .bias = head.bias,
                        .y = normed,
                        .mean = mean,
                        .rstd = rstd.defined() ? s.of_places(rstd) : Tensor::empty_like(mean)});
    const Tensor part = Tensor::empty({g.classes, s.size()}, y.dtype(), y.device());
    kernels.gemm({.trans_b = true,
                  .m = g.classes,
                  .n = s.size(),
                  .k = c,
                  .lda = c,
                  .ldb = c,
                  .ldc = s.size()},
                 classes, normed, {}, part);
    s.put(part, y);
  });
}

// Sums over stretches.
Tensor zeros(const Shape& shape, const Tensor& like) {
  const Tensor x = Tensor::empty(shape, compute_dtype(like.dtype()), like.device());
  backend(x).fill(x, 0);
  return x;
}
void add_product(const GemmArgs& args, const Tensor& a, const Tensor& b, const Tensor& sum) {
  const Tensor term = Tensor::empty(sum.shape(), sum.dtype(), sum.device());
  backend(sum).gemm(args, a, b, {}, term);
  backend(sum).axpy(1, term, sum);
}

// A product for every place of a patch, of matrices one of which may be the same for all of them.
Tensor product(std::int64_t batch, const Tensor& a, bool trans_a, const Tensor& b, bool trans_b) {
  const std::int64_t m = a.size(trans_a ? -1 : -2);
  const std::int64_t n = b.size(trans_b ? -2 : -1);
  const std::int64_t k = a.size(trans_a ? -2 : -1);
  const Tensor y = Tensor::empty({batch, m, n}, a.dtype(), a.device());
  backend(y).gemm({.trans_a = trans_a,
                   .trans_b = trans_b,
                   .m = m,
                   .n = n,
                   .k = k,
                   .lda = a.size(-1),
                   .ldb = b.size(-1),
                   .ldc = n,
                   .batch = batch,
                   .stride_a = a.rank() == 2 ? 0 : m * k,
                   .stride_b = b.rank() == 2 ? 0 : k * n,
                   .stride_c = m * n},
                  a, b, {}, y);
  return y;
}

// x less its mean over an axis.
Tensor centred(const Tensor& x, int axis) {
  Shape shape = x.shape();
  shape[axis] = 1;
  const Tensor mean = Tensor::empty(shape, x.dtype(), x.device());
  backend(x).reduce(ReduceOp::kMean, x, mean);
  return binary(BinaryOp::kSub, x, mean, x.shape());
}

// Gradients from tokens alone, without the channels of their places, which would take the forward
// pass again and a pass through its norm. Let W be the rows of `expand` for a place, W' = W less
// its mean row, r = 1 / deviation, z = r W' x the normed channels, C = classes times the norm's
// weight, C' = C less its mean column, and C z the logits less what the norm's bias adds to them.
// With dl, the gradient of the logits, that of W x is
//   r (C' dl - (dl C z / c) z).
// With s = - r^2 (dl C z), one number a place, all gradients are made of
//   dx = sum over places of (C W')^T (r dl) + W'^T W' / c (s x)
// and of two sums over tokens, T = (r dl) x^T and M = (s x) x^T:
//   d expand = C'^T T + W' / c M,    dl z^T = sum over places of T W'^T.
class HeadBackward {
 public:
  HeadBackward(const PatchGrid& g, const PatchHead& head, const Tensor& x)
      : g_(g),
        head_(head),
        places_(g.places() * g.patch[2]),
        classes_(binary(BinaryOp::kMul, head.classes, head.weight, head.classes.shape())),
        expand_(centred(head.expand.alias({places_, g.channels, g.channels}), 1)),
        shared_(Tensor::empty_like(expand_)),
        first_moments_(zeros({places_, g.classes, g.channels}, x)),
        second_moments_(zeros(expand_.shape(), x)),
        dlogits_(zeros({g.classes, 1}, x)) {
    const UnaryParams by_channels{.a = 1.0 / static_cast<double>(g.channels)};
    backend(x).unary(UnaryOp::kAffine, by_channels, expand_, shared_);
  }

  /// Adds to the sums, and to dx where it is defined.
  void run(const Tensor& x, const Tensor& y, const Tensor& rstd, const Tensor& dy,
           const Tensor& dx) {
    const Backend& kernels = backend(x);
    const std::int64_t c = g_.channels, k = g_.classes, width = g_.patch[2];
    const Tensor of_scaled = stored_as(product(places_, expand_, true, shared_, false), x.dtype());
    const Tensor of_logits =
        stored_as(product(places_, classes_, false, expand_, false), x.dtype());
    const Tensor of_bias = product(1, head_.classes, false, head_.bias.alias({c, 1}), false);
    Stretch s(g_);
    s.for_each([&] {
      const std::int64_t n = s.tokens();
      const Tensor r = s.of_places(rstd).alias({1, s.size()});
      const Tensor dl = s.of_map(dy), terms = s.of_map(y);
      kernels.axpy(1, reduce_to(dl, dlogits_.shape()), dlogits_);
      kernels.binary(BinaryOp::kSub, of_bias.alias({k, 1}), terms, terms);
      kernels.binary(BinaryOp::kMul, terms, dl, terms);
      const Tensor scale = reduce_to(terms, r.shape());
      kernels.binary(BinaryOp::kMul, scale, r, scale);
      kernels.binary(BinaryOp::kMul, scale, r, scale);
      kernels.binary(BinaryOp::kMul, dl, r, dl);
      const Tensor tokens = s.of_tokens(x);
      const Tensor scaled = binary(BinaryOp::kMul, tokens.alias({n, 1, c}),
                                   stored_as(scale, x.dtype()).alias({n, width, 1}), {n, width, c});
      const Tensor turned = Tensor::empty({width, k, n}, dl.dtype(), dl.device());
      kernels.copy({.shape = turned.shape(),
                    .src_strides = {1, n * width, width},
                    .dst_strides = {k * n, n, 1}},
                   dl, turned);
      const Tensor logits = stored_as(turned, x.dtype());
      const std::int64_t wide = g_.wide();
      add_product({.m = width * k, .n = c, .k = n, .lda = n, .ldb = c, .ldc = c}, logits, tokens,
                  s.of_patch(first_moments_));
      add_product({.trans_a = true, .m = wide, .n = c, .k = n, .lda = wide, .ldb = c, .ldc = c},
                  scaled, tokens, s.of_patch(second_moments_));
      if (!dx.defined()) return;
      add_product({.trans_a = true, .m = n, .n = c, .k = width * k, .lda = n, .ldb = c, .ldc = c},
                  logits, s.of_patch(of_logits), s.of_tokens(dx));
      add_product({.m = n, .n = c, .k = wide, .lda = wide, .ldb = c, .ldc = c}, scaled,
                  s.of_patch(of_scaled), s.of_tokens(dx));
    });
  }

  Tensor dexpand() const {
    const Tensor y = product(places_, centred(classes_, 1), true, first_moments_, false);
    backend(y).axpy(1, product(places_, shared_, false, second_moments_, false), y);
    return y.alias(head_.expand.shape());
  }
  /// Of the norm's weight and bias, and of the classes.
  std::array<Tensor, 3> dnorm_and_classes() const {
    const Shape shape = head_.classes.shape(), row = head_.weight.shape();
    const Tensor dz = reduce_to(product(places_, first_moments_, false, expand_, true), shape);
    const Tensor dclasses = binary(BinaryOp::kMul, dz, head_.weight, shape);
    backend(dz).axpy(1, binary(BinaryOp::kMul, dlogits_, head_.bias.alias({1, row[0]}), shape),
                     dclasses);
    return {reduce_to(binary(BinaryOp::kMul, dz, head_.classes, shape), row),
            reduce_to(binary(BinaryOp::kMul, dlogits_, head_.classes, shape), row), dclasses};
  }

 private:
  const PatchGrid& g_;
  const PatchHead& head_;
  std::int64_t places_;
  Tensor classes_;                         // C
  Tensor expand_;                          // W'
  Tensor shared_;                          // W' / c
  Tensor first_moments_, second_moments_;  // T, M
  Tensor dlogits_;                         // sum of dl
};

void check(const Tensor& x, const PatchHead& head, const Sizes& patch) {
  const int axes = static_cast<int>(patch.size());
  std::int64_t places = 1;
  for (const std::int64_t size : patch) places *= size;
  const bool fits = (axes == 2 || axes == 3) && x.rank() == axes + 2 && places > 0;
  FOVEA_CHECK(fits, ShapeError,
              fmt::format("patch_logits: x is {}, patches are ({}); expected (b, grid..., c) and "
                          "a size for each of its two or three axes",
                          to_string(x.shape()), fmt::join(patch, ", ")));
  const std::int64_t c = x.size(-1);
  const DType dtype = compute_dtype(x.dtype());
  const bool sizes = head.expand.shape() == Shape{places * c, c} &&
                     head.weight.shape() == Shape{c} && head.bias.shape() == Shape{c} &&
                     head.classes.rank() == 2 && head.classes.size(1) == c;
  const bool types = head.expand.dtype() == dtype && head.weight.dtype() == dtype &&
                     head.bias.dtype() == dtype && head.classes.dtype() == dtype;
  FOVEA_CHECK(
      sizes && types, ShapeError,
      fmt::format("patch_logits: expand is {}, weight {}, bias {}, classes {}; expected {} ({}, "
                  "{}), ({}), ({}), (k, {})",
                  to_string(head.expand.shape()), to_string(head.weight.shape()),
                  to_string(head.bias.shape()), to_string(head.classes.shape()), name_of(dtype),
                  places * c, c, c, c, c));
}

}  // namespace

Tensor patch_logits(const Tensor& x, const PatchHead& head, const Sizes& patch) {
  check(x, head, patch);
  const PatchGrid g(x, head, patch);
  Shape shape{x.size(0), g.classes};
  for (std::size_t axis = 0; axis < patch.size(); ++axis)
    shape.push_back(x.size(static_cast<int>(axis) + 1) * patch[axis]);
  Op op("patch_logits", {x, head.expand, head.weight, head.bias, head.classes});
  const Tensor y = Tensor::empty(shape, x.dtype(), x.device());
  Tensor rstd;
  if (op.records()) {
    const std::int64_t places = y.numel() / std::max<std::int64_t>(1, g.classes);
    rstd = Tensor::empty({places}, compute_dtype(x.dtype()), x.device());
  }
  forward(g, head, x, y, rstd);
  op.macs(x.numel() * head.expand.size(0) + y.numel() * g.channels);
  const PatchHead of{op.keep(head.expand), op.keep(head.weight), op.keep(head.bias),
                     op.keep(head.classes), head.eps};
  return op.output(y, [=, x = op.keep_or_remake(x), y = op.keep_result(y),
                       rstd = op.keep_result(rstd)](const Tensor& dy, Gradients& in) {
    const Tensor tokens = x.get();
    Tensor dx;
    if (in.wanted(0)) dx = zeros(tokens.shape(), tokens);
    HeadBackward head_backward(g, of, tokens);
    head_backward.run(tokens, y, rstd, dy, dx);
    if (dx.defined()) in.add(0, stored_as(dx, tokens.dtype()));
    in.add(1, head_backward.dexpand());
    auto [dweight, dbias, dclasses] = head_backward.dnorm_and_classes();
    in.add(2, std::move(dweight));
    in.add(3, std::move(dbias));
    in.add(4, std::move(dclasses));
  });
}

}  // namespace fovea::ops
