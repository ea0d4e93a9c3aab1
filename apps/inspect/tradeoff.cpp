#include "inspect/tradeoff.h"

#include <fmt/format.h>

#include "base/error.h"
#include "experiment/results_layout.h"
#include "experiment/text_table.h"
#include "experiment/tradeoff_source.h"

namespace fovea::apps {

int draw_tradeoff(const TradeoffArguments& args) {
  visualise::check_plot_path(args.out);
  FOVEA_CHECK(args.metrics.size() <= 1 || args.metrics.size() == args.sources.size(), ConfigError,
              fmt::format("--metric: {} given for {} sources; expected one, or one for each",
                          args.metrics.size(), args.sources.size()));
  std::vector<visualise::TradeoffSource> sources;
  experiment::TextTable table{{"row", "source", "score", "parameters", "MACs", "MACs (paper)"}, {}};
  const auto count = [](const std::optional<double>& value) {
    return value ? experiment::short_count(*value) : std::string("-");
  };
  for (std::size_t i = 0; i < args.sources.size(); ++i) {
    const std::string metric =
        args.metrics.empty() ? "" : args.metrics[args.metrics.size() == 1 ? 0 : i];
    sources.push_back(experiment::read_tradeoff({args.sources[i], args.table, metric}));
    for (const visualise::TradeoffRow& row : sources.back().rows) {
      table.rows.push_back({row.name, sources.back().name, fmt::format("{:.2f}", row.score),
                            count(row.parameters), count(row.macs), count(row.macs_paper)});
    }
  }
  visualise::write_tradeoff(args.out, sources);
  fmt::print("{}{}\n", experiment::plain_table(table), args.out);
  return 0;
}

}  // namespace fovea::apps
