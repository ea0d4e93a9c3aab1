// The mala paper's Swin networks, from the words of its golden cases.

#include "models/model.h"
#include "verify/mala/mala.h"
#include "verify/module_case.h"
#include "verify/options.h"
#include "verify/runners.h"

namespace fovea::verify {

using schema::Value;

std::unique_ptr<models::Model> swin_network(const Case& c) {
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
  const Value& size = c.value("img_size");
  options.set("img_size", size.is_array() ? size : Value::array({size, size}));
  const Tensor& x = c.at("input/x");
  if (options.at("img_size") != Value::array({x.size(2), x.size(3)})) c.config().refuse("img_size");
  c.config().only("norm_eps", 1e-5);
  c.config().only("qkv_bias", true);
  c.config().nothing_dropped({"drop_path_rate", "drop_rate", "attn_drop_rate"}, c.training());
  return models::make_model(resolved(models::entries().choices(), options), build_for(c), {});
}

namespace {

void run_swin(const Case& c, Checker& check) {
  const auto model = swin_network(c);
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
