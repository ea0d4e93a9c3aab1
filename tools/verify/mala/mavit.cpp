// MAViT and its parts, from the words of the mala paper's golden cases.

#include <fmt/format.h>

#include "models/model.h"
#include "models/pyramids/mavit.h"
#include "models/token_maps.h"
#include "verify/mala/mala.h"
#include "verify/module_case.h"
#include "verify/options.h"
#include "verify/runners.h"

namespace fovea::verify {
namespace {

using models::MavitMechanism;
using schema::Value;
using Tensors = std::map<std::string, Tensor>;

// The grid of a case's map, with rotary tables for heads of these channels.
attention::Context grid_of(const Case& c, std::int64_t head_dim) {
  const Tensor& x = c.at("input/x");
  c.config().only("height", x.size(2));
  c.config().only("width", x.size(3));
  attention::Context context;
  context.grid_h = x.size(2);
  context.grid_w = x.size(3);
  const ops::RotaryTables tables = attention::grid_rotary(
      attention::grid_rates("mavit", head_dim), 0, x.size(2), x.size(3), x.dtype(), x.device());
  context.rope_cos = tables.cos;
  context.rope_sin = tables.sin;
  return context;
}

// A module of tokens on the case's map.
template <class Module>
Tensor on_map(Module& module, const Tensor& map, const attention::Context& context) {
  return models::map_of(module(models::tokens_of(map), context), {context.grid_h, context.grid_w});
}

void run_attention(const Case& c, MavitMechanism mechanism, Checker& check) {
  const std::int64_t heads = c.integer("num_heads");
  Value words = Value::object();
  take_given(c.config(), words,
             {"eps", "lepe", "gate", "rope", "kernel", "scaling", "beta", "gamma", "normaliser",
              "learnable_shape", "exp_max"});
  const auto options = models::mavit_attention_fields().parse(words, "attention");
  models::MavitAttention attention(build_for(c), c.integer("dim"), heads, mechanism, options);
  const attention::Context grid = grid_of(c, c.integer("dim") / heads);
  run_module(
      c, attention,
      [&](const Inputs& inputs) -> Tensors {
        attention::Probe probe;
        attention::Context context = grid;
        context.probe = &probe;
        const Tensor y = on_map(attention, inputs.at("x"), context);
        return {{"y", y},
                {"attn", probe.all("attn").at(0)},
                {"cos", twice(context.rope_cos)},
                {"sin", twice(context.rope_sin)}};
      },
      check);
}

void run_block(const Case& c, Checker& check) {
  const models::MavitBlockOptions options{
      .dim = c.integer("embed_dim"),
      .num_heads = c.integer("num_heads"),
      .hidden = c.integer("ffn_dim"),
      .mechanism =
          c.config().choice("flag", {{"l", MavitMechanism::kMala}, {"v", MavitMechanism::kSoftmax}},
                            MavitMechanism::kMala),
      .layer_scale_init = c.flag("layerscale") ? 1.0 : 0.0};
  models::MavitBlock block(build_for(c), options);
  const attention::Context context = grid_of(c, options.dim / options.num_heads);
  run_module(
      c, block,
      [&](const Inputs& inputs) -> Tensors {
        return {{"y", on_map(block, inputs.at("x"), context)},
                {"cos", twice(context.rope_cos)},
                {"sin", twice(context.rope_sin)}};
      },
      check);
}

void run_ffn(const Case& c, Checker& check) {
  models::MavitFfn ffn(build_for(c), c.integer("embed_dim"), c.integer("ffn_dim"));
  run_module(
      c, ffn,
      [&](const Inputs& inputs) -> Tensors {
        const Tensor& x = inputs.at("x");
        const nn::Grid grid{x.size(2), x.size(3)};
        return {{"y", models::map_of(ffn(models::tokens_of(x), grid), grid)}};
      },
      check);
}

// A module of maps; the case may want its running statistics.
void run_maps(const Case& c, nn::UnaryModule& module, Checker& check) {
  run_module(
      c, module,
      [&](const Inputs& inputs) -> Tensors {
        Tensors outputs{{"y", module(inputs.at("x"))}};
        for (const nn::NamedTensor& named : module.buffers()) {
          const std::string name = "buffer_after/" + named.name;
          if (c.has("output/" + name)) outputs[name] = named.tensor;
        }
        return outputs;
      },
      check);
}

void run_stem(const Case& c, Checker& check) {
  c.config().only("bn_eps", 1e-5);
  c.config().only("bn_momentum", 0.1);
  models::MavitStem stem(build_for(c), c.integer("in_chans"), c.integer("embed_dim"));
  run_maps(c, stem, check);
}

void run_downsample(const Case& c, Checker& check) {
  models::MavitDownsample downsample(build_for(c), c.integer("dim"), c.integer("out_dim"));
  run_maps(c, downsample, check);
}

// The start of each stage's factors; stages without any have 0 in the library.
Value layer_scales_of(const Case& c) {
  std::vector<double> scales = c.config().numbers("layer_init_values");
  if (!c.given("layerscales")) return Value::array(scales);
  const Value& used = c.value("layerscales");
  if (used.size() != scales.size()) c.config().refuse("layerscales");
  for (std::size_t s = 0; s < scales.size(); ++s) {
    if (!used.at(s).as_bool()) scales[s] = 0;
    if (used.at(s).as_bool() && scales[s] == 0) c.config().refuse("layer_init_values");
  }
  return Value::array(scales);
}

// All cases are without stochastic depth.
Value network_of(const Case& c) {
  c.config().nothing_dropped({"drop_path_rate"}, c.training());
  Value options = Value::object({{"type", "mavit_t"}, {"drop_path_rate", 0.0}});
  take(c, options,
       {{"embed_dims", "embed_dims"},
        {"depths", "depths"},
        {"num_heads", "num_heads"},
        {"mlp_ratios", "mlp_ratios"},
        {"flags", "flags"}});
  if (c.given("layer_init_values")) options.set("layer_scale_init", layer_scales_of(c));
  return options;
}

void run_classifier(const Case& c, Checker& check) {
  Value options = network_of(c);
  take(c, options, {{"num_classes", "num_classes"}, {"projection", "projection"}});
  options.set("in_chans", c.integer("in_chans", 3));
  const auto model =
      models::make_model(resolved(models::entries().choices(), options), build_for(c), {});
  run_module(
      c, *model,
      [&](const Inputs& inputs) -> Tensors {
        return {{"y", (*model)({.image = inputs.at("x")}).logits}};
      },
      check);
}

void run_backbone(const Case& c, Checker& check) {
  const schema::Component component = resolved(models::backbones().choices(), network_of(c));
  const auto backbone = models::backbones().find(component.type).make(build_for(c), component, 3);
  std::vector<std::int64_t> all;
  while (all.size() < backbone->levels().size()) all.push_back(std::ssize(all));
  c.config().only("out_indices", Value::array(all));
  run_module(
      c, *backbone,
      [&](const Inputs& inputs) -> Tensors {
        Tensors outputs;
        for (const Tensor& map : (*backbone)(inputs.at("x")))
          outputs[fmt::format("c{}", outputs.size() + 2)] = map;
        return outputs;
      },
      check);
}

}  // namespace

Table mavit() {
  Table table;
  table.add("mala_attn2d") = [](const Case& c, Checker& check) {
    run_attention(c, MavitMechanism::kMala, check);
  };
  table.add("softmax_attn2d") = [](const Case& c, Checker& check) {
    run_attention(c, MavitMechanism::kSoftmax, check);
  };
  table.add("mavit_block") = run_block;
  table.add("mavit_ffn") = run_ffn;
  table.add("mavit_patch_embed") = run_stem;
  table.add("mavit_patch_merging") = run_downsample;
  table.add("mavit") = run_classifier;
  table.add("mavit_backbone") = run_backbone;
  return table;
}

}  // namespace fovea::verify
