// The gdla paper's operators: from the words of its golden cases to registry names and options.

#include <fmt/format.h>

#include <functional>

#include "attention/gated_differential_linear.h"
#include "attention/rotary.h"
#include "nn/ffn.h"
#include "nn/init.h"
#include "nn/norm.h"
#include "ops/conv/convolution.h"
#include "ops/shape.h"
#include "verify/gdla/gdla.h"
#include "verify/module_case.h"
#include "verify/options.h"
#include "verify/runners.h"

namespace fovea::verify {
namespace {

using attention::Gate;
using schema::Value;
using Tensors = std::map<std::string, Tensor>;

Gate gate_of(const Case& c) {
  return c.config().choice(
      "gate", {{"none", Gate::kNone}, {"silu", Gate::kSilu}, {"sigmoid", Gate::kSigmoid}},
      Gate::kSilu);
}

attention::Context on_grid(const Case& c) {
  attention::Context context;
  context.grid_h = c.integer("H");
  context.grid_w = c.integer("W");
  return context;
}

// With a gate there are four tensors side by side: queries, keys, values, gate.
std::int64_t tensors_of(const Case& c) { return gate_of(c) == Gate::kNone ? 3 : 4; }

// What the library makes of a packed projection, with the parameters that a mixer has for it.
class GdlaCore final : public nn::Module {
 public:
  explicit GdlaCore(const Case& c)
      : heads_{c.integer("n_heads"), gate_of(c), true, c.number("eps_z", 1e-6)},
        ln_(child<nn::RMSNorm>("ln", build_for(c), head_dim(c), c.number("eps_rms", 1e-5))),
        lambda_(parameter("lambda_scale",
                          nn::init_normal(build_for(c), {heads_.num_heads, head_dim(c)}, 0.1))) {}
  std::string type() const override { return "GdlaCore"; }
  Tensor operator()(const Tensor& t) { return attention::attend_gdla(heads_, t, lambda_, ln_, {}); }

 private:
  static std::int64_t head_dim(const Case& c) { return c.integer("dim") / c.integer("n_heads"); }
  attention::GdlaHeads heads_;
  nn::RMSNorm& ln_;
  Tensor lambda_;
};

void run_core(const Case& c, Checker& check) {
  GdlaCore core(c);
  c.config().only("dim", c.at("input/qkvg").size(2) / tensors_of(c));
  c.config().only("layout", tensors_of(c) == 3
                                ? "[B,N,3*C] = q|k|v, heads contiguous inside each"
                                : "[B,N,4*C] = q|k|v|g, heads contiguous inside each");
  run_module(
      c, core,
      [&](const Inputs& inputs) -> Tensors {
        return {{"y", core(inputs.at("qkvg"))}};
      },
      check);
}

void run_local_mix(const Case& c, Checker& check) {
  attention::LocalTokenMix mix(build_for(c), c.integer("channels"), c.integer("dwc_kernel", 3),
                               c.integer("pwc_groups", 1));
  const attention::Context grid = on_grid(c);
  // How many tensors lie side by side: each then has a 1x1 convolution of its own.
  if (c.integer("pwc_groups", 1) > 1) {
    c.config().only("tensors", c.integer("pwc_groups"));
  } else {
    c.config().describes({"tensors"});
  }
  run_module(
      c, mix,
      [&](const Inputs& inputs) -> Tensors {
        return {{"y", mix(inputs.at("qkvg"), grid)}};
      },
      check);
}

Runner attention_runner(const char* variant) {
  return [variant](const Case& c, Checker& check) {
    const auto module = attention::make_attention(
        gdla_attention(c, variant), {build_for(c), c.integer("dim"), c.integer("depth", 1), 3});
    attention::Context grid;
    if (variant == std::string_view("gated_differential_linear")) {
      grid = on_grid(c);
    } else {
      c.config().describes({"H", "W"});  // of tokens whose places do not matter
    }
    run_module(
        c, *module,
        [&](const Inputs& inputs) -> Tensors {
          return {{"y", (*module)(inputs.at("x"), grid)}};
        },
        check);
  };
}

Runner ffn_runner(const char* kind) {
  return [kind](const Case& c, Checker& check) {
    const std::int64_t dim = c.integer("dim");
    const double ratio = static_cast<double>(c.integer("hidden")) / static_cast<double>(dim);
    const auto ffn = nn::make_ffn(gdla_ffn(c, kind, ratio), build_for(c), dim, 0);
    const nn::Grid grid{c.integer("H", 0), c.integer("W", 0)};
    run_module(
        c, *ffn,
        [&](const Inputs& inputs) -> Tensors {
          return {{"y", (*ffn)(inputs.at("x"), grid)}};
        },
        check);
  };
}

// An operation without parameters.
class Stateless final : public nn::Module {
 public:
  std::string type() const override { return "Stateless"; }
};

using Operation = std::function<Tensor(const Tensor&)>;

Runner operation_runner(Operation (*of)(const Case&)) {
  return [of](const Case& c, Checker& check) {
    Stateless none;
    const Operation run = of(c);
    run_module(
        c, none,
        [&](const Inputs& inputs) -> Tensors {
          return {{"y", run(inputs.at("x"))}};
        },
        check);
  };
}

// Takes (b, heads, n, dim), where the library has the heads side by side.
Operation rotation_of(const Case& c) {
  c.config().only("positions", "0..N-1 over flattened row-major tokens");
  const double base = c.number("base", 10000);
  const std::int64_t dim = c.integer("dim");
  return [base, dim](const Tensor& x) {
    attention::Rotary rotary(base, dim);
    const Tensor tokens =
        ops::reshape(ops::permute(x, {0, 2, 1, 3}), {x.size(0), x.size(2), x.size(1) * x.size(3)});
    const Tensor y = rotary(tokens, {});
    return ops::permute(ops::reshape(y, {x.size(0), x.size(2), x.size(1), x.size(3)}),
                        {0, 2, 1, 3});
  };
}

Operation interpolation_of(const Case& c) {
  const std::int64_t factor = c.integer("scale_factor");
  const auto mode = c.config().choice(
      "mode",
      {{"nearest", ops::Interpolation::kNearest}, {"bilinear", ops::Interpolation::kLinear}},
      ops::Interpolation::kLinear);
  const bool align = c.flag("align_corners");
  return [=](const Tensor& x) {
    return ops::resize(x, {factor * x.size(2), factor * x.size(3)}, mode, align);
  };
}

void run_rms_norm(const Case& c, Checker& check) {
  nn::RMSNorm norm(build_for(c), c.integer("dim"), c.number("eps", 1e-5), c.flag("affine", true));
  run_module(
      c, norm,
      [&](const Inputs& inputs) -> Tensors {
        return {{"y", norm(inputs.at("x"))}};
      },
      check);
}

}  // namespace

schema::Component gdla_attention(const Case& c, const std::string& variant) {
  Value options = Value::object({{"type", variant}});
  take(c, options, {{"qkv_bias", "qkv_bias"}});
  // Cases of networks give a list, which the decoder has.
  if (!c.config().holds_array("n_heads")) take(c, options, {{"n_heads", "num_heads"}});
  c.config().nothing_dropped({"attn_drop", "proj_drop", "drop_prob"}, c.training());
  if (variant != "gated_differential_linear") {
    const double base = c.number("rope_base", 10000);
    if (c.flag("use_rope")) options.set("rope_base", base);
  }
  if (variant == "differential") {
    options.set("fused_qkv", true);
    options.set("lambda_dim", c.config().choice("lambda_dim",
                                                {{"head", "head"},
                                                 {"half", "half"},
                                                 {"dim/n_heads", "head"},
                                                 {"dim/n_heads/2", "half"}},
                                                "head"));
    options.set("lambda_depth_offset",
                c.config().choice(
                    "lambda_init",
                    {{"0.8-0.6*exp(-0.3*depth)", 0}, {"0.8-0.6*exp(-0.3*(depth-1))", -1}}, 0));
    take(c, options, {{"eps_rms", "eps"}, {"out_proj_bias", "proj_bias"}});
  } else if (variant == "linear") {
    if (c.given("eps")) take(c, options, {{"eps", "eps"}});
    options.set("kernel", c.config().choice("feature_map", {{"elu+1", "elu1"}}, "elu1"));
  } else if (variant == "gated_differential_linear") {
    take(c, options, {{"gate", "gate"}, {"local", "local"}, {"dwc_ks", "dwc_kernel"}});
    if (c.integer("pwc_groups", 1) != 1) c.config().only("pwc_groups", tensors_of(c));
    options.set("pwc_groups", c.integer("pwc_groups", 1) > 1);
    c.config().only("eps_z", 1e-6);
    c.config().only("eps_rms", 1e-5);
  }
  return resolved(attention::variants().choices(), options);
}

schema::Component gdla_ffn(const Case& c, const std::string& kind, double ratio) {
  Value options = Value::object({{"type", kind}, {"expansion", ratio}});
  if (kind == "mlp") {
    options.set("activation", c.config().choice("act",
                                                {{"gelu_erf", "gelu"},
                                                 {"gelu_tanh", "gelu_tanh"},
                                                 {"gelu", "gelu"},
                                                 {"relu", "relu"},
                                                 {"silu", "silu"}},
                                                "gelu"));
  }
  if (kind == "swiglu") {  // whose expansion counts both halves
    options.set("expansion", 2 * ratio);
    options.set("gate_last", c.config().choice(
                                 "order", {{"[value|gate]", true}, {"[gate|value]", false}}, true));
  }
  if (kind == "gated_mix_ffn") {
    take(c, options, {{"kernel", "kernel_size"}});
    c.config().only("order", "[value|gate]");
    c.config().only("pwc2_bias", false);
  }
  return resolved(nn::ffn_choices(), options);
}

Table gdla_operators() {
  Table table;
  table.add("gdla_core") = run_core;
  table.add("gdla_local_mix") = run_local_mix;
  table.add("gdla_mixer") = attention_runner("gated_differential_linear");
  table.add("multi_head_self_attention") = attention_runner("softmax");
  table.add("multi_head_linear_attention") = attention_runner("linear");
  table.add("multi_head_differential_attention") = attention_runner("differential");
  table.add("rope_interleaved") = operation_runner(rotation_of);
  table.add("interpolate") = operation_runner(interpolation_of);
  table.add("rms_norm") = run_rms_norm;
  table.add("ffn_mlp") = ffn_runner("mlp");
  table.add("ffn_swiglu") = ffn_runner("swiglu");
  table.add("ffn_mix_ffn") = ffn_runner("gated_mix_ffn");
  return table;
}

}  // namespace fovea::verify
