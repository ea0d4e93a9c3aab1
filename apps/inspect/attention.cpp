#include "inspect/attention.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/shown_flags.h"
#include "common/weights_flags.h"
#include "experiment/reports/attention/attention_report.h"
#include "explain/diagnostics/diagnosed_runs.h"

namespace fovea::apps {

Options add_attention(Options cli, AttentionArguments& args) {
  std::vector<std::string> names;
  for (const explain::AttentionMetric& metric : explain::attention_metrics())
    names.push_back(metric.info.name);
  Options attention = cli.add_subcommand(
      "attention",
      "diagnostics of the attention of runs on samples of a split: entropy, sinks, ranks, "
      "distances, signs and likeness of heads, likeness and norms of tokens, by layer and head, "
      "with intervals over samples; a table, a picture, CSV and JSON");
  attention
      .add_option("RUN", args.runs, "folders of runs made by train, or what export made of them")
      .required()
      .value("EXPERIMENT");
  attention
      .add_option("--metric", args.metrics,
                  fmt::format("only these (default: all that the networks have): {}",
                              fmt::join(names, ", ")))
      .commas()
      .value("NAME,...");
  attention.add_option("--limit", args.limit, "samples, spread evenly over the split (default: 64)")
      .range(1, 2147483647);
  add_subject_flags(attention, args.split, args.checkpoint, args.averaged);
  attention
      .add_option("-o,--out", args.out,
                  "folder for attention.png, attention.csv and attention.json (default: attention)")
      .value("FOLDER");
  return attention;
}

int inspect_attention(const AttentionArguments& args, const std::vector<std::string>& overrides,
                      bool json) {
  experiment::ShownPaths paths;
  paths.overrides = overrides;
  paths.runs = args.runs;
  paths.split = args.split;
  paths.checkpoint = args.checkpoint;
  paths.averaged = args.averaged;
  const std::vector<experiment::Opened> runs = opened(paths);
  explain::DiagnosisRequest asked{
      .runs = experiment::shown_runs(runs, paths.runs, paths.split),
      .metrics = args.metrics,
      .limit = args.limit,
      .note = [](const std::string& line) { fmt::print(stderr, "note: {}\n", line); }};
  const bool watched = stderr_is_terminal();
  if (watched)
    asked.progress = [](double share) { fmt::print(stderr, "\r{:3.0f} %", 100 * share); };
  const explain::DiagnosedRuns diagnosed = explain::diagnose_runs(asked);
  if (watched) fmt::print(stderr, "\r{:5}\r", "");
  const std::vector<std::string> files = experiment::write_attention_report(args.out, diagnosed);
  if (json) {
    fmt::print("{}\n", experiment::attention_json(diagnosed).dump());
  } else {
    fmt::print("{}wrote {} in {}\n", experiment::attention_table_text(diagnosed),
               fmt::join(files, ", "), args.out);
  }
  return 0;
}

}  // namespace fovea::apps
