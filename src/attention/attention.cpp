#include "attention/attention.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/suggest.h"

#define FOVEA_VARIANT(name) ::fovea::attention::Variant fovea_attention_##name();
#include "attention/variants.def"
#undef FOVEA_VARIANT

namespace fovea::attention {

const std::vector<Variant>& variants() {
  static const std::vector<Variant> all = {
#define FOVEA_VARIANT(name) fovea_attention_##name(),
#include "attention/variants.def"
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
      fmt::format("attention: no attention called \"{}\"{} run: fovea inspect --list attention",
                  name, did_you_mean(name, names)));
}

std::unique_ptr<Attention> make(const schema::Component& component, const Slot& slot) {
  return find_variant(component.type).make(slot, component);
}

schema::Choices choices() {
  return {"attention", [] {
            std::vector<schema::Choice> list;
            for (const Variant& variant : variants()) {
              list.push_back({variant.name,
                              fmt::format("{} ({})", variant.info.title, variant.info.source),
                              variant.fields});
            }
            return list;
          }};
}

void check_heads(const char* variant, std::int64_t dim, std::int64_t num_heads,
                 std::int64_t parts) {
  if (dim % (parts * num_heads) == 0) return;
  std::vector<std::int64_t> fitting;
  for (std::int64_t heads = 1; heads * parts <= dim; ++heads) {
    if (dim % (parts * heads) == 0) fitting.push_back(heads);
  }
  const std::string divisor =
      parts == 1 ? fmt::format("num_heads {}", num_heads)
                 : fmt::format("{} x num_heads ({} x {})", parts, parts, num_heads);
  throw ConfigError(fmt::format("{}: dim {} is not divisible by {}; num_heads may be {}", variant,
                                dim, divisor, fmt::join(fitting, ", ")));
}

}  // namespace fovea::attention
