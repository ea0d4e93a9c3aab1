#include "models/model.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/suggest.h"

#define FOVEA_ENTRY(name) ::fovea::models::Entry fovea_model_##name();
#include "models/models.def"
#undef FOVEA_ENTRY

namespace fovea::models {

const std::vector<Entry>& entries() {
  static const std::vector<Entry> all = {
#define FOVEA_ENTRY(name) fovea_model_##name(),
#include "models/models.def"
#undef FOVEA_ENTRY
  };
  return all;
}

const Entry& find_entry(const std::string& name) {
  std::vector<std::string> names;
  for (const Entry& entry : entries()) {
    if (entry.name == name) return entry;
    names.push_back(entry.name);
  }
  throw ConfigError(fmt::format("model.type: no model called \"{}\"{} run: inspect --list model",
                                name, did_you_mean(name, names)));
}

std::unique_ptr<Model> make(const schema::Component& component, const nn::Build& build,
                            const DataShape& data) {
  return find_entry(component.type).make(build, component, data);
}

schema::Choices choices() {
  return {"model", [] {
            std::vector<schema::Choice> list;
            for (const Entry& entry : entries())
              list.push_back({entry.name, entry.help, entry.fields});
            return list;
          }};
}

}  // namespace fovea::models
