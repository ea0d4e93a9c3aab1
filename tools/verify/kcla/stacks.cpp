// The kcla paper's layer attentions in stacks. From the words of its golden cases to registry names
// and options.

#include <fmt/format.h>

#include "base/error.h"
#include "layer_attention/channel_conv.h"
#include "layer_attention/kcla.h"
#include "ops/shape.h"
#include "verify/kcla/kcla.h"
#include "verify/module_case.h"
#include "verify/options.h"
#include "verify/runners.h"

namespace fovea::verify {
namespace {

using layer_attention::Slot;
using schema::Value;
using Tensors = std::map<std::string, Tensor>;

// Whether layer t takes in the state of a stage before. Some cases say so in their configuration;
// in those of the segmentation code only the presence of a transition's parameters tells.
bool opens(const Case& c, std::int64_t t) {
  if (!c.config().holds_array("layers"))
    return c.has(fmt::format("param/layers.{}.adjust_channel.0.weight", t));
  return c.config().at("layers").at(static_cast<std::size_t>(t)).flag("init_layer");
}

// A layer opens a stage, is one inside a stage that takes in the state anew (reinit_index, kcla
// 2.9), or is any other one inside a stage.
Slot kcla_slot(const Case& c, std::int64_t t, std::int64_t reinit_index) {
  Slot slot = slot_at(c, t);
  slot.layer = reinit_index + 1;
  if (!opens(c, t)) return slot;
  slot.layer = 0;
  if (t == 0) return slot;
  const Tensor& before = c.at(fmt::format("input/x{}", t - 1));
  const Tensor& x = c.at(fmt::format("input/x{}", t));
  // The transition of the segmentation code is the same for equal shapes.
  const bool is_reinit =
      before.shape() == x.shape() && c.text("transition", "conv_bn") == "conv_bn";
  if (is_reinit) slot.layer = reinit_index;
  slot.previous_channels = before.size(1);
  slot.stride = before.size(2) / x.size(2);
  return slot;
}

/// Layers under layers.<t>, what they share at the top.
class Stack final : public nn::Module {
 public:
  Stack(const Case& c, const schema::Component& attention,
        const std::function<Slot(std::int64_t)>& slot_of) {
    for (std::int64_t t = 0; t < layer_count(c); ++t) {
      Slot slot = slot_of(t);
      if (t == 0) {
        auto shared = layer_attention::variants().find(attention.type).make_shared(slot, attention);
        if (shared != nullptr) shared_ = &child("", std::move(shared));
      }
      slot.shared = shared_;
      layers_.push_back(
          &child(fmt::format("layers.{}", t),
                 layer_attention::variants().find(attention.type).make(slot, attention)));
    }
  }
  std::string type() const override { return "Stack"; }

  Tensors operator()(const Inputs& inputs) {
    layer_attention::State state;
    Tensors outputs;
    for (std::size_t t = 0; t < layers_.size(); ++t) {
      attention::Probe probe(true);
      const layer_attention::Layer in{inputs.at(fmt::format("x{}", t)),
                                      inputs.find(fmt::format("p{}", t))};
      outputs[fmt::format("o{}", t)] = (*layers_[t])(in, state, &probe);
      for (const auto& record : probe.records()) add_seen(outputs, record, t);
    }
    return outputs;
  }

 private:
  static void add_seen(Tensors& outputs, const attention::Probe::Record& record, std::size_t t) {
    const Tensor& value = record.value;
    if (record.name == "attn") {
      outputs[fmt::format("att{}", t)] =
          ops::reshape(value, {value.size(0), value.size(1), value.size(3)});
    } else if (record.name == "key_norm") {
      outputs[fmt::format("kn{}", t)] = ops::reshape(value, {value.size(0), value.size(1), 1});
    } else if (record.name == "gate") {
      outputs[fmt::format("hatt{}", t)] = value;
    }
  }

  nn::Module* shared_ = nullptr;
  std::vector<layer_attention::LayerAttention*> layers_;
};

// Only what the case expects: a variant may show more.
Tensors expected(const Case& c, Tensors outputs) {
  std::erase_if(outputs, [&](const auto& output) { return !c.has("output/" + output.first); });
  return outputs;
}

void run_stack(const Case& c, const schema::Component& attention,
               const std::function<Slot(std::int64_t)>& slot_of, Checker& check) {
  Stack stack(c, attention, slot_of);
  check_derived(c, slot_at(c, 0).channels);
  c.config().nothing_dropped({"drop_path"}, c.training());
  run_module(
      c, stack, [&](const Inputs& inputs) { return expected(c, stack(inputs)); }, check);
}

std::string form_of(const Case& c) {
  return c.config().choice("form",
                           {{"recompute", "recompute"},
                            {"recompute_unnormalised", "recompute"},
                            {"recurrent", "recurrent"},
                            {"recurrent_normalised", "recurrent"}},
                           "");
}

// What MRLA-L adds. kcla 2.3
std::string previous_of(const Case& c) {
  return c.config().choice(
      "previous",
      {{"shortcut", "shortcut"},
       {"given (block shortcut, as in the public code)", "shortcut"},
       {"attention", "attention"},
       {"own previous attention output, zero before the first layer (equation 6)", "attention"}},
      "shortcut");
}

Runner stack_runner(const char* type, const Words& keys) {
  return [=](const Case& c, Checker& check) {
    Value options = kcla_options(c, type, keys);
    const std::string form = form_of(c);
    if (!form.empty()) options.set("form", form);
    if (type == std::string("mrla_l")) options.set("previous", previous_of(c));
    if (type == std::string("reformer")) {
      c.config().only("rounds", 1);
      c.config().only("shared_qk", true);
    }
    if (type == std::string("transformer_vq")) c.config().only("straight_through", true);
    check_layers(c);
    run_stack(
        c, kcla_component(options), [&](std::int64_t t) { return slot_at(c, t); }, check);
  };
}

void run_kcla(const Case& c, Checker& check) {
  constexpr std::int64_t kReinit = 5;
  Value options = kcla_options(c, "kcla",
                               {{"head_dim", "head_dim"},
                                {"p", "p"},
                                {"clamp", "clamp"},
                                {"z_eps", "z_eps"},
                                {"temperature_order", "temperature_order"},
                                {"sqrt_head_dim", "sqrt_head_dim"},
                                {"same_temperature", "same_temperature"},
                                {"use_exp", "use_exp"},
                                {"head_attention", "head_attention"},
                                {"phi", "phi"},
                                {"relu_after_bn", "relu_after_bn"},
                                {"cross_stage", "cross_stage"},
                                {"reset_inside_stage", "reset_inside_stage"}});
  options.set("reinit_index", kReinit);
  options.set("value_cache",
              c.config().choice("value_cache",
                                {{"raw", "raw"},
                                 {"transformed", "transformed"},
                                 {"transformed (recurrent layer attention form)", "transformed"}},
                                "raw"));
  options.set(
      "transition",
      c.config().choice("transition",
                        {{"conv_bn", "conv_bn"},
                         {"conv_bn_shared_key", "conv_bn_shared_key"},
                         {"conv(bias)+BN, key kernel shared with Wk", "conv_bn_shared_key"}},
                        "conv_bn"));
  check_layers(c);
  run_stack(
      c, kcla_component(options), [&](std::int64_t t) { return kcla_slot(c, t, kReinit); }, check);
}

}  // namespace

schema::Component kcla_component(const Value& options) {
  return resolved(layer_attention::variants().choices(), options);
}

void check_derived(const Case& c, std::int64_t channels) {
  c.config().only("channels", channels);
  if (c.given("head_dim")) c.config().only("heads", channels / c.integer("head_dim"));
  c.config().only("k_conv1d", layer_attention::channel_kernel(channels));
}

Value kcla_options(const Case& c, const char* type, const Words& keys) {
  Value options = Value::object({{"type", type}});
  for (const auto& [from, to] : keys) take(c, options, {{from, to}});
  return options;
}

std::int64_t layer_count(const Case& c) {
  std::int64_t count = 0;
  while (c.has(fmt::format("input/x{}", count))) ++count;
  return count;
}

Slot slot_at(const Case& c, std::int64_t t) {
  Slot slot{.build = build_for(c)};
  slot.channels = c.at(fmt::format("input/x{}", t)).size(1);
  slot.layer = t;
  slot.layers = layer_count(c);
  return slot;
}

void check_layers(const Case& c) {
  if (!c.config().holds_array("layers")) {
    // Across stages the number of cases of the segmentation code is that of another stack.
    if (c.given("transition")) return c.config().describes({"layers"});
    return c.config().only("layers", layer_count(c));
  }
  const Config layers = c.config().at("layers");
  for (std::size_t t = 0; t < layers.size(); ++t) {
    const Config layer = layers.at(t);
    const Tensor& x = c.at(fmt::format("input/x{}", t));
    layer.only("channels", x.size(1));
    if (t == 0) continue;
    const Tensor& before = c.at(fmt::format("input/x{}", t - 1));
    layer.only("u_channels", before.size(1));
    layer.only("stride", before.size(2) / x.size(2));
  }
}

Table kcla_stacks() {
  Table table;
  const Words heads{{"head_dim", "head_dim"}};
  const auto with = [&](const char* from, const char* to) {
    Words keys = heads;
    keys.emplace_back(from, to);
    return keys;
  };
  table.add("layer_attention") = stack_runner("standard", heads);
  table.add("mrla_b") = stack_runner("mrla_b", heads);
  table.add("mrla_l") = stack_runner("mrla_l", heads);
  table.add("linear_layer_attention") = stack_runner("linear", with("eps", "eps"));
  table.add("focused_linear_layer_attention") =
      stack_runner("focused", {{"head_dim", "head_dim"}, {"p", "focusing_factor"}, {"eps", "eps"}});
  table.add("hydra_layer_attention") = [](const Case& c, Checker& check) {
    c.config().only("head_dim", 1);
    stack_runner("hydra", {})(c, check);
  };
  table.add("linformer_layer_attention") = stack_runner(
      "linformer", {{"head_dim", "head_dim"}, {"rank", "rank"}, {"threshold", "threshold"}});
  table.add("performer_layer_attention") = stack_runner("performer", with("features", "features"));
  table.add("gated_linear_layer_attention") = stack_runner("gated_linear", with("tau", "tau"));
  table.add("reformer_layer_attention") = stack_runner("reformer", with("buckets", "buckets"));
  table.add("vq_layer_attention") = stack_runner("transformer_vq", with("codes", "codes"));
  table.add("kcla") = run_kcla;
  return table;
}

}  // namespace fovea::verify
