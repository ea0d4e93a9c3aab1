#include "experiment/inference/evaluation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/csv_field.h"
#include "base/error.h"
#include "base/file.h"
#include "base/suggest.h"
#include "experiment/inference/ensemble.h"
#include "training/store/checkpoint.h"
#include "training/store/run_state.h"

namespace fovea::experiment {
namespace {

using schema::Value;

// null for what is undefined.
Value numbers(const std::vector<double>& values) {
  Value list = Value::array();
  for (const double value : values) list.push_back(std::isnan(value) ? Value() : Value(value));
  return list;
}

// Those with a value for every sample, or for every volume.
std::vector<metrics::Measurement> case_metrics(const training::Report& report, bool of_volumes) {
  std::vector<metrics::Measurement> found;
  for (const metrics::Measurement& metric : report.metrics) {
    if (metric.info.per_sample && metric.of_volumes == of_volumes) found.push_back(metric);
  }
  return found;
}

Value cases_json(const std::vector<metrics::Measurement>& found, const char* key, Value names) {
  Value cases = Value::object({{key, std::move(names)}});
  for (const metrics::Measurement& metric : found)
    cases.set(metric.info.name, numbers(metric.per_sample));
  return cases;
}

// A row for each sample, a column for each metric that has a value of its own for it.
std::string cases_csv(const training::Report& report, const training::BatchSource& data,
                      data::Split split) {
  const std::vector<metrics::Measurement> found = case_metrics(report, false);
  std::string text = "index,name";
  for (const metrics::Measurement& metric : found) text += "," + metric.info.name;
  text += "\n";
  for (std::size_t i = 0; i < report.indices.size(); ++i) {
    text += fmt::format("{},{}", report.indices[i],
                        csv_field(data.sample_name(split, report.indices[i])));
    for (const metrics::Measurement& metric : found) {
      const double value = metric.per_sample[i];
      text += std::isnan(value) ? "," : fmt::format(",{}", value);
    }
    text += "\n";
  }
  return text;
}

// "train 40, test 10".
std::string sizes_text(const Value& fingerprint) {
  std::vector<std::string> words;
  for (const Value::Member& part : fingerprint.at("samples").members())
    words.push_back(fmt::format("{} {}", part.key, part.value.as_int()));
  return fmt::format("{}", fmt::join(words, ", "));
}

// Of the same samples, whatever each makes of them.
void check_samples(Run& first, Run& other, const std::string& name, data::Split split) {
  const training::BatchSource& a = first.task().source();
  const training::BatchSource& b = other.task().source();
  FOVEA_CHECK(a.at(split).size() == b.at(split).size(), ConfigError,
              fmt::format("{}: has {} samples of {}, the first run's {}; expected the same", name,
                          b.at(split).size(), data::name_of(split), a.at(split).size()));
  for (std::int64_t i = 0; i < a.at(split).size(); ++i)
    FOVEA_CHECK(
        a.sample_name(split, i) == b.sample_name(split, i), ConfigError,
        fmt::format("{}: sample {} of {} is {}, the first run's {}; expected the same", name, i,
                    data::name_of(split), b.sample_name(split, i), a.sample_name(split, i)));
}

// The first task gives the mean of all from now on. Returns what each gives by itself.
Value join_members(const std::vector<Opened>& opened, const EvalRequest& request,
                   EvalObserver& observer) {
  std::vector<Run*> runs;
  for (const Opened& one : opened) runs.push_back(one.run.get());
  const Ensemble check(runs);
  std::vector<training::Task*> others;
  for (std::size_t r = 1; r < runs.size(); ++r) {
    check_samples(*runs.front(), *runs[r], request.runs[r], request.report.split);
    others.push_back(&runs[r]->task());
  }
  Value members = Value::array();
  for (std::size_t r = 0; r < runs.size(); ++r) {
    const training::Metrics metrics = runs[r]->task().measure(request.report.split, std::nullopt);
    observer.member_scored(metrics);
    Value member = Value::object({{"run", request.runs[r]}}), values = Value::object();
    opened[r].weights.describe(member);
    for (const metrics::Measurement& metric : metrics) training::set_measured(values, metric);
    member.set("metrics", values);
    members.push_back(member);
  }
  runs.front()->task().set_members(others);
  return members;
}

std::string weights_of(const std::vector<Opened>& opened) {
  if (opened.size() == 1) return weights_hash(opened.front().run->model());
  std::string all;
  for (const Opened& one : opened) all += weights_hash(one.run->model()) + "\n";
  return training::hash_bytes(all);
}

}  // namespace

std::optional<std::string> other_data(const Value& trained, const Value& now) {
  if (data::same_content(trained, now)) return std::nullopt;
  return fmt::format(
      "the data are not those that the run was trained on: their content is {} ({}), "
      "the run's {} ({})",
      now.at("hash").as_string(), sizes_text(now), trained.at("hash").as_string(),
      sizes_text(trained));
}

Value evaluate(const std::vector<Opened>& all, const EvalRequest& request, EvalObserver& observer) {
  FOVEA_CHECK(all.size() == 1 || request.noise.empty(), ConfigError,
              "--noise: is of one run; several are scored without noise");
  for (const Opened& one : all) one.run->prepare_evaluation();
  const Opened& opened = all.front();
  Run& run = *opened.run;
  training::Task& task = run.task();
  const data::Split split = request.report.split;
  const Value data = task.source().fingerprint();
  const std::optional<std::string> other = other_data(opened.data, data);
  if (other) observer.noted(*other);
  const std::string weights = weights_of(all);
  const Intervened intervened(all, request.interventions, split);
  const Value members = all.size() > 1 ? join_members(all, request, observer) : Value();
  ReportFiles files(run, request.report);
  io::make_directories(request.report.folder);  // nothing is refused from here on
  const training::Report report = task.report(files.request());
  const std::vector<std::string> saved = files.write(report);
  observer.reported(report, saved);
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
  const training::PostprocessingOptions& postprocessing = task.postprocessing().options;
  Value record = Value::object({{"run", fmt::format("{}", fmt::join(request.runs, ", "))},
                                {"name", run.experiment().name},
                                {"dataset", run.experiment().dataset.type},
                                {"split", data::name_of(split)}});
  if (members.is_null()) {
    opened.weights.describe(record);
  } else {
    record.set("members", members);
  }
  record.set("samples", std::ssize(report.indices));
  record.set("data", data);
  if (other) record.set("data_of_run", opened.data);
  Value values = Value::object();
  for (const metrics::Measurement& metric : report.metrics) training::set_measured(values, metric);
  record.set("metrics", values);
  for (const Value::Member& member : report.details.members()) record.set(member.key, member.value);
  std::vector<std::string> changes = request.overrides;
  if (!request.interventions.empty()) {
    record.set("interventions", request.interventions.record());
    const std::vector<std::string> lines = request.interventions.lines();
    changes.insert(changes.end(), lines.begin(), lines.end());
  }
  if (!postprocessing.empty()) {
    record.set("postprocessing", training::to_value(postprocessing));
    changes.push_back("postprocessing=" + postprocessing.text());
  }
  if (!saved.empty()) record.set("saved", Value::array(saved));
  if (const auto found = case_metrics(report, false); !found.empty()) {
    record.set("cases", cases_json(found, "index", Value::array(report.indices)));
    io::write_atomic(request.report.folder / "cases.csv", cases_csv(report, task.source(), split));
  }
  if (const auto found = case_metrics(report, true); !found.empty())
    record.set("volumes", cases_json(found, "name", Value::array(report.volumes)));
  return write_eval_results(request.report.folder, record, scores, task.headline(),
                            {weights, changes});
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
                fmt::format("--noise {}: no corruption of that name{} (known: {})", type,
                            did_you_mean(type, known), fmt::join(known, ", ")));
  }
  return grid;
}

}  // namespace fovea::experiment
