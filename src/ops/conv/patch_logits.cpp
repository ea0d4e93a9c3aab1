#include "ops/conv/patch_logits.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

#include "autograd/graph.h"
#include "backend/backend.h"
#include "base/error.h"

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

// The parameters as the activations are stored.
struct StoredHead {
  Tensor expand, classes;

  StoredHead(const PatchHead& head, DType dtype)
      : expand(as(head.expand, dtype)), classes(as(head.classes, dtype)) {}
  static Tensor as(const Tensor& x, DType dtype) {
    if (x.dtype() == dtype) return x;
    const Tensor y = Tensor::empty(x.shape(), dtype, x.device());
    backend(x).cast(x, y);
    return y;
  }
};

// A row of places of a stretch, in forward and backward.
class Stretch {
 public:
  Stretch(const PatchGrid& g, const PatchHead& head, const StoredHead& stored, const Tensor& x)
      : g_(g), head_(head), stored_(stored), x_(x) {}

  /// Calls visit() for all of them.
  template <class Visit>
  void for_each(const Visit& visit) {
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
        }
      }
    }
  }

  std::int64_t tokens() const { return rows_ * g_.w; }
  std::int64_t place() const { return place_; }
  Tensor x() const { return piece(x_, token_ * g_.channels, {tokens(), g_.channels}); }
  Tensor like_x(const Tensor& dx) const {
    return piece(dx, token_ * g_.channels, {tokens(), g_.channels});
  }
  /// The rows of `expand` for these places.
  Tensor weight(const Tensor& expand) const {
    return piece(expand, place_ * g_.wide() * g_.channels, {g_.wide(), g_.channels});
  }

  /// The channels of the places, (tokens patch_w, c).
  Tensor channels() const {
    const Tensor e = Tensor::empty({tokens() * g_.patch[2], g_.channels}, x_.dtype(), x_.device());
    const std::int64_t c = g_.channels;
    backend(e).gemm({.trans_b = true,
                     .m = tokens(),
                     .n = g_.wide(),
                     .k = c,
                     .lda = c,
                     .ldb = c,
                     .ldc = g_.wide()},
                    x(), weight(stored_.expand), {}, e);
    return e;
  }
  LayerNormArgs normed(const Tensor& e) const {
    const Tensor mean = Tensor::empty({e.size(0)}, compute_dtype(e.dtype()), e.device());
    const LayerNormArgs args{.eps = head_.eps,
                             .x = e,
                             .weight = head_.weight,
                             .bias = head_.bias,
                             .y = Tensor::empty_like(e),
                             .mean = mean,
                             .rstd = Tensor::empty_like(mean)};
    backend(e).layer_norm(args);
    return args;
  }
  /// Logits of normed channels, into their rows of y.
  void classify(const Tensor& normed, const Tensor& y) const {
    const std::int64_t n = normed.size(0);
    const std::int64_t c = g_.channels;
    const Tensor part = Tensor::empty({g_.classes, n}, y.dtype(), y.device());
    backend(y).gemm(
        {.trans_b = true, .m = g_.classes, .n = n, .k = c, .lda = c, .ldb = c, .ldc = n},
        stored_.classes, normed, {}, part);
    backend(y).copy(rows_of(false), part, y);
  }
  /// The rows of dy for these places: (k, tokens patch_w).
  Tensor gradient(const Tensor& dy) const {
    const Tensor part = Tensor::empty({g_.classes, rows_ * g_.out_row()}, dy.dtype(), dy.device());
    backend(dy).copy(rows_of(true), dy, part);
    return part;
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
  const PatchHead& head_;
  const StoredHead& stored_;
  const Tensor& x_;
  std::int64_t rows_ = 0, token_ = 0, place_ = 0, out_ = 0;
};

// Sums of gradients over stretches: the kernels of products and norms overwrite their results, so
// each sum has memory for one more term.
struct Sum {
  Tensor total, term;

  explicit Sum(const Tensor& like) : total(zeros(like)), term(Tensor::empty_like(like)) {}
  static Tensor zeros(const Tensor& like) {
    const Tensor x = Tensor::empty_like(like);
    backend(x).fill(x, 0);
    return x;
  }
  void add() const { backend(total).axpy(1, term, total); }
};

void backward(const PatchGrid& g, const PatchHead& head, const Tensor& x, const Tensor& dy,
              Gradients& in) {
  const StoredHead stored(head, x.dtype());
  Sum dexpand(head.expand), dweight(head.weight), dbias(head.bias), dclasses(head.classes);
  const Tensor dx = Tensor::empty(x.shape(), compute_dtype(x.dtype()), x.device());
  backend(dx).fill(dx, 0);
  const std::int64_t c = g.channels;
  const std::int64_t k = g.classes;
  Stretch s(g, head, stored, x);
  s.for_each([&] {
    const Backend& kernels = backend(dy);
    const LayerNormArgs norm = s.normed(s.channels());
    const Tensor dl = s.gradient(dy);
    const std::int64_t n = dl.size(1);
    kernels.gemm({.m = k, .n = c, .k = n, .lda = n, .ldb = c, .ldc = c}, dl, norm.y, {},
                 dclasses.term);
    dclasses.add();
    const Tensor dnormed = norm.y;  // written over norm.y, which is no longer read
    kernels.gemm({.trans_a = true, .m = n, .n = c, .k = k, .lda = n, .ldb = c, .ldc = c}, dl,
                 stored.classes, {}, dnormed);
    const Tensor de = Tensor::empty_like(norm.x);
    kernels.layer_norm_backward({.x = norm.x,
                                 .weight = head.weight,
                                 .mean = norm.mean,
                                 .rstd = norm.rstd,
                                 .dy = dnormed,
                                 .dx = de,
                                 .dweight = dweight.term,
                                 .dbias = dbias.term});
    dweight.add();
    dbias.add();
    const std::int64_t wide = g.wide();
    const Tensor dw = Tensor::empty({wide, c}, dexpand.total.dtype(), x.device());
    kernels.gemm(
        {.trans_a = true, .m = wide, .n = c, .k = s.tokens(), .lda = wide, .ldb = c, .ldc = c}, de,
        s.x(), {}, dw);
    kernels.axpy(1, dw, s.weight(dexpand.total));
    const Tensor part = Tensor::empty({s.tokens(), c}, dx.dtype(), x.device());
    kernels.gemm({.m = s.tokens(), .n = c, .k = wide, .lda = wide, .ldb = c, .ldc = c}, de,
                 s.weight(stored.expand), {}, part);
    kernels.axpy(1, part, s.like_x(dx));
  });
  in.add(0, StoredHead::as(dx, x.dtype()));
  in.add(1, std::move(dexpand.total));
  in.add(2, std::move(dweight.total));
  in.add(3, std::move(dbias.total));
  in.add(4, std::move(dclasses.total));
}

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
  {
    const StoredHead stored(head, x.dtype());
    Stretch s(g, head, stored, x);
    s.for_each([&] { s.classify(s.normed(s.channels()).y, y); });
  }
  op.macs(x.numel() * head.expand.size(0) + y.numel() * g.channels);
  const autograd::Kept kept = op.keep_or_remake(x);
  const PatchHead of{op.keep(head.expand), op.keep(head.weight), op.keep(head.bias),
                     op.keep(head.classes), head.eps};
  return op.output(y,
                   [=](const Tensor& dy, Gradients& in) { backward(g, of, kept.get(), dy, in); });
}

}  // namespace fovea::ops
