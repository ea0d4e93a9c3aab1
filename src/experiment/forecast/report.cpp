// Forecasts as a table and as JSON.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "experiment/forecast/forecast.h"
#include "experiment/run/summary.h"
#include "experiment/tables/text_table.h"

namespace fovea::experiment {
namespace {

using schema::Value;

const char* name_of(SumKind sum) { return sum == SumKind::kRing ? "ring" : "ordered"; }

std::string bytes_of(double bytes) {
  return bytes_text(static_cast<std::int64_t>(std::min(bytes, 9e18)));  // what an integer holds
}

std::string ms(double seconds) { return fmt::format("{:.4g} ms", 1e3 * seconds); }

std::string gbit(double bytes_per_s) { return fmt::format("{:.6g} Gbit/s", 8e-9 * bytes_per_s); }

// Four digits, and all before the point.
std::string rate(double per_s) {
  return per_s < 1e4 ? fmt::format("{:.4g}", per_s) : fmt::format("{:.0f}", per_s);
}

// What was assumed of the network and of the sums.
std::string assumptions(const StepCosts& costs, const ForecastSettings& settings) {
  const Network& network = settings.network;
  std::string text = fmt::format(
      "network, as given: {} a rank{}, {:g} us a message\n", gbit(network.net),
      network.ranks_per_node > 1 ? fmt::format(", {} within a machine of {} ranks",
                                               gbit(network.node_net), network.ranks_per_node)
                                 : "",
      1e6 * network.latency);
  const bool hides =
      settings.overlap > 0 && !(costs.own_first && settings.sum == SumKind::kOrdered);
  if (settings.sum == SumKind::kOrdered) {
    text +=
        fmt::format("gradients: {}, summed in order through memory of the host at {:.3g} GB/s ({})",
                    bytes_of(costs.sent_bytes), 1e-9 * costs.host_copy, costs.copy_from);
  } else {
    text += fmt::format("gradients: {}, summed in rings, which fovea train does not do",
                        bytes_of(costs.sent_bytes));
  }
  text +=
      hides ? fmt::format(", messages behind {:g} % of the backward pass\n", 100 * settings.overlap)
            : std::string(", after the backward pass\n");
  text += fmt::format(
      "memory of one rank, counted: parameters {}, gradients {}, optimiser {}, kept for backward "
      "{}; peak {}\n",
      bytes_text(costs.parameter_bytes), bytes_text(costs.gradient_bytes),
      bytes_text(costs.optimiser_bytes), bytes_text(costs.saved_bytes),
      bytes_text(costs.peak_bytes));
  if (settings.zero || costs.shared_update)
    text += "optimiser: state and update shared out among the ranks (train.shard_optimizer)\n";
  return text;
}

std::string warnings(const StepCosts& costs, const ForecastSettings& settings,
                     const std::vector<RanksForecast>& rows) {
  const RanksForecast& last = rows.back();
  std::string text;
  const auto worst = std::ranges::max_element(rows, {}, &RanksForecast::memory_bytes);
  if (!worst->fits) {
    text += fmt::format(
        "does not fit: a rank needs {}, the card has {}; try a smaller "
        "train.batch_size with more train.grad_accum_steps\n",
        bytes_of(worst->memory_bytes), bytes_of(costs.memory));
  }
  if (last.host_bytes > 0 && !costs.on_host) {
    text +=
        fmt::format("the sums take {} more memory of the host a rank\n", bytes_of(last.host_bytes));
  }
  const double each = last.samples_per_s / static_cast<double>(last.ranks);
  text += fmt::format(
      "data, assumed to come as fast: {} samples/s in all, {} a rank, {}/s as tensors\n",
      rate(last.samples_per_s), rate(each),
      bytes_of(each * static_cast<double>(costs.sample_bytes)));
  if (last.ranks > 1 && settings.sum == SumKind::kOrdered) {  // (fovea train has no rings)
    text += fmt::format(
        "to run the last row: mpirun -n {} fovea train EXPERIMENT.json --set "
        "train.grad_accum_steps={}{}\n",
        last.ranks, last.micro_batches,
        settings.zero && !costs.shared_update ? " --set train.shard_optimizer=true" : "");
  }
  return text;
}

}  // namespace

std::string to_text(const StepCosts& costs, const ForecastSettings& settings,
                    const std::vector<RanksForecast>& rows) {
  TextTable table{{"ranks", "samples/step", "step", "samples/s", "efficiency", "sent/step",
                   "memory/rank", "limit"},
                  {}};
  for (const RanksForecast& row : rows) {
    table.rows.push_back({fmt::format("{}", row.ranks), fmt::format("{:.0f}", row.samples),
                          ms(row.step_s), rate(row.samples_per_s),
                          fmt::format("{:.1f} %", 100 * row.efficiency),
                          bytes_of(row.sum.bytes_sent),
                          bytes_of(row.memory_bytes) + (row.fits ? "" : " !"), row.limit});
  }
  return fmt::format(
      "{}\none micro-batch of {}: forward {}, backward {}; update {} a step\ntime, {}\n{}{}",
      plain_table(table), costs.batch_size, ms(costs.forward_s), ms(costs.backward_s),
      ms(costs.update_s), costs.time_from, assumptions(costs, settings),
      warnings(costs, settings, rows));
}

Value to_json(const Experiment& e, const StepCosts& costs, const ForecastSettings& settings,
              const std::vector<RanksForecast>& rows) {
  Value list = Value::array();
  for (const RanksForecast& row : rows) {
    list.push_back(Value::object({{"ranks", row.ranks},
                                  {"grad_accum_steps", row.micro_batches},
                                  {"samples_per_step", row.samples},
                                  {"step_s", row.step_s},
                                  {"compute_s", row.compute_s},
                                  {"update_s", row.update_s},
                                  {"network_s", row.sum.network_s},
                                  {"copies_s", row.sum.host_s},
                                  {"hidden_s", row.hidden_s},
                                  {"samples_per_s", row.samples_per_s},
                                  {"efficiency", row.efficiency},
                                  {"sent_bytes", row.sum.bytes_sent},
                                  {"memory_bytes", row.memory_bytes},
                                  {"host_bytes", row.host_bytes},
                                  {"fits", row.fits},
                                  {"limit", row.limit}}));
  }
  const Network& network = settings.network;
  return Value::object(
      {{"name", e.name},
       {"batch_size", costs.batch_size},
       {"forward_s", costs.forward_s},
       {"backward_s", costs.backward_s},
       {"update_s", costs.update_s},
       {"measured", !settings.is_calculated()},
       {"time_from", costs.time_from},
       {"gradient_bytes", costs.gradient_bytes},
       {"optimiser_bytes", costs.optimiser_bytes},
       {"peak_bytes", costs.peak_bytes},
       {"sample_bytes", costs.sample_bytes},
       {"card_bytes", costs.memory > 0 ? Value(costs.memory) : Value()},
       {"net_bytes_per_s", network.net},
       {"node_net_bytes_per_s", network.node_net},
       {"ranks_per_node", network.ranks_per_node},
       {"latency_s", network.latency},
       {"copy_bytes_per_s", costs.host_copy},
       {"copy_from", costs.copy_from},
       {"sum", name_of(settings.sum)},
       {"overlap", settings.overlap},
       {"zero", settings.zero || costs.shared_update},
       {"sent_type",
        costs.sent_bytes < static_cast<double>(costs.gradient_bytes) ? "bfloat16" : "float32"},
       {"rows", std::move(list)}});
}

}  // namespace fovea::experiment
