#include "inspect/tradeoff.h"

#include <fmt/format.h>

#include "base/error.h"
#include "experiment/costs/tradeoff_source.h"
#include "experiment/tables/results_layout.h"
#include "experiment/tables/text_table.h"

namespace fovea::apps {

Options add_tradeoff(Options cli, TradeoffArguments& args) {
  Options tradeoff = cli.add_subcommand(
      "tradeoff",
      "score against parameters, cost and speed of a sweep's rows, or of a paper's published ones");
  tradeoff
      .add_option("SOURCE", args.sources,
                  "folders of sweeps made by ablate, files of published numbers, or files for "
                  "ablate, whose rows have the published scores")
      .required()
      .value("FILE");
  tradeoff.add_option("--table", args.table, "of published numbers (default: the first)");
  tradeoff.add_option("--metric", args.metrics,
                      "column of the scores; once, or for each source (default: a sweep's first)");
  const Option throughput = tradeoff.add_flag(
      "--throughput", args.throughput,
      "also time the networks of the rows on this machine: samples a second of forward passes");
  tradeoff.add_option("--batch-size", args.timing.batch_size, "of these passes (default: 64)")
      .positive()
      .needs(throughput);
  tradeoff.add_option("--warm-up", args.timing.warm_up, "passes before (default: 50)")
      .non_negative()
      .needs(throughput);
  tradeoff.add_option("--passes", args.timing.passes, "timed passes (default: 30)")
      .positive()
      .needs(throughput);
  tradeoff.add_option("--threads", args.timing.threads, "threads (0: all cores)")
      .range(0, 1024)
      .needs(throughput);
  tradeoff
      .add_option("-o,--out", args.out,
                  "picture, .png or .svg, with a .csv beside it (default: tradeoff.png)")
      .value("FILE");
  return tradeoff;
}

int draw_tradeoff(const TradeoffArguments& args) {
  visualise::check_plot_path(args.out);
  FOVEA_CHECK(args.metrics.size() <= 1 || args.metrics.size() == args.sources.size(), ConfigError,
              fmt::format("--metric: {} given for {} sources; expected one, or one for each",
                          args.metrics.size(), args.sources.size()));
  std::vector<visualise::TradeoffSource> sources;
  experiment::TextTable table{
      {"row", "source", "score", "parameters", "MACs", "MACs (paper)", "samples/s"}, {}};
  std::string measured_on, left_out;
  const auto count = [](const std::optional<double>& value) {
    return value ? experiment::short_count(*value) : std::string("-");
  };
  // Large images take more than a second each.
  const auto rate = [](const std::optional<double>& value) {
    return value ? fmt::format("{:.{}f}", *value, *value < 1 ? 4 : 1) : std::string("-");
  };
  for (std::size_t i = 0; i < args.sources.size(); ++i) {
    const std::string metric =
        args.metrics.empty() ? "" : args.metrics[args.metrics.size() == 1 ? 0 : i];
    experiment::TradeoffRequest request{args.sources[i], args.table, metric};
    if (args.throughput) request.throughput = args.timing;
    const auto& source = sources.emplace_back(experiment::read_tradeoff(request));
    const std::int64_t drawn = std::ssize(source.rows);
    if (source.left_out > 0)
      left_out += fmt::format("{}: {} of {} rows have no {} and are left out\n", source.name,
                              source.left_out, drawn + source.left_out, source.score);
    for (const visualise::TradeoffRow& row : sources.back().rows) {
      table.rows.push_back({row.name, sources.back().name, fmt::format("{:.2f}", row.score),
                            count(row.parameters), count(row.macs), count(row.macs_paper),
                            rate(row.samples_per_s)});
      if (!row.measured_on.empty()) measured_on = "samples/s: " + row.measured_on + "\n";
    }
  }
  visualise::write_tradeoff(args.out, sources);
  fmt::print("{}{}{}\n", experiment::plain_table(table), measured_on + left_out, args.out);
  return 0;
}

}  // namespace fovea::apps
