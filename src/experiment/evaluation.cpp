#include "experiment/evaluation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/csv_field.h"
#include "base/error.h"
#include "base/file.h"
#include "base/suggest.h"
#include "training/run_state.h"

namespace fovea::experiment {
namespace {

using schema::Value;

Value numbers(const std::vector<double>& values) { return Value::array(values); }

Value cases_json(const training::Report& report) {
  Value cases = Value::object({{"index", Value::array(report.indices)}});
  for (const metrics::Measurement& metric : report.metrics) {
    if (metric.info.per_sample) cases.set(metric.info.name, numbers(metric.per_sample));
  }
  return cases;
}

// A row for each sample, a column for each metric that has a value of its own for it.
std::string cases_csv(const training::Report& report, const training::BatchSource& data,
                      const std::string& split) {
  std::string text = "index,name";
  for (const metrics::Measurement& metric : report.metrics) {
    if (metric.info.per_sample) text += "," + metric.info.name;
  }
  text += "\n";
  for (std::size_t i = 0; i < report.indices.size(); ++i) {
    text += fmt::format("{},{}", report.indices[i],
                        csv_field(data.sample_name(split, report.indices[i])));
    for (const metrics::Measurement& metric : report.metrics) {
      if (metric.info.per_sample) text += fmt::format(",{}", metric.per_sample[i]);
    }
    text += "\n";
  }
  return text;
}

bool has_cases(const training::Report& report) {
  return std::any_of(report.metrics.begin(), report.metrics.end(),
                     [](const metrics::Measurement& metric) { return metric.info.per_sample; });
}

}  // namespace

Value evaluate(const Opened& opened, const EvalRequest& request, EvalObserver& observer) {
  Run& run = *opened.run;
  training::DataTask& task = run.task();
  const std::string& split = request.report.split;
  const training::Report report = task.report(request.report);
  observer.reported(report);
  std::vector<NoiseScore> scores;
  for (const std::string& type : request.noise.types) {
    for (const double level : request.noise.levels) {
      for (const metrics::Measurement& metric :
           task.measure(split, training::NoiseLevel{type, level})) {
        scores.push_back({metric.info.name, type, level, metric.value});
        if (metric.info.name == task.headline().name) observer.scored(scores.back());
      }
    }
  }
  Value record = Value::object({{"run", request.run},
                                {"name", run.experiment().name},
                                {"dataset", run.experiment().dataset.type},
                                {"split", split}});
  opened.weights.describe(record);
  record.set("samples", std::ssize(report.indices));
  Value values = Value::object();
  for (const metrics::Measurement& metric : report.metrics)
    training::set_number(values, metric.info.name, metric.value);
  record.set("metrics", values);
  for (const Value::Member& member : report.details.members()) record.set(member.key, member.value);
  if (!report.saved.empty()) record.set("saved", Value::array(report.saved));
  if (has_cases(report)) {
    record.set("cases", cases_json(report));
    io::write_atomic(request.report.folder / "cases.csv", cases_csv(report, task.source(), split));
  }
  return write_eval_results(request.report.folder, record, scores, task.headline(),
                            {weights_hash(run.model()), request.overrides});
}

training::NoiseGrid noise_grid(const training::BatchSource& data,
                               const std::vector<std::string>& types,
                               const std::vector<double>& levels) {
  training::NoiseGrid grid = data.noise_grid();
  const std::vector<std::string> known = data.noise_types();
  if (!types.empty()) {
    grid.types = types == std::vector<std::string>{"all"} ? known : types;
    if (grid.levels.empty()) grid.levels = {0.1, 0.2, 0.3, 0.4, 0.5};
  }
  if (!levels.empty()) grid.levels = levels;
  for (const std::string& type : grid.types) {
    FOVEA_CHECK(std::find(known.begin(), known.end(), type) != known.end(), ConfigError,
                fmt::format("--noise {}: no corruption of that name{} known: {}", type,
                            did_you_mean(type, known), fmt::join(known, ", ")));
  }
  return grid;
}

}  // namespace fovea::experiment
