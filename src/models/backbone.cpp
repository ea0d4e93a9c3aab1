#include "models/backbone.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "nn/norm.h"
#include "tensor/safetensors.h"

#define FOVEA_BACKBONE_ENTRY(name) ::fovea::models::BackboneEntry fovea_backbone_##name();
#include "models/backbones.def"
#undef FOVEA_BACKBONE_ENTRY

namespace fovea::models {

schema::Registry<BackboneEntry>& backbones() {
  static schema::Registry<BackboneEntry> all = {
#define FOVEA_BACKBONE_ENTRY(name) fovea_backbone_##name(),
#include "models/backbones.def"
#undef FOVEA_BACKBONE_ENTRY
  };
  return all;
}

void Backbone::freeze_stages(std::int64_t last) {
  for (std::int64_t stage = 0; stage <= last; ++stage) {
    const std::vector<std::string> parts = parts_of(stage);
    FOVEA_CHECK(
        stage == 0 || !parts.empty(), ConfigError,
        fmt::format("model.frozen_stages: {}, but {} has no stage {}", last, type(), stage));
    for (const std::string& part : parts) {
      visit([&](const std::string& name, nn::Module& module) {
        if (name == part || name.starts_with(part + ".")) module.freeze();
      });
    }
  }
}

void Backbone::freeze_statistics() {
  visit([](const std::string&, nn::Module& module) {
    if (dynamic_cast<nn::BatchNorm2d*>(&module) != nullptr) module.keep_evaluating();
  });
}

std::vector<std::string> load_pretrained(const Backbone& backbone,
                                         const schema::Component& component, const Device& host) {
  const schema::Value& given = component.options;
  const schema::Value* file = given.is_object() ? given.find("weights") : nullptr;
  if (file == nullptr || file->as_string().empty()) return {};
  nn::LoadOptions options;
  const BackboneEntry& entry = backbones().find(component.type);
  options.ignore = entry.head;
  options.random = entry.fresh;
  const std::string& name = file->as_string();
  const nn::LoadReport report =
      nn::load_weights(backbone, read_safetensors(name, host).tensors, name, options);
  std::string note = fmt::format("model.backbone: {} tensors of {}", report.loaded, name);
  if (!report.unused.empty())
    note += fmt::format("; left out {}, which the backbone does not have",
                        fmt::join(report.unused, ", "));
  if (!report.random.empty())
    note += fmt::format("; not in it, and as they began: {}", fmt::join(report.random, ", "));
  return {note};
}

}  // namespace fovea::models
