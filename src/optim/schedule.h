// Learning rates as pure functions of the number of completed steps.
#pragma once

#include <cstdint>
#include <functional>

#include "schema/fields.h"

namespace fovea::optim {

/// The rate of the step that follows `completed` steps; the first step uses schedule(0).
using Schedule = std::function<double(std::int64_t completed)>;

/// What a schedule needs to know about the run.
struct RunLength {
  double lr = 0;  // base rate, of the optimiser
  std::int64_t steps = 0;
  std::int64_t steps_per_epoch = 1;
};

/// Whether the rate changes after every step or stays the same during an epoch.
enum class Unit { kStep, kEpoch };

/// What all schedules share. With W the length of the warm-up, at time t < W the rate is
/// max(warmup_floor, warmup_lr + (lr - warmup_lr) t / W). The time of the warm-up counts steps
/// (with warmup_unit kEpoch, as timm: whole epochs, so that all steps of the first epoch have
/// warmup_lr), that of the schedule behind it `unit`.
struct ScheduleOptions {
  Unit unit = Unit::kEpoch;
  Unit warmup_unit = Unit::kStep;
  double warmup_epochs = 0;
  std::int64_t warmup_steps = 0;  // added to warmup_epochs; only with warmup_unit kStep
  double warmup_lr = 0;
  double warmup_floor = 0;
  bool warmup_prefix = true;  // the schedule starts after the warm-up, else in the first step
  std::int64_t lag = 0;       // of `unit`: time p uses the rate of max(p - lag, 0)
};
const schema::Fields<ScheduleOptions>& schedule_fields();

/// The part after the warm-up, in the chosen unit.
struct Span {
  double total = 0;  // length of this part
  double epoch = 1;  // length of an epoch
};

/// `rate` maps a time in [0, span.total] to a rate; this puts the warm-up in front of it.
Schedule schedule_of(const ScheduleOptions& options, const RunLength& run,
                     const std::function<std::function<double(double t)>(const Span&)>& rate);

}  // namespace fovea::optim
