// eval: scores a trained run, clean and under corruption.

#include <fmt/format.h>

#include <cmath>
#include <iostream>

#include "base/error.h"
#include "base/file.h"
#include "common/app.h"
#include "data/corruptions.h"
#include "data/registry.h"
#include "experiment/runner.h"
#include "schema/load.h"
#include "training/run_state.h"
#include "visualise/confusion_plot.h"

namespace {

using namespace fovea;
using schema::Value;

struct Arguments {
  std::string run;
  std::string split;
  std::string checkpoint = "last";
  std::string out;
  std::vector<std::string> overrides;
  std::vector<std::string> noise;
  std::vector<double> levels;
  bool ema = false;
  bool no_noise = false;
  int threads = 0;
};

// The types and levels asked for, or those of the experiment, or none.
data::Noise noise_grid(const Arguments& args, const experiment::Experiment& e,
                       const std::string& split) {
  if (args.no_noise) return {};
  data::Noise grid = data::make_dataset(e.dataset, data::split_from_name(split))->eval_noise();
  if (!args.noise.empty()) {
    grid.types.clear();
    if (args.noise.size() == 1 && args.noise[0] == "all") {
      const auto all = data::all_corruptions();
      grid.types.assign(all.begin(), all.end());
    } else {
      for (const std::string& name : args.noise)
        grid.types.push_back(data::corruption_from_name(name));
    }
    if (grid.levels.empty()) grid.levels = {0.1, 0.2, 0.3, 0.4, 0.5};
  }
  if (!args.levels.empty()) grid.levels = args.levels;
  return grid;
}

double top1(const training::Metrics& metrics) {
  for (const auto& [name, value] : metrics) {
    if (name == "top1") return value;
  }
  return std::nan("");
}

Value to_value(const training::Metrics& metrics) {
  Value object = Value::object();
  for (const auto& [name, value] : metrics) training::set_number(object, name, value);
  return object;
}

using Evaluation = training::ImageClassification::Evaluation;

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

// One field of a CSV file.
std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string result = "\"";
  for (const char c : text) result += c == '"' ? std::string("\"\"") : std::string(1, c);
  return result + "\"";
}

// Rows are the truth, columns the prediction.
std::string confusion_csv(const std::vector<std::int64_t>& counts,
                          const std::vector<std::string>& classes) {
  std::string text = "truth \\ prediction";
  for (const std::string& name : classes) text += "," + quoted(name);
  for (std::size_t i = 0; i < classes.size(); ++i) {
    text += "\n" + quoted(classes[i]);
    for (std::size_t j = 0; j < classes.size(); ++j)
      text += fmt::format(",{}", counts[i * classes.size() + j]);
  }
  return text + "\n";
}

std::string predictions_csv(const Evaluation& clean, const data::Dataset& dataset) {
  std::string text = "index,name,label,prediction\n";
  for (std::size_t i = 0; i < clean.indices.size(); ++i) {
    text += fmt::format("{},{},{},{}\n", clean.indices[i], quoted(dataset.name(clean.indices[i])),
                        clean.labels[i], clean.predictions[i]);
  }
  return text;
}

// Accuracy for every type and level, means and retention (dgsa section 8).
Value corruption_report(training::ImageClassification& task, const std::string& split,
                        const data::Noise& grid, double clean, bool show) {
  Value report = Value::object();
  Value types = Value::object();
  double total = 0;
  if (show) {
    fmt::print("\n{:<15}", "top-1 in %");
    for (const double level : grid.levels) fmt::print("{:>8}", fmt::format("{:g}", level));
    fmt::print("{:>9}\n", "mean");
  }
  for (const data::Corruption type : grid.types) {
    Value by_level = Value::object();
    double sum = 0;
    if (show) fmt::print("{:<15}", data::name_of(type));
    for (const double level : grid.levels) {
      const double accuracy =
          top1(task.evaluate_in_full(split, data::CorruptionLevel{type, level}).metrics);
      training::set_number(by_level, fmt::format("{:g}", level), accuracy);
      sum += accuracy;
      if (show) {
        fmt::print("{:>8.2f}", accuracy);
        std::cout.flush();
      }
      FOVEA_CHECK(!apps::stop_requested(), Interrupted, "stopped; nothing was written");
    }
    const double mean = sum / static_cast<double>(grid.levels.size());
    training::set_number(by_level, "mean", mean);
    if (show) fmt::print("{:>9.2f}\n", mean);
    types.set(std::string(data::name_of(type)), by_level);
    total += mean;
  }
  const double mean = total / static_cast<double>(grid.types.size());
  report.set("top1", types);
  training::set_number(report, "mean_top1", mean);
  training::set_number(report, "retention", mean / clean);
  if (show)
    fmt::print("{:<15}{:.2f} % corrupted, {:.2f} % clean, retention {:.3f}\n", "mean", mean, clean,
               mean / clean);
  return report;
}

int evaluate(Arguments args, bool json) {
  Value config = experiment::load_config(args.run);
  for (const std::string& assignment : args.overrides) schema::apply_override(config, assignment);
  experiment::RunOptions options;
  options.threads = args.threads;
  experiment::Run run(experiment::resolve(config), options);
  experiment::load_run_weights(args.run, args.checkpoint, args.ema, run.model(), run.device());
  run.model().train(false);
  if (args.split.empty()) args.split = "test";
  const auto dataset =
      data::make_dataset(run.experiment().dataset, data::split_from_name(args.split));
  const Evaluation clean = run.task().evaluate_in_full(args.split);
  const auto& classes = dataset->class_names();
  const std::vector<std::int64_t> counts = counts_of(clean);

  Value result = Value::object({{"run", args.run},
                                {"split", args.split},
                                {"checkpoint", args.checkpoint},
                                {"samples", static_cast<std::int64_t>(clean.labels.size())},
                                {"metrics", to_value(clean.metrics)},
                                {"per_class", per_class(clean, classes)}});
  if (!json) {
    fmt::print("{} ({} samples of {}, checkpoint {})\n", run.experiment().name, clean.labels.size(),
               args.split, args.checkpoint);
    for (const auto& [name, value] : clean.metrics) {
      fmt::print(
          "  {:<8} {}\n", name,
          name.find("top") == 0 ? fmt::format("{:.2f} %", value) : fmt::format("{:.4f}", value));
    }
    const auto accuracy = clean.confusion.per_class_accuracy();
    for (std::size_t i = 0; i < classes.size(); ++i) {
      fmt::print(
          "  {:<14} {}\n", classes[i],
          std::isnan(accuracy[i]) ? "no samples" : fmt::format("{:6.2f} %", 100 * accuracy[i]));
    }
  }
  const data::Noise grid = noise_grid(args, run.experiment(), args.split);
  if (!grid.empty()) {
    result.set("corruption",
               corruption_report(run.task(), args.split, grid, top1(clean.metrics), !json));
  }
  const io::fs::path out =
      args.out.empty() ? io::fs::path(args.run) / "eval" / args.split : io::fs::path(args.out);
  io::make_directories(out);
  io::write_atomic(out / "confusion.csv", confusion_csv(counts, classes));
  io::write_atomic(out / "predictions.csv", predictions_csv(clean, *dataset));
  const visualise::ConfusionPlot plot{run.experiment().name + ", " + args.split, classes, counts};
  visualise::write_png(out / "confusion.png", visualise::render(plot));
  Value matrix = Value::array();
  for (std::size_t i = 0; i < classes.size(); ++i) {
    const auto first = counts.begin() + static_cast<std::ptrdiff_t>(i * classes.size());
    matrix.push_back(Value::array(
        std::vector<std::int64_t>(first, first + static_cast<std::ptrdiff_t>(classes.size()))));
  }
  result.set("confusion",
             Value::object(
                 {{"classes", Value::array(classes)}, {"rows_are", "truth"}, {"counts", matrix}}));
  io::write_atomic(out / "results.json", result.dump() + "\n");
  if (json) {
    fmt::print("{}\n", result.dump());
  } else {
    fmt::print("written to {}\n", out.string());
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  apps::Program program(
      "eval",
      "Scores a trained run on a split, clean and under every corruption asked for.\n\n"
      "Example: eval runs/dgvit --noise gaussian --noise occlusion --level 0.2 --level 0.4\n");
  Arguments args;
  CLI::App& cli = program.cli();
  cli.add_option("RUN", args.run, "folder of a run made by train")->required();
  cli.add_option("--split", args.split, "train, val or test (default)");
  cli.add_option("--checkpoint", args.checkpoint, "last (default), best, or step-00001234");
  cli.add_flag("--ema", args.ema, "the averaged weights");
  cli.add_option("--noise", args.noise,
                 "corruption type, or all; repeatable (default: dataset.noise.eval)")
      ->allow_extra_args(false);
  cli.add_option("--level", args.levels, "level between 0 and 1; repeatable (default: 0.1 to 0.5)")
      ->allow_extra_args(false);
  cli.add_flag("--no-noise", args.no_noise, "clean only");
  cli.add_option("-o,--out", args.out, "folder for the results (default: RUN/eval/<split>)");
  cli.add_option("--threads", args.threads, "threads (0: all cores)")->check(CLI::Range(0, 1024));
  program.add_overrides(args.overrides);
  program.add_verbosity();
  program.add_json();
  return program.run(argc, argv, [&] {
    apps::install_stop_handlers();
    return evaluate(args, program.common.json);
  });
}
