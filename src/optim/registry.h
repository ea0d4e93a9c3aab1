// The optimisers and schedules an experiment file can name. A new one is a source file that defines
// its entry and a line in optimisers.def or schedules.def.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "optim/optimiser.h"
#include "optim/schedule.h"
#include "schema/registry.h"

namespace fovea::optim {

struct OptimiserEntry : schema::Choice {
  static constexpr const char* kKind = "optimizer";
  std::function<std::unique_ptr<Optimiser>(const schema::Component&, std::vector<Parameter>)> make;
};

struct ScheduleEntry : schema::Choice {
  static constexpr const char* kKind = "schedule";
  std::function<Schedule(const schema::Component&, const RunLength&)> make;
};

/// For Fields::add_component("optimizer", ..., optimiser_choices(), ...).
schema::Choices optimiser_choices();
schema::Choices schedule_choices();

/// Throws ConfigError for an unknown type or options that do not fit.
std::unique_ptr<Optimiser> make_optimiser(const schema::Component& choice,
                                          std::vector<Parameter> parameters);
Schedule make_schedule(const schema::Component& choice, const RunLength& run);

// clang-format off
#define FOVEA_OPTIMISER(name) OptimiserEntry name##_optimiser();
#include "optim/optimisers.def"
#undef FOVEA_OPTIMISER
#define FOVEA_SCHEDULE(name) ScheduleEntry name##_schedule();
#include "optim/schedules.def"
#undef FOVEA_SCHEDULE
// clang-format on

}  // namespace fovea::optim
