// Default bodies: RoIAlign, a box at a time, as products of the map with a matrix for each axis.
#include "backend/composed/composed.h"
#include "backend/roi_taps.h"
#include "tensor/host.h"

namespace fovea {

using namespace composed;

namespace {

// The weights of all boxes along an axis of the map: (n, bins, length).
Tensor matrices(const RoiAlignArgs& args, int axis, std::int64_t bins, std::int64_t length,
                DType dtype) {
  const std::int64_t n = args.boxes.size(0);
  const auto boxes = args.boxes.host_values<float>();
  std::vector<double> weights(static_cast<std::size_t>(n * bins * length));
  for (std::int64_t i = 0; i < n; ++i) {
    const RoiSide side =
        roi_side(boxes.data() + 5 * i, axis, args.scale, bins, args.sampling_ratio, length);
    for_roi_taps(side, [&](std::int64_t bin, std::int64_t pixel, double weight) {
      weights[static_cast<std::size_t>((i * bins + bin) * length + pixel)] += weight;
    });
  }
  return from_doubles(weights, {n, bins, length}, dtype, args.boxes.device());
}

// A box's item, its row of the result, and its matrices.
struct BoxParts {
  std::int64_t item, row;
  Tensor down, across;  // (height, h), (width, w)
};

template <class Visit>
void for_boxes(const RoiAlignArgs& args, const Tensor& map, const Tensor& bins,
               const Visit& visit) {
  const DType dtype = compute_dtype(map.dtype());
  const Tensor down = matrices(args, 0, bins.size(2), map.size(2), dtype);
  const Tensor across = matrices(args, 1, bins.size(3), map.size(3), dtype);
  const auto boxes = args.boxes.host_values<float>();
  const auto rows = args.rows.host_values<std::int64_t>();
  for (std::int64_t i = 0; i < args.boxes.size(0); ++i) {
    const auto at = static_cast<std::size_t>(i);
    visit(BoxParts{static_cast<std::int64_t>(boxes[5 * at]), rows[at], down.rows(i, i + 1),
                   across.rows(i, i + 1)});
  }
}

}  // namespace

void Backend::roi_align(const RoiAlignArgs& args, const Tensor& x, const Tensor& y) const {
  if (y.numel() == 0 || args.boxes.size(0) == 0) return;
  const std::int64_t c = x.size(1), h = x.size(2), w = x.size(3);
  const std::int64_t height = y.size(2), width = y.size(3);
  const Tensor map = wide(x);
  const Tensor half = Tensor::empty({c, h, width}, map.dtype(), x.device());
  const Tensor whole = Tensor::empty({c, height, width}, map.dtype(), x.device());
  for_boxes(args, x, y, [&](const BoxParts& box) {
    gemm({.trans_b = true, .m = c * h, .n = width, .k = w, .lda = w, .ldb = w, .ldc = width},
         map.rows(box.item, box.item + 1), box.across, {}, half);
    gemm({.m = height,
          .n = width,
          .k = h,
          .lda = h,
          .ldb = width,
          .ldc = width,
          .batch = c,
          .stride_b = h * width,
          .stride_c = height * width},
         box.down, half, {}, whole);
    write(whole, y.rows(box.row, box.row + 1));
  });
}

void Backend::roi_align_backward(const RoiAlignArgs& args, const Tensor& dy,
                                 const Tensor& dx) const {
  if (dx.numel() == 0) return;
  const std::int64_t c = dx.size(1), h = dx.size(2), w = dx.size(3);
  const std::int64_t height = dy.size(2), width = dy.size(3);
  const Tensor sums = filled(dx.shape(), 0, compute_dtype(dx.dtype()), dx.device());
  const Tensor half = Tensor::empty({c, h, width}, sums.dtype(), dx.device());
  const Tensor whole = Tensor::empty({1, c, h, w}, sums.dtype(), dx.device());
  for_boxes(args, dx, dy, [&](const BoxParts& box) {
    gemm({.trans_a = true,
          .m = h,
          .n = width,
          .k = height,
          .lda = h,
          .ldb = width,
          .ldc = width,
          .batch = c,
          .stride_b = height * width,
          .stride_c = h * width},
         box.down, wide(dy.rows(box.row, box.row + 1)), {}, half);
    gemm({.m = c * h, .n = w, .k = width, .lda = width, .ldb = w, .ldc = w}, half, box.across, {},
         whole);
    const Tensor item = sums.rows(box.item, box.item + 1);
    binary(BinaryOp::kAdd, item, whole, item);
  });
  if (args.add) binary(BinaryOp::kAdd, sums, wide(dx), sums);
  write(sums, dx);
}

}  // namespace fovea
