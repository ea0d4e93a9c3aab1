#include "attention/attention.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"

#define FOVEA_VARIANT(name) ::fovea::attention::Variant fovea_attention_##name();
#include "attention/variants.def"
#undef FOVEA_VARIANT

namespace fovea::attention {

const schema::Registry<Variant>& variants() {
  static const schema::Registry<Variant> all = {
#define FOVEA_VARIANT(name) fovea_attention_##name(),
#include "attention/variants.def"
#undef FOVEA_VARIANT
  };
  return all;
}

std::unique_ptr<Attention> make_attention(const schema::Component& component, const Slot& slot) {
  return variants().find(component.type).make(slot, component);
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

Tensor attended(const Context& context, const Tensor& u, const ops::HeadView& values,
                const Probe::Behind& behind) {
  if (context.probe == nullptr) return u;
  return context.probe->attended(
      u, [&] { return ops::take_heads(values); }, behind);
}

void record_queries_and_keys(const Context& context, const ops::HeadView& q,
                             const ops::HeadView& k) {
  if (context.probe == nullptr || !context.probe->wants_queries_and_keys()) return;
  context.probe->record("queries", ops::take_heads(q));
  context.probe->record("keys", ops::take_heads(k));
}

}  // namespace fovea::attention
