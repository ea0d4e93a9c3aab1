// Default bodies: sums of the losses of regions. gdla 6.3.
#include <utility>
#include <vector>

#include "backend/composed/composed.h"

namespace fovea {

using namespace composed;

namespace {

Tensor numbers_to(std::int64_t k, const Device& device) {
  std::vector<std::int64_t> numbers;
  for (std::int64_t i = 0; i < k; ++i) numbers.push_back(i);
  return Tensor::from(numbers, {1, k}, device);
}

// The target as 0 and 1: (pixels, k).
Tensor one_hot(const Tensor& target, std::int64_t k, DType dtype) {
  const Tensor label = target.alias({target.numel(), 1});
  return as(binary(BinaryOp::kEqual, label, numbers_to(k, target.device())), dtype);
}

// Of all pixels (pixels, k), 0 where they do not count; surprise (pixels, 1).
struct Pixels {
  Tensor p, t, counts, surprise;

  explicit Pixels(const RegionArgs& of) {
    const std::int64_t k = of.logits.size(1);
    const Tensor rows = permuted(wide(of.logits), {0, 2, 1}).alias({of.target.numel(), k});
    const Tensor label = of.target.alias({of.target.numel(), 1});
    counts =
        as(compare(BinaryOp::kNotEqual, label, static_cast<double>(of.ignore_index)), rows.dtype());
    t = mul(one_hot(of.target, k, rows.dtype()), counts);
    if (of.sigmoid) {
      p = mul(composed::unary(UnaryOp::kSigmoid, rows), counts);
      surprise = affine(counts, 0);
    } else {
      const SoftRows soft = soft_rows(false, rows, {});
      p = mul(soft.p, counts);
      surprise = mul(sub(soft.lse, over_rows(ReduceOp::kSum, mul(rows, t))), counts);
    }
  }
};

// Numbers of every item and class, repeated for the item's pixels: (pixels, k).
Tensor of_pixels(const Tensor& x, const RegionArgs& of) {
  const std::int64_t items = of.logits.size(0), k = x.numel() / items, n = of.logits.size(2);
  return add(filled({items, n, k}, 0, x.dtype(), x.device()), x.alias({items, 1, k}))
      .alias({items * n, k});
}

// 1 where the neighbour of a pixel one place on along `axis` is of its class, in the place of the
// pixel (before) or of the neighbour; 0 at the edge.
Tensor same_as_neighbour(const Tensor& target, int axis, bool before) {
  const std::int64_t distance = target.shape().strides()[axis];
  CopyArgs args;
  args.shape = target.shape();
  args.shape[axis] -= 1;
  args.src_strides = target.shape().strides().to_vector();
  args.dst_strides = args.shape.strides().to_vector();
  const auto part = [&](std::int64_t first) {
    Tensor y = Tensor::empty(args.shape, target.dtype(), target.device());
    CopyArgs from = args;
    from.src_offset = first * distance;
    backend(target).copy(from, target, y);
    return y;
  };
  const Tensor same = as(binary(BinaryOp::kEqual, part(0), part(1)), DType::kFloat64);
  const Tensor all = filled(target.shape(), 0, DType::kFloat64, target.device());
  CopyArgs back = args;
  std::swap(back.src_strides, back.dst_strides);
  back.dst_offset = before ? 0 : distance;
  backend(target).copy(back, same, all);
  return all;
}

}  // namespace

void Backend::region_sums(const RegionSumsArgs& args) const {
  const RegionSums& to = args.to;
  if (args.of.target.numel() == 0) {
    for (const Tensor& sum : {to.both, to.sums, to.squares, to.labels, to.surprise}) fill(sum, 0);
    return;
  }
  const Pixels of(args.of);
  const std::int64_t items = args.of.logits.size(0);
  const auto sum = [&](const Tensor& x, const Tensor& y) {
    const std::int64_t k = x.size(1);
    const Tensor of_items = x.alias({items, x.size(0) / items, k});
    write(composed::reduce(ReduceOp::kSum, of_items, {items, 1, k}).alias(y.shape()), y);
  };
  sum(mul(of.p, of.t), to.both);
  sum(of.p, to.sums);
  sum(mul(of.p, of.p), to.squares);
  sum(of.t, to.labels);
  sum(of.surprise, to.surprise);
}

void Backend::region_sums_backward(const RegionSumsBackwardArgs& args) const {
  const RegionArgs& region = args.of;
  if (region.target.numel() == 0) return;
  const Pixels of(region);
  const auto each = [&](const Tensor& x) { return of_pixels(x, region); };
  const Tensor by_square = affine(mul(of.p, each(args.dsquares)), 2);
  const Tensor dp = add(add(mul(of.t, each(args.dboth)), each(args.dsums)), by_square);
  const Tensor slope = region.sigmoid ? mul(dp, sub(of.counts, of.p))
                                      : sub(dp, over_rows(ReduceOp::kSum, mul(of.p, dp)));
  Tensor rows = mul(of.p, slope);
  if (!region.sigmoid) rows = add(rows, mul(sub(of.p, of.t), each(args.dsurprise)));
  const Shape& shape = args.dlogits.shape();
  write(permuted(rows.alias({shape[0], shape[2], of.p.size(1)}), {0, 2, 1}), args.dlogits);
}

void Backend::region_areas(const RegionAreasArgs& args) const {
  const Tensor& target = args.target;
  if (target.numel() == 0) {
    fill(args.area, 0);
    return fill(args.boundary, 0);
  }
  const std::int64_t k = args.area.numel();
  const Tensor t = one_hot(target, k, DType::kFloat64);
  Tensor inside;  // the four neighbours are of the pixel's own class
  for (const int axis : {1, 2}) {
    for (const bool before : {true, false}) {
      const Tensor same = same_as_neighbour(target, axis, before);
      inside = inside.defined() ? mul(inside, same) : same;
    }
  }
  const Tensor outline = affine(inside.alias({target.numel(), 1}), -1, 1);
  write(composed::reduce(ReduceOp::kSum, t, {1, k}), args.area);
  write(composed::reduce(ReduceOp::kSum, mul(t, outline), {1, k}), args.boundary);
}

}  // namespace fovea
