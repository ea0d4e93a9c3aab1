// The dgsa paper's operators and networks: from the words of its golden cases to registry names and
// options.

#include <fmt/format.h>

#include <cmath>

#include "autograd/graph.h"
#include "base/error.h"
#include "metrics/classification.h"
#include "models/encoder.h"
#include "models/model.h"
#include "nn/ffn.h"
#include "nn/norm.h"
#include "ops/create.h"
#include "ops/losses/loss.h"
#include "verify/dgsa/dgsa.h"
#include "verify/module_case.h"
#include "verify/options.h"
#include "verify/runners.h"

namespace fovea::verify {
namespace {

using schema::Component;
using schema::Value;

// `alone`: the case is of this attention; in those of whole networks and training runs "eps" is
// that of the optimiser.
Component attention_of(const Case& c, const std::string& kind, bool alone = false) {
  Value options = Value::object({{"type", kind}});
  if (alone && kind != "softmax") take(c, options, {{"eps", "eps"}});
  c.config().nothing_dropped({"attn_dropout"}, c.training());
  if (kind == "m_dgsa") {
    take(c, options,
         {{"num_heads", "num_heads"},
          {"lambda_mode", "lambda_mode"},
          {"lambda_value", "lambda_value"},
          {"proj_bias", "proj_bias"},
          {"q_residual", "q_residual"},
          {"subln_affine", "subln_affine"},
          {"stream_layout", "stream_layout"},
          {"scale_dim", "scale_dim"},
          {"gate_layers", "gate_layers"},
          {"gate_hidden", "gate_hidden"},
          {"gate_bias_init", "gate_bias_init"},
          {"fuse", "fuse"}});
  } else if (kind == "differential") {
    take(c, options,
         {{"num_heads", "num_heads"},
          {"num_kv_heads", "num_kv_heads"},
          {"proj_bias", "proj_bias"},
          {"subln_affine", "subln_affine"},
          {"gqa_pairing", "gqa_pairing"}});
  } else {
    take(c, options,
         {{"num_heads", "num_heads"}, {"qkv_bias", "qkv_bias"}, {"proj_bias", "proj_bias"}});
  }
  return resolved(attention::variants().choices(), options);
}

std::string attention_name(const std::string& fixture_name) {
  if (fixture_name == "mdgsa") return "m_dgsa";
  if (fixture_name == "diff") return "differential";
  if (fixture_name == "mhsa") return "softmax";
  throw NotImplemented(fmt::format("attention {}", fixture_name));
}

Component ffn_of(const Case& c, const std::string& kind, const char* expansion, const char* bias) {
  Value options = Value::object({{"type", kind == "swiglu" ? "swiglu" : "mlp"}});
  c.value(expansion);  // without one the schema's default would stand in
  if (kind != "swiglu") options.set("activation", kind);
  take(c, options, {{expansion, "expansion"}, {bias, "bias"}});
  if (kind == "swiglu") take(c, options, {{"gate_last", "gate_last"}});
  return resolved(nn::ffn_choices(), options);
}

attention::Context context_of(const Inputs& inputs, bool causal) {
  attention::Context context;
  context.causal = causal;
  context.key_mask = inputs.find("key_mask");
  if (inputs.contains("rope_cos")) {
    context.rope_cos = inputs.at("rope_cos");
    context.rope_sin = inputs.at("rope_sin");
  }
  return context;
}

Runner attention_runner(const std::string& kind) {
  return [kind](const Case& c, Checker& check) {
    const attention::Slot slot{build_for(c), c.integer("dim"), c.integer("layer", 1), 1};
    const auto module = attention::make_attention(attention_of(c, kind, true), slot);
    const bool causal = c.flag("causal");
    attention::Probe probe;
    run_module(
        c, *module,
        [&](const auto& inputs) -> std::map<std::string, Tensor> {
          attention::Context context = context_of(inputs, causal);
          context.probe = &probe;
          return {{"y", (*module)(inputs.at("x"), context)}};
        },
        check);
    compare_probe(c, probe, check);
  };
}

Runner unary_runner(std::function<std::unique_ptr<nn::UnaryModule>(const Case&)> make) {
  return [make](const Case& c, Checker& check) {
    const auto module = make(c);
    run_module(
        c, *module,
        [&](const auto& inputs) -> std::map<std::string, Tensor> {
          return {{"y", (*module)(inputs.at("x"))}};
        },
        check);
  };
}

models::EncoderOptions encoder_of(const Case& c) {
  models::EncoderOptions o;
  o.embed_dim = c.integer("dim");
  o.depth = c.integer("depth", 1);
  o.attention = attention_of(c, attention_name(c.text("attn")));
  o.ffn = ffn_of(c, c.text("ffn"), "ffn_expand", "ffn_bias");
  o.norm = c.config().choice(
      "norm", {{"layernorm", nn::NormKind::kLayerNorm}, {"rmsnorm", nn::NormKind::kRMSNorm}},
      nn::NormKind::kLayerNorm);
  o.norm_eps = c.number("norm_eps", 1e-6);
  o.norm_position = c.config().choice(
      "norm_position", {{"pre", models::NormPosition::kPre}, {"post", models::NormPosition::kPost}},
      models::NormPosition::kPre);
  return o;
}

void run_block(const Case& c, Checker& check) {
  models::EncoderBlock block(build_for(c), encoder_of(c), c.integer("layer", 1));
  const bool causal = c.flag("causal");
  attention::Probe probe;
  run_module(
      c, block,
      [&](const auto& inputs) -> std::map<std::string, Tensor> {
        attention::Context context = context_of(inputs, causal);
        context.probe = &probe;
        return {{"y", block(inputs.at("x"), context)}};
      },
      check);
  compare_probe(c, probe, check);
}

// The network makes its own mask of the words that are there; the case may say which they are.
void check_mask(const Case& c, const Inputs& inputs, Checker& check) {
  if (!inputs.contains("mask")) return;
  std::vector<double> words;
  for (const double id : to_doubles(inputs.at("ids"))) words.push_back(id == 0 ? 0 : 1);
  if (to_doubles(inputs.at("mask")) != words)
    check.fail(fmt::format("{}: input/mask is not the mask of ids other than 0", c.name()));
}

void run_network(const Case& c, bool text, Checker& check) {
  const auto model = make_network(c, text);
  attention::Probe probe;
  run_module(
      c, *model,
      [&](const auto& inputs) -> std::map<std::string, Tensor> {
        const Tensor& x = inputs.at(text ? "ids" : "x");
        check_mask(c, inputs, check);
        const Tensor logits = (*model)(models::only_input(model->interface(), x), &probe).logits;
        if (!inputs.contains("labels")) return {{"logits", logits}};
        return {{"logits", logits}, {"loss", ops::cross_entropy(logits, inputs.at("labels"))}};
      },
      check);
  compare_probe(c, probe, check);
}

// `name`: "", or "ls0.1/" where a case holds several smoothings.
void compare_cross_entropy(const Case& c, const std::string& name, double smoothing,
                           Checker& check) {
  const Tensor logits = ops::clone(c.at("input/logits"));
  logits.set_requires_grad(true);
  const auto reduction = c.config().choice(
      "reduction", {{"mean", ops::Reduction::kMean}, {"sum", ops::Reduction::kSum}},
      ops::Reduction::kMean);
  const Tensor loss = ops::cross_entropy(logits, c.at("input/labels"),
                                         {.label_smoothing = smoothing, .reduction = reduction});
  check.compare("output/" + name + "loss", loss);
  autograd::backward(loss);
  check.compare("grad_input/" + name + "logits", logits.grad());
}

// One smoothing, none, or a list of them.
void run_cross_entropy(const Case& c, Checker& check) {
  if (c.given("label_smoothing") && c.value("label_smoothing").is_array()) {
    for (const double smoothing : c.config().numbers("label_smoothing"))
      compare_cross_entropy(c, fmt::format("ls{}/", smoothing), smoothing, check);
  } else {
    compare_cross_entropy(c, "", c.number("label_smoothing", 0), check);
  }
  if (!c.has("output/accuracy")) return;
  const Tensor logits = c.on_host("input/logits");
  const auto correct = metrics::top_k_correct(logits, c.on_host("input/labels"), 1);
  check.compare("output/accuracy", std::vector<double>{static_cast<double>(correct) /
                                                       static_cast<double>(logits.size(0))});
}

}  // namespace

std::unique_ptr<models::Model> make_network(const Case& c, bool text) {
  Value options = Value::object({{"type", text ? "transformer" : "vit"}});
  take(c, options,
       {{"num_classes", "num_classes"},
        {"dim", "embed_dim"},
        {"depth", "depth"},
        {"head_hidden", "head_hidden"},
        {"norm_eps", "norm_eps"},
        {"norm_position", "norm_position"}});
  if (text) {
    take(c, options,
         {{"vocab_size", "vocab_size"}, {"max_len", "max_len"}, {"scale_embed", "scale_embed"}});
    options.set("drop_rate", 0);
    options.set("global_pool",
                c.config().choice("pooling", {{"mean", "avg"}, {"cls", "token"}}, "avg"));
  } else {
    take(c, options,
         {{"img_size", "img_size"},
          {"patch_size", "patch_size"},
          {"in_chans", "in_chans"},
          {"pos_rows", "pos_rows"}});
    c.config().only("pooling", "cls");
  }
  options.set("norm",
              c.config().choice("norm", {{"layernorm", "layer_norm"}, {"rmsnorm", "rms_norm"}},
                                "layer_norm"));
  options.set("pos_embed", c.text("pos", text ? "sinusoidal" : "learned"));
  options.set("attention", attention_of(c, attention_name(c.text("attn"))).options);
  options.set("ffn", ffn_of(c, c.text("ffn"), "ffn_expand", "ffn_bias").options);
  return models::make_model(resolved(models::entries().choices(), options), build_for(c), {});
}

Table dgsa_networks() {
  Table table;
  table.add("M-DGSA") = attention_runner("m_dgsa");
  table.add("DiffAttention") = attention_runner("differential");
  table.add("MHSA") = attention_runner("softmax");
  table.add("SwiGLU-FFN") = unary_runner([](const Case& c) {
    const double packed = c.number("expand") * static_cast<double>(c.integer("dim"));
    c.config().only("hidden", static_cast<std::int64_t>(std::floor(packed / 2 + 1e-9)));
    return nn::make_ffn(ffn_of(c, "swiglu", "expand", "bias"), build_for(c), c.integer("dim"), 0);
  });
  table.add("MLP") = unary_runner([](const Case& c) {
    return nn::make_ffn(ffn_of(c, c.text("act", "gelu"), "expand", "bias"), build_for(c),
                        c.integer("dim"), 0);
  });
  table.add("LayerNorm") = unary_runner([](const Case& c) {
    return nn::make_norm(nn::NormKind::kLayerNorm, build_for(c), c.integer("dim"),
                         c.number("eps", 1e-6));
  });
  table.add("RMSNorm") = unary_runner([](const Case& c) -> std::unique_ptr<nn::UnaryModule> {
    return std::make_unique<nn::RMSNorm>(build_for(c), c.integer("dim"), c.number("eps", 1e-5),
                                         c.flag("affine", true));
  });
  table.add("Block") = run_block;
  const auto network = [](bool text) {
    return [text](const Case& c, Checker& check) { run_network(c, text, check); };
  };
  for (const char* name : {"DGViT", "ViT", "DIFF-ViT"}) table.add(name) = network(false);
  for (const char* name : {"DGT", "DIFF-Transformer", "Transformer"})
    table.add(name) = network(true);
  table.add("cross_entropy") = run_cross_entropy;
  return table;
}

}  // namespace fovea::verify
