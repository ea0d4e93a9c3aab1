// eval: scores a trained run, clean and under corruption.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iostream>

#include "base/error.h"
#include "base/file.h"
#include "base/suggest.h"
#include "common/app.h"
#include "common/csv.h"
#include "experiment/results.h"
#include "experiment/runner.h"
#include "training/run_state.h"
#include "visualise/confusion_plot.h"
#include "visualise/overlay.h"

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
  std::int64_t overlays = 12;
  int threads = 0;
};

// The types and levels asked for, or those of the experiment, or none.
training::NoiseGrid noise_grid(const Arguments& args, const training::BatchSource& data) {
  if (args.no_noise) return {};
  training::NoiseGrid grid = data.noise_grid();
  if (!args.noise.empty()) {
    const bool all = args.noise.size() == 1 && args.noise[0] == "all";
    grid.types = all ? data.noise_types() : args.noise;
    if (grid.levels.empty()) grid.levels = {0.1, 0.2, 0.3, 0.4, 0.5};
  }
  if (!args.levels.empty()) grid.levels = args.levels;
  const auto known = data.noise_types();
  for (const std::string& type : grid.types) {
    FOVEA_CHECK(std::find(known.begin(), known.end(), type) != known.end(), ConfigError,
                fmt::format("--noise {}: no corruption of that name{} known: {}", type,
                            did_you_mean(type, known), fmt::join(known, ", ")));
  }
  return grid;
}

double metric(const training::Metrics& metrics, const std::string& wanted) {
  for (const auto& [name, value] : metrics) {
    if (name == wanted) return value;
  }
  return std::nan("");
}

Value to_value(const training::Metrics& metrics) {
  Value object = Value::object();
  for (const auto& [name, value] : metrics) training::set_number(object, name, value);
  return object;
}

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
  for (const std::string& name : classes) text += "," + apps::csv_field(name);
  for (std::size_t i = 0; i < classes.size(); ++i) {
    text += "\n" + apps::csv_field(classes[i]);
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
                        apps::csv_field(data.sample_name(split, clean.indices[i])), clean.labels[i],
                        clean.predictions[i]);
  }
  return text;
}

// What is reported under corruption: a metric of the task, and how to get it.
struct Score {
  std::string metric;  // "top1"
  std::string title;   // "top-1 in %"
  double clean = 0;
  std::function<training::Metrics(const training::NoiseLevel&)> evaluate;
};

// The metric for every type and level, means and retention (dgsa section 8).
Value corruption_report(const Score& score, const training::NoiseGrid& grid, bool show) {
  Value report = Value::object();
  Value types = Value::object();
  double total = 0;
  if (show) {
    fmt::print("\n{:<15}", score.title);
    for (const double level : grid.levels) fmt::print("{:>8}", fmt::format("{:g}", level));
    fmt::print("{:>9}\n", "mean");
  }
  for (const std::string& type : grid.types) {
    Value by_level = Value::object();
    double sum = 0;
    if (show) fmt::print("{:<15}", type);
    for (const double level : grid.levels) {
      const double accuracy = metric(score.evaluate({type, level}), score.metric);
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
    types.set(type, by_level);
    total += mean;
  }
  const double mean = total / static_cast<double>(grid.types.size());
  report.set(score.metric, types);
  training::set_number(report, "mean_" + score.metric, mean);
  training::set_number(report, "retention", mean / score.clean);
  if (show)
    fmt::print("{:<15}{:.2f} % corrupted, {:.2f} % clean, retention {:.3f}\n", "mean", mean,
               score.clean, mean / score.clean);
  return report;
}

// The parts of an evaluation that do not depend on the task.
struct Job {
  const Arguments& args;
  experiment::Run& run;
  const training::BatchSource& data;
  const training::NoiseGrid grid;
  bool json = false;
  io::fs::path out;

  const std::string& name() const { return run.experiment().name; }
};

// The beginning of results.json; also printed.
Value begin_report(const Job& job, std::size_t samples, const training::Metrics& metrics) {
  const Arguments& args = job.args;
  if (!job.json) {
    fmt::print("{} ({} samples of {}, checkpoint {})\n", job.name(), samples, args.split,
               args.checkpoint);
    for (const auto& [name, value] : metrics) {
      fmt::print("  {:<12} {}\n", name,
                 experiment::is_percent(name) ? fmt::format("{:.2f} %", value)
                                              : fmt::format("{:.4f}", value));
    }
  }
  return Value::object({{"run", args.run},
                        {"name", job.name()},
                        {"split", args.split},
                        {"checkpoint", args.checkpoint},
                        {"samples", static_cast<std::int64_t>(samples)},
                        {"metrics", to_value(metrics)}});
}

void add_corruption(const Job& job, const Score& score, Value& result) {
  if (job.grid.empty()) return;
  result.set("corruption", corruption_report(score, job.grid, !job.json));
}

Value evaluate_classes(const Job& job) {
  training::Classification& task = job.run.classification();
  const std::string& split = job.args.split;
  const Evaluation clean = task.evaluate_in_full(split);
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
                 {"top1", "top-1 in %", metric(clean.metrics, "top1"),
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
  return result;
}

using MaskEvaluation = training::Segmentation::Evaluation;

std::string samples_csv(const MaskEvaluation& clean, const training::BatchSource& data,
                        const std::string& split) {
  std::string text = "index,name,iou,dsc,true_positives,false_positives,false_negatives\n";
  for (std::size_t i = 0; i < clean.indices.size(); ++i) {
    const metrics::MaskCounts& counts = clean.by_sample[i];
    text += fmt::format("{},{},{},{},{},{},{}\n", clean.indices[i],
                        apps::csv_field(data.sample_name(split, clean.indices[i])), counts.iou(),
                        counts.dice(), counts.true_positives(), counts.false_positives(),
                        counts.false_negatives());
  }
  return text;
}

// Outlines of samples spread over the split, a page for every six.
void write_overlays(const Job& job, training::Segmentation& task, const MaskEvaluation& clean) {
  constexpr std::int64_t kRows = 6;
  const data::Dataset& images = job.run.images().images(job.args.split);
  const auto known = static_cast<std::int64_t>(clean.indices.size());
  const std::int64_t count = std::min(job.args.overlays, known);
  for (std::int64_t first = 0; first < count; first += kRows) {
    std::vector<visualise::Segmented> page;
    for (std::int64_t k = first; k < std::min(first + kRows, count); ++k) {
      const auto place = static_cast<std::size_t>(k * known / count);
      const std::int64_t sample = clean.indices[place];
      data::Sample seen = images.get(sample);
      const std::string label =
          fmt::format("{}, DSC {:.1f} %", io::fs::path(seen.name).stem().string(),
                      100 * clean.by_sample[place].dice());
      page.push_back({label, std::move(seen.image), std::move(seen.mask),
                      task.predict(job.args.split, sample), images.channels(), images.height(),
                      images.width()});
    }
    visualise::write_png(job.out / fmt::format("overlays-{}.png", first / kRows + 1),
                         visualise::overlay_grid(job.name() + ", " + job.args.split, page));
  }
}

Value evaluate_masks(const Job& job) {
  training::Segmentation& task = job.run.segmentation();
  const std::string& split = job.args.split;
  const MaskEvaluation clean = task.evaluate_in_full(split);
  Value result = begin_report(job, clean.indices.size(), clean.metrics);
  add_corruption(job,
                 {"dsc", "DSC in %", metric(clean.metrics, "dsc"),
                  [&](const training::NoiseLevel& level) {
                    return task.evaluate_in_full(split, level).metrics;
                  }},
                 result);
  io::write_atomic(job.out / "samples.csv", samples_csv(clean, job.data, split));
  write_overlays(job, task, clean);
  const metrics::MaskCounts& counts = clean.counts;
  result.set("pixels", Value::object({{"true_positives", counts.true_positives()},
                                      {"false_positives", counts.false_positives()},
                                      {"false_negatives", counts.false_negatives()},
                                      {"true_negatives", counts.true_negatives()}}));
  return result;
}

int evaluate(Arguments args, bool json) {
  const auto opened =
      experiment::open_run({args.run, args.checkpoint, args.ema, args.threads, args.overrides});
  experiment::Run& run = *opened;
  for (const std::string& note : run.notes()) std::cerr << "eval: " << note << "\n";
  run.model().train(false);
  if (args.split.empty()) args.split = "test";
  const training::BatchSource& data = run.task().source();
  const training::NoiseGrid grid = noise_grid(args, data);
  const io::fs::path out =
      args.out.empty() ? io::fs::path(args.run) / "eval" / args.split : io::fs::path(args.out);
  io::make_directories(out);
  const Job job{args, run, data, grid, json, out};
  const Value result =
      run.experiment().task == "segmentation" ? evaluate_masks(job) : evaluate_classes(job);
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
  cli.add_option("--overlays", args.overlays,
                 "segmentation: samples drawn with their outlines, spread over the split (12)")
      ->check(CLI::Range(0, 10000));
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
