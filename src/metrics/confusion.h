// Counts of classes by truth and prediction, of samples or of pixels.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace fovea::metrics {

/// Counts over any number of batches. Rows are the truth, columns the prediction.
class ConfusionMatrix {
 public:
  explicit ConfusionMatrix(std::int64_t num_classes);

  /// Elements whose truth is `ignore` do not count. Throws ShapeError for different lengths or
  /// values outside [0, classes).
  void add(std::span<const std::int64_t> truth, std::span<const std::int64_t> predicted,
           std::optional<std::int64_t> ignore = {});
  void add(const ConfusionMatrix& other);

  std::int64_t num_classes() const { return classes_; }
  std::int64_t count(std::int64_t truth, std::int64_t predicted) const;
  /// (classes, classes) row-major.
  const std::vector<std::int64_t>& counts() const { return counts_; }
  std::int64_t total() const;
  /// Share of the diagonal; NaN when empty.
  double accuracy() const;

 private:
  std::int64_t classes_;
  std::vector<std::int64_t> counts_;
};

/// Samples or pixels of every class: in the truth, in the prediction, in both.
struct ClassCounts {
  std::vector<std::int64_t> truth, predicted, both;
};
ClassCounts class_counts(const ConfusionMatrix& confusion);
/// The share of the samples or pixels of each class that were given it; NaN for a class that is not
/// in the truth.
std::vector<double> class_accuracy(const ClassCounts& counts);

/// The labels of everything that is scored as one class, the background first. The sets may
/// overlap.
using LabelSets = std::vector<std::vector<std::int64_t>>;
/// The counts of sets of the matrix's classes.
ClassCounts class_counts(const ConfusionMatrix& confusion, const LabelSets& sets);

}  // namespace fovea::metrics
