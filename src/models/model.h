// Networks by name: how a network is registered, made and run.
// A network family is one source file and one line in models.def for each preset.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attention/attention.h"
#include "autograd/profiler.h"
#include "nn/module.h"
#include "ops/elementwise.h"
#include "schema/fields.h"

namespace fovea::models {

/// What the data set says of itself; options left null take these values.
struct DataShape {
  std::int64_t channels = 3;  // of images
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t num_classes = 0;
  std::int64_t vocab_size = 0;  // of texts: ids are below it
  std::int64_t max_len = 0;     // tokens of the longest text
};

/// What a network takes.
enum class Input {
  kImages,  // (b, c, h, w) float
  kTexts,   // (b, n) int64 ids of words, 0 = padding behind the end of a text
};

/// What a network puts out.
enum class Output {
  kClasses,  // (b, classes) logits
  kMasks,    // (b, maps, h, w) probabilities
};

/// A network from one input tensor to one output tensor.
class Model : public nn::Module {
 public:
  /// Another kind of input or output is said by a member of the same name in the derived class.
  static constexpr Input kInput = Input::kImages;
  static constexpr Output kOutput = Output::kClasses;

  /// x: what input() says. `probe` records attention maps. The result is float32 in mixed precision
  /// too: losses and metrics are computed from it.
  Tensor operator()(const Tensor& x, attention::Probe* probe = nullptr) {
    const auto scope = enter();
    const Tensor y = forward(x, probe);
    return ops::cast(y, compute_dtype(y.dtype()));
  }
  virtual Input input() const { return kInput; }
  /// How its attention maps lie over the input; grid_h = 0 where there is none.
  virtual attention::Context geometry() const { return {}; }
  /// Multiply-adds of the forward pass with these events as the network's paper counts them;
  /// nothing where that is the engine's own count.
  virtual std::optional<std::int64_t> paper_macs(const std::vector<autograd::Event>&) const {
    return std::nullopt;
  }

 protected:
  virtual Tensor forward(const Tensor& x, attention::Probe* probe) = 0;
};

/// One line of the registry.
struct Entry {
  std::string name;
  std::string help;
  Input input = Input::kImages;
  Output output = Output::kClasses;
  std::shared_ptr<const schema::Description> fields;
  std::function<std::unique_ptr<Model>(const nn::Build&, const schema::Component&,
                                       const DataShape&)>
      make;
};

const std::vector<Entry>& entries();
/// Throws ConfigError for an unknown name.
const Entry& find_entry(const std::string& name);
/// Throws ConfigError for an unknown name or sizes that do not fit together.
std::unique_ptr<Model> make(const schema::Component& component, const nn::Build& build,
                            const DataShape& data);
schema::Choices choices();

template <class Class, class Options>
Entry make_entry(std::string name, std::string help, const schema::Fields<Options>& fields) {
  const auto shared = std::make_shared<const schema::Fields<Options>>(fields);
  return {std::move(name),
          std::move(help),
          Class::kInput,
          Class::kOutput,
          shared,
          [shared](const nn::Build& build, const schema::Component& component,
                   const DataShape& data) -> std::unique_ptr<Model> {
            return std::make_unique<Class>(build, shared->parse(component, "model"), data);
          }};
}

}  // namespace fovea::models

/// Registers a class built from (const nn::Build&, const Options&, const DataShape&); `name` also
/// needs a line in models.def.
#define FOVEA_MODEL(name, Class, help, ...)                              \
  ::fovea::models::Entry fovea_model_##name() {                          \
    return ::fovea::models::make_entry<Class>(#name, help, __VA_ARGS__); \
  }
