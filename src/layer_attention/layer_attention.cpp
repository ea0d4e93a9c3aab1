#include "layer_attention/layer_attention.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/suggest.h"

#define FOVEA_VARIANT(name) ::fovea::layer_attention::Variant fovea_layer_attention_##name();
#include "layer_attention/variants.def"
#undef FOVEA_VARIANT

namespace fovea::layer_attention {

const std::vector<Variant>& variants() {
  static const std::vector<Variant> all = {
#define FOVEA_VARIANT(name) fovea_layer_attention_##name(),
#include "layer_attention/variants.def"
#undef FOVEA_VARIANT
  };
  return all;
}

const Variant& find_variant(const std::string& name) {
  std::vector<std::string> names;
  for (const Variant& variant : variants()) {
    if (variant.name == name) return variant;
    names.push_back(variant.name);
  }
  throw ConfigError(
      fmt::format("layer_attention: no layer attention called \"{}\"{} run: fovea inspect --list "
                  "layer_attention",
                  name, did_you_mean(name, names)));
}

schema::Choices choices() {
  return {"layer_attention", [] {
            std::vector<schema::Choice> list;
            for (const Variant& variant : variants()) {
              list.push_back({variant.name,
                              fmt::format("{} ({})", variant.info.title, variant.info.source),
                              variant.fields});
            }
            return list;
          }};
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
