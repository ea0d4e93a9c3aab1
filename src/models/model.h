// Networks by name: how a network is registered, made and run.
// A network family is one source file and one line in models.def for each preset.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attention/attention.h"
#include "autograd/profiler.h"
#include "models/backbone.h"
#include "models/network.h"
#include "nn/module.h"
#include "schema/fields.h"
#include "schema/registry.h"

namespace fovea::models {

/// The shape of a data set; options that are null take these values.
struct DataShape {
  std::int64_t channels = 3;  // of images
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t num_classes = 0;
  std::int64_t vocab_size = 0;  // of texts: ids are below it
  std::int64_t max_len = 0;     // tokens of the longest text
  bool label_maps = false;      // every pixel has a class
  std::int64_t depth = 0;       // of volumes; 0: images are flat
  bool regions = false;         // of label maps: maps are of regions of classes, which overlap
  std::int64_t mels = 0;        // channels of the features of recordings
  std::int64_t frames = 0;      // of the longest recording
};

/// A network: from the inputs of its interface to the outputs.
class Model : public nn::Module {
 public:
  /// `probe` records attention maps. Results are float32 in mixed precision too: losses and metrics
  /// are computed from them. Throws ShapeError where an input is missing.
  Outputs operator()(const Inputs& in, attention::Probe* probe = nullptr);
  virtual Interface interface() const = 0;
  /// Whether logits are of classes; false of an encoder without a head, which gives features.
  virtual bool has_head() const { return true; }
  /// Number of maps of a dense network; 0: unknown.
  virtual std::int64_t num_maps() const { return 0; }
  /// The layout of its attention maps over the input; grid_h = 0 without a grid.
  virtual attention::Context geometry() const { return {}; }
  /// Whether logits are read from the class token; else from all tokens behind the prefix.
  virtual bool reads_class_token() const {
    const attention::Context layout = geometry();
    return layout.prefix_tokens > 0 && layout.class_token;
  }
  /// Multiply-adds of the forward pass with these events as the network's paper counts them;
  /// nothing where that is the engine's own count.
  virtual std::optional<std::int64_t> paper_macs(const std::vector<autograd::Event>&) const {
    return std::nullopt;
  }
  /// Runs what a step of evaluation, or of training in that mode, computes of a batch. It is what
  /// costs are counted of, on the meta device, where no number can be read: a second stage gets
  /// empty regions, as many as it takes at most. Returns all that it puts out. (mmdet's word.)
  virtual Outputs forward_dummy(const Inputs& in) { return (*this)(in); }
  /// Reads the pretrained weights that the options of its backbones name, and returns notes about
  /// them; `host` is the device that files are read to. Throws FileError (models::load_pretrained).
  std::vector<std::string> load_pretrained(const Device& host);

 protected:
  virtual Outputs forward(const Inputs& in, attention::Probe* probe) = 0;
  /// A backbone of the registry as the child `name`.
  Backbone& add_backbone(const std::string& name, const nn::Build& build,
                         const schema::Component& component, std::int64_t in_chans);

 private:
  std::vector<std::pair<Backbone*, schema::Component>> backbones_;
};

/// A network of one interface, the base of the registry's classes.
template <Interface I>
class ModelOf : public Model {
 public:
  static constexpr Interface kInterface = I;
  Interface interface() const final { return I; }
};
using ImageClassifier = ModelOf<Interface::kImageClassifier>;
using TextClassifier = ModelOf<Interface::kTextClassifier>;

/// One line of the registry.
struct Entry : schema::Choice {
  static constexpr const char* kKind = "model";
  Interface interface = Interface::kImageClassifier;
  std::function<std::unique_ptr<Model>(const nn::Build&, const schema::Component&,
                                       const DataShape&)>
      make;
  int axes = 2;  // of the images it reads: 3 for volumes
};

/// All of models.def.
const schema::Registry<Entry>& entries();
/// Throws ConfigError for an unknown name or sizes that do not fit together.
std::unique_ptr<Model> make_model(const schema::Component& component, const nn::Build& build,
                                  const DataShape& data);

template <class Class>
constexpr int axes_of() {
  if constexpr (requires { Class::kAxes; }) {
    return Class::kAxes;
  } else {
    return 2;
  }
}

template <class Class, class Options>
Entry make_entry(std::string name, std::string help, const schema::Fields<Options>& fields) {
  const auto shared = std::make_shared<const schema::Fields<Options>>(fields);
  return {{std::move(name), std::move(help), shared},
          Class::kInterface,
          [shared](const nn::Build& build, const schema::Component& component,
                   const DataShape& data) -> std::unique_ptr<Model> {
            return std::make_unique<Class>(build, shared->parse(component, "model"), data);
          },
          axes_of<Class>()};
}

}  // namespace fovea::models

/// Registers a class built from (const nn::Build&, const Options&, const DataShape&); `name` also
/// needs a line in models.def.
#define FOVEA_MODEL(name, Class, help, ...)                              \
  ::fovea::models::Entry fovea_model_##name() {                          \
    return ::fovea::models::make_entry<Class>(#name, help, __VA_ARGS__); \
  }
