#include "models/detectors/truth.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>

#include "base/error.h"
#include "ops/elementwise.h"

namespace fovea::models {
namespace {

void check_boxes(const Tensor& boxes, const std::string& what) {
  FOVEA_CHECK(boxes.dtype() == DType::kFloat32 && boxes.rank() == 2 && boxes.size(1) == 4,
              ShapeError,
              fmt::format("{} are {} {}; expected float32 (n, 4)", what, name_of(boxes.dtype()),
                          to_string(boxes.shape())));
  for (const float side : boxes.host_values<float>())
    FOVEA_CHECK(std::isfinite(side), ShapeError, fmt::format("{} are not finite", what));
}

void check_labels(const Tensor& labels, std::int64_t boxes, std::int64_t num_classes,
                  const std::string& where) {
  FOVEA_CHECK(labels.dtype() == DType::kInt64 && labels.shape() == Shape{boxes}, ShapeError,
              fmt::format("{}: labels are {} {}; expected int64 ({})", where,
                          name_of(labels.dtype()), to_string(labels.shape()), boxes));
  for (const std::int64_t label : labels.host_values<std::int64_t>()) {
    FOVEA_CHECK(
        label >= 0 && label < num_classes, ShapeError,
        fmt::format("{}: label {} is outside the network's {} classes", where, label, num_classes));
  }
}

void check_masks(const Tensor& masks, std::int64_t boxes, const ImageSize& size,
                 const std::string& where) {
  FOVEA_CHECK(masks.defined(), ShapeError,
              fmt::format("{}: no masks; a network that makes masks learns from them", where));
  FOVEA_CHECK(
      masks.dtype() == DType::kUint8 && masks.shape() == Shape({boxes, size[0], size[1]}),
      ShapeError,
      fmt::format("{}: masks are {} {}; expected uint8 ({}, {}, {})", where, name_of(masks.dtype()),
                  to_string(masks.shape()), boxes, size[0], size[1]));
}

// Rows of boxes (n, 4) that have an area.
std::vector<std::int64_t> with_area(const Tensor& boxes) {
  const auto sides = boxes.host_values<float>();
  std::vector<std::int64_t> rows;
  for (std::int64_t i = 0; i < boxes.size(0); ++i) {
    const float* box = sides.data() + 4 * i;
    if (box[2] > box[0] && box[3] > box[1]) rows.push_back(i);
  }
  return rows;
}

}  // namespace

Tensor take_rows(const Tensor& x, std::span<const std::int64_t> rows) {
  Shape shape = x.shape();
  shape[0] = std::ssize(rows);
  Tensor y = Tensor::empty(shape, x.dtype(), x.device());
  if (x.size(0) == 0 || x.bytes() == 0) return y;
  const auto bytes = static_cast<std::size_t>(x.bytes() / x.size(0));
  std::byte* to = y.host_memory();
  for (const std::int64_t row : rows) {
    std::memcpy(to, x.host_memory() + static_cast<std::size_t>(row) * bytes, bytes);
    to += bytes;
  }
  return y;
}

Tensor on_host(const Tensor& x, const Device& host) {
  const Tensor values = x.detach();
  const Tensor there = x.device() == host ? values : values.copy_on(host);
  return ops::cast(there, DType::kFloat32);
}

Tensor placed_as(const Tensor& values, const Tensor& like) {
  const Tensor there = values.device() == like.device() ? values : values.copy_on(like.device());
  return is_floating(values.dtype()) ? ops::cast(there, like.dtype()) : there;
}

std::vector<DetectionTruth> usable_truth(const std::vector<DetectionTruth>& truth,
                                         const std::vector<ImageSize>& sizes, std::int64_t batch,
                                         std::int64_t num_classes, bool masks) {
  FOVEA_CHECK(std::ssize(truth) == batch && std::ssize(sizes) == batch, ShapeError,
              fmt::format("detector: {} images, {} sizes, truth of {}; expected one of each", batch,
                          sizes.size(), truth.size()));
  std::vector<DetectionTruth> usable;
  for (std::size_t i = 0; i < truth.size(); ++i) {
    const std::string where = fmt::format("truth of image {}", i);
    const DetectionTruth& given = truth[i];
    const std::int64_t boxes = given.boxes.size(0);
    check_boxes(given.boxes, where + ": boxes");
    check_labels(given.labels, boxes, num_classes, where);
    if (masks) check_masks(given.masks, boxes, sizes[i], where);
    if (given.crowds.defined()) check_boxes(given.crowds, where + ": crowds");
    const std::vector<std::int64_t> rows = with_area(given.boxes);
    const bool all = std::ssize(rows) == boxes;
    const auto kept = [&](const Tensor& x) { return all ? x : take_rows(x, rows); };
    usable.push_back({kept(given.boxes), kept(given.labels), masks ? kept(given.masks) : Tensor(),
                      given.crowds});
  }
  return usable;
}

}  // namespace fovea::models
