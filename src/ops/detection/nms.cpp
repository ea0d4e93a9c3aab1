#include "ops/detection/nms.h"

#include <fmt/format.h>

#include <map>

#include "base/error.h"
#include "ops/detection/host_boxes.h"
#include "ops/detection/top_k.h"

namespace fovea::ops {
namespace {

// Boxes of one group, the best first, a vector a side: most of the time goes into one loop over
// them.
class Sorted {
 public:
  Sorted(const HostBoxes& boxes, const std::vector<std::int64_t>& order) {
    for (const std::int64_t i : order) {
      const Box box = boxes[i];
      x1_.push_back(box.x1);
      y1_.push_back(box.y1);
      x2_.push_back(box.x2);
      y2_.push_back(box.y2);
      area_.push_back(box.area());
    }
  }

  // Whether each stays.
  std::vector<char> kept(double threshold) const {
    std::vector<double> gone(area_.size(), 0);
    std::vector<char> stays(area_.size(), 0);
    for (std::size_t i = 0; i < area_.size(); ++i) {
      if (gone[i] != 0) continue;
      stays[i] = 1;
      suppress(i, threshold, gone);
    }
    return stays;
  }

 private:
  // Without branches, since where boxes meet cannot be guessed, and with marks as wide as what is
  // compared, so that the loop becomes vectors: five times as fast.
  void suppress(std::size_t i, double threshold, std::vector<double>& gone) const {
    const double x1 = x1_[i], y1 = y1_[i], x2 = x2_[i], y2 = y2_[i], area = area_[i];
    const double *left = x1_.data(), *top = y1_.data(), *right = x2_.data(), *bottom = y2_.data();
    const double* areas = area_.data();
    double* to = gone.data();
    const std::size_t n = area_.size();
    for (std::size_t j = i + 1; j < n; ++j) {
      const double width = (x2 < right[j] ? x2 : right[j]) - (x1 > left[j] ? x1 : left[j]);
      const double height = (y2 < bottom[j] ? y2 : bottom[j]) - (y1 > top[j] ? y1 : top[j]);
      const double both = (width > 0 ? width : 0) * (height > 0 ? height : 0);
      to[j] = both > threshold * (area + areas[j] - both) ? 1.0 : to[j];
    }
  }

  std::vector<double> x1_, y1_, x2_, y2_, area_;
};

// Of candidates with a score and a group, the best first, those that stay.
std::vector<std::int64_t> suppressed(const HostBoxes& boxes, const std::vector<float>& scores,
                                     const std::vector<std::int64_t>& groups, double threshold) {
  std::vector<std::int64_t> order = top_k(scores, std::ssize(scores));
  std::map<std::int64_t, std::vector<std::int64_t>> members;
  for (const std::int64_t i : order) members[groups[static_cast<std::size_t>(i)]].push_back(i);
  std::vector<char> stays(scores.size(), 0);
  for (const auto& [group, list] : members) {
    const std::vector<char> kept = Sorted(boxes, list).kept(threshold);
    for (std::size_t k = 0; k < list.size(); ++k)
      stays[static_cast<std::size_t>(list[k])] = kept[k];
  }
  std::erase_if(order, [&](std::int64_t i) { return !stays[static_cast<std::size_t>(i)]; });
  return order;
}

std::vector<float> scores_of(const char* op, const Tensor& scores, const HostBoxes& boxes) {
  FOVEA_CHECK(scores.dtype() == DType::kFloat32 && scores.shape() == Shape{boxes.count()},
              ShapeError,
              fmt::format("{}: scores are {} {} of {} boxes; expected float32, one a box", op,
                          name_of(scores.dtype()), to_string(scores.shape()), boxes.count()));
  const auto values = scores.values<float>();
  return {values.begin(), values.end()};
}

}  // namespace

std::vector<std::int64_t> nms(const Tensor& boxes, const Tensor& scores, double threshold) {
  const HostBoxes all("nms", "boxes", boxes);
  return suppressed(all, scores_of("nms", scores, all),
                    std::vector<std::int64_t>(static_cast<std::size_t>(all.count()), 0), threshold);
}

std::vector<std::int64_t> batched_nms(const Tensor& boxes, const Tensor& scores,
                                      const std::vector<std::int64_t>& groups, double threshold) {
  const HostBoxes all("batched_nms", "boxes", boxes);
  FOVEA_CHECK(std::ssize(groups) == all.count(), ShapeError,
              fmt::format("batched_nms: {} groups of {} boxes; expected one a box", groups.size(),
                          all.count()));
  return suppressed(all, scores_of("batched_nms", scores, all), groups, threshold);
}

Kept multiclass_nms(const Tensor& boxes, const Tensor& scores, double score_threshold,
                    double iou_threshold, std::int64_t most) {
  const bool fits = scores.rank() == 2 && boxes.rank() == 2 && boxes.size(0) == scores.size(0) &&
                    (boxes.size(1) == 4 || boxes.size(1) == 4 * scores.size(1));
  FOVEA_CHECK(
      fits && scores.dtype() == DType::kFloat32, ShapeError,
      fmt::format("multiclass_nms: boxes are {}, scores {} {}; expected (n, 4) or (n, 4 k), "
                  "and float32 (n, k)",
                  to_string(boxes.shape()), name_of(scores.dtype()), to_string(scores.shape())));
  const std::int64_t classes = scores.size(1);
  const bool of_class = boxes.size(1) != 4;
  // Boxes one below the other; of candidates their row there, and their label.
  const HostBoxes all("multiclass_nms", "boxes", boxes.alias({boxes.numel() / 4, 4}));
  std::vector<std::int64_t> places, labels;
  std::vector<float> values;
  const auto least = static_cast<float>(score_threshold);
  for (std::int64_t i = 0; i < scores.numel(); ++i) {
    const float score = scores.data<float>()[i];
    if (!(score > least)) continue;
    places.push_back(of_class ? i : i / classes);
    labels.push_back(i % classes);
    values.push_back(score);
  }
  const Tensor tried = all.rows(places);
  const HostBoxes candidates("multiclass_nms", "boxes", tried);
  std::vector<std::int64_t> order = suppressed(candidates, values, labels, iou_threshold);
  if (most >= 0 && most < std::ssize(order)) order.resize(static_cast<std::size_t>(most));
  Kept kept;
  std::vector<float> best;
  std::vector<std::int64_t> kinds;
  for (const std::int64_t at : order) {
    const auto i = static_cast<std::size_t>(at);
    best.push_back(values[i]);
    kinds.push_back(labels[i]);
    kept.rows.push_back(of_class ? places[i] / classes : places[i]);
  }
  kept.boxes = candidates.rows(order);
  kept.scores = Tensor::from(best, {std::ssize(best)}, boxes.device());
  kept.labels = Tensor::from(kinds, {std::ssize(kinds)}, boxes.device());
  return kept;
}

}  // namespace fovea::ops
