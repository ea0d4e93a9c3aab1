#include "optim/registry.h"

#include <utility>

namespace fovea::optim {
namespace {

template <class Entry>
Entry named(std::string name, Entry entry) {
  entry.name = std::move(name);
  return entry;
}

const schema::Registry<OptimiserEntry>& optimisers() {
  static const schema::Registry<OptimiserEntry> all = {
#define FOVEA_OPTIMISER(name) named(#name, name##_optimiser()),
#include "optim/optimisers.def"
#undef FOVEA_OPTIMISER
  };
  return all;
}

const schema::Registry<ScheduleEntry>& schedules() {
  static const schema::Registry<ScheduleEntry> all = {
#define FOVEA_SCHEDULE(name) named(#name, name##_schedule()),
#include "optim/schedules.def"
#undef FOVEA_SCHEDULE
  };
  return all;
}

}  // namespace

schema::Choices optimiser_choices() { return optimisers().choices(); }
schema::Choices schedule_choices() { return schedules().choices(); }

std::unique_ptr<Optimiser> make_optimiser(const schema::Component& choice,
                                          std::vector<Parameter> parameters) {
  return optimisers().find(choice.type, "optimizer.type").make(choice, std::move(parameters));
}

Schedule make_schedule(const schema::Component& choice, const RunLength& run) {
  return schedules().find(choice.type, "schedule.type").make(choice, run);
}

}  // namespace fovea::optim
