#include "experiment/forecast/forecast.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.h"
#include "training/gradient_sum.h"

namespace fovea::experiment {
namespace {

// Micro-batches of a step of all ranks.
std::int64_t micro_batches(const StepCosts& costs, const ForecastSettings& settings,
                           std::int64_t ranks) {
  return settings.batch == 0 ? ranks * costs.micro_batches : settings.batch / costs.batch_size;
}

void check(const StepCosts& costs, const ForecastSettings& settings) {
  // Ranks times micro-batches is a number of ours.
  FOVEA_CHECK(costs.micro_batches <= (std::int64_t{1} << 40), ConfigError,
              fmt::format("train.grad_accum_steps: is {}, expected at most 2^40 for a forecast",
                          costs.micro_batches));
  if (settings.batch == 0) return;
  FOVEA_CHECK(settings.batch % costs.batch_size == 0, ConfigError,
              fmt::format("--forecast batch={}: expected a multiple of train.batch_size, {}",
                          settings.batch, costs.batch_size));
  const std::int64_t batches = settings.batch / costs.batch_size;
  FOVEA_CHECK(
      batches >= settings.ranks, ConfigError,
      fmt::format(
          "--forecast ranks={}: a step of {} samples has {} batch{} of train.batch_size, "
          "{}, expected one for every rank; try{} fewer ranks",
          settings.ranks, settings.batch, batches, batches == 1 ? "" : "es", costs.batch_size,
          settings.batch % settings.ranks == 0
              ? fmt::format(" --set train.batch_size={} or", settings.batch / settings.ranks)
              : ""));
}

RanksForecast one(const StepCosts& costs, const ForecastSettings& settings, std::int64_t ranks) {
  RanksForecast row;
  row.ranks = ranks;
  row.micro_batches = micro_batches(costs, settings, ranks);
  row.rounds = (row.micro_batches + ranks - 1) / ranks;
  row.samples = static_cast<double>(row.micro_batches) * static_cast<double>(costs.batch_size);
  const auto n = static_cast<double>(ranks), rounds = static_cast<double>(row.rounds);
  const auto gradients = static_cast<double>(costs.gradient_bytes);
  const auto state = static_cast<double>(costs.optimiser_bytes);
  row.compute_s = rounds * (costs.forward_s + costs.backward_s);
  const bool zero = settings.zero || costs.shared_update;
  row.update_s = costs.update_s / (zero ? n : 1);
  SumTask task{.kind = settings.sum, .bytes = costs.sent_bytes, .host_copy = costs.host_copy};
  task.rounds = costs.own_first ? 1 : row.rounds;
  task.buckets =
      std::max<std::int64_t>(1, costs.gradient_bytes / training::GradientSum::kBucketBytes);
  task.weights = zero ? static_cast<double>(costs.parameter_bytes) : 0;
  row.sum = sum_costs(task, settings.network, ranks);
  // Ordered sums go with every backward pass, rings with the last one, sums of what each rank has
  // added up itself with none.
  const double behind = settings.sum == SumKind::kRing ? 1 : costs.own_first ? 0 : rounds;
  // Copies and additions are work of the rank itself.
  row.hidden_s = std::min(row.sum.network_s, settings.overlap * behind * costs.backward_s);
  const double waits_s = row.sum.network_s - row.hidden_s;
  row.step_s = row.compute_s + waits_s + row.sum.host_s + row.update_s;
  row.samples_per_s = row.samples / row.step_s;
  row.memory_bytes = static_cast<double>(costs.peak_bytes) - (zero ? state * (1 - 1 / n) : 0);
  // A rank's list, its piece of the sum, those of the others' lists, and the sum.
  row.host_bytes = settings.sum == SumKind::kOrdered && ranks > 1 ? 3 * gradients : 0;
  if (costs.on_host) row.memory_bytes += row.host_bytes;
  const bool adds_up = ranks == 1 || settings.sum == SumKind::kRing || costs.own_first;
  if (row.rounds > 1 && adds_up) row.memory_bytes += gradients;
  row.fits = costs.memory == 0 || row.memory_bytes <= costs.memory;
  const std::array<std::pair<double, const char*>, 4> shares{{{row.compute_s, "compute"},
                                                              {waits_s, "network"},
                                                              {row.sum.host_s, "copies"},
                                                              {row.update_s, "update"}}};
  row.limit = std::ranges::max_element(shares)->second;
  return row;
}

}  // namespace

std::vector<RanksForecast> forecast(const StepCosts& costs, const ForecastSettings& settings) {
  check(costs, settings);
  std::vector<RanksForecast> rows;
  for (std::int64_t ranks = 1; ranks < settings.ranks; ranks *= 2)
    rows.push_back(one(costs, settings, ranks));
  rows.push_back(one(costs, settings, settings.ranks));
  const double alone = rows.front().samples_per_s;
  for (RanksForecast& row : rows)
    row.efficiency = row.samples_per_s / (static_cast<double>(row.ranks) * alone);
  return rows;
}

}  // namespace fovea::experiment
