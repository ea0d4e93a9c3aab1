// Metrics of classification: accuracy, top-k.
#pragma once

#include <cstdint>
#include <vector>

#include "metrics/confusion.h"
#include "metrics/metric_info.h"
#include "tensor/tensor.h"

namespace fovea::metrics {

inline const MetricInfo kTop1{.name = "top1", .unit = "%", .decimals = 2, .per_sample = true};
inline const MetricInfo kTop5{.name = "top5", .unit = "%", .decimals = 2, .per_sample = true};

/// How many classes come before the label of each row, by their logits. Equal logits are ranked by
/// index, the lowest first, so that a constant row predicts class 0. NaN ranks below everything.
/// logits: (rows, classes) float32 or float64 on the host; labels: (rows) int64.
/// Throws ShapeError if the shapes do not fit or a label is outside [0, classes).
std::vector<std::int64_t> ranks(const Tensor& logits, const Tensor& labels);

/// The metrics of a classification from the mean loss and the rank of every sample: loss, top1 and,
/// for more than five classes, top5 (of fewer it would always be 100 %).
std::vector<Measurement> measure_classes(double loss, const std::vector<std::int64_t>& ranks,
                                         std::int64_t num_classes);
/// The metrics without their values.
std::vector<MetricInfo> class_metrics(std::int64_t num_classes);

/// Rows whose label is among their k largest logits, by ranks().
std::int64_t top_k_correct(const Tensor& logits, const Tensor& labels, std::int64_t k);

/// The predicted class of every row, by the same order.
std::vector<std::int64_t> predictions(const Tensor& logits);

/// A mean over samples that arrive in batches of different sizes, in float64.
class RunningMean {
 public:
  /// `value` is the mean over `weight` samples.
  void add(double value, double weight = 1) {
    sum_ += value * weight;
    weight_ += weight;
  }
  double weight() const { return weight_; }
  /// NaN before the first sample.
  double value() const { return sum_ / weight_; }

 private:
  double sum_ = 0;
  double weight_ = 0;
};

}  // namespace fovea::metrics
