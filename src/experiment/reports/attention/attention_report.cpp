#include "experiment/reports/attention/attention_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/csv_field.h"
#include "base/file.h"
#include "experiment/reports/attention/attention_plots.h"
#include "experiment/tables/text_table.h"
#include "metrics/statistics.h"

namespace fovea::experiment {
namespace {

using explain::DiagnosedMetric;
using explain::DiagnosedRun;
using explain::DiagnosedRuns;
using metrics::Estimate;
using schema::Value;

std::string number_text(double value) {
  if (!std::isfinite(value)) return "-";
  const double size = std::abs(value);
  if (size >= 10000) return fmt::format("{:.3g}", value);
  return fmt::format("{:.{}f}", value, size >= 100 ? 1 : size >= 10 ? 2 : 3);
}

std::string estimate_text(const Estimate& e) {
  if (e.n == 0) return "-";
  return e.n == 1 ? number_text(e.mean)
                  : fmt::format("{} ± {}", number_text(e.mean), number_text(e.high - e.mean));
}

// Layers that have a column, of so many: all, or some from the first to the last.
std::vector<std::size_t> shown_layers(std::size_t layers) {
  constexpr std::size_t kMost = 12;
  std::vector<std::size_t> shown;
  const std::size_t count = std::min(layers, kMost);
  for (std::size_t k = 0; k < count; ++k)
    shown.push_back(count < 2 ? 0 : k * (layers - 1) / (count - 1));
  return shown;
}

std::size_t most_layers(const DiagnosedRuns& diagnosed) {
  std::size_t most = 0;
  for (const DiagnosedRun& run : diagnosed.runs) {
    for (const DiagnosedMetric& metric : run.metrics) most = std::max(most, metric.values.size());
  }
  return most;
}

Value estimate_json(const Estimate& e) {
  const auto number = [](double value) { return std::isfinite(value) ? Value(value) : Value(); };
  return Value::object(
      {{"n", e.n}, {"mean", number(e.mean)}, {"low", number(e.low)}, {"high", number(e.high)}});
}

Value metric_json(const DiagnosedMetric& one) {
  Value layers = Value::array();
  for (std::size_t layer = 0; layer < one.values.size(); ++layer) {
    Value record = Value::object({{"layer", static_cast<std::int64_t>(layer)},
                                  {"module", one.layers[layer]},
                                  {"mean", estimate_json(estimate_of(one.of_layer(layer)))}});
    if (one.metric->by_head()) {
      Value heads = Value::array();
      for (const std::vector<double>& head : one.values[layer])
        heads.push_back(estimate_json(estimate_of(head)));
      record.set("heads", std::move(heads));
    }
    layers.push_back(std::move(record));
  }
  return Value::object({{"unit", one.metric->info.unit},
                        {"mean", estimate_json(estimate_of(one.over_all()))},
                        {"layers", std::move(layers)}});
}

std::string csv_of(const DiagnosedRuns& diagnosed) {
  std::string text = "run,layer,module,head,metric,unit,mean,low,high,n\n";
  for (const DiagnosedRun& run : diagnosed.runs) {
    for (const DiagnosedMetric& one : run.metrics) {
      const auto add = [&](const std::string& layer, const std::string& module,
                           const std::string& head, const std::vector<double>& values) {
        const Estimate e = estimate_of(values);
        if (e.n == 0) return;
        const auto number = [](double v) {
          return std::isfinite(v) ? fmt::format("{}", v) : std::string();
        };
        text += fmt::format("{},{},{},{},{},{},{},{},{},{}\n", csv_field(run.title), layer, module,
                            head, one.metric->info.name, one.metric->info.unit, number(e.mean),
                            number(e.low), number(e.high), e.n);
      };
      for (std::size_t layer = 0; layer < one.values.size(); ++layer) {
        const std::string number = std::to_string(layer);
        for (std::size_t head = 0; one.metric->by_head() && head < one.values[layer].size(); ++head)
          add(number, one.layers[layer], std::to_string(head), one.values[layer][head]);
        add(number, one.layers[layer], "mean", one.of_layer(layer));
      }
      add("mean", "", "mean", one.over_all());
    }
  }
  return text;
}

}  // namespace

std::string attention_table_text(const DiagnosedRuns& diagnosed) {
  const std::vector<std::size_t> layers = shown_layers(most_layers(diagnosed));
  const bool several = diagnosed.runs.size() > 1;
  TextTable table{{"metric"}, {}};
  if (several) table.header.emplace_back("run");
  table.header.emplace_back("mean");
  for (const std::size_t layer : layers) table.header.push_back(fmt::format("{}", layer));
  for (std::size_t m = 0; m < diagnosed.runs.front().metrics.size(); ++m) {
    for (std::size_t r = 0; r < diagnosed.runs.size(); ++r) {
      const DiagnosedMetric& one = diagnosed.runs[r].metrics[m];
      std::vector<std::string>& cells = table.rows.emplace_back();
      cells.push_back(r == 0 ? metrics::title_of(one.metric->info) : "");
      if (several) cells.push_back(diagnosed.runs[r].title);
      cells.push_back(estimate_text(estimate_of(one.over_all())));
      for (const std::size_t layer : layers) {
        cells.push_back(
            layer < one.values.size() ? number_text(estimate_of(one.of_layer(layer)).mean) : "");
      }
    }
  }
  return fmt::format(
      "{}\n{} of {} samples of {}. mean: over samples, layers and heads, ± half of its 95 % "
      "interval over samples; then each layer's, numbered from 0.\n",
      plain_table(table), diagnosed.samples, diagnosed.available, diagnosed.split);
}

Value attention_json(const DiagnosedRuns& diagnosed) {
  Value runs = Value::array();
  for (const DiagnosedRun& run : diagnosed.runs) {
    Value all = Value::object();
    for (const DiagnosedMetric& one : run.metrics) {
      if (one.defined()) all.set(one.metric->info.name, metric_json(one));
    }
    runs.push_back(Value::object({{"run", run.title},
                                  {"folder", run.name},
                                  {"weights", run.weights},
                                  {"metrics", std::move(all)}}));
  }
  return Value::object({{"split", diagnosed.split},
                        {"samples", diagnosed.samples},
                        {"available", diagnosed.available},
                        {"runs", std::move(runs)}});
}

std::vector<std::string> write_attention_report(const io::fs::path& folder,
                                                const DiagnosedRuns& diagnosed) {
  io::make_directories(folder);
  write_attention_plots(folder / "attention.png", diagnosed);
  io::write_atomic(folder / "attention.csv", csv_of(diagnosed));
  io::write_atomic(folder / "attention.json", attention_json(diagnosed).dump() + "\n");
  return {"attention.png", "attention.csv", "attention.json"};
}

}  // namespace fovea::experiment
