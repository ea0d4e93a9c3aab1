#include "metrics/segmentation.h"

#include <fmt/format.h>

#include "base/error.h"

namespace fovea::metrics {
namespace {

double share(std::int64_t part, std::int64_t whole, double if_empty = 0.0) {
  return whole == 0 ? if_empty : static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

void MaskCounts::add(std::span<const float> prob, std::span<const float> target) {
  FOVEA_CHECK(prob.size() == target.size(), ShapeError,
              fmt::format("mask counts: {} probabilities, {} targets", prob.size(), target.size()));
  std::int64_t both = 0, predicted = 0, truth = 0;
  for (std::size_t i = 0; i < prob.size(); ++i) {
    const std::int64_t p = prob[i] >= threshold_ ? 1 : 0;
    const std::int64_t t = target[i] >= threshold_ ? 1 : 0;
    both += p & t;
    predicted += p;
    truth += t;
  }
  tp_ += both;
  fp_ += predicted - both;
  fn_ += truth - both;
  tn_ += static_cast<std::int64_t>(prob.size()) - predicted - truth + both;
}

void MaskCounts::add(const MaskCounts& other) {
  tp_ += other.tp_;
  fp_ += other.fp_;
  fn_ += other.fn_;
  tn_ += other.tn_;
}

double MaskCounts::iou(double if_empty) const { return share(tp_, tp_ + fp_ + fn_, if_empty); }
double MaskCounts::dice(double if_empty) const {
  return share(2 * tp_, 2 * tp_ + fp_ + fn_, if_empty);
}
double MaskCounts::background_iou() const { return share(tn_, tn_ + fp_ + fn_); }
double MaskCounts::accuracy() const { return share(tp_ + tn_, total()); }
double MaskCounts::sensitivity() const { return share(tp_, tp_ + fn_); }
double MaskCounts::specificity() const { return share(tn_, tn_ + fp_); }

}  // namespace fovea::metrics
