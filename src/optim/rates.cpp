#include "optim/rates.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace fovea::optim {

RateSummary summarise_rates(const Schedule& schedule, const RunLength& run) {
  RateSummary found;
  found.first = found.highest = schedule(0);
  found.first_epoch_end = schedule(std::min(std::max<std::int64_t>(run.steps_per_epoch, 1),
                                            std::max<std::int64_t>(run.steps, 1)) -
                                   1);
  for (std::int64_t step = 0; step < run.steps; ++step) {
    const double lr = schedule(step);
    if (lr == 0) ++found.zero_steps;
    if (lr > found.highest) {
      found.highest = lr;
      found.highest_step = step + 1;
    }
    found.last = lr;
  }
  return found;
}

std::string rates_text(const Schedule& schedule, const RunLength& run) {
  if (run.steps <= 0) return "no steps";
  const RateSummary rates = summarise_rates(schedule, run);
  const std::int64_t epoch =
      (rates.highest_step - 1) / std::max<std::int64_t>(run.steps_per_epoch, 1);
  std::string text = fmt::format("epoch 1: {:.4g}", rates.first);
  if (rates.first_epoch_end != rates.first)
    text += fmt::format(" to {:.4g}", rates.first_epoch_end);
  text += fmt::format(", highest {:.4g} in step {} of {} (epoch {}), last {:.4g}", rates.highest,
                      rates.highest_step, run.steps, epoch + 1, rates.last);
  if (rates.zero_steps > 0)
    text += fmt::format("; 0 in {} step{}", rates.zero_steps, rates.zero_steps == 1 ? "" : "s");
  return text;
}

std::string scales_text(const Optimiser& optimiser) {
  const std::vector<double>& scales = optimiser.lr_scale();
  const auto [low, high] = std::minmax_element(scales.begin(), scales.end());
  if (low == scales.end() || *low == *high) return "";
  const auto name_of = [&](const auto& scale) {
    return optimiser.parameters()[static_cast<std::size_t>(scale - scales.begin())].name;
  };
  return fmt::format("learning rates are {:.4g} ({}) to {:.4g} ({}) times that of the schedule",
                     *low, name_of(low), *high, name_of(high));
}

std::string check_rates(const Schedule& schedule, const RunLength& run) {
  if (run.steps <= 0 || run.lr == 0) return "";
  std::int64_t zero = 0;
  while (zero < run.steps && schedule(zero) == 0) ++zero;
  FOVEA_CHECK(
      zero < run.steps, ConfigError,
      fmt::format("schedule: the learning rate is 0 in all {} steps of the run, which would "
                  "train nothing; lower schedule.warmup_epochs and warmup_steps, raise "
                  "warmup_lr, or train longer",
                  run.steps));
  const std::int64_t epochs = zero / std::max<std::int64_t>(run.steps_per_epoch, 1);
  if (epochs == 0) return "";
  return fmt::format(
      "schedule: the learning rate is 0 in the first {} ({} steps), which trains nothing; "
      "schedule.warmup_lr and warmup_unit say how the warm-up begins",
      epochs == 1 ? "epoch" : fmt::format("{} epochs", epochs), zero);
}

}  // namespace fovea::optim
