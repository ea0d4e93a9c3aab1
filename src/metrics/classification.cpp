#include "metrics/classification.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"

namespace fovea::metrics {
namespace {

void check_logits(const Tensor& logits) {
  FOVEA_CHECK(
      logits.rank() == 2 && logits.size(1) >= 1, ShapeError,
      fmt::format("accuracy: logits are {}, expected (rows, classes)", to_string(logits.shape())));
}

// True if class `a` comes before class `b` in the order of predictions.
template <class T>
bool ranks_before(const T* row, std::int64_t a, std::int64_t b) {
  if (std::isnan(row[b])) return !std::isnan(row[a]) || a < b;
  return row[a] > row[b] || (row[a] == row[b] && a < b);
}

}  // namespace

std::vector<std::int64_t> ranks(const Tensor& logits, const Tensor& labels) {
  check_logits(logits);
  const std::int64_t rows = logits.size(0);
  const std::int64_t classes = logits.size(1);
  FOVEA_CHECK(
      labels.rank() == 1 && labels.size(0) == rows, ShapeError,
      fmt::format("accuracy: labels are {}, expected ({})", to_string(labels.shape()), rows));
  const std::int64_t* label = labels.data<std::int64_t>();
  return dispatch_float("accuracy", logits.dtype(), [&]<class T>(T) {
    std::vector<std::int64_t> before(static_cast<std::size_t>(rows), 0);
    for (std::int64_t r = 0; r < rows; ++r) {
      const T* row = logits.data<T>() + r * classes;
      FOVEA_CHECK(
          label[r] >= 0 && label[r] < classes, ShapeError,
          fmt::format("accuracy: label {} of row {}; expected 0..{}", label[r], r, classes - 1));
      for (std::int64_t c = 0; c < classes; ++c)
        before[static_cast<std::size_t>(r)] += ranks_before(row, c, label[r]) ? 1 : 0;
    }
    return before;
  });
}

std::int64_t top_k_correct(const Tensor& logits, const Tensor& labels, std::int64_t k) {
  const std::vector<std::int64_t> all = ranks(logits, labels);
  return std::count_if(all.begin(), all.end(), [&](std::int64_t rank) { return rank < k; });
}

std::vector<Measurement> measure_classes(double loss, const std::vector<std::int64_t>& ranks,
                                         std::int64_t num_classes) {
  std::vector<Measurement> all = {{kLoss, loss, {}}};
  const auto add = [&](const MetricInfo& info, std::int64_t k) {
    Measurement metric{info, 0, {}};
    std::int64_t correct = 0;
    for (const std::int64_t rank : ranks) {
      correct += rank < k ? 1 : 0;
      metric.per_sample.push_back(rank < k ? 100 : 0);
    }
    metric.value = 100.0 * static_cast<double>(correct) / static_cast<double>(ranks.size());
    all.push_back(std::move(metric));
  };
  add(kTop1, 1);
  if (num_classes > 5) add(kTop5, 5);
  return all;
}

std::vector<MetricInfo> class_metrics(std::int64_t num_classes) {
  return infos_of(measure_classes(0, {}, num_classes));
}

std::vector<std::int64_t> predictions(const Tensor& logits) {
  check_logits(logits);
  return dispatch_float("predictions", logits.dtype(), [&]<class T>(T) {
    std::vector<std::int64_t> classes;
    for (std::int64_t r = 0; r < logits.size(0); ++r) {
      const T* row = logits.data<T>() + r * logits.size(1);
      std::int64_t best = 0;
      for (std::int64_t c = 1; c < logits.size(1); ++c) {
        if (ranks_before(row, c, best)) best = c;
      }
      classes.push_back(best);
    }
    return classes;
  });
}

}  // namespace fovea::metrics
