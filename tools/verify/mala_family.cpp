// The attentions of the mala paper's tables 1 and 9 and DeiT with them, from the words of its
// golden cases.

#include <cmath>

#include "attention/linear_forms.h"
#include "models/model.h"
#include "models/token_maps.h"
#include "nn/init.h"
#include "ops/elementwise.h"
#include "ops/linear_attention.h"
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

CoreInputs core_inputs(const Tensors& inputs) {
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

Runner core_runner(CoreResult (*form)(const Case&, const CoreInputs&)) {
  return [form](const Case& c, Checker& check) {
    Form none;
    run_module(
        c, none,
        [&](const Tensors& inputs) -> Tensors {
          const CoreInputs in = core_inputs(inputs);
          const CoreResult result = form(c, in);
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

CoreResult softmax_core(const Case& c, const CoreInputs& in) {
  const ops::AttentionOptions options{1 / std::sqrt(static_cast<double>(in.q.dim)), false, {}};
  const ops::HeadView q = c.flag("q_l2_normalised")
                              ? with_tokens(in.q, attention::unit_vectors(in.q.x, in.q.dim))
                              : in.q;
  return {ops::attention(q, in.k, in.v, options), ops::attention_map(q, in.k, options)};
}

FeatureMap family_kernel(const Case& c) {
  const std::string kernel = c.text("kernel");
  if (kernel == "elu1") return FeatureMap::kEluPlusOne;
  if (kernel == "relu") return FeatureMap::kRelu;
  if (kernel == "exp") return FeatureMap::kExp;
  throw NotImplemented("kernel " + kernel);
}

CoreResult linear_core(const Case& c, const CoreInputs& in) {
  const ops::LinearAttentionOptions options{.feature_map = family_kernel(c),
                                            .eps = c.number("eps")};
  return {ops::linear_attention(in.q, in.k, in.v, options),
          ops::linear_attention_map(in.q, in.k, options)};
}

CoreResult efficient_core(const Case&, const CoreInputs& in) {
  return {ops::linear_attention(with_tokens(in.q, attention::efficient_queries(in.q.x, in.q.dim)),
                                with_tokens(in.k, attention::efficient_keys(in.k.x)), in.v,
                                {.feature_map = FeatureMap::kNone, .eps = 0})};
}

CoreResult angular_core(const Case&, const CoreInputs& in) {
  return {attention::angular_attention(in.q, in.k, in.v)};
}

CoreResult inline_core(const Case&, const CoreInputs& in) {
  return {attention::inline_attention(in.q, in.k, in.v), attention::inline_map(in.q, in.k)};
}

void run_hydra_core(const Case& c, Checker& check) {
  Form none;
  run_module(
      c, none,
      [](const Tensors& in) -> Tensors {
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
  run_module(
      c, map,
      [&](const Tensors& in) -> Tensors {
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
  for (const char* key :
       {"qkv_bias", "kernel", "scaling", "kernel_size", "focusing_factor", "res_kernel_size"}) {
    if (c.given(key)) take(c, options, {{key, key}});
  }
  return options;
}

attention::Layout family_layout(const Case& c) {
  const auto& grid = c.config().at("grid").items();
  return {c.flag("class_token") ? 1 : 0, grid[0].as_int(), grid[1].as_int()};
}

attention::Context family_context(const attention::Layout& layout) {
  attention::Context context;
  static_cast<attention::Layout&>(context) = layout;
  return context;
}

void run_vit_attention(const Case& c, Checker& check) {
  const attention::Layout layout = family_layout(c);
  const auto module = attention::make(resolved(attention::variants().choices(), family_options(c)),
                                      {build_for(c), c.integer("dim"), 1, 1, layout});
  run_module(
      c, *module,
      [&](const Tensors& in) -> Tensors {
        return {{"y", (*module)(in.at("x"), family_context(layout))}};
      },
      check);
}

void run_deit(const Case& c, Checker& check) {
  Value options = Value::object({{"type", "deit_tiny"}, {"attention", family_options(c)}});
  take(c, options,
       {{"img_size", "img_size"},
        {"patch_size", "patch_size"},
        {"embed_dim", "embed_dim"},
        {"depth", "depth"},
        {"norm_eps", "norm_eps"},
        {"num_classes", "num_classes"}});
  if (c.number("mlp_ratio") != 4) throw NotImplemented("deit with another mlp_ratio than 4");
  const auto model = models::make(resolved(models::entries().choices(), options), build_for(c), {});
  run_module(
      c, *model,
      [&](const Tensors& in) -> Tensors {
        return {{"y", (*model)({.image = in.at("x")}).logits}};
      },
      check);
}

// Maps in a case, tokens in the library.
void run_lite_mla(const Case& c, Checker& check) {
  const std::int64_t channels = c.integer("in_channels");
  Value options = Value::object({{"type", "lite_mla"}, {"num_heads", channels / c.integer("dim")}});
  take(c, options, {{"scales", "scales"}, {"eps", "eps"}});
  const auto module = attention::make(resolved(attention::variants().choices(), options),
                                      {build_for(c), channels, 1, 1});
  run_module(
      c, *module,
      [&](const Tensors& in) -> Tensors {
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
