#include "layer_attention/layer_attention.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"

#define FOVEA_VARIANT(name) ::fovea::layer_attention::Variant fovea_layer_attention_##name();
#include "layer_attention/variants.def"
#undef FOVEA_VARIANT

namespace fovea::layer_attention {

const schema::Registry<Variant>& variants() {
  static const schema::Registry<Variant> all = {
#define FOVEA_VARIANT(name) fovea_layer_attention_##name(),
#include "layer_attention/variants.def"
#undef FOVEA_VARIANT
  };
  return all;
}

std::int64_t heads_of(const char* variant, std::int64_t channels, std::int64_t head_dim) {
  if (channels % head_dim == 0) return channels / head_dim;
  std::vector<std::int64_t> fitting;
  for (std::int64_t dim = 1; dim <= channels; ++dim) {
    if (channels % dim == 0) fitting.push_back(dim);
  }
  throw ConfigError(
      fmt::format("{}: {} channels are not divisible by head_dim {}; head_dim may be {}", variant,
                  channels, head_dim, fmt::join(fitting, ", ")));
}

}  // namespace fovea::layer_attention
