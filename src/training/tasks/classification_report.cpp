// What is written about a classification: tables, the picture of the confusion matrix, scores.
#include <fmt/format.h>

#include <cmath>
#include <set>
#include <span>

#include "base/file.h"
#include "training/store/run_state.h"
#include "training/tasks/classification.h"
#include "training/tasks/confusion_report.h"
#include "training/tasks/prediction_table.h"
#include "training/tasks/score_rows.h"

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

// A sample is called after its file, or after its file and its record in it.
std::string file_of(const std::string& sample, const std::set<std::string>& files) {
  if (files.contains(sample)) return sample;
  const std::string file = sample.substr(0, sample.rfind(':'));
  return files.contains(file) ? file : "";
}

std::string predictions_csv(const Evaluation& clean, const std::vector<std::string>& names,
                            const std::set<std::string>& files,
                            const std::vector<float>& probabilities,
                            const std::vector<std::string>& classes) {
  const bool each = std::ssize(classes) <= kMostClassColumns;
  std::string text = prediction_heads(classes, each) + "\n";
  const std::size_t width = names.empty() ? 0 : probabilities.size() / names.size();
  for (std::size_t i = 0; i < names.size(); ++i) {
    const PredictionRow row{names[i],
                            file_of(names[i], files),
                            clean.labels[i],
                            clean.predictions[i],
                            std::span(probabilities).subspan(i * width, width),
                            clean.indices[i]};
    text += prediction_line(row, classes, each) + "\n";
  }
  return text;
}

}  // namespace

Report Classification::report(const ReportRequest& request) {
  const auto wanted = parse_saves(request.save, ScoreRows::words(), "classes");
  ScoreRows rows;
  const Visit keep = [&](const data::Batch& batch, const Tensor& logits) {
    rows.add(logits, batch.at("label"), batch.indices);
  };
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
  std::set<std::string> files;
  for (const auto& file : source().at(request.split).files()) files.insert(file.string());
  io::write_atomic(request.folder / "predictions.csv",
                   predictions_csv(clean, names, files, rows.probabilities(), classes));
  report.saved = rows.write(request.folder, wanted, names, classes);
  return report;
}

}  // namespace fovea::training
