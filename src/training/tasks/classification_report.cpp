// What is said of a classification: accuracy by class, the confusion matrix, scores of
// each sample, calibration.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "explain/diagnostics/attention_diagnosis.h"
#include "metrics/classes/calibration.h"
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

// How often the predicted class is right over how probable it is said to be; bins without samples
// are left out of the picture.
void add_calibration(Report& report, const metrics::ClassPredictions& predictions) {
  Curve accuracy{"accuracy", {}, {}};
  std::vector<double> low, high, confidence, right;
  std::vector<std::int64_t> samples;
  for (const metrics::CalibrationBin& bin : metrics::calibration_bins(predictions)) {
    low.push_back(bin.low);
    high.push_back(bin.high);
    samples.push_back(bin.samples);
    confidence.push_back(bin.confidence);
    right.push_back(bin.accuracy);
    if (bin.samples == 0) continue;
    accuracy.x.push_back(bin.confidence);
    accuracy.y.push_back(bin.accuracy);
  }
  report.curves.push_back({"reliability",
                           "probability of the predicted class",
                           "share that is right",
                           0,
                           1,
                           {{"calibrated", {0, 1}, {0, 1}}, accuracy}});
  report.tables.push_back({"reliability",
                           {{"above", low},
                            {"up_to", high},
                            {"samples", samples},
                            {"confidence", confidence},
                            {"accuracy", right}}});
}

// What a mean is taken without, for people.
void add_undefined(Report& report) {
  for (const metrics::Measurement& one : report.metrics) {
    const metrics::ClassScoreEntry* entry = metrics::find_class_score(one.info.name);
    if (entry == nullptr || one.coverage.complete()) continue;
    report.lines.push_back(fmt::format(
        "{}: undefined for {}; {}", one.info.name, entry->rule.undefined_for,
        one.coverage.defined == 0 ? std::string("it has no value")
                                  : fmt::format("the mean is over {} of {}", one.coverage.defined,
                                                one.coverage.compared)));
  }
}

// Attention is looked at in some of the samples that the other metrics are of.
void add_attention(Report& report, const std::vector<std::string>& names, bool of_mean) {
  const std::int64_t all = std::ssize(report.indices);
  const std::int64_t looked_at = explain::AttentionSample::count_of(all);
  if (names.empty() || (looked_at == all && !of_mean)) return;
  const std::string what = of_mean
                               ? "the mean of several networks has none; each of them has its own"
                               : fmt::format("of {} of the {} samples", looked_at, all);
  report.lines.push_back(fmt::format("{}: {}", fmt::join(names, ", "), what));
}

}  // namespace

Report Classification::report(const ReportRequest& request) {
  Evaluation clean = evaluate(request.split, std::nullopt, /*keep_logits=*/true);
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
  add_calibration(report, clean.predictions);
  add_undefined(report);
  add_attention(report, attention_, has_members());
  report.scores =
      ScoreRows{clean.predictions.width, std::move(clean.logits),
                std::move(clean.predictions.labels), std::move(clean.predictions.predictions)};
  return report;
}

}  // namespace fovea::training
