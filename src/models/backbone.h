// Pyramid backbones by name: the encoders of dense networks and detectors. A backbone is one source
// file and one line in backbones.def.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "attention/probe.h"
#include "nn/module.h"
#include "nn/weights.h"
#include "schema/fields.h"
#include "schema/registry.h"

namespace fovea::models {

/// One map of a pyramid: (b, channels, h / stride, w / stride), sizes rounded up.
struct PyramidLevel {
  std::int64_t channels = 0;
  std::int64_t stride = 1;
};

class Backbone : public nn::Module {
 public:
  /// image (b, c, h, w) -> one map for each of levels(), the finest first.
  std::vector<Tensor> operator()(const Tensor& image, attention::Probe* probe = nullptr) {
    const auto scope = enter();
    return forward(image, probe);
  }
  /// Strides never fall from one level to the next; two levels may share one.
  const std::vector<PyramidLevel>& levels() const { return levels_; }
  /// Takes the stem and the stages 1 to `last` out of training; below 0: nothing. Throws
  /// ConfigError where there is no such stage.
  void freeze_stages(std::int64_t last);
  /// Batch norms keep their running statistics in training too.
  void freeze_statistics();

 protected:
  virtual std::vector<Tensor> forward(const Tensor& image, attention::Probe* probe) = 0;
  /// Names of the modules of a stage, counted from 1, or of the stem (0), which may have none; they
  /// may be beginnings of dotted names. No names: there is no such stage.
  virtual std::vector<std::string> parts_of(std::int64_t /*stage*/) const { return {}; }

  std::vector<PyramidLevel> levels_;
};

/// Keys of every backbone; the options of each derive from this.
struct BackboneOptions {
  std::string weights;
};

/// One line of the registry.
struct BackboneEntry : schema::Choice {
  static constexpr const char* kKind = "backbone";
  /// Tensors of the classifier's head, which files have and a backbone leaves out: patterns in
  /// which
  /// `*` matches anything.
  std::vector<std::string> head;
  /// Tensors that such files lack: patterns of the backbone's names; these keep their initial
  /// values.
  std::vector<std::string> fresh;
  std::function<std::unique_ptr<Backbone>(const nn::Build&, const schema::Component&,
                                          std::int64_t in_chans)>
      make;
};

/// All of backbones.def, and what was added at run time.
schema::Registry<BackboneEntry>& backbones();

/// Reads the file of pretrained weights that the options name into the backbone, and returns notes
/// about what was left out; `host` is the device that files are read to. Does nothing without a
/// file. Throws FileError as nn::load_weights() does: everything but the classifier's head must
/// agree.
std::vector<std::string> load_pretrained(const Backbone& backbone,
                                         const schema::Component& component, const Device& host);

template <class Class, class Options>
BackboneEntry make_backbone_entry(std::string name, std::string help,
                                  schema::Fields<Options> fields) {
  fields
      .add("weights", &BackboneOptions::weights,
           "safetensors file of pretrained weights, of the backbone or of the classifier it "
           "belongs to, whose head is left out; \"\" = none")
      .is_file();
  const auto shared = std::make_shared<const schema::Fields<Options>>(std::move(fields));
  std::vector<std::string> fresh;
  if constexpr (requires { Class::kFresh; })
    fresh.assign(Class::kFresh.begin(), Class::kFresh.end());
  return {{std::move(name), std::move(help), shared},
          {Class::kHead.begin(), Class::kHead.end()},
          std::move(fresh),
          [shared](const nn::Build& build, const schema::Component& component,
                   std::int64_t in_chans) -> std::unique_ptr<Backbone> {
            return std::make_unique<Class>(build, shared->parse(component, "model.backbone"),
                                           in_chans);
          }};
}

}  // namespace fovea::models

/// Registers a class built from (const nn::Build&, const Options&, std::int64_t in_chans), whose
/// kHead is BackboneEntry::head and kFresh, if it has one, BackboneEntry::fresh; `name` also needs
/// a line in backbones.def.
#define FOVEA_BACKBONE(name, Class, help, ...)                                    \
  ::fovea::models::BackboneEntry fovea_backbone_##name() {                        \
    return ::fovea::models::make_backbone_entry<Class>(#name, help, __VA_ARGS__); \
  }
