#include "ops/detection/roi_align.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "autograd/graph.h"
#include "backend/backend.h"
#include "base/error.h"
#include "ops/create.h"

namespace fovea::ops {
namespace {

using autograd::Gradients;
using autograd::Op;

void check_rois(const char* op, const Tensor& rois) {
  FOVEA_CHECK(rois.rank() == 2 && rois.size(1) == 5 && rois.dtype() == DType::kFloat32, ShapeError,
              fmt::format("{}: rois are {} {}; expected float32 (n, 5)", op, name_of(rois.dtype()),
                          to_string(rois.shape())));
}

void check_rois(const char* op, const Tensor& rois, std::int64_t items) {
  check_rois(op, rois);
  if (!rois.device().is_host()) return;
  const float* values = rois.data<float>();
  for (std::int64_t i = 0; i < rois.size(0); ++i) {
    const auto item = static_cast<double>(values[5 * i]);
    FOVEA_CHECK(item >= 0 && item < static_cast<double>(items) && item == std::floor(item),
                ShapeError,
                fmt::format("{}: box {} is of item {}; the batch has {}", op, i, item, items));
  }
}

// The boxes that read one map, and their rows of the result.
struct Reading {
  int map = 0;
  RoiAlignArgs args;
};

Tensor pooled(const char* name, const std::vector<Tensor>& maps, const std::vector<Reading>& all,
              const Shape& shape) {
  Op op(name, maps);
  const Tensor& first = maps.front();
  Tensor y = Tensor::empty(shape, first.dtype(), first.device());
  for (const Reading& one : all)
    backend(y).roi_align(one.args, maps[static_cast<std::size_t>(one.map)], y);
  return op.output(y, [all](const Tensor& dy, Gradients& in) {
    for (const Reading& one : all) {
      if (!in.wanted(one.map)) continue;
      RoiAlignArgs args = one.args;
      args.add = in.begun(one.map);
      Tensor dx = args.add ? in.buffer(one.map) : in.empty(one.map);
      backend(dy).roi_align_backward(args, dy, dx);
      if (!args.add) in.add(one.map, std::move(dx));
    }
  });
}

Tensor numbers(const std::vector<std::int64_t>& rows, const Device& device) {
  return Tensor::from(rows, {std::ssize(rows)}, device);
}

void check_map(const char* op, const Tensor& x) {
  FOVEA_CHECK(x.rank() == 4 && x.size(2) > 0 && x.size(3) > 0, ShapeError,
              fmt::format("{}: x is {}; expected (b, c, h, w)", op, to_string(x.shape())));
}

}  // namespace

Tensor roi_align(const Tensor& x, const Tensor& rois, const RoiAlignOptions& options) {
  check_map("roi_align", x);
  check_rois("roi_align", rois, x.size(0));
  FOVEA_CHECK(
      options.height > 0 && options.width > 0 && options.sampling_ratio >= 0, ShapeError,
      fmt::format("roi_align: {} x {} bins with sampling_ratio {}; expected at least 1 x 1, "
                  "and 0 or more",
                  options.height, options.width, options.sampling_ratio));
  const std::int64_t n = rois.size(0);
  std::vector<std::int64_t> rows;
  for (std::int64_t i = 0; i < n; ++i) rows.push_back(i);
  // (A copy: backward reads them.)
  const Tensor boxes = rois.device() == x.device() ? clone(rois) : rois.copy_on(x.device());
  return pooled("roi_align", {x},
                {{0,
                  {.scale = options.spatial_scale,
                   .sampling_ratio = options.sampling_ratio,
                   .boxes = boxes,
                   .rows = numbers(rows, x.device())}}},
                {n, x.size(1), options.height, options.width});
}

std::vector<std::int64_t> roi_levels(const Tensor& rois, std::int64_t levels, double finest_scale) {
  check_rois("roi_levels", rois);
  std::vector<std::int64_t> chosen;
  const float* values = rois.data<float>();
  for (std::int64_t i = 0; i < rois.size(0); ++i) {
    const float* box = values + 5 * i + 1;
    const double area = (static_cast<double>(box[2]) - static_cast<double>(box[0])) *
                        (static_cast<double>(box[3]) - static_cast<double>(box[1]));
    // (The logarithm of a box of no area is large and negative, of one that is turned around NaN.)
    const double level = std::floor(std::log2(std::sqrt(area) / finest_scale + 1e-6));
    const double last = static_cast<double>(levels - 1);
    chosen.push_back(level > 0 ? static_cast<std::int64_t>(std::min(level, last)) : 0);
  }
  return chosen;
}

Tensor extract_rois(const std::vector<Tensor>& levels, const std::vector<double>& strides,
                    const Tensor& rois, std::int64_t size, const RoiLevelOptions& options) {
  FOVEA_CHECK(!levels.empty() && levels.size() == strides.size() && size > 0, ShapeError,
              fmt::format("extract_rois: {} levels with {} strides; expected one a level",
                          levels.size(), strides.size()));
  const Tensor& first = levels.front();
  for (const Tensor& level : levels) {
    check_map("extract_rois", level);
    FOVEA_CHECK(
        level.size(0) == first.size(0) && level.size(1) == first.size(1) &&
            level.dtype() == first.dtype(),
        ShapeError,
        fmt::format("extract_rois: levels are {} {} and {} {}; expected one batch, number of "
                    "channels and dtype",
                    name_of(first.dtype()), to_string(first.shape()), name_of(level.dtype()),
                    to_string(level.shape())));
  }
  check_rois("extract_rois", rois, first.size(0));
  const std::vector<std::int64_t> chosen =
      roi_levels(rois, std::ssize(levels), options.finest_scale);
  std::vector<Reading> all;
  for (std::size_t level = 0; level < levels.size(); ++level) {
    std::vector<float> boxes;
    std::vector<std::int64_t> rows;
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      if (chosen[i] != static_cast<std::int64_t>(level)) continue;
      const float* box = rois.data<float>() + 5 * i;
      boxes.insert(boxes.end(), box, box + 5);
      rows.push_back(static_cast<std::int64_t>(i));
    }
    all.push_back({static_cast<int>(level),
                   {.scale = 1 / strides[level],
                    .sampling_ratio = options.sampling_ratio,
                    .boxes = Tensor::from(boxes, {std::ssize(rows), 5}, first.device()),
                    .rows = numbers(rows, first.device())}});
  }
  return pooled("extract_rois", levels, all, {rois.size(0), first.size(1), size, size});
}

}  // namespace fovea::ops
