// The gdla paper's operators: from the words of its golden cases to registry names and options.

#include <fmt/format.h>

#include "attention/gated_differential_linear.h"
#include "attention/rotary.h"
#include "nn/ffn.h"
#include "nn/init.h"
#include "nn/norm.h"
#include "ops/convolution.h"
#include "ops/shape.h"
#include "verify/gdla.h"
#include "verify/module_case.h"
#include "verify/options.h"
#include "verify/runners.h"

namespace fovea::verify {
namespace {

using attention::Gate;
using schema::Value;
using Tensors = std::map<std::string, Tensor>;

Gate gate_of(const Case& c) {
  const std::string word = c.text("gate");
  if (word == "none") return Gate::kNone;
  return word == "silu" ? Gate::kSilu : Gate::kSigmoid;
}

attention::Context on_grid(const Case& c) {
  attention::Context context;
  context.grid_h = c.integer("H");
  context.grid_w = c.integer("W");
  return context;
}

// What the library makes of a packed projection, with the parameters that a mixer has for it.
class GdlaCore final : public nn::Module {
 public:
  explicit GdlaCore(const Case& c)
      : heads_{c.integer("n_heads"), gate_of(c), true, c.number("eps_z")},
        ln_(child<nn::RMSNorm>("ln", build_for(c), head_dim(c), c.number("eps_rms"))),
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
  run_module(
      c, core,
      [&](const Tensors& inputs) -> Tensors {
        return {{"y", core(inputs.at("qkvg"))}};
      },
      check);
}

void run_local_mix(const Case& c, Checker& check) {
  attention::LocalTokenMix mix(build_for(c), c.integer("channels"), c.integer("dwc_kernel"),
                               c.integer("pwc_groups"));
  run_module(
      c, mix,
      [&](const Tensors& inputs) -> Tensors {
        return {{"y", mix(inputs.at("qkvg"), on_grid(c))}};
      },
      check);
}

Runner attention_runner(const char* variant) {
  return [variant](const Case& c, Checker& check) {
    const auto module = attention::make(gdla_attention(c, variant),
                                        {build_for(c), c.integer("dim"), c.integer("depth", 1), 3});
    run_module(
        c, *module,
        [&](const Tensors& inputs) -> Tensors {
          return {{"y", (*module)(inputs.at("x"), on_grid(c))}};
        },
        check);
  };
}

Runner ffn_runner(const char* kind) {
  return [kind](const Case& c, Checker& check) {
    const std::int64_t dim = c.integer("dim");
    const double ratio = static_cast<double>(c.integer("hidden")) / static_cast<double>(dim);
    const auto ffn = nn::make_ffn(gdla_ffn(c, kind, ratio), build_for(c), dim, 0);
    run_module(
        c, *ffn,
        [&](const Tensors& inputs) -> Tensors {
          return {{"y", (*ffn)(inputs.at("x"), {c.integer("H"), c.integer("W")})}};
        },
        check);
  };
}

// An operation without parameters.
class Stateless final : public nn::Module {
 public:
  std::string type() const override { return "Stateless"; }
};

Runner operation_runner(Tensor (*run)(const Case&, const Tensor&)) {
  return [run](const Case& c, Checker& check) {
    Stateless none;
    run_module(
        c, none,
        [&](const Tensors& inputs) -> Tensors {
          return {{"y", run(c, inputs.at("x"))}};
        },
        check);
  };
}

// (b, heads, n, dim), where the library has the heads side by side.
Tensor rotated(const Case& c, const Tensor& x) {
  attention::Rotary rotary(c.number("base"), c.integer("dim"));
  const Tensor tokens =
      ops::reshape(ops::permute(x, {0, 2, 1, 3}), {x.size(0), x.size(2), x.size(1) * x.size(3)});
  const Tensor y = rotary(tokens, {});
  return ops::permute(ops::reshape(y, {x.size(0), x.size(2), x.size(1), x.size(3)}), {0, 2, 1, 3});
}

Tensor interpolated(const Case& c, const Tensor& x) {
  const std::int64_t factor = c.integer("scale_factor");
  const auto mode =
      c.text("mode") == "nearest" ? ops::Interpolation::kNearest : ops::Interpolation::kLinear;
  return ops::resize(x, {factor * x.size(2), factor * x.size(3)}, mode, c.flag("align_corners"));
}

void run_rms_norm(const Case& c, Checker& check) {
  nn::RMSNorm norm(build_for(c), c.integer("dim"), c.number("eps"), c.flag("affine"));
  run_module(
      c, norm,
      [&](const Tensors& inputs) -> Tensors {
        return {{"y", norm(inputs.at("x"))}};
      },
      check);
}

}  // namespace

schema::Component gdla_attention(const Case& c, const std::string& variant) {
  Value options = Value::object({{"type", variant}});
  take(c, options, {{"qkv_bias", "qkv_bias"}});
  // Of networks it is a list, which the decoder has.
  if (!c.config().at("n_heads").is_array()) take(c, options, {{"n_heads", "num_heads"}});
  if (c.flag("use_rope")) options.set("rope_base", c.number("rope_base", 10000));
  if (variant == "differential") {
    options.set("fused_qkv", true);
    options.set("lambda_dim", c.text("lambda_dim").ends_with("/2") ? "half" : "head");
    const bool before = c.text("lambda_init").find("depth-1") != std::string::npos;
    options.set("lambda_depth_offset", before ? -1 : 0);
  } else if (variant == "linear") {
    take(c, options, {{"eps", "eps"}});
  } else if (variant == "gated_differential_linear") {
    take(c, options, {{"gate", "gate"}, {"local", "local"}, {"dwc_ks", "dwc_kernel"}});
    options.set("pwc_groups", c.integer("pwc_groups", 1) > 1);
  }
  return resolved(attention::variants().choices(), options);
}

schema::Component gdla_ffn(const Case& c, const std::string& kind, double ratio) {
  Value options = Value::object({{"type", kind}, {"expansion", ratio}});
  if (kind == "swiglu") {  // whose expansion counts both halves
    options.set("expansion", 2 * ratio);
    options.set("gate_last", true);
  }
  if (kind == "gated_mix_ffn") take(c, options, {{"kernel", "kernel_size"}});
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
  table.add("rope_interleaved") = operation_runner(rotated);
  table.add("interpolate") = operation_runner(interpolated);
  table.add("rms_norm") = run_rms_norm;
  table.add("ffn_mlp") = ffn_runner("mlp");
  table.add("ffn_swiglu") = ffn_runner("swiglu");
  table.add("ffn_mix_ffn") = ffn_runner("gated_mix_ffn");
  return table;
}

}  // namespace fovea::verify
