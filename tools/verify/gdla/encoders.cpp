// The gdla paper's encoders: PVTv2 and its parts, from the words of its golden cases.

#include <fmt/format.h>

#include "models/model.h"
#include "models/pyramids/pvt_v2.h"
#include "nn/weights.h"
#include "verify/gdla/gdla.h"
#include "verify/module_case.h"
#include "verify/options.h"
#include "verify/runners.h"

namespace fovea::verify {
namespace {

using schema::Value;
using Tensors = std::map<std::string, Tensor>;

nn::Grid grid_of(const Case& c) { return {c.integer("H"), c.integer("W")}; }

models::SpatialReductionOptions attention_of(const Case& c) {
  c.config().nothing_dropped({"attn_drop", "proj_drop", "drop", "drop_path"}, c.training());
  return {c.integer("num_heads"), c.integer("sr_ratio"), c.flag("linear"),
          c.flag("qkv_bias", true)};
}

void run_attention(const Case& c, Checker& check) {
  models::SpatialReductionAttention attention(build_for(c), c.integer("dim"), attention_of(c));
  const nn::Grid grid = grid_of(c);
  c.config().only("norm_eps", 1e-5);
  run_module(
      c, attention,
      [&](const Inputs& inputs) -> Tensors {
        return {{"y", attention(inputs.at("x"), grid, nullptr)}};
      },
      check);
}

void run_encoder_block(const Case& c, Checker& check) {
  models::PvtV2Block block(build_for(c), c.integer("dim"), attention_of(c), c.number("mlp_ratio"),
                           0);
  const nn::Grid grid = grid_of(c);
  c.config().only("norm_eps", 1e-6);
  c.config().only("inner_norm_eps", 1e-5);
  run_module(
      c, block,
      [&](const Inputs& inputs) -> Tensors {
        return {{"y", block(inputs.at("x"), grid)}};
      },
      check);
}

void run_patch_embed(const Case& c, Checker& check) {
  models::OverlapPatchEmbed embed(build_for(c), c.integer("in_chans"), c.integer("embed_dim"),
                                  c.integer("patch"), c.integer("stride"));
  c.config().only("padding", c.integer("patch") / 2);
  c.config().only("eps", 1e-5);
  run_module(
      c, embed,
      [&](const Inputs& inputs) -> Tensors {
        return {{"y", embed(inputs.at("x")).x}};
      },
      check);
}

// Both names of the public codes are read, whichever the case has.
void check_keys(const Case& c) {
  c.config().choice("keys",
                    {{"original (patch_embed1.., block1.., norm1..)", true},
                     {"timm (patch_embed, stages.N.blocks.M, stages.N.downsample, stages.N.norm, "
                      "head)",
                      true}},
                    true);
}

std::unique_ptr<models::Backbone> backbone_of(const Case& c) {
  const schema::Component component =
      resolved(models::backbones().choices(), gdla_backbone(c.config()));
  return models::backbones().find(component.type).make(build_for(c), component, 3);
}

Tensors stages(models::Backbone& backbone, const Tensor& x) {
  Tensors outputs;
  for (const Tensor& map : backbone(x)) outputs[fmt::format("stage{}", outputs.size() + 1)] = map;
  return outputs;
}

void run_backbone(const Case& c, Checker& check) {
  const auto backbone = backbone_of(c);
  check_keys(c);
  run_module(
      c, *backbone, [&](const Inputs& inputs) { return stages(*backbone, inputs.at("x")); }, check);
}

// The maps of the backbone as well, with the classifier's weights, where the case has them.
void run_classifier(const Case& c, Checker& check) {
  const auto model = pvt_v2_classifier(c);
  const std::string name = c.has("output/logits") ? "logits" : "y";
  run_module(
      c, *model,
      [&](const Inputs& inputs) -> Tensors {
        return {{name, (*model)({.image = inputs.at("x")}).logits}};
      },
      check);
  if (!c.has("output/stage1")) return;
  const auto backbone = backbone_of(c);
  nn::LoadOptions without_head;
  without_head.ignore = models::backbones().find("pvt_v2_b0").head;
  nn::load_weights(*backbone, c.below("param/"), c.name(), without_head);
  for (const auto& [stage, map] : stages(*backbone, c.at("input/x")))
    check.compare("output/" + stage, map);
}

}  // namespace

schema::Value gdla_backbone(const Config& config) {
  // All cases are without stochastic depth.
  config.only("drop_path_rate", 0);
  Value options = Value::object({{"type", "pvt_v2_b0"}, {"drop_path_rate", 0.0}});
  for (const char* key : {"embed_dims", "num_heads", "mlp_ratios", "depths", "sr_ratios"})
    options.set(key, config.value(key));
  take_given(config, options, {"linear", "qkv_bias"});
  return options;
}

std::unique_ptr<models::Model> pvt_v2_classifier(const Case& c) {
  schema::Value options = gdla_backbone(c.config());
  take(c, options, {{"num_classes", "num_classes"}});
  options.set("in_chans", 3);
  check_keys(c);
  return models::make_model(resolved(models::entries().choices(), options), build_for(c), {});
}

Table gdla_encoders() {
  Table table;
  table.add("pvt_sr_attention") = run_attention;
  table.add("pvt_block") = run_encoder_block;
  table.add("pvt_overlap_patch_embed") = run_patch_embed;
  table.add("pvt_v2_backbone") = run_backbone;
  table.add("pvt_v2_classifier") = run_classifier;
  return table;
}

}  // namespace fovea::verify
