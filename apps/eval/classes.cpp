#include "eval/classes.h"

#include <fmt/format.h>

#include <cmath>

#include "common/csv.h"
#include "eval/corruption.h"
#include "eval/score_rows.h"
#include "training/run_state.h"
#include "visualise/confusion_plot.h"

namespace fovea::apps {
namespace {

using schema::Value;
using Evaluation = training::Classification::Evaluation;

Value per_class(const Evaluation& clean, const std::vector<std::string>& classes) {
  Value list = Value::array();
  const auto accuracy = clean.confusion.per_class_accuracy();
  for (std::size_t i = 0; i < classes.size(); ++i) {
    Value row = Value::object({{"class", classes[i]}});
    training::set_number(row, "accuracy", 100 * accuracy[i]);
    list.push_back(row);
  }
  return list;
}

std::vector<std::int64_t> counts_of(const Evaluation& clean) {
  std::vector<std::int64_t> counts;
  const std::int64_t n = clean.confusion.num_classes();
  for (std::int64_t i = 0; i < n * n; ++i) counts.push_back(clean.confusion.count(i / n, i % n));
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

std::string predictions_csv(const Evaluation& clean, const training::BatchSource& data,
                            const std::string& split) {
  std::string text = "index,name,label,prediction\n";
  for (std::size_t i = 0; i < clean.indices.size(); ++i) {
    text += fmt::format("{},{},{},{}\n", clean.indices[i],
                        csv_field(data.sample_name(split, clean.indices[i])), clean.labels[i],
                        clean.predictions[i]);
  }
  return text;
}

std::vector<std::string> names_of(const std::vector<std::int64_t>& indices, const Job& job) {
  std::vector<std::string> names;
  for (const std::int64_t i : indices) names.push_back(job.data.sample_name(job.args.split, i));
  return names;
}

}  // namespace

Value evaluate_classes(const Job& job) {
  training::Classification& task = job.run.classification();
  const std::string& split = job.args.split;
  ScoreRows rows;
  training::DataTask::Visit keep;
  if (job.saves.scores()) keep = [&](const auto& batch, const Tensor& y) { rows.add(batch, y); };
  const Evaluation clean = task.evaluate_in_full(split, std::nullopt, keep);
  const auto& classes = job.data.class_names();
  const std::vector<std::int64_t> counts = counts_of(clean);
  Value result = begin_report(job, clean.labels.size(), clean.metrics);
  result.set("per_class", per_class(clean, classes));
  const auto accuracy = clean.confusion.per_class_accuracy();
  for (std::size_t i = 0; !job.json && i < classes.size(); ++i) {
    fmt::print(
        "  {:<14} {}\n", classes[i],
        std::isnan(accuracy[i]) ? "no samples" : fmt::format("{:6.2f} %", 100 * accuracy[i]));
  }
  add_corruption(job,
                 {"top1", "top-1 in %", metric_of(clean.metrics, "top1"),
                  [&](const training::NoiseLevel& level) {
                    return task.evaluate_in_full(split, level).metrics;
                  }},
                 result);
  io::write_atomic(job.out / "confusion.csv", confusion_csv(counts, classes));
  io::write_atomic(job.out / "predictions.csv", predictions_csv(clean, job.data, split));
  const visualise::ConfusionPlot plot{job.name() + ", " + split, classes, counts};
  visualise::write_png(job.out / "confusion.png", visualise::render(plot));
  Value matrix = Value::array();
  for (std::size_t i = 0; i < classes.size(); ++i) {
    const auto first = counts.begin() + static_cast<std::ptrdiff_t>(i * classes.size());
    matrix.push_back(Value::array(
        std::vector<std::int64_t>(first, first + static_cast<std::ptrdiff_t>(classes.size()))));
  }
  result.set("confusion",
             Value::object(
                 {{"classes", Value::array(classes)}, {"rows_are", "truth"}, {"counts", matrix}}));
  add_saved(job, rows.write(job.out, job.saves, names_of(clean.indices, job), classes), result);
  return result;
}

}  // namespace fovea::apps
