#include "metrics/confusion.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <span>
#include <xtensor/xbuilder.hpp>

#include "base/error.h"
#include "tensor/xtensor.h"

namespace fovea::metrics {
namespace {

using Counts = xt::xtensor<std::int64_t, 1>;

XTensorView<const std::int64_t, 2> matrix(const ConfusionMatrix& confusion) {
  const std::int64_t classes = confusion.num_classes();
  return as_xtensor(std::span(confusion.counts()), {classes, classes});
}

std::vector<std::int64_t> listed(const Counts& counts) { return {counts.begin(), counts.end()}; }

}  // namespace

ConfusionMatrix::ConfusionMatrix(std::int64_t num_classes)
    : classes_(num_classes), counts_(static_cast<std::size_t>(num_classes * num_classes)) {}

void ConfusionMatrix::add(std::span<const std::int64_t> truth,
                          std::span<const std::int64_t> predicted,
                          std::optional<std::int64_t> ignore) {
  FOVEA_CHECK(
      truth.size() == predicted.size(), ShapeError,
      fmt::format("confusion matrix: {} labels, {} predictions", truth.size(), predicted.size()));
  for (std::size_t i = 0; i < truth.size(); ++i) {
    if (truth[i] == ignore) continue;
    for (const std::int64_t value : {truth[i], predicted[i]}) {
      FOVEA_CHECK(
          value >= 0 && value < classes_, ShapeError,
          fmt::format("confusion matrix: class {} at {}; expected 0..{}", value, i, classes_ - 1));
    }
    ++counts_[static_cast<std::size_t>(truth[i] * classes_ + predicted[i])];
  }
}

void ConfusionMatrix::add(const ConfusionMatrix& other) {
  FOVEA_CHECK(classes_ == other.classes_, ShapeError,
              fmt::format("confusion matrix: one of {} classes is added to one of {}",
                          other.classes_, classes_));
  std::transform(counts_.begin(), counts_.end(), other.counts_.begin(), counts_.begin(),
                 std::plus<>());
}

std::int64_t ConfusionMatrix::count(std::int64_t truth, std::int64_t predicted) const {
  return counts_[static_cast<std::size_t>(truth * classes_ + predicted)];
}

std::int64_t ConfusionMatrix::total() const { return xt::sum(matrix(*this))(); }

double ConfusionMatrix::accuracy() const {
  return static_cast<double>(xt::sum(xt::diagonal(matrix(*this)))()) / static_cast<double>(total());
}

ClassCounts class_counts(const ConfusionMatrix& confusion) {
  const auto counts = matrix(confusion);
  return {.truth = listed(xt::sum(counts, {1})),
          .predicted = listed(xt::sum(counts, {0})),
          .both = listed(xt::diagonal(counts))};
}

std::vector<double> class_accuracy(const ClassCounts& counts) {
  std::vector<double> shares;
  for (std::size_t c = 0; c < counts.truth.size(); ++c) {
    // 0 / 0 is NaN.
    shares.push_back(static_cast<double>(counts.both[c]) / static_cast<double>(counts.truth[c]));
  }
  return shares;
}

ClassCounts class_counts(const ConfusionMatrix& confusion, const LabelSets& sets) {
  const ClassCounts single = class_counts(confusion);
  ClassCounts counts;
  for (const std::vector<std::int64_t>& set : sets) {
    std::int64_t truth = 0, predicted = 0, both = 0;
    for (const std::int64_t label : set) {
      truth += single.truth.at(static_cast<std::size_t>(label));
      predicted += single.predicted.at(static_cast<std::size_t>(label));
      for (const std::int64_t other : set) both += confusion.count(label, other);
    }
    counts.truth.push_back(truth);
    counts.predicted.push_back(predicted);
    counts.both.push_back(both);
  }
  return counts;
}

}  // namespace fovea::metrics
