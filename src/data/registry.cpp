#include "data/registry.h"

#include <fmt/format.h>

#include "base/error.h"

namespace fovea::data {

#define FOVEA_DATASET_ENTRY(name) DatasetEntry dataset_entry_##name();
#include "data/datasets.def"
#undef FOVEA_DATASET_ENTRY

namespace {

Configured configure(schema::Component component, const std::string& path) {
  // A type alone, made in code, stands for all defaults.
  if (component.options.is_null()) component.options.set("type", component.type);
  const schema::Choice choice =
      schema::find_choice(dataset_choices(), component.type, schema::join_path(path, "type"));
  for (const DatasetEntry& entry : datasets()) {
    if (entry.name == choice.name) return entry.configure(component, path);
  }
  throw ConfigError(fmt::format("{}: no data set called \"{}\"", path, component.type));
}

}  // namespace

const std::vector<DatasetEntry>& datasets() {
  static const std::vector<DatasetEntry> entries = {
#define FOVEA_DATASET_ENTRY(name) dataset_entry_##name(),
#include "data/datasets.def"
#undef FOVEA_DATASET_ENTRY
  };
  return entries;
}

schema::Choices dataset_choices() {
  return {"dataset", [] {
            std::vector<schema::Choice> choices;
            for (const DatasetEntry& entry : datasets()) {
              choices.push_back({entry.name, entry.title + "; see " + entry.page, entry.fields});
            }
            return choices;
          }};
}

std::shared_ptr<const Dataset> make_dataset(const schema::Component& component, Split split,
                                            const std::string& path) {
  Configured configured = configure(component, path);
  return choose_split(configured.open, split, std::move(configured.common));
}

bool has_val(const schema::Component& component, const std::string& path) {
  const Configured configured = configure(component, path);
  return configured.common.val_fraction > 0.0 || configured.open(Split::kVal) != nullptr;
}

}  // namespace fovea::data
