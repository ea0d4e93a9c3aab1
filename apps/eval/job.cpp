#include "eval/job.h"

#include <fmt/format.h>

#include <cmath>

#include "experiment/results.h"
#include "training/run_state.h"

namespace fovea::apps {

using schema::Value;

double metric_of(const training::Metrics& metrics, const std::string& wanted) {
  for (const auto& [name, value] : metrics) {
    if (name == wanted) return value;
  }
  return std::nan("");
}

Value begin_report(const Job& job, std::size_t samples, const training::Metrics& metrics) {
  const EvalArguments& args = job.args;
  Value values = Value::object();
  for (const auto& [name, value] : metrics) training::set_number(values, name, value);
  if (!job.json) {
    fmt::print("{} ({} samples of {}, {})\n", job.name(), samples, args.split, job.weights.text());
    if (!job.weights.random.empty())
      fmt::print("  {}\n", training::random_text(job.weights.random));
    for (const auto& [name, value] : metrics) {
      fmt::print("  {:<14} {}\n", name,
                 experiment::is_percent(name) ? fmt::format("{:.2f} %", value)
                                              : fmt::format("{:.4f}", value));
    }
  }
  Value report = Value::object({{"run", args.run}, {"name", job.name()}, {"split", args.split}});
  job.weights.describe(report);
  report.set("samples", static_cast<std::int64_t>(samples));
  report.set("metrics", values);
  return report;
}

void add_saved(const Job& job, const std::vector<std::string>& files, Value& result) {
  if (files.empty()) return;
  result.set("saved", Value::array(files));
  for (const std::string& file : files) {
    if (!job.json) fmt::print("saved {}\n", (job.out / file).string());
  }
}

}  // namespace fovea::apps
