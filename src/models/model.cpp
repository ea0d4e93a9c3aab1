#include "models/model.h"

#include <fmt/format.h>

#include "base/error.h"
#include "ops/elementwise.h"

#define FOVEA_ENTRY(name) ::fovea::models::Entry fovea_model_##name();
#include "models/models.def"
#undef FOVEA_ENTRY

namespace fovea::models {

Outputs Model::operator()(const Inputs& in, attention::Probe* probe) {
  const InterfaceInfo& info = info_of(interface());
  for (const InputField& field : info.reads) {
    FOVEA_CHECK((in.*field.tensor).defined(), ShapeError,
                fmt::format("{}: no {} given; {} reads it", type(), field.name, info.name));
  }
  const auto scope = enter();
  Outputs out = forward(in, probe);
  const auto widened = [](const Tensor& x) { return ops::cast(x, compute_dtype(x.dtype())); };
  if (out.logits.defined()) out.logits = widened(out.logits);
  for (Tensor& map : out.maps) map = widened(map);
  return out;
}

Backbone& Model::add_backbone(const std::string& name, const nn::Build& build,
                              const schema::Component& component, std::int64_t in_chans) {
  Backbone& made =
      child(name, backbones().find(component.type).make(build.at(name), component, in_chans));
  backbones_.emplace_back(&made, component);
  return made;
}

std::vector<std::string> Model::load_pretrained(const Device& host) {
  std::vector<std::string> notes;
  for (const auto& [backbone, component] : backbones_) {
    for (std::string& note : models::load_pretrained(*backbone, component, host))
      notes.push_back(std::move(note));
  }
  return notes;
}

const schema::Registry<Entry>& entries() {
  static const schema::Registry<Entry> all = {
#define FOVEA_ENTRY(name) fovea_model_##name(),
#include "models/models.def"
#undef FOVEA_ENTRY
  };
  return all;
}

std::unique_ptr<Model> make_model(const schema::Component& component, const nn::Build& build,
                                  const DataShape& data) {
  nn::Build counted = build;
  if (counted.construction == nullptr) counted.construction = std::make_shared<nn::Construction>();
  return entries().find(component.type, "model.type").make(counted, component, data);
}

}  // namespace fovea::models
