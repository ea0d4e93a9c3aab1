#include "ops/detection/boxes.h"

#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "base/error.h"
#include "ops/detection/host_boxes.h"
#include "ops/elementwise.h"
#include "ops/reduce.h"
#include "ops/shape.h"
#include "tensor/host.h"

namespace fovea::ops {

HostBoxes::HostBoxes(const char* op, const char* what, const Tensor& boxes) : boxes_(boxes) {
  FOVEA_CHECK(boxes.rank() == 2 && boxes.size(1) == 4 && boxes.dtype() == DType::kFloat32,
              ShapeError,
              fmt::format("{}: {} are {} {}; expected float32 (n, 4)", op, what,
                          name_of(boxes.dtype()), to_string(boxes.shape())));
  values_ = boxes.data<float>();
  count_ = boxes.size(0);
}

Tensor HostBoxes::rows(const std::vector<std::int64_t>& numbers) const {
  std::vector<float> values;
  values.reserve(4 * numbers.size());
  for (const std::int64_t i : numbers)
    values.insert(values.end(), values_ + 4 * i, values_ + 4 * (i + 1));
  return Tensor::from(values, {std::ssize(numbers), 4}, boxes_.device());
}

namespace {

constexpr double kLeastSize = 1e-6;  // of a side that is encoded

template <class Measure>
Tensor of_pairs(const char* op, const Tensor& a, const Tensor& b, const Measure& measure) {
  const HostBoxes left(op, "a", a), right(op, "b", b);
  const Tensor y = Tensor::empty({left.count(), right.count()}, DType::kFloat32, a.device());
  float* to = y.data<float>();
  for (std::int64_t i = 0; i < left.count(); ++i) {
    const Box box = left[i];
    for (std::int64_t j = 0; j < right.count(); ++j)
      *to++ = static_cast<float>(measure(box, right[j]));
  }
  return y;
}

// Of columns [first, first + 2): (n, 2).
Tensor pair_of(const Tensor& x, std::int64_t first) { return slice(x, 1, first, 2); }

Tensor scales(const std::array<double, 4>& stds, std::size_t first, const Tensor& like) {
  return from_doubles({stds[first], stds[first + 1]}, {1, 2}, like.dtype(), like.device());
}

}  // namespace

Tensor box_iou(const Tensor& a, const Tensor& b) { return of_pairs("box_iou", a, b, overlap); }
Tensor box_iof(const Tensor& a, const Tensor& b) { return of_pairs("box_iof", a, b, share_inside); }

Tensor box_areas(const Tensor& boxes) {
  const HostBoxes all("box_areas", "boxes", boxes);
  std::vector<float> areas;
  for (std::int64_t i = 0; i < all.count(); ++i) areas.push_back(static_cast<float>(all[i].area()));
  return Tensor::from(areas, {all.count()}, boxes.device());
}

Tensor clip_boxes(const Tensor& boxes, std::int64_t height, std::int64_t width) {
  const HostBoxes all("clip_boxes", "boxes", boxes);
  const Tensor y = Tensor::empty_like(boxes);
  const float most[] = {static_cast<float>(width), static_cast<float>(height)};
  for (std::int64_t i = 0; i < boxes.numel(); ++i)
    y.data<float>()[i] = std::clamp(boxes.data<float>()[i], 0.0f, most[i % 2]);
  return y;
}

Tensor encode_boxes(const Tensor& boxes, const Tensor& truth, const BoxCoder& coder) {
  const HostBoxes from("encode_boxes", "boxes", boxes), to("encode_boxes", "truth", truth);
  FOVEA_CHECK(from.count() == to.count(), ShapeError,
              fmt::format("encode_boxes: {} boxes and {} of truth; expected as many", from.count(),
                          to.count()));
  const Tensor deltas = Tensor::empty_like(boxes);
  float* y = deltas.data<float>();
  for (std::int64_t i = 0; i < from.count(); ++i) {
    const Box b = from[i], t = to[i];
    const double width = std::max(b.width(), kLeastSize);
    const double height = std::max(b.height(), kLeastSize);
    const double way[] = {(t.x1 + t.x2 - b.x1 - b.x2) / (2 * width),
                          (t.y1 + t.y2 - b.y1 - b.y2) / (2 * height),
                          std::log(std::max(t.width(), kLeastSize) / width),
                          std::log(std::max(t.height(), kLeastSize) / height)};
    for (std::size_t k = 0; k < 4; ++k) *y++ = static_cast<float>(way[k] / coder.stds[k]);
  }
  return deltas;
}

Tensor decode_boxes(const Tensor& boxes, const Tensor& deltas, const BoxCoder& coder) {
  FOVEA_CHECK(
      boxes.rank() == 2 && boxes.size(1) == 4 && deltas.shape() == boxes.shape() &&
          deltas.dtype() == boxes.dtype(),
      ShapeError,
      fmt::format("decode_boxes: boxes are {} {}, deltas {} {}; expected (n, 4) of one dtype",
                  name_of(boxes.dtype()), to_string(boxes.shape()), name_of(deltas.dtype()),
                  to_string(deltas.shape())));
  const Tensor corner = boxes.detach();
  const Tensor size = sub(pair_of(corner, 2), pair_of(corner, 0));
  const Tensor centre = add(pair_of(corner, 0), mul(size, 0.5));
  const double most = std::abs(std::log(coder.wh_ratio_clip));
  const Tensor moved =
      add_product(centre, size, mul(pair_of(deltas, 0), scales(coder.stds, 0, deltas)), false);
  const Tensor growth = clamp(mul(pair_of(deltas, 2), scales(coder.stds, 2, deltas)), -most, most);
  const Tensor half = mul(mul(size, exp(growth)), 0.5);
  return concat({sub(moved, half), add(moved, half)}, 1);
}

}  // namespace fovea::ops
