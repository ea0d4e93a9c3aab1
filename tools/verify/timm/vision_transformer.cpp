// timm's VisionTransformer, from the words of its own constructor.

#include "models/model.h"
#include "verify/module_case.h"
#include "verify/options.h"
#include "verify/runners.h"

namespace fovea::verify {
namespace {

using schema::Value;

Value attention_of(const Case& c) {
  Value options = Value::object({{"type", "softmax"}});
  take_given(c.config(), options, {"num_heads", "qkv_bias", "proj_bias", "qk_norm"});
  return options;
}

// timm's mlp_ratio is of the whole fc1, of SwiGLU of each of its layers; proj_bias is of the MLP
// too.
Value ffn_of(const Case& c) {
  const std::string layer = c.text("mlp_layer", "Mlp");
  const bool split = layer == "SwiGLU";
  Value options = Value::object({{"expansion", c.number("mlp_ratio", 4) * (split ? 2 : 1)},
                                 {"bias", c.flag("proj_bias", true)}});
  if (layer == "Mlp") {
    options.set("type", "mlp");
    options.set("activation", c.text("act_layer", "gelu"));
    return options;
  }
  c.config().only("act_layer", "silu");
  options.set("type", "swiglu");
  options.set("packed",
              c.config().choice("mlp_layer", {{"SwiGLUPacked", true}, {"SwiGLU", false}}, true));
  return options;
}

std::unique_ptr<models::Model> network_of(const Case& c) {
  Value options = Value::object({{"type", "vit"}});
  take_given(c.config(), options,
             {"img_size", "patch_size", "in_chans", "num_classes", "global_pool", "embed_dim",
              "depth", "init_values", "class_token", "distilled", "no_embed_class", "reg_tokens",
              "embed_norm", "pre_norm", "final_norm", "fc_norm", "norm_eps"});
  options.set("norm", c.config().choice("norm_layer",
                                        {{"LayerNorm", "layer_norm"}, {"RmsNorm", "rms_norm"}},
                                        "layer_norm"));
  options.set(
      "norm_position",
      c.config().choice("block_fn", {{"Block", "pre"}, {"ResPostBlock", "res_post"}}, "pre"));
  options.set("attention", attention_of(c));
  options.set("ffn", ffn_of(c));
  return models::make_model(resolved(models::entries().choices(), options), build_for(c), {});
}

void run(const Case& c, Checker& check) {
  const auto model = network_of(c);
  attention::Probe probe;
  run_module(
      c, *model,
      [&](const Inputs& inputs) -> std::map<std::string, Tensor> {
        return {{"logits", (*model)({.image = inputs.at("x")}, &probe).logits}};
      },
      check);
  compare_probe(c, probe, check);
}

}  // namespace

Table timm_vision_transformer() {
  Table table;
  table.add("VisionTransformer") = run;
  return table;
}

}  // namespace fovea::verify
