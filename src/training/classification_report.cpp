// What is written about a classification: tables, the picture of the confusion matrix, scores.
#include <fmt/format.h>

#include <cmath>

#include "base/csv_field.h"
#include "base/file.h"
#include "training/classification.h"
#include "training/run_state.h"
#include "training/score_rows.h"
#include "visualise/confusion_plot.h"

namespace fovea::training {
namespace {

using schema::Value;
using Evaluation = Classification::Evaluation;

Value per_class(const std::vector<double>& accuracy, const std::vector<std::string>& classes) {
  Value list = Value::array();
  for (std::size_t i = 0; i < classes.size(); ++i) {
    Value row = Value::object({{"class", classes[i]}});
    set_number(row, "accuracy", 100 * accuracy[i]);
    list.push_back(row);
  }
  return list;
}

std::vector<std::int64_t> counts_of(const metrics::ConfusionMatrix& confusion) {
  std::vector<std::int64_t> counts;
  const std::int64_t n = confusion.num_classes();
  for (std::int64_t i = 0; i < n * n; ++i) counts.push_back(confusion.count(i / n, i % n));
  return counts;
}

// Rows are the truth, columns the prediction.
std::string confusion_csv(const std::vector<std::int64_t>& counts,
                          const std::vector<std::string>& classes) {
  std::string text = "truth \\ prediction";
  for (const std::string& name : classes) text += "," + csv_field(name);
  for (std::size_t i = 0; i < classes.size(); ++i) {
    text += "\n" + csv_field(classes[i]);
    for (std::size_t j = 0; j < classes.size(); ++j)
      text += fmt::format(",{}", counts[i * classes.size() + j]);
  }
  return text + "\n";
}

Value confusion_json(const std::vector<std::int64_t>& counts,
                     const std::vector<std::string>& classes) {
  Value matrix = Value::array();
  for (std::size_t i = 0; i < classes.size(); ++i) {
    const auto first = counts.begin() + static_cast<std::ptrdiff_t>(i * classes.size());
    matrix.push_back(Value::array(
        std::vector<std::int64_t>(first, first + static_cast<std::ptrdiff_t>(classes.size()))));
  }
  return Value::object(
      {{"classes", Value::array(classes)}, {"rows_are", "truth"}, {"counts", matrix}});
}

std::string predictions_csv(const Evaluation& clean, const std::vector<std::string>& names) {
  std::string text = "index,name,label,prediction\n";
  for (std::size_t i = 0; i < names.size(); ++i) {
    text += fmt::format("{},{},{},{}\n", clean.indices[i], csv_field(names[i]), clean.labels[i],
                        clean.predictions[i]);
  }
  return text;
}

}  // namespace

Report Classification::report(const ReportRequest& request) {
  const auto wanted = parse_saves(request.save, ScoreRows::words(), "classes");
  ScoreRows rows;
  Visit keep;
  if (!wanted.empty()) {
    keep = [&](const data::Batch& batch, const Tensor& logits) {
      rows.add(logits, batch.at("label"), batch.indices);
    };
  }
  const Evaluation clean = evaluate_in_full(request.split, std::nullopt, keep);
  const std::vector<std::string>& classes = source().class_names();
  const std::vector<std::string> names = names_of(clean.indices, request.split);
  const std::vector<std::int64_t> counts = counts_of(clean.confusion);
  const std::vector<double> accuracy = clean.confusion.per_class_accuracy();
  Report report;
  report.metrics = clean.metrics;
  report.indices = clean.indices;
  for (std::size_t i = 0; i < classes.size(); ++i) {
    report.lines.push_back(fmt::format(
        "{:<14} {}", classes[i],
        std::isnan(accuracy[i]) ? "no samples" : fmt::format("{:6.2f} %", 100 * accuracy[i])));
  }
  report.details.set("per_class", per_class(accuracy, classes));
  report.details.set("confusion", confusion_json(counts, classes));
  io::write_atomic(request.folder / "confusion.csv", confusion_csv(counts, classes));
  io::write_atomic(request.folder / "predictions.csv", predictions_csv(clean, names));
  const visualise::ConfusionPlot plot{request.title, classes, counts};
  visualise::write_png(request.folder / "confusion.png", visualise::render(plot));
  report.saved = rows.write(request.folder, wanted, names, classes);
  return report;
}

}  // namespace fovea::training
