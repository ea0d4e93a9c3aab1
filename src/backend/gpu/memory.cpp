// Filling, converting, copying, choosing and looking up.
#include "backend/gpu/launch.h"
#include "backend/gpu/rows.h"
#include "backend/gpu/walk.h"

namespace fovea::gpu {
namespace {

struct Axis {
  std::int64_t size, src, dst;
};

// The kernels' unsigned integer of as many bytes: what is only moved needs no kernel of its own.
DType moved_as(DType dtype) {
  switch (size_of(dtype)) {
    case 8:
      return DType::kInt64;
    case 4:
      return DType::kInt32;
    case 2:
      return DType::kBFloat16;
    default:
      return DType::kUint8;
  }
}

Lookup lookup_of(int axis, const Shape& x, const Shape& index) {
  return {.outer = index.part(0, axis).numel(),
          .length = x[axis],
          .entries = index[axis],
          .inner = index.part(axis + 1, index.rank()).numel()};
}

}  // namespace

Walk walk_over(const CopyArgs& args) {
  std::vector<Axis> axes, repeated;
  for (int i = 0; i < args.shape.rank(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    const Axis axis{args.shape[i], args.src_strides[at], args.dst_strides[at]};
    if (axis.size == 1) continue;
    auto& group = axis.dst == 0 ? repeated : axes;
    if (!group.empty() && group.back().src == axis.size * axis.src &&
        group.back().dst == axis.size * axis.dst) {
      group.back() = {group.back().size * axis.size, axis.src, axis.dst};
    } else {
      group.push_back(axis);
    }
  }
  axes.insert(axes.end(), repeated.begin(), repeated.end());
  if (axes.empty()) axes.push_back({1, 0, 1});
  FOVEA_CHECK(axes.size() <= MAX_AXES, ShapeError,
              fmt::format("copy: {} axes, at most {} can be walked", axes.size(), MAX_AXES));
  Walk walk{};
  walk.count = args.shape.numel();
  walk.axes = static_cast<Index>(axes.size());
  for (std::size_t i = 0; i < axes.size(); ++i) {
    walk.sizes[i] = axes[i].size;
    walk.steps[0][i] = axes[i].src;
    walk.steps[1][i] = axes[i].dst;
  }
  return walk;
}

Index repeated_elements(const Walk& walk) {
  Index elements = 1;
  for (Index axis = walk.axes; axis-- > 0 && walk.steps[1][axis] == 0;) {
    elements *= walk.sizes[axis];
  }
  return elements;
}

void GpuBackend::fill(const Tensor& y, double value) const {
  launch_items(Kernel::fill, y.dtype(), y.numel(), Index{y.numel()}, Real{value, y.dtype()}, y);
}

void GpuBackend::cast(const Tensor& x, const Tensor& y) const {
  launch_items(Kernel::cast, y.dtype(), y.numel(), Index{y.numel()}, static_cast<Int32>(x.dtype()),
               x, y);
}

void GpuBackend::copy(const CopyArgs& args, const Tensor& src, const Tensor& dst) const {
  const Walk walk = walk_over(args);
  // (A tensor's offset is the kernel's to add; those of the views come on top.)
  const Index from = args.src_offset, to = args.dst_offset;
  if (!args.accumulate) {
    launch_items(Kernel::copy, moved_as(src.dtype()), walk.count, walk, from, src, to, dst);
    return;
  }
  const Index repeated = repeated_elements(walk);
  launch_items(Kernel::copy_add, src.dtype(), repeated == 0 ? 0 : walk.count / repeated, walk,
               repeated, from, src, to, dst);
}

void GpuBackend::where(const Tensor& condition, const Tensor& a, const Tensor& b,
                       const Tensor& y) const {
  if (y.numel() == 0) return;
  const Walk walk = walk_over<3>(y.shape(), {condition.shape(), a.shape(), b.shape()});
  launch_items(Kernel::where, moved_as(y.dtype()), walk.count, walk, condition, a, b, y);
}

void GpuBackend::gather(int axis, const Tensor& x, const Tensor& index, const Tensor& y) const {
  launch_items(Kernel::gather, moved_as(x.dtype()), y.numel(),
               lookup_of(axis, x.shape(), index.shape()), x, index, y);
}

void GpuBackend::scatter_add(int axis, const Tensor& x, const Tensor& index,
                             const Tensor& y) const {
  const Lookup lookup = lookup_of(axis, y.shape(), index.shape());
  launch_items(Kernel::scatter_add, x.dtype(), lookup.outer * lookup.inner, lookup, x, index, y);
}

void GpuBackend::gather_rows(const Tensor& table, const Tensor& index, const Tensor& y) const {
  if (y.numel() == 0) return;
  launch_rows(Kernel::gather_rows, moved_as(table.dtype()),
              rows_of(index.numel(), y.numel() / index.numel()), Index{table.size(0)}, table, index,
              y);
}

void GpuBackend::scatter_add_rows(const Tensor& x, const Tensor& index, const Tensor& table) const {
  if (x.numel() == 0) return;
  const Index dim = x.numel() / index.numel();
  launch(Kernel::scatter_add_rows, x.dtype(), table.numel() / dim, Index{index.numel()}, dim, x,
         index, table);
}

}  // namespace fovea::gpu
