#include "ops/shape.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "autograd/graph.h"
#include "backend/backend.h"
#include "ops/create.h"
#include "ops/elementwise.h"
#include "ops/reduce.h"

namespace fovea::ops {
namespace {

using autograd::Gradients;
using autograd::Op;

// Copies `args` from src into dst.
void copy(const CopyArgs& args, const Tensor& src, const Tensor& dst) {
  backend(src).copy(args, src, dst);
}

Tensor raw_permute(const Tensor& x, const std::vector<int>& order) {
  Shape shape;
  CopyArgs args;
  const Shape strides = x.shape().strides();
  for (const int axis : order) {
    shape.push_back(x.shape()[axis]);
    args.src_strides.push_back(strides[axis]);
  }
  args.shape = shape;
  args.dst_strides = shape.strides().to_vector();
  Tensor y = Tensor::empty(shape, x.dtype(), x.device());
  copy(args, x, y);
  return y;
}

// Copies a box of `shape` between two tensors at the given first elements.
CopyArgs box(const Shape& shape, const Tensor& src, const Shape& src_begin, const Tensor& dst,
             const Shape& dst_begin) {
  CopyArgs args;
  args.shape = shape;
  const Shape src_strides = src.shape().strides();
  const Shape dst_strides = dst.shape().strides();
  args.src_strides = src_strides.to_vector();
  args.dst_strides = dst_strides.to_vector();
  for (int axis = 0; axis < shape.rank(); ++axis) {
    args.src_offset += src_begin[axis] * src_strides[axis];
    args.dst_offset += dst_begin[axis] * dst_strides[axis];
  }
  return args;
}

Shape origin(int rank) {
  Shape shape;
  for (int axis = 0; axis < rank; ++axis) shape.push_back(0);
  return shape;
}

Tensor raw_roll(const Tensor& x, int axis, std::int64_t shift) {
  const std::int64_t size = x.shape()[axis];
  const std::int64_t move = size == 0 ? 0 : (shift % size + size) % size;
  Tensor y = Tensor::empty_like(x);
  // The last `move` elements come first.
  Shape part = x.shape();
  Shape from = origin(x.rank());
  Shape to = origin(x.rank());
  part[axis] = size - move;
  to[axis] = move;
  copy(box(part, x, from, y, to), x, y);
  part[axis] = move;
  from[axis] = size - move;
  to[axis] = 0;
  if (move > 0) copy(box(part, x, from, y, to), x, y);
  return y;
}

Tensor raw_flip(const Tensor& x, int axis) {
  Tensor y = Tensor::empty_like(x);
  CopyArgs args = box(x.shape(), x, origin(x.rank()), y, origin(x.rank()));
  auto& stride = args.src_strides[static_cast<std::size_t>(axis)];
  args.src_offset = (x.shape()[axis] - 1) * stride;
  stride = -stride;
  if (x.numel() > 0) copy(args, x, y);
  return y;
}

}  // namespace

Tensor reshape(const Tensor& x, std::initializer_list<std::int64_t> given) {
  std::vector<std::int64_t> sizes(given);
  const auto unknown = std::find(sizes.begin(), sizes.end(), std::int64_t{-1});
  if (unknown != sizes.end()) {
    // Where an axis of size 0 is given, axes of size 0 are left out on both sides, so that nothing
    // is divided by 0.
    const bool empty = std::find(sizes.begin(), sizes.end(), std::int64_t{0}) != sizes.end();
    std::int64_t known = 1;
    bool fits = true;
    for (const std::int64_t size : sizes) {
      if (size > 0) fits = fits && !__builtin_mul_overflow(known, size, &known);
    }
    std::int64_t elements = 1;
    for (const std::int64_t size : x.shape()) elements *= empty && size == 0 ? 1 : size;
    FOVEA_CHECK(fits && elements % known == 0, ShapeError,
                fmt::format("reshape: {} elements of {} do not divide by ({})", x.numel(),
                            to_string(x.shape()), fmt::join(given, ", ")));
    *unknown = elements / known;
  }
  return reshape(x, Shape(std::span<const std::int64_t>(sizes)));
}

Tensor reshape(const Tensor& x, const Shape& shape) {
  if (shape == x.shape()) return x;
  Op op("reshape", {x});
  return op.output(x.alias(shape), [from = x.shape()](const Tensor& dy, Gradients& in) {
    in.add(0, dy.alias(from));
  });
}

Tensor permute(const Tensor& x, const std::vector<int>& order) {
  std::vector<int> axes;
  std::vector<int> inverse(order.size(), -1);
  FOVEA_CHECK(static_cast<int>(order.size()) == x.rank(), ShapeError,
              fmt::format("permute: {} axes given for {}", order.size(), to_string(x.shape())));
  for (const int given : order) {
    const int axis = x.shape().normalise_axis(given);
    FOVEA_CHECK(inverse[static_cast<std::size_t>(axis)] == -1, ShapeError,
                fmt::format("permute: axis {} is given twice", axis));
    inverse[static_cast<std::size_t>(axis)] = static_cast<int>(axes.size());
    axes.push_back(axis);
  }
  if (std::is_sorted(axes.begin(), axes.end())) return x;
  Op op("permute", {x});
  return op.output(raw_permute(x, axes), [inverse](const Tensor& dy, Gradients& in) {
    in.add(0, raw_permute(dy, inverse));
  });
}

Tensor transpose(const Tensor& x, int axis_a, int axis_b) {
  std::vector<int> order;
  for (int axis = 0; axis < x.rank(); ++axis) order.push_back(axis);
  std::swap(order[static_cast<std::size_t>(x.shape().normalise_axis(axis_a))],
            order[static_cast<std::size_t>(x.shape().normalise_axis(axis_b))]);
  return permute(x, order);
}

Tensor expand(const Tensor& x, const Shape& shape) {
  if (x.shape() == shape) return x;
  FOVEA_CHECK(
      broadcast(x.shape(), shape, "expand") == shape, ShapeError,
      fmt::format("expand: {} does not stretch to {}", to_string(x.shape()), to_string(shape)));
  Op op("expand", {x});
  Tensor y = Tensor::empty(shape, x.dtype(), x.device());
  CopyArgs args;
  args.shape = shape;
  args.dst_strides = shape.strides().to_vector();
  args.src_strides.assign(static_cast<std::size_t>(shape.rank()), 0);
  const Shape strides = x.shape().strides();
  for (int axis = 0; axis < x.rank(); ++axis) {
    const int at = axis + shape.rank() - x.rank();
    if (x.shape()[axis] != 1) args.src_strides[static_cast<std::size_t>(at)] = strides[axis];
  }
  copy(args, x, y);
  return op.output(
      y, [from = x.shape()](const Tensor& dy, Gradients& in) { in.add(0, reduce_to(dy, from)); });
}

Tensor concat(const std::vector<Tensor>& given, int axis) {
  FOVEA_CHECK(!given.empty(), ShapeError, "concat: no tensors given");
  std::vector<Tensor> parts = given;
  for (const Tensor& other : given) {
    for (Tensor& part : parts) part = as_activation(part, other);
  }
  Op op("concat", parts);
  const int at = parts[0].shape().normalise_axis(axis);
  Shape shape = parts[0].shape();
  shape[at] = 0;
  for (const Tensor& part : parts) {
    Shape same = part.shape();
    FOVEA_CHECK(part.rank() == shape.rank() && part.dtype() == parts[0].dtype(), ShapeError,
                fmt::format("concat: {} {} does not join {} {}", name_of(part.dtype()),
                            to_string(part.shape()), name_of(parts[0].dtype()),
                            to_string(parts[0].shape())));
    shape[at] += part.shape()[at];
    same[at] = parts[0].shape()[at];
    FOVEA_CHECK(same == parts[0].shape(), ShapeError,
                fmt::format("concat: {} does not join {} along axis {}", to_string(part.shape()),
                            to_string(parts[0].shape()), at));
  }
  Tensor y = Tensor::empty(shape, parts[0].dtype(), parts[0].device());
  Shape begin = origin(shape.rank());
  for (const Tensor& part : parts) {
    copy(box(part.shape(), part, origin(shape.rank()), y, begin), part, y);
    begin[at] += part.shape()[at];
  }
  std::vector<std::int64_t> lengths;
  for (const Tensor& part : parts) lengths.push_back(part.shape()[at]);
  return op.output(y, [lengths, at](const Tensor& dy, Gradients& in) {
    Shape from = origin(dy.rank());
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      if (in.wanted(static_cast<int>(i))) {
        Tensor dx = in.empty(static_cast<int>(i));
        copy(box(dx.shape(), dy, from, dx, origin(dy.rank())), dy, dx);
        in.add(static_cast<int>(i), std::move(dx));
      }
      from[at] += lengths[i];
    }
  });
}

Tensor slice(const Tensor& x, int axis, std::int64_t begin, std::int64_t length) {
  const int at = x.shape().normalise_axis(axis);
  FOVEA_CHECK(begin >= 0 && length >= 0 && begin + length <= x.shape()[at], ShapeError,
              fmt::format("slice: [{}, {}) of axis {} of {}", begin, begin + length, at,
                          to_string(x.shape())));
  if (length == x.shape()[at]) return x;
  Op op("slice", {x});
  op.moves(autograd::Moved::kPart);
  Shape shape = x.shape();
  shape[at] = length;
  Shape from = origin(x.rank());
  from[at] = begin;
  Tensor y = Tensor::empty(shape, x.dtype(), x.device());
  copy(box(shape, x, from, y, origin(x.rank())), x, y);
  return op.output(y, [from](const Tensor& dy, Gradients& in) {
    const Tensor dx = in.buffer(0);
    CopyArgs args = box(dy.shape(), dy, origin(dy.rank()), dx, from);
    args.accumulate = true;
    copy(args, dy, dx);
  });
}

std::vector<Tensor> split(const Tensor& x, int axis, const std::vector<std::int64_t>& lengths) {
  std::vector<Tensor> parts;
  std::int64_t begin = 0;
  for (const std::int64_t length : lengths) {
    parts.push_back(slice(x, axis, begin, length));
    begin += length;
  }
  FOVEA_CHECK(begin == x.size(axis), ShapeError,
              fmt::format("split: lengths add up to {}, axis {} of {} has {}", begin, axis,
                          to_string(x.shape()), x.size(axis)));
  return parts;
}

Tensor pad(const Tensor& x, const std::vector<std::pair<std::int64_t, std::int64_t>>& amounts,
           double value) {
  FOVEA_CHECK(static_cast<int>(amounts.size()) == x.rank(), ShapeError,
              fmt::format("pad: {} pairs given for {}", amounts.size(), to_string(x.shape())));
  Op op("pad", {x});
  Shape shape, part, from, to;
  for (int axis = 0; axis < x.rank(); ++axis) {
    const auto [before, after] = amounts[static_cast<std::size_t>(axis)];
    const std::int64_t size = x.shape()[axis];
    const std::int64_t kept =
        size + std::min<std::int64_t>(0, before) + std::min<std::int64_t>(0, after);
    FOVEA_CHECK(kept >= 0, ShapeError,
                fmt::format("pad: ({}, {}) crops more than axis {} of {}", before, after, axis,
                            to_string(x.shape())));
    shape.push_back(size + before + after);
    part.push_back(kept);
    from.push_back(std::max<std::int64_t>(0, -before));
    to.push_back(std::max<std::int64_t>(0, before));
  }
  Tensor y = full(shape, value, x.dtype(), x.device());
  copy(box(part, x, from, y, to), x, y);
  return op.output(y, [=, original = x.shape()](const Tensor& dy, Gradients& in) {
    Tensor dx = zeros(original, dy.dtype(), dy.device());
    copy(box(part, dy, to, dx, from), dy, dx);
    in.add(0, std::move(dx));
  });
}

Tensor roll(const Tensor& x, const std::vector<std::int64_t>& shifts,
            const std::vector<int>& axes) {
  FOVEA_CHECK(shifts.size() == axes.size() && !axes.empty(), ShapeError,
              fmt::format("roll: {} shifts for {} axes", shifts.size(), axes.size()));
  Op op("roll", {x});
  std::vector<int> at;
  Tensor y = x.detach();
  for (std::size_t i = 0; i < axes.size(); ++i) {
    at.push_back(x.shape().normalise_axis(axes[i]));
    y = raw_roll(y, at[i], shifts[i]);
  }
  return op.output(y, [=](const Tensor& dy, Gradients& in) {
    Tensor dx = dy;
    for (std::size_t i = 0; i < at.size(); ++i) dx = raw_roll(dx, at[i], -shifts[i]);
    in.add(0, std::move(dx));
  });
}

Tensor flip(const Tensor& x, int axis) {
  Op op("flip", {x});
  const int at = x.shape().normalise_axis(axis);
  return op.output(raw_flip(x, at),
                   [at](const Tensor& dy, Gradients& in) { in.add(0, raw_flip(dy, at)); });
}

}  // namespace fovea::ops
