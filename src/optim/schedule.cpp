#include "optim/schedule.h"

#include <algorithm>

#include "base/error.h"

namespace fovea::optim {

const schema::Fields<ScheduleOptions>& schedule_fields() {
  static const auto fields =
      schema::Fields<ScheduleOptions>{}
          .add_enum("unit", &ScheduleOptions::unit,
                    {{"step", Unit::kStep}, {"epoch", Unit::kEpoch}}, "how often the rate changes")
          .add("warmup_epochs", &ScheduleOptions::warmup_epochs, schema::at_least(0),
               "length of a linear warm-up")
          .add("warmup_steps", &ScheduleOptions::warmup_steps, schema::at_least(0),
               "steps of warm-up, on top of warmup_epochs; needs unit \"step\"")
          .add("warmup_lr", &ScheduleOptions::warmup_lr, schema::at_least(0),
               "rate at which the warm-up begins")
          .add("warmup_floor", &ScheduleOptions::warmup_floor, schema::at_least(0),
               "smallest rate during the warm-up")
          .add("warmup_prefix", &ScheduleOptions::warmup_prefix,
               "true: the schedule begins after the warm-up and spans the rest of the run; false: "
               "it "
               "spans the whole run and the warm-up replaces its beginning")
          .add("lag", &ScheduleOptions::lag, schema::at_least(0),
               "units by which the rate follows late, for recipes that step the schedule late")
          .check([](const ScheduleOptions& options) -> std::string {
            if (options.unit == Unit::kEpoch && options.warmup_steps > 0) {
              return "warmup_steps needs unit \"step\"";
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
  const double warmup = options.warmup_epochs * epoch + static_cast<double>(options.warmup_steps);
  const double shift = options.warmup_prefix ? warmup : 0;
  const auto main = rate({whole - shift, epoch});
  return [=, lr = run.lr](std::int64_t completed) {
    const std::int64_t now = by_epoch ? completed / steps_per_epoch : completed;
    const double t = static_cast<double>(std::max<std::int64_t>(now - options.lag, 0));
    if (t < warmup) {
      const double rising = options.warmup_lr + (lr - options.warmup_lr) * (t / warmup);
      return std::max(options.warmup_floor, rising);
    }
    return main(t - shift);
  };
}

}  // namespace fovea::optim
