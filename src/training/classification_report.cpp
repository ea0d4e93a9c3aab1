// What is written about a classification: tables, the picture of the confusion matrix, scores.
#include <fmt/format.h>

#include <cmath>

#include "base/csv_field.h"
#include "base/file.h"
#include "training/classification.h"
#include "training/confusion_report.h"
#include "training/run_state.h"
#include "training/score_rows.h"

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
  report.details.set("confusion", write_confusion(request, clean.confusion, classes));
  io::write_atomic(request.folder / "predictions.csv", predictions_csv(clean, names));
  report.saved = rows.write(request.folder, wanted, names, classes);
  return report;
}

}  // namespace fovea::training
