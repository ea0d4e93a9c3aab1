#include "optim/registry.h"

#include <utility>

namespace fovea::optim {
namespace {

// A type alone, made in code, stands for all defaults.
schema::Component completed(schema::Component choice) {
  if (choice.options.is_null()) choice.options.set("type", choice.type);
  return choice;
}

template <class Entry>
using Named = std::vector<std::pair<std::string, Entry>>;

Named<OptimiserEntry> optimisers() {
  return {
#define FOVEA_OPTIMISER(name) {#name, name##_optimiser()},
#include "optim/optimisers.def"
#undef FOVEA_OPTIMISER
  };
}

Named<ScheduleEntry> schedules() {
  return {
#define FOVEA_SCHEDULE(name) {#name, name##_schedule()},
#include "optim/schedules.def"
#undef FOVEA_SCHEDULE
  };
}

template <class Entry>
std::vector<schema::Choice> choices_of(const Named<Entry>& entries) {
  std::vector<schema::Choice> choices;
  for (const auto& [name, entry] : entries) choices.push_back({name, entry.help, entry.fields});
  return choices;
}

template <class Entry>
Entry find(const Named<Entry>& entries, const schema::Choices& choices,
           const schema::Component& choice, const std::string& path) {
  const schema::Value type(choice.type);
  const std::string name = schema::find_choice(choices, type, path).name;  // throws if unknown
  for (const auto& [known, entry] : entries) {
    if (known == name) return entry;
  }
  return {};
}

}  // namespace

schema::Choices optimiser_choices() {
  return {"optimizer", [] { return choices_of(optimisers()); }};
}

schema::Choices schedule_choices() {
  return {"schedule", [] { return choices_of(schedules()); }};
}

std::unique_ptr<Optimiser> make_optimiser(const schema::Component& choice,
                                          std::vector<Parameter> parameters) {
  return find(optimisers(), optimiser_choices(), choice, "optimizer.type")
      .make(completed(choice), std::move(parameters));
}

Schedule make_schedule(const schema::Component& choice, const RunLength& run) {
  return find(schedules(), schedule_choices(), choice, "schedule.type")
      .make(completed(choice), run);
}

}  // namespace fovea::optim
