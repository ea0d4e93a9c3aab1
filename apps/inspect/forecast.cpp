#include "inspect/forecast.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "experiment/file/experiment.h"
#include "experiment/forecast/forecast.h"

namespace fovea::apps {

Option add_forecast(Options cli, std::vector<std::string>& words) {
  return cli
      .add_option("--forecast", words,
                  "step time, memory and efficiency on many ranks, from a step measured here and a "
                  "network as given: 'gpus=64 net=400G' (400 Gbit/s a rank), and latency=5us "
                  "ranks_per_node=8 node_net=900G overlap=0.9 sum=ring card=h100 batch=4096 ... "
                  "(docs/forecast.md)")
      .value("'KEY=VALUE ...'");
}

int print_forecast(const schema::Value& resolved, const std::vector<std::string>& words,
                   bool json) {
  // Before anything is run.
  const auto settings =
      experiment::read_forecast_settings(fmt::format("{}", fmt::join(words, " ")));
  const auto e = experiment::parse(resolved);
  const auto costs = experiment::step_costs(e, settings);
  const auto rows = experiment::forecast(costs, settings);
  fmt::print("{}", json ? experiment::to_json(e, costs, settings, rows).dump() + "\n"
                        : experiment::to_text(costs, settings, rows));
  return 0;
}

}  // namespace fovea::apps
