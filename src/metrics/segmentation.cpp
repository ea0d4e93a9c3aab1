#include "metrics/segmentation.h"

#include <fmt/format.h>

#include <limits>

#include "base/error.h"

namespace fovea::metrics {
namespace {

double share(std::int64_t part, std::int64_t whole, Empty if_empty = Empty::kZero) {
  return whole == 0 ? of_nothing(if_empty) : static_cast<double>(part) / static_cast<double>(whole);
}

// A share of 1 in percent.
Measurement pooled(const char* name, double share) {
  return {{.name = name, .unit = "%", .decimals = 2}, 100 * share, {}};
}

// The mean over the images, in percent, of one share of 1 for each image.
Measurement per_image(const MetricInfo& info, const std::vector<double>& shares) {
  Measurement metric{info, 0, {}};
  double sum = 0;
  for (const double value : shares) {
    sum += value;
    metric.per_sample.push_back(100 * value);
  }
  metric.value = 100 * (sum / static_cast<double>(shares.size()));
  return metric;
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

double of_nothing(Empty empty) {
  return empty == Empty::kZero  ? 0
         : empty == Empty::kOne ? 1
                                : std::numeric_limits<double>::quiet_NaN();
}

double MaskCounts::iou(Empty if_empty) const { return share(tp_, tp_ + fp_ + fn_, if_empty); }
double MaskCounts::dice(Empty if_empty) const {
  return share(2 * tp_, 2 * tp_ + fp_ + fn_, if_empty);
}
double MaskCounts::background_iou() const { return share(tn_, tn_ + fp_ + fn_); }
double MaskCounts::accuracy() const { return share(tp_ + tn_, total()); }
double MaskCounts::sensitivity() const { return share(tp_, tp_ + fn_); }
double MaskCounts::specificity() const { return share(tn_, tn_ + fp_); }

std::vector<Measurement> measure_masks(double loss, const std::vector<MaskCounts>& images) {
  MaskCounts all;
  std::vector<double> dice, iou;
  for (const MaskCounts& image : images) {
    all.add(image);
    dice.push_back(image.dice(Empty::kOne));
    iou.push_back(image.iou(Empty::kOne));
  }
  return {{kLoss, loss, {}},
          {kPooledIou, 100 * all.iou(), {}},
          {kMiou, 100 * ((all.iou() + all.background_iou()) / 2), {}},
          {kPooledDice, 100 * all.dice(), {}},
          per_image(kDicePerImage, dice),
          per_image(kIouPerImage, iou),
          {kPixelAccuracy, 100 * all.accuracy(), {}},
          pooled("sensitivity", all.sensitivity()),
          pooled("specificity", all.specificity())};
}

std::vector<MetricInfo> mask_metrics() { return infos_of(measure_masks(0, {})); }

}  // namespace fovea::metrics
