// What is said of a classification: accuracy by class, the confusion matrix, scores of each sample.
#include <fmt/format.h>

#include <cmath>

#include "ops/elementwise.h"
#include "training/store/run_state.h"
#include "training/tasks/classification.h"

namespace fovea::training {
namespace {

using schema::Value;

Value per_class(const std::vector<double>& accuracy, const std::vector<std::string>& classes) {
  Value list = Value::array();
  for (std::size_t i = 0; i < classes.size(); ++i) {
    Value row = Value::object({{"class", classes[i]}});
    set_number(row, "accuracy", 100 * accuracy[i]);
    list.push_back(row);
  }
  return list;
}

// The logits of batches as they come, and whose they are.
struct Logits {
  std::int64_t width = 0;
  std::vector<float> values;
  std::vector<std::int64_t> indices;

  void add(const data::Batch& batch, const Tensor& logits) {
    width = logits.size(1);
    const Tensor wide = ops::cast(logits, DType::kFloat32);
    const auto own = wide.host_values<float>();
    values.insert(values.end(), own.begin(), own.end());
    indices.insert(indices.end(), batch.indices.begin(), batch.indices.end());
  }
  std::vector<float> sorted() const {
    std::vector<float> all;
    all.reserve(values.size());
    for (const std::size_t row : ascending(indices)) {
      const auto first = values.begin() + static_cast<std::ptrdiff_t>(row) * width;
      all.insert(all.end(), first, first + width);
    }
    return all;
  }
};

}  // namespace

Report Classification::report(const ReportRequest& request) {
  Logits logits;
  Evaluation clean = evaluate_in_full(
      request.split, std::nullopt,
      [&](const data::Batch& batch, const Tensor& output) { logits.add(batch, output); });
  const std::vector<std::string>& classes = source().class_names();
  const std::vector<double> accuracy =
      metrics::class_accuracy(metrics::class_counts(clean.confusion));
  Report report;
  report.metrics = std::move(clean.metrics);
  report.indices = std::move(clean.indices);
  for (std::size_t i = 0; i < classes.size(); ++i) {
    report.lines.push_back(fmt::format(
        "{:<14} {}", classes[i],
        std::isnan(accuracy[i]) ? "no samples" : fmt::format("{:6.2f} %", 100 * accuracy[i])));
  }
  report.details.set("per_class", per_class(accuracy, classes));
  report.confusion = Confusion{classes, clean.confusion.counts()};
  report.details.set("confusion", to_value(*report.confusion));
  report.scores = ScoreRows{logits.width, logits.sorted(), std::move(clean.labels),
                            std::move(clean.predictions)};
  return report;
}

}  // namespace fovea::training
