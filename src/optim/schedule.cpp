#include "optim/schedule.h"

#include <algorithm>

#include "base/error.h"

namespace fovea::optim {

const schema::Fields<ScheduleOptions>& schedule_fields() {
  static const auto fields =
      schema::Fields<ScheduleOptions>{}
          .add_enum("unit", &ScheduleOptions::unit,
                    {{"step", Unit::kStep}, {"epoch", Unit::kEpoch}},
                    "how often the rate changes after the warm-up")
          .add("warmup_epochs", &ScheduleOptions::warmup_epochs, schema::at_least(0),
               "length of a linear warm-up")
          .add("warmup_steps", &ScheduleOptions::warmup_steps, schema::at_least(0),
               "steps of warm-up, on top of warmup_epochs; needs warmup_unit \"step\"")
          .add_enum("warmup_unit", &ScheduleOptions::warmup_unit,
                    {{"step", Unit::kStep}, {"epoch", Unit::kEpoch}},
                    "how often the rate changes during the warm-up; epoch is timm's way: all steps "
                    "of the first epoch have warmup_lr")
          .add("warmup_lr", &ScheduleOptions::warmup_lr, schema::at_least(0),
               "rate at which the warm-up begins")
          .add("warmup_floor", &ScheduleOptions::warmup_floor, schema::at_least(0),
               "smallest rate during the warm-up")
          .add("warmup_prefix", &ScheduleOptions::warmup_prefix,
               "true: the schedule begins after the warm-up and spans the rest of the run; false: "
               "it "
               "spans the whole run and the warm-up replaces its beginning")
          .add("lag", &ScheduleOptions::lag, schema::at_least(0),
               "delay of the rate, in steps or epochs as unit says, for recipes that step the "
               "schedule late")
          .check([](const ScheduleOptions& options) -> std::string {
            if (options.warmup_unit == Unit::kEpoch && options.warmup_steps > 0) {
              return "warmup_steps needs warmup_unit \"step\"";
            }
            return "";
          });
  return fields;
}

Schedule schedule_of(const ScheduleOptions& options, const RunLength& run,
                     const std::function<std::function<double(double t)>(const Span&)>& rate) {
  const std::int64_t steps_per_epoch = std::max<std::int64_t>(run.steps_per_epoch, 1);
  const bool by_epoch = options.unit == Unit::kEpoch;
  const double epoch = by_epoch ? 1.0 : static_cast<double>(steps_per_epoch);
  const double whole =
      by_epoch ? static_cast<double>((run.steps + steps_per_epoch - 1) / steps_per_epoch)
               : static_cast<double>(run.steps);
  const double steps = static_cast<double>(steps_per_epoch);
  const double more = static_cast<double>(options.warmup_steps);
  const double warmup = options.warmup_epochs * steps + more;  // in steps
  const double shift = !options.warmup_prefix ? 0
                       : by_epoch             ? options.warmup_epochs + more / steps
                                              : warmup;
  const auto main = rate({whole - shift, epoch});
  const std::int64_t lag = options.lag * (by_epoch ? steps_per_epoch : 1);
  return [=, lr = run.lr](std::int64_t completed) {
    const std::int64_t step = std::max<std::int64_t>(completed - lag, 0);
    const std::int64_t epochs = step / steps_per_epoch;
    const bool rises_by_epoch = options.warmup_unit == Unit::kEpoch;
    const double rising_for = static_cast<double>(rises_by_epoch ? epochs * steps_per_epoch : step);
    if (rising_for < warmup) {
      const double rising = options.warmup_lr + (lr - options.warmup_lr) * (rising_for / warmup);
      return std::max(options.warmup_floor, rising);
    }
    // Behind a warm-up of less than an epoch the first epoch of the schedule has begun early.
    return main(std::max(static_cast<double>(by_epoch ? epochs : step) - shift, 0.0));
  };
}

}  // namespace fovea::optim
