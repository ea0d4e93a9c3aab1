#include "training/losses/loss.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "base/error.h"
#include "training/losses/loss_entry.h"

namespace fovea::training {

#define FOVEA_ENTRY(name) LossEntry fovea_loss_##name();
#include "training/losses/losses.def"
#undef FOVEA_ENTRY

namespace {

const char* name_of(Compares what) {
  switch (what) {
    case Compares::kClasses:
      return "classes";
    case Compares::kMasks:
      return "masks";
    case Compares::kRegions:
      return "regions";
    case Compares::kSequences:
      return "sequences";
    default:
      return "label maps";
  }
}

}  // namespace

schema::Registry<LossEntry>& losses() {
  static schema::Registry<LossEntry> all = {
#define FOVEA_ENTRY(name) fovea_loss_##name(),
#include "training/losses/losses.def"
#undef FOVEA_ENTRY
  };
  return all;
}

schema::Choices loss_choices() { return losses().choices(); }

bool compares(const schema::Component& component, Compares what) {
  return std::any_of(losses().begin(), losses().end(), [&](const LossEntry& entry) {
    return entry.name == component.type && entry.makers.at(static_cast<std::size_t>(what));
  });
}

Loss make_loss(const schema::Component& component, Compares compares, const LabelCounts& counts) {
  const auto maker = [&](const LossEntry& entry) -> const auto& {
    return entry.makers.at(static_cast<std::size_t>(compares));
  };
  if (const auto& make = maker(losses().find(component.type, "loss.type")))
    return make(component, counts);
  std::string fitting;
  for (const LossEntry& entry : losses()) {
    if (maker(entry)) fitting += (fitting.empty() ? "" : ", ") + entry.name;
  }
  throw ConfigError(fmt::format("loss.type: {} does not compare {}; choose {}", component.type,
                                name_of(compares), fitting));
}

}  // namespace fovea::training
