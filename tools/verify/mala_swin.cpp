// The mala paper's Swin networks, from the words of its golden cases.

#include <fmt/format.h>

#include <algorithm>

#include "models/model.h"
#include "verify/module_case.h"
#include "verify/options.h"
#include "verify/runners.h"

namespace fovea::verify {
namespace {

using schema::Value;

bool is_known(const std::string& attention) {
  const auto& all = attention::variants();
  return std::any_of(all.begin(), all.end(),
                     [&](const attention::Variant& variant) { return variant.name == attention; });
}

void run_swin(const Case& c, Checker& check) {
  Value options = Value::object({{"type", "swin_t"}, {"in_chans", 3}, {"drop_path_rate", 0.0}});
  take(c, options,
       {{"embed_dim", "embed_dim"},
        {"depths", "depths"},
        {"num_heads", "num_heads"},
        {"patch_size", "patch_size"},
        {"window_size", "window_size"},
        {"mlp_ratio", "mlp_ratio"},
        {"kinds", "kinds"},
        {"linear_window", "linear_window"},
        {"num_classes", "num_classes"}});
  for (const Value& kind : c.config().at("kinds").items()) {
    if (!is_known(kind.as_string()))
      throw NotImplemented(fmt::format("attention {}", kind.as_string()));
  }
  const Value& size = c.config().at("img_size");
  options.set("img_size", size.is_array() ? size : Value::array({size, size}));
  const auto model = models::make(resolved(models::entries().choices(), options), build_for(c), {});
  run_module(
      c, *model,
      [&](const auto& inputs) -> std::map<std::string, Tensor> {
        return {{"y", (*model)({.image = inputs.at("x")}).logits}};
      },
      check);
}

}  // namespace

Table mala_swin() {
  Table table;
  table.add("swin") = run_swin;
  return table;
}

}  // namespace fovea::verify
