// Attention across depth: what every variant is, how it is registered, and how it is made by name.
// A variant is one source file and one line in variants.def; networks know this interface alone.
#pragma once

#include <any>
#include <array>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "attention/probe.h"
#include "nn/module.h"
#include "schema/fields.h"
#include "schema/registry.h"

namespace fovea::layer_attention {

/// Which public code a network follows in its names and in defaults that differ.
/// kcla 3.1, 3.3, 3.5.
enum class Family { kSmallImages, kImageNet, kSegmentation };

/// The place of a layer in a network. A stage is a run of blocks of one width and resolution;
/// layers and stages are counted from 0.
struct Slot {
  nn::Build build;
  Family family = Family::kSmallImages;
  std::int64_t channels = 0;  // of the feature map
  std::int64_t stage = 0, layer = 0;
  std::int64_t layers = 1;  // of the stage
  bool last_stage = false;
  // Channels of the map that the stage before hands over; 0 = half of `channels`.
  std::int64_t previous_channels = 0;
  std::int64_t stride = 2;  // from that map to this stage's
  bool bottleneck = true;   // the blocks are bottlenecks
  // Channels of the maps that the block's convolutions but the last put out (Layer::inner).
  std::vector<std::int64_t> inner = {};
  nn::Module* shared = nullptr;  // what make_shared() of the variant returned for this stage
};

/// What a block hands to its layer attention.
struct Layer {
  Tensor x;         // (b, c, h, w): the block's output, or its branch before the sum
  Tensor shortcut;  // like x: what is added to the branch
  // True: the variant returns x + keep o instead of o, which Join::adds says it can. keep (b, c)
  // are the weights of drop path; undefined: 1.
  bool add = false;
  Tensor keep = {};
  // Where Join::inner asks for them: the outputs of the block's convolutions but the last, each
  // behind its batch norm and ReLU. The first ones may have the resolution before the stride.
  std::vector<Tensor> inner = {};
};

/// What is carried from layer to layer during one forward pass. A network makes an empty one for
/// every pass and passes it to all layers in turn; each variant keeps one value of its own type.
class State {
 public:
  /// The value; a new one where there is none or `start_over` is set.
  template <class T>
  T& get(bool start_over = false) {
    if (start_over || !value_.has_value()) value_.emplace<T>();
    return std::any_cast<T&>(value_);
  }
  bool empty() const { return !value_.has_value(); }

 private:
  std::any value_;
};

/// What a block does with the result o of its layer attention.
struct Join {
  /// The attention reads the branch, and o replaces it before the sum with the shortcut. Otherwise
  /// the attention reads the block's output x, and the other members apply.
  bool on_branch = false;
  bool inner = false;    // it also reads Layer::inner
  bool norm = true;      // o <- batch norm of o
  bool relu = false;     // then a ReLU
  bool replace = false;  // the block's output is o instead of x + drop_path(o)
  bool adds = false;     // the variant can do that sum itself (Layer::add)
  double drop_path = 0;
};

/// Names of parameters in one family of networks, those of the public code.
struct Names {
  const char* stage = "layer";  // "layer" is numbered from 1, others ("stages") from 0
  const char* blocks = "";      // between the stage and the block's number
  bool beside = false;          // <stage>.attention.<i> instead of inside the block
  const char* core = "";        // of the attention, from the block or from attention.<i>
  const char* norm = "";        // of the batch norm behind it
};

struct Info {
  std::string title;
  std::string source;          // paper key and section
  std::array<Names, 3> names;  // by Family
};

class LayerAttention : public nn::Module {
 public:
  /// The result of attention at this layer, like in.x; changes `state`. A probe changes nothing.
  Tensor operator()(const Layer& in, State& state, attention::Probe* probe = nullptr) {
    const auto scope = enter();
    return forward(in, state, probe);
  }
  virtual Join join() const = 0;

 protected:
  virtual Tensor forward(const Layer& in, State& state, attention::Probe* probe) = 0;
};

/// One line of the registry.
struct Variant : schema::Choice {
  static constexpr const char* kKind = "layer_attention";
  Info info;
  std::function<std::unique_ptr<LayerAttention>(const Slot&, const schema::Component&)> make;
  /// What the layers of a stage share, or null; its names stand directly below the stage.
  std::function<std::unique_ptr<nn::Module>(const Slot&, const schema::Component&)> make_shared;
};

/// All of variants.def.
const schema::Registry<Variant>& variants();

/// The number of heads of `head_dim` channels. Throws ConfigError, with the possible numbers,
/// unless head_dim divides `channels`.
std::int64_t heads_of(const char* variant, std::int64_t channels, std::int64_t head_dim);

template <class Class, class Options>
Variant make_variant(std::string name, Info info, const schema::Fields<Options>& fields) {
  const auto shared = std::make_shared<const schema::Fields<Options>>(fields);
  Variant variant{{std::move(name), info.title + " (" + info.source + ")", shared}, info, {}, {}};
  variant.make = [shared](const Slot& slot, const schema::Component& component) {
    return std::make_unique<Class>(slot, shared->parse(component, "model.layer_attention"));
  };
  variant.make_shared = [shared](
                            const Slot& slot,
                            const schema::Component& component) -> std::unique_ptr<nn::Module> {
    if constexpr (requires { typename Class::Shared; }) {
      return std::make_unique<typename Class::Shared>(
          slot, shared->parse(component, "model.layer_attention"));
    } else {
      return nullptr;
    }
  };
  return variant;
}

}  // namespace fovea::layer_attention

/// Registers a class built from (const Slot&, const Options&) under `name`, with its Info and the
/// Fields that describe its options; `name` also needs a line in variants.def. Where the class
/// names a type `Shared`, one of these is built from the same for each stage.
#define FOVEA_LAYER_ATTENTION(name, Class, info, ...)                               \
  ::fovea::layer_attention::Variant fovea_layer_attention_##name() {                \
    return ::fovea::layer_attention::make_variant<Class>(#name, info, __VA_ARGS__); \
  }
