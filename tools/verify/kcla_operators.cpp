// The kcla paper's operators: layer attentions in stacks, channel attentions, cells. From the words
// of its golden cases to registry names and options.

#include <fmt/format.h>

#include "base/error.h"
#include "layer_attention/augmented_conv.h"
#include "layer_attention/kcla.h"
#include "layer_attention/residual.h"
#include "layer_attention/rla.h"
#include "layer_attention/sharing_unit.h"
#include "ops/create.h"
#include "ops/elementwise.h"
#include "ops/shape.h"
#include "verify/module_case.h"
#include "verify/options.h"
#include "verify/runners.h"

namespace fovea::verify {
namespace {

using layer_attention::Slot;
using schema::Value;
using Tensors = std::map<std::string, Tensor>;
using Keys = std::vector<std::pair<const char*, const char*>>;

schema::Component component(const Value& options) {
  return resolved(layer_attention::variants().choices(), options);
}

// Options of one variant under the case's words.
Value options_of(const Case& c, const char* type, const Keys& keys) {
  Value options = Value::object({{"type", type}});
  for (const auto& [from, to] : keys) take(c, options, {{from, to}});
  return options;
}

std::int64_t layer_count(const Case& c) {
  std::int64_t count = 0;
  while (c.has(fmt::format("input/x{}", count))) ++count;
  return count;
}

// Layer t of a stack of one stage.
Slot slot_at(const Case& c, std::int64_t t) {
  Slot slot{.build = build_for(c)};
  slot.channels = c.at(fmt::format("input/x{}", t)).size(1);
  slot.layer = t;
  slot.layers = layer_count(c);
  return slot;
}

// Whether layer t takes in the state of a stage before. Some cases say so in their configuration;
// in those of the segmentation code only the presence of a transition's parameters tells.
bool opens(const Case& c, std::int64_t t) {
  const Value& layers = c.config().at("layers");
  if (!layers.is_array()) return c.has(fmt::format("param/layers.{}.adjust_channel.0.weight", t));
  const Value* flag = layers.at(static_cast<std::size_t>(t)).find("init_layer");
  return flag != nullptr && flag->as_bool();
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
  if (before.shape() == x.shape() && !c.given("transition")) slot.layer = reinit_index;
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

  Tensors operator()(const Tensors& inputs) {
    layer_attention::State state;
    Tensors outputs;
    for (std::size_t t = 0; t < layers_.size(); ++t) {
      attention::Probe probe(true);
      const auto shortcut = inputs.find(fmt::format("p{}", t));
      const layer_attention::Layer in{inputs.at(fmt::format("x{}", t)),
                                      shortcut == inputs.end() ? Tensor() : shortcut->second};
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
  run_module(
      c, stack, [&](const Tensors& inputs) { return expected(c, stack(inputs)); }, check);
}

Runner stack_runner(const char* type, const Keys& keys) {
  return [=](const Case& c, Checker& check) {
    Value options = options_of(c, type, keys);
    const std::string form = c.text("form");
    if (!form.empty()) {
      options.set("form", form.starts_with("recurrent") ? "recurrent" : "recompute");
    }
    if (type == std::string("mrla_l")) {
      options.set("previous", c.has("input/p0") ? "shortcut" : "attention");
    }
    run_stack(
        c, component(options), [&](std::int64_t t) { return slot_at(c, t); }, check);
  };
}

void run_kcla(const Case& c, Checker& check) {
  constexpr std::int64_t kReinit = 5;
  Value options = options_of(c, "kcla",
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
  if (c.text("value_cache").starts_with("transformed")) options.set("value_cache", "transformed");
  if (c.given("transition") && c.text("transition") != "conv_bn") {
    options.set("transition", "conv_bn_shared_key");
  }
  run_stack(
      c, component(options), [&](std::int64_t t) { return kcla_slot(c, t, kReinit); }, check);
}

// One channel attention with its parameters at the top.
Runner single_runner(const char* type, const Keys& keys) {
  return [=](const Case& c, Checker& check) {
    Value options = options_of(c, type, keys);
    if (type == std::string("eca") && c.given("k_size")) {
      Value kernel = Value::array();
      kernel.push_back(c.integer("k_size"));
      options.set("kernel_size", kernel);
    }
    if (c.flag("no_spatial")) options.set("spatial", false);
    Slot slot{.build = build_for(c)};
    slot.channels = c.integer("channels");
    const schema::Component attention = component(options);
    const auto module = layer_attention::variants().find(type).make(slot, attention);
    const auto forward = [&](const Tensors& inputs) -> Tensors {
      layer_attention::State state;
      return {{"y", (*module)({inputs.at("x"), {}}, state)}};
    };
    run_module(c, *module, forward, check);
  };
}

/// A stage of dynamic layer attention as networks have it: attention.<t>, lstm, excite.
class DynamicStage final : public nn::Module {
 public:
  DynamicStage(const Case& c, const schema::Component& attention) {
    const Slot slot = slot_at(c, 0);
    const auto& names = layer_attention::names_of(attention, slot.family);
    layer_attention::Stage stage = layer_attention::make_stage(slot, attention);
    child("", std::move(stage.shared));
    for (std::int64_t t = 0; t < slot.layers; ++t) {
      layers_.push_back(&child(layer_attention::layer_name(names, t),
                               std::move(stage.layers[static_cast<std::size_t>(t)])));
    }
  }
  std::string type() const override { return "DynamicStage"; }

  Tensors operator()(const Tensors& inputs) {
    layer_attention::State state;
    Tensors outputs;
    for (std::size_t t = 0; t < layers_.size(); ++t) {
      const auto shortcut = inputs.find(fmt::format("p{}", t));
      const layer_attention::Layer in{inputs.at(fmt::format("x{}", t)),
                                      shortcut == inputs.end() ? Tensor() : shortcut->second};
      outputs[fmt::format("y{}", t)] = (*layers_[t])(in, state, nullptr);
    }
    return outputs;
  }

 private:
  std::vector<layer_attention::Attached*> layers_;
};

Runner dynamic_runner(const char* type) {
  return [=](const Case& c, Checker& check) {
    Value options = options_of(
        c, type,
        {{"head_dim", "head_dim"}, {"dsu_reduction", "reduction"}, {"dsu_state", "dsu_state"}});
    options.set("drop_path", 0.0);
    DynamicStage stage(c, component(options));
    run_module(
        c, stage, [&](const Tensors& inputs) { return stage(inputs); }, check);
  };
}

void run_unit(const Case& c, Checker& check) {
  layer_attention::SharingUnit unit(build_for(c), c.integer("channels"), c.integer("reduction"),
                                    c.integer("gates") == 4);
  const auto forward = [&](const Tensors& inputs) {
    layer_attention::CellState state;
    Tensors outputs;
    for (std::int64_t t = 0; t < c.integer("steps"); ++t) {
      state = unit(inputs.at(fmt::format("y{}", t)), state);
      outputs[fmt::format("h{}", t)] = state.hidden;
      outputs[fmt::format("c{}", t)] = state.cell;
    }
    return outputs;
  };
  run_module(c, unit, forward, check);
}

class RlaStage final : public nn::Module {
 public:
  explicit RlaStage(const Case& c)
      : hidden_(c.integer("rla_channel")),
        aggregation_(child<layer_attention::Aggregation>("", build_for(c), c.integer("channels"),
                                                         hidden_, "conv_out", "recurrent_conv")) {
    for (std::int64_t t = 0; t < layer_count(c); ++t) {
      bns_.push_back(&child<nn::BatchNorm2d>(fmt::format("bns.{}", t), build_for(c), hidden_));
    }
  }
  std::string type() const override { return "RlaStage"; }

  Tensors operator()(const Tensors& inputs) {
    const Tensor& first = inputs.at("x0");
    Tensor h = ops::zeros({first.size(0), hidden_, first.size(2), first.size(3)}, first.dtype(),
                          first.device());
    Tensors outputs;
    for (std::size_t t = 0; t < bns_.size(); ++t) {
      h = aggregation_(h, inputs.at(fmt::format("x{}", t)), *bns_[t]);
      outputs[fmt::format("h{}", t)] = h;
    }
    return outputs;
  }

 private:
  std::int64_t hidden_;
  layer_attention::Aggregation& aggregation_;
  std::vector<nn::BatchNorm2d*> bns_;
};

void run_rla(const Case& c, Checker& check) {
  RlaStage stage(c);
  run_module(
      c, stage, [&](const Tensors& inputs) { return stage(inputs); }, check);
}

void run_augmented_conv(const Case& c, Checker& check) {
  layer_attention::AugmentedConv conv(build_for(c), {.in = c.integer("in_channels"),
                                                     .out = c.integer("out_channels"),
                                                     .kernel = c.integer("kernel"),
                                                     .dk = c.integer("dk"),
                                                     .dv = c.integer("dv"),
                                                     .num_heads = c.integer("heads"),
                                                     .relative = c.flag("relative"),
                                                     .height = c.integer("height"),
                                                     .width = c.integer("width")});
  const auto forward = [&](const Tensors& inputs) -> Tensors {
    return {{"y", conv(inputs.at("x"))}};
  };
  run_module(c, conv, forward, check);
}

void run_algorithm1(const Case& c, Checker& check) {
  const std::int64_t heads = c.integer("heads"), next = c.integer("heads_next");
  const std::int64_t dim = c.integer("head_dim");
  const std::int64_t channels = c.at("output/u1").size(1) * c.at("output/u1").size(2);
  layer_attention::Algorithm1 transition(build_for(c), heads, dim, channels);
  const auto forward = [&](const Tensors& inputs) -> Tensors {
    const Tensor& u = inputs.at("u");
    const auto state = transition({ops::reshape(u, {u.size(0), heads * dim, u.size(3), u.size(4)}),
                                   ops::reshape(inputs.at("z"), {u.size(0), heads})},
                                  next);
    return {{"u1", ops::reshape(state.u, c.at("output/u1").shape())},
            {"z1", ops::reshape(state.z, c.at("output/z1").shape())}};
  };
  run_module(c, transition, forward, check);
}

}  // namespace

Table kcla_operators() {
  Table table;
  const Keys heads{{"head_dim", "head_dim"}};
  const auto with = [&](const char* from, const char* to) {
    Keys keys = heads;
    keys.emplace_back(from, to);
    return keys;
  };
  table.add("layer_attention") = stack_runner("standard", heads);
  table.add("mrla_b") = stack_runner("mrla_b", heads);
  table.add("mrla_l") = stack_runner("mrla_l", heads);
  table.add("linear_layer_attention") = stack_runner("linear", with("eps", "eps"));
  table.add("focused_linear_layer_attention") =
      stack_runner("focused", {{"head_dim", "head_dim"}, {"p", "focusing_factor"}, {"eps", "eps"}});
  table.add("hydra_layer_attention") = stack_runner("hydra", {});
  table.add("linformer_layer_attention") = stack_runner(
      "linformer", {{"head_dim", "head_dim"}, {"rank", "rank"}, {"threshold", "threshold"}});
  table.add("performer_layer_attention") = stack_runner("performer", with("features", "features"));
  table.add("gated_linear_layer_attention") = stack_runner("gated_linear", with("tau", "tau"));
  table.add("reformer_layer_attention") = stack_runner("reformer", with("buckets", "buckets"));
  table.add("vq_layer_attention") = stack_runner("transformer_vq", with("codes", "codes"));
  table.add("kcla") = run_kcla;
  table.add("kcla_transition_algorithm1") = run_algorithm1;
  table.add("dla_l") = dynamic_runner("dla_l");
  table.add("dla_b") = dynamic_runner("dla_b");
  table.add("dia_lstm_unit") = run_unit;
  table.add("dsu_unit") = run_unit;
  table.add("rla_g") = run_rla;
  table.add("SE") = single_runner("se", {{"reduction", "reduction"}});
  table.add("ECA") = single_runner("eca", {});
  table.add("CBAM") = single_runner("cbam", {{"reduction", "reduction"},
                                             {"pool", "pool"},
                                             {"spatial_kernel", "spatial_kernel"},
                                             {"bn_momentum", "bn_momentum"}});
  table.add("attention_augmented_conv") = run_augmented_conv;
  return table;
}

}  // namespace fovea::verify
