#include "models/detectors/anchor_grid.h"

#include <fmt/format.h>

#include "base/error.h"
#include "models/detectors/truth.h"
#include "ops/indexing.h"
#include "ops/shape.h"

namespace fovea::models {
namespace {

// mmdet pads every image of a batch to a multiple of this before it stacks them. mala 7.2.
constexpr std::int64_t kPadDivisor = 32;

std::int64_t rounded_up(std::int64_t size, std::int64_t step) { return (size + step - 1) / step; }

}  // namespace

AnchorGrid::AnchorGrid(const std::vector<Tensor>& maps, const std::vector<std::int64_t>& strides,
                       const ops::AnchorOptions& options)
    : per_cell_(options.of_place()) {
  FOVEA_CHECK(maps.size() == strides.size(), ShapeError,
              fmt::format("anchors: {} maps for {} levels", maps.size(), strides.size()));
  std::vector<Tensor> boxes;
  firsts_.push_back(0);
  for (std::size_t i = 0; i < maps.size(); ++i) {
    levels_.push_back({maps[i].size(2), maps[i].size(3), strides[i]});
    const auto& [h, w, stride] = levels_.back();
    boxes.push_back(ops::grid_anchors(h, w, static_cast<double>(stride), options));
    firsts_.push_back(firsts_.back() + boxes.back().size(0));
  }
  boxes_ = ops::concat(boxes, 0);
}

std::size_t AnchorGrid::level_of(std::int64_t anchor) const {
  std::size_t level = 0;
  while (anchor >= firsts_[level + 1]) ++level;
  return level;
}

std::vector<std::int64_t> AnchorGrid::counted(const ImageSize& size, bool inside_only) const {
  const auto boxes = boxes_.host_values<float>();
  const auto height = static_cast<float>(size[0]);
  const auto width = static_cast<float>(size[1]);
  std::vector<std::int64_t> counted;
  std::int64_t anchor = 0;
  for (const auto& [h, w, stride] : levels_) {
    const auto within = [&, step = stride](std::int64_t side) {
      return rounded_up(rounded_up(side, kPadDivisor) * kPadDivisor, step);
    };
    const std::int64_t rows = within(size[0]);
    const std::int64_t columns = within(size[1]);
    for (std::int64_t cell = 0; cell < h * w; ++cell) {
      const bool there = cell / w < rows && cell % w < columns;
      for (std::int64_t a = 0; a < per_cell_; ++a, ++anchor) {
        const float* box = boxes.data() + 4 * anchor;
        const bool crosses =
            inside_only && (box[0] < 0 || box[1] < 0 || box[2] >= width || box[3] >= height);
        if (there && !crosses) counted.push_back(anchor);
      }
    }
  }
  return counted;
}

std::vector<std::int64_t> AnchorGrid::assign(const DetectionTruth& truth, const ImageSize& size,
                                             const ops::AssignOptions& options,
                                             bool inside_only) const {
  const std::vector<std::int64_t> rows = counted(size, inside_only);
  if (std::ssize(rows) == this->size())
    return ops::assign_boxes(boxes_, truth.boxes, options, truth.crowds);
  const std::vector<std::int64_t> some =
      ops::assign_boxes(take_rows(boxes_, rows), truth.boxes, options, truth.crowds);
  std::vector<std::int64_t> all(static_cast<std::size_t>(this->size()), -1);
  for (std::size_t i = 0; i < rows.size(); ++i) all[static_cast<std::size_t>(rows[i])] = some[i];
  return all;
}

Tensor AnchorGrid::at(const std::vector<Tensor>& maps, const std::vector<Place>& places,
                      std::int64_t k) const {
  std::vector<Tensor> flat;
  std::vector<std::int64_t> begins{0};  // of each level in the flat maps
  for (const Tensor& map : maps) {
    flat.push_back(ops::reshape(map, {-1}));
    begins.push_back(begins.back() + map.numel());
  }
  std::vector<std::int64_t> index;
  index.reserve(places.size() * static_cast<std::size_t>(k));
  for (const auto& [image, anchor] : places) {
    const std::size_t level = level_of(anchor);
    const std::int64_t cells = levels_[level].h * levels_[level].w;
    const std::int64_t local = anchor - firsts_[level];
    const std::int64_t first = (image * per_cell_ + local % per_cell_) * k;
    for (std::int64_t c = 0; c < k; ++c)
      index.push_back(begins[level] + (first + c) * cells + local / per_cell_);
  }
  const Tensor where = Tensor::from(index, {std::ssize(index)}, maps.front().device());
  return ops::reshape(ops::gather(ops::concat(flat, 0), 0, where), {std::ssize(places), k});
}

Tensor AnchorGrid::rows_of(const Tensor& map, std::int64_t k) const {
  const Tensor split = ops::reshape(map, {map.size(0), per_cell_, k, map.size(2), map.size(3)});
  return ops::reshape(ops::permute(split, {0, 3, 4, 1, 2}), {split.numel() / k, k});
}

}  // namespace fovea::models
