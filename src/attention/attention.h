// Token attention: what every variant is, how it is registered, and how it is made by name.
// A variant is one source file and one line in variants.def.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "attention/probe.h"
#include "nn/module.h"
#include "nn/norm.h"
#include "ops/attention/attention.h"
#include "schema/fields.h"
#include "schema/registry.h"

namespace fovea::attention {

/// The layout of tokens.
struct Layout {
  std::int64_t prefix_tokens = 0;  // class or register tokens before the grid
  std::int64_t grid_h = 0;         // tokens of the grid, row by row; 0 = no grid
  std::int64_t grid_w = 0;
};

/// The place of a variant in a network: what every variant may need to be built.
struct Slot {
  nn::Build build;
  std::int64_t dim = 0;    // channels of the tokens
  std::int64_t layer = 1;  // index of the block, from 1
  std::int64_t depth = 1;  // number of blocks
  Layout layout = {};      // no grid where it is not known before the first pass
  nn::NormKind norm = nn::NormKind::kLayerNorm;  // of the blocks; that of queries and keys
  double norm_eps = 1e-6;
};

/// What a forward pass gives a variant beside the tokens.
struct Context : Layout {
  bool class_token = true;  // where there are prefix tokens: the first is one
  Tensor key_mask;          // (b, n) uint8, 1 = valid; undefined = all valid
  bool causal = false;
  Tensor rope_cos, rope_sin;  // (n, head_dim / 2), undefined = no rotary positions
  Probe* probe = nullptr;     // records maps; never changes the result

  /// Rows of the map that the probe wants; count 0 for none.
  Probe::Rows wanted_rows() const {
    return probe == nullptr ? Probe::Rows{0, 0} : probe->rows(prefix_tokens, grid_h, grid_w);
  }
};

/// What kind of map a variant has, which decides how its rollout is normalised.
enum class MapKind {
  kStochastic,  // rows are non-negative and sum to one
  kSigned,      // entries may be negative
  kNone,        // no map over tokens
};

struct Info {
  std::string title;
  std::string source;  // paper key and equations
  MapKind map = MapKind::kStochastic;
  bool masks = false;       // honours key_mask; networks for texts take no other
  bool needs_grid = false;  // needs grid_h and grid_w
  bool ordered = false;     // depends on the order of the tokens, without a grid
  /// The feed-forward network that belongs behind it, by its name in nn::ffn_choices().
  std::string ffn = "mlp";
};

class Attention : public nn::Module {
 public:
  /// (b, n, dim) -> (b, n, dim).
  Tensor operator()(const Tensor& x, const Context& context) {
    const auto scope = enter();
    return forward(x, context);
  }

 protected:
  virtual Tensor forward(const Tensor& x, const Context& context) = 0;
};

/// One line of the registry.
struct Variant : schema::Choice {
  static constexpr const char* kKind = "attention";
  Info info;
  std::function<std::unique_ptr<Attention>(const Slot&, const schema::Component&)> make;
};

/// All of variants.def.
const schema::Registry<Variant>& variants();
std::unique_ptr<Attention> make_attention(const schema::Component& component, const Slot& slot);

/// Throws ConfigError, with the possible numbers, unless `parts` x num_heads divides dim.
void check_heads(const char* variant, std::int64_t dim, std::int64_t num_heads, std::int64_t parts);

/// Probe::attended() for the values of a view; u itself without a probe.
Tensor attended(const Context& context, const Tensor& u, const ops::HeadView& values,
                const Probe::Behind& behind);

/// Records "queries" and "keys" where a probe asks for them.
void record_queries_and_keys(const Context& context, const ops::HeadView& q,
                             const ops::HeadView& k);

template <class Class, class Options>
Variant make_variant(std::string name, Info info, const schema::Fields<Options>& fields) {
  const auto shared = std::make_shared<const schema::Fields<Options>>(fields);
  return {
      {std::move(name), info.title + " (" + info.source + ")", shared},
      std::move(info),
      [shared](const Slot& slot, const schema::Component& component) -> std::unique_ptr<Attention> {
        return std::make_unique<Class>(slot, shared->parse(component, "model.attention"));
      }};
}

}  // namespace fovea::attention

/// Registers a class built from (const Slot&, const Options&) under `name`, with its Info and the
/// Fields that describe its options; `name` also needs a line in variants.def.
#define FOVEA_ATTENTION(name, Class, info, ...)                               \
  ::fovea::attention::Variant fovea_attention_##name() {                      \
    return ::fovea::attention::make_variant<Class>(#name, info, __VA_ARGS__); \
  }
