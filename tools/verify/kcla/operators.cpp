// The kcla paper's other operators: stages of dynamic layer attention, channel attentions, cells.
// From the words of its golden cases to registry names and options.

#include <fmt/format.h>

#include "base/error.h"
#include "layer_attention/augmented_conv.h"
#include "layer_attention/channel_conv.h"
#include "layer_attention/kcla.h"
#include "layer_attention/residual.h"
#include "layer_attention/rla.h"
#include "layer_attention/sharing_unit.h"
#include "ops/create.h"
#include "ops/elementwise.h"
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

// One channel attention with its parameters at the top.
Runner single_runner(const char* type, const Words& keys) {
  return [=](const Case& c, Checker& check) {
    Value options = kcla_options(c, type, keys);
    if (type == std::string("eca") && c.given("k_size")) {
      Value kernel = Value::array();
      kernel.push_back(c.integer("k_size"));
      options.set("kernel_size", kernel);
    }
    if (c.flag("no_spatial")) options.set("spatial", false);
    Slot slot{.build = build_for(c)};
    slot.channels = c.integer("channels");
    c.config().only("channels", c.at("input/x").size(1));
    const schema::Component attention = kcla_component(options);
    const auto module = layer_attention::variants().find(type).make(slot, attention);
    c.config().nothing_dropped({"drop_path"}, c.training());
    const auto forward = [&](const Inputs& inputs) -> Tensors {
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

  Tensors operator()(const Inputs& inputs) {
    layer_attention::State state;
    Tensors outputs;
    for (std::size_t t = 0; t < layers_.size(); ++t) {
      const layer_attention::Layer in{inputs.at(fmt::format("x{}", t)),
                                      inputs.find(fmt::format("p{}", t))};
      outputs[fmt::format("y{}", t)] = (*layers_[t])(in, state, nullptr);
    }
    return outputs;
  }

 private:
  std::vector<layer_attention::Attached*> layers_;
};

Runner dynamic_runner(const char* type) {
  return [=](const Case& c, Checker& check) {
    Value options = kcla_options(
        c, type,
        {{"head_dim", "head_dim"}, {"dsu_reduction", "reduction"}, {"dsu_state", "dsu_state"}});
    options.set("drop_path", 0.0);
    c.config().nothing_dropped({"drop_path"}, c.training());
    check_layers(c);
    check_derived(c, slot_at(c, 0).channels);
    c.config().only(
        "inputs",
        "x_t = block output after ReLU, p_t = block shortcut; y_t = x_t + BN(mrla_l(x_t, "
        "refreshed p_t))");
    DynamicStage stage(c, kcla_component(options));
    run_module(
        c, stage, [&](const Inputs& inputs) { return stage(inputs); }, check);
  };
}

void run_unit(const Case& c, Checker& check) {
  layer_attention::SharingUnit unit(build_for(c), c.integer("channels"), c.integer("reduction"),
                                    c.op() == "dia_lstm_unit");
  c.config().only("gates", c.op() == "dia_lstm_unit" ? 4 : 3);
  const std::int64_t steps = c.integer("steps");
  const auto forward = [&](const Inputs& inputs) {
    layer_attention::CellState state;
    Tensors outputs;
    for (std::int64_t t = 0; t < steps; ++t) {
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

  Tensors operator()(const Inputs& inputs) {
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
  check_layers(c);
  RlaStage stage(c);
  run_module(
      c, stage, [&](const Inputs& inputs) { return stage(inputs); }, check);
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
  const auto forward = [&](const Inputs& inputs) -> Tensors {
    return {{"y", conv(inputs.at("x"))}};
  };
  run_module(c, conv, forward, check);
}

void run_algorithm1(const Case& c, Checker& check) {
  const std::int64_t heads = c.integer("heads"), next = c.integer("heads_next");
  const std::int64_t dim = c.integer("head_dim");
  const std::int64_t channels = c.at("output/u1").size(1) * c.at("output/u1").size(2);
  layer_attention::Algorithm1 transition(build_for(c), heads, dim, channels);
  c.config().only("k_conv1d", layer_attention::channel_kernel(channels));
  const auto forward = [&](const Inputs& inputs) -> Tensors {
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
