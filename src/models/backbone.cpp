#include "models/backbone.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/suggest.h"
#include "tensor/safetensors.h"

#define FOVEA_BACKBONE_ENTRY(name) ::fovea::models::BackboneEntry fovea_backbone_##name();
#include "models/backbones.def"
#undef FOVEA_BACKBONE_ENTRY

namespace fovea::models {
namespace {

std::vector<BackboneEntry>& registry() {
  static std::vector<BackboneEntry> all = {
#define FOVEA_BACKBONE_ENTRY(name) fovea_backbone_##name(),
#include "models/backbones.def"
#undef FOVEA_BACKBONE_ENTRY
  };
  return all;
}

}  // namespace

const std::vector<BackboneEntry>& backbones() { return registry(); }

void register_backbone(BackboneEntry entry) { registry().push_back(std::move(entry)); }

const BackboneEntry& find_backbone(const std::string& name) {
  std::vector<std::string> names;
  for (const BackboneEntry& entry : backbones()) {
    if (entry.name == name) return entry;
    names.push_back(entry.name);
  }
  throw ConfigError(
      fmt::format("model.backbone.type: no backbone called \"{}\"{} run: inspect --list backbone",
                  name, did_you_mean(name, names)));
}

schema::Choices backbone_choices() {
  return {"backbone", [] {
            std::vector<schema::Choice> list;
            for (const BackboneEntry& entry : backbones())
              list.push_back({entry.name, entry.help, entry.fields});
            return list;
          }};
}

std::vector<std::string> load_pretrained(const Backbone& backbone,
                                         const schema::Component& component, const Device& host) {
  const schema::Value& given = component.options;
  const schema::Value* file = given.is_object() ? given.find("weights") : nullptr;
  if (file == nullptr || file->as_string().empty()) return {};
  nn::LoadOptions options;
  options.ignore = find_backbone(component.type).head;
  const std::string& name = file->as_string();
  const nn::LoadReport report =
      nn::load_weights(backbone, read_safetensors(name, host).tensors, name, options);
  std::string note = fmt::format("model.backbone: {} tensors of {}", report.loaded, name);
  if (!report.unused.empty())
    note += fmt::format("; left out {}, which the backbone does not have",
                        fmt::join(report.unused, ", "));
  return {note};
}

}  // namespace fovea::models
