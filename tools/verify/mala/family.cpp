// The attentions of the mala paper's tables 1 and 9 and DeiT with them, from the words of its
// golden cases.

#include <cmath>
#include <functional>

#include "attention/linear_forms.h"
#include "models/model.h"
#include "models/token_maps.h"
#include "nn/init.h"
#include "ops/attention/linear_attention.h"
#include "ops/elementwise.h"
#include "verify/module_case.h"
#include "verify/options.h"
#include "verify/runners.h"

namespace fovea::verify {
namespace {

using schema::Value;
using Tensors = std::map<std::string, Tensor>;

// A form without parameters.
class Form final : public nn::Module {
 public:
  std::string type() const override { return "Form"; }
};

// Queries, keys and values, (b, heads, n, dim) in a case, side by side in the library.
struct CoreInputs {
  ops::HeadView q, k, v;
};

CoreInputs core_inputs(const Inputs& inputs) {
  const auto view = [&](const char* name) {
    const Tensor& x = inputs.at(name);
    return ops::heads(ops::merge_heads(x), x.size(1), x.size(3), 0, x.size(3));
  };
  return {view("q"), view("k"), view("v")};
}

// y (b, n, heads * dim), and the map where the case has one.
struct CoreResult {
  Tensor y;
  Tensor map = {};
};

using Core = std::function<CoreResult(const CoreInputs&)>;

Runner core_runner(Core (*of)(const Case&)) {
  return [of](const Case& c, Checker& check) {
    Form none;
    const Core form = of(c);
    run_module(
        c, none,
        [&](const Inputs& inputs) -> Tensors {
          const CoreInputs in = core_inputs(inputs);
          const CoreResult result = form(in);
          const std::int64_t dim = in.v.dim;
          Tensors outputs{
              {"y", ops::take_heads(ops::heads(result.y, std::ssize(in.v.offsets), dim, 0, dim))}};
          if (result.map.defined()) outputs["attn"] = result.map;
          return outputs;
        },
        check);
  };
}

ops::HeadView with_tokens(const ops::HeadView& view, const Tensor& x) {
  return {x, view.offsets, view.dim};
}

Core softmax_core(const Case& c) {
  c.config().only("scale", "head_dim^-0.5");
  c.config().only("norm_eps", 1e-12);
  const bool unit_queries = c.flag("q_l2_normalised");
  return [unit_queries](const CoreInputs& in) -> CoreResult {
    const ops::AttentionOptions options{1 / std::sqrt(static_cast<double>(in.q.dim)), false, {}};
    const ops::HeadView q =
        unit_queries ? with_tokens(in.q, attention::unit_vectors(in.q.x, in.q.dim)) : in.q;
    return {ops::attention(q, in.k, in.v, options), ops::attention_map(q, in.k, options)};
  };
}

Core linear_core(const Case& c) {
  const ops::LinearAttentionOptions options{
      .feature_map = c.config().choice("kernel",
                                       {{"elu1", FeatureMap::kEluPlusOne},
                                        {"relu", FeatureMap::kRelu},
                                        {"exp", FeatureMap::kExp}},
                                       FeatureMap::kEluPlusOne),
      .eps = c.number("eps", 1e-6)};
  return [options](const CoreInputs& in) -> CoreResult {
    return {ops::linear_attention(in.q, in.k, in.v, options),
            ops::linear_attention_map(in.q, in.k, options)};
  };
}

Core efficient_core(const Case& c) {
  c.config().only("q_softmax", "features");
  c.config().only("k_softmax", "tokens");
  return [](const CoreInputs& in) -> CoreResult {
    return {ops::linear_attention(with_tokens(in.q, attention::efficient_queries(in.q.x, in.q.dim)),
                                  with_tokens(in.k, attention::efficient_keys(in.k.x)), in.v,
                                  {.feature_map = FeatureMap::kNone, .eps = 0})};
  };
}

Core angular_core(const Case& c) {
  c.config().only("post_norm", "l2 per head");
  return [](const CoreInputs& in) -> CoreResult {
    return {attention::angular_attention(in.q, in.k, in.v)};
  };
}

Core inline_core(const Case& c) {
  c.config().only("kernel", "identity");
  return [](const CoreInputs& in) -> CoreResult {
    return {attention::inline_attention(in.q, in.k, in.v), attention::inline_map(in.q, in.k)};
  };
}

void run_hydra_core(const Case& c, Checker& check) {
  Form none;
  c.config().only("norm", "l2 over all features");
  run_module(
      c, none,
      [](const Inputs& in) -> Tensors {
        return {{"y", attention::hydra_attention(in.at("q"), in.at("k"), in.at("v"))}};
      },
      check);
}

// The focusing map with its parameter, without an attention around it.
class FocusMap final : public nn::Module {
 public:
  explicit FocusMap(const Case& c)
      : scale_(parameter("scale", nn::init_constant(build_for(c), c.at("param/scale").shape(), 0))),
        factor_(c.number("focusing_factor")) {}
  std::string type() const override { return "FocusMap"; }
  Tensor operator()(const Tensor& x) {
    return attention::focused(x, ops::softplus(scale_), factor_);
  }

 private:
  Tensor scale_;
  double factor_;
};

void run_focus_map(const Case& c, Checker& check) {
  FocusMap map(c);
  c.config().only("eps", 1e-6);
  run_module(
      c, map,
      [&](const Inputs& in) -> Tensors {
        return {{"y", map(in.at("x"))}};
      },
      check);
}

// A kind is the name of a variant, or "mala_" with what differs in its beta and gamma.
Value family_options(const Case& c) {
  const std::string kind = c.text("kind");
  Value options = Value::object({{"type", kind}});
  if (kind == "mala_learnable" || kind == "mala_no_beta" || kind == "mala_no_gamma") {
    options.set("type", "mala");
    if (kind != "mala_no_gamma") options.set("beta", kind == "mala_no_beta" ? "none" : "learnable");
    if (kind != "mala_no_beta")
      options.set("gamma", kind == "mala_no_gamma" ? "none" : "learnable");
  }
  take(c, options, {{"num_heads", "num_heads"}});
  take_given(c.config(), options,
             {"qkv_bias", "proj_bias", "kernel", "scaling", "eps", "kernel_size", "focusing_factor",
              "res_kernel_size", "beta", "gamma", "learnable_shape", "exp_max"});
  return options;
}

attention::Layout family_layout(const Case& c) {
  const std::vector<std::int64_t> grid = c.config().integers("grid");
  return {c.flag("class_token") ? 1 : 0, grid.at(0), grid.at(1)};
}

attention::Context family_context(const attention::Layout& layout) {
  attention::Context context;
  static_cast<attention::Layout&>(context) = layout;
  return context;
}

void run_vit_attention(const Case& c, Checker& check) {
  const attention::Layout layout = family_layout(c);
  const Tensor& x = c.at("input/x");
  c.config().only("dim", x.size(2));
  if (layout.prefix_tokens + layout.grid_h * layout.grid_w != x.size(1)) c.config().refuse("grid");
  const auto module =
      attention::make_attention(resolved(attention::variants().choices(), family_options(c)),
                                {build_for(c), c.integer("dim"), 1, 1, layout});
  run_module(
      c, *module,
      [&](const Inputs& in) -> Tensors {
        return {{"y", (*module)(in.at("x"), family_context(layout))}};
      },
      check);
}

void run_deit(const Case& c, Checker& check) {
  Value options = Value::object({{"type", "deit_tiny"}, {"attention", family_options(c)}});
  // All cases are without stochastic depth.
  options.set("drop_path_rate", 0.0);
  c.config().nothing_dropped({"drop_path_rate", "drop_rate"}, c.training());
  take(c, options,
       {{"img_size", "img_size"},
        {"patch_size", "patch_size"},
        {"embed_dim", "embed_dim"},
        {"depth", "depth"},
        {"mlp_ratio", "mlp_ratio"},
        {"in_chans", "in_chans"},
        {"norm_eps", "norm_eps"},
        {"num_classes", "num_classes"}});
  const auto model =
      models::make_model(resolved(models::entries().choices(), options), build_for(c), {});
  run_module(
      c, *model,
      [&](const Inputs& in) -> Tensors {
        return {{"y", (*model)({.image = in.at("x")}).logits}};
      },
      check);
}

// Maps in a case, tokens in the library.
void run_lite_mla(const Case& c, Checker& check) {
  const std::int64_t channels = c.integer("in_channels");
  Value options = Value::object({{"type", "lite_mla"}, {"num_heads", channels / c.integer("dim")}});
  take(c, options, {{"scales", "scales"}, {"eps", "eps"}});
  c.config().only("norm", "bn on proj only");
  c.config().only("out_channels", channels);
  const auto module = attention::make_attention(resolved(attention::variants().choices(), options),
                                                {build_for(c), channels, 1, 1});
  run_module(
      c, *module,
      [&](const Inputs& in) -> Tensors {
        const Tensor& map = in.at("x");
        const nn::Grid grid{map.size(2), map.size(3)};
        const Tensor y = (*module)(models::tokens_of(map), family_context({0, grid.h, grid.w}));
        return {{"y", models::map_of(y, grid)}};
      },
      check);
}

}  // namespace

Table mala_family() {
  Table table;
  table.add("softmax_core") = core_runner(softmax_core);
  table.add("linear_core") = core_runner(linear_core);
  table.add("efficient_core") = core_runner(efficient_core);
  table.add("linear_angular_core") = core_runner(angular_core);
  table.add("inline_core") = core_runner(inline_core);
  table.add("hydra_core") = run_hydra_core;
  table.add("focus_map") = run_focus_map;
  table.add("vit_attention") = run_vit_attention;
  table.add("deit") = run_deit;
  table.add("litemla") = run_lite_mla;
  return table;
}

}  // namespace fovea::verify
