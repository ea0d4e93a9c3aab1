// The gdla paper's decoders and segmentation networks, from the words of its golden cases.

#include <fmt/format.h>

#include "models/model.h"
#include "models/token_decoder.h"
#include "models/unet/attention_gate.h"
#include "models/unet/emcad_parts.h"
#include "verify/gdla/gdla.h"
#include "verify/module_case.h"
#include "verify/options.h"
#include "verify/runners.h"

namespace fovea::verify {
namespace {

using schema::Value;
using Tensors = std::map<std::string, Tensor>;

Runner unary_runner(std::function<std::unique_ptr<nn::UnaryModule>(const Case&)> make) {
  return [make](const Case& c, Checker& check) {
    const auto module = make(c);
    run_module(
        c, *module,
        [&](const Inputs& inputs) -> Tensors {
          return {{"y", (*module)(inputs.at("x"))}};
        },
        check);
  };
}

struct DecoderWords {
  const char* attention;
  const char* ffn;
};

// By the paper's short name of an attention: the variant, and the network that its blocks have.
DecoderWords words_of(const std::string& decoder) {
  if (decoder == "la") return {"linear", "mlp"};
  if (decoder == "sa") return {"softmax", "mlp"};
  if (decoder == "da") return {"differential", "swiglu"};
  if (decoder == "gdla") return {"gated_differential_linear", "gated_mix_ffn"};
  throw NotImplemented(fmt::format("config: decoder {}", decoder));
}

std::string ffn_name(const Case& c, const DecoderWords& words) {
  return c.config().choice(
      "ffn", {{"mix_ffn", "gated_mix_ffn"}, {"mlp", "mlp"}, {"swiglu", "swiglu"}}, words.ffn);
}

models::TokenDecoderBlockOptions block_of(const Case& c, const std::string& decoder) {
  const DecoderWords words = words_of(decoder);
  models::TokenDecoderBlockOptions o;
  o.attention = gdla_attention(c, words.attention);
  o.ffn = gdla_ffn(c, ffn_name(c, words), c.number("hidden_ratio", 4));
  o.preconv = c.flag("preconv", decoder == "gdla");
  o.norm_eps = c.number("norm_eps", 1e-5);
  return o;
}

void run_block(const Case& c, Checker& check) {
  models::TokenDecoderBlock block(
      {build_for(c), c.integer("dim"), c.integer("depth", 1), c.integer("depth", 1)},
      c.integer("n_heads"), block_of(c, c.text("attn")));
  attention::Probe probe(true);
  run_module(
      c, block,
      [&](const Inputs& inputs) -> Tensors {
        const Tensor y = block(inputs.at("x"), &probe);
        return {{"y", y}, {"tap_delta", probe.all("attn_delta").at(0)}};
      },
      check);
}

// Maps by the name of the level they come from: p1 is the finest.
void run_network(const Case& c, const Value& options, Checker& check) {
  const auto model =
      models::make_model(resolved(models::entries().choices(), options), build_for(c), {});
  run_module(
      c, *model,
      [&](const Inputs& inputs) {
        Tensors outputs;
        for (const Tensor& map : (*model)({.image = inputs.at("x")}).maps)
          outputs[fmt::format("p{}", outputs.size() + 1)] = map;
        return outputs;
      },
      check);
}

void run_pvt_seg(const Case& c, Checker& check) { run_network(c, gdla_decoder(c), check); }

Value doubled_widths(const Case& c, bool half_bottleneck) {
  Value widths = Value::array();
  std::int64_t width = c.integer("base");
  for (int level = 0; level < 5; ++level, width *= 2)
    widths.push_back(level == 4 && half_bottleneck ? width / 2 : width);
  return widths;
}

// The decoder's channels, the deepest first: those of the levels above, or with half a bottleneck
// half of them, but for the last.
Value decoder_widths(const Case& c, bool half_bottleneck) {
  Value widths = Value::array();
  for (int level = 3; level >= 0; --level) {
    const std::int64_t width = c.integer("base") << level;
    widths.push_back(half_bottleneck && level > 0 ? width / 2 : width);
  }
  return widths;
}

Runner unet_runner(const char* type) {
  return [type](const Case& c, Checker& check) {
    c.config().only("att", type == std::string_view("att_unet"));
    const bool bilinear = c.flag("bilinear");
    Value options = Value::object({{"type", bilinear ? "unet_classic_bilinear" : type},
                                   {"widths", doubled_widths(c, bilinear)},
                                   {"decoder_channels", decoder_widths(c, bilinear)}});
    take(c, options,
         {{"img_ch", "in_chans"},
          {"n_channels", "in_chans"},
          {"output_ch", "num_classes"},
          {"n_classes", "num_classes"}});
    const auto model =
        models::make_model(resolved(models::entries().choices(), options), build_for(c), {});
    run_module(
        c, *model,
        [&](const Inputs& inputs) -> Tensors {
          return {{"y", (*model)({.image = inputs.at("x")}).maps.front()}};
        },
        check);
  };
}

models::MultiScaleOptions multi_scale_of(const Case& c) {
  models::MultiScaleOptions o;
  c.config().only("stride", 1);
  o.kernels = c.config().integers("ks");
  o.expansion = c.integer("ef", 2);
  o.parallel = c.flag("par", true);
  o.add = c.flag("add", true);
  o.activation = c.config().choice(
      "a", {{"relu", models::EmcadActivation::kRelu}, {"relu6", models::EmcadActivation::kRelu6}},
      models::EmcadActivation::kRelu6);
  return o;
}

void run_gate(const Case& c, Checker& check) {
  models::AttentionGate gate(build_for(c), {.channels = c.integer("F_l"),
                                            .hidden = c.integer("F_int"),
                                            .kernel = c.integer("kernel_size"),
                                            .groups = c.integer("groups")});
  c.config().only("F_g", c.integer("F_l"));
  c.config().only("activation", "relu");
  run_module(
      c, gate,
      [&](const Inputs& inputs) -> Tensors {
        return {{"y", gate(inputs.at("g"), inputs.at("x"))}};
      },
      check);
}

void run_emcad(const Case& c, Checker& check) {
  Value options = Value::object({{"type", "pvt_emcad_b2"}});
  take(c, options,
       {{"num_classes", "num_classes"},
        {"in_chs", "in_chans"},
        {"kernel_sizes", "kernel_sizes"},
        {"expansion_factor", "expansion_factor"},
        {"activation", "activation"},
        {"dw_parallel", "parallel"},
        {"add", "add"},
        {"lgag_ks", "gate_kernel"}});
  options.set("backbone", gdla_backbone(c.config().at("backbone")));
  run_network(c, options, check);
}

}  // namespace

schema::Value gdla_decoder(const Case& c) {
  const std::string decoder = c.text("decoder");
  const DecoderWords words = words_of(decoder);
  Value options = Value::object({{"type", "pvt_gdla"}});
  c.config().only("chs", c.config().at("backbone").value("embed_dims"));
  take(c, options,
       {{"in_chs", "in_chans"},
        {"n_classes", "num_classes"},
        {"us_ks", "us_ks"},
        {"norm_eps", "norm_eps"},
        {"deepsupervision", "deep_supervision"}});
  options.set("backbone", gdla_backbone(c.config().at("backbone")));
  options.set("attention", gdla_attention(c, words.attention).options);
  options.set("ffn", gdla_ffn(c, ffn_name(c, words), c.number("hidden_ratio", 4)).options);
  options.set("preconv", c.flag("preconv", decoder == "gdla"));
  std::vector<std::int64_t> heads = c.config().integers("n_heads");
  heads.pop_back();  // of the coarsest level, which has no block
  options.set("num_heads", Value::array(heads));
  return options;
}

Table gdla_decoders() {
  Table table;
  table.add("upsample_conv_transpose") =
      unary_runner([](const Case& c) -> std::unique_ptr<nn::UnaryModule> {
        c.config().only("stride", 2);
        c.config().only("padding", c.integer("ks") / 2);
        c.config().only("output_padding", 1);
        c.config().only("bias", false);
        return std::make_unique<models::TransposedUp>(build_for(c), c.integer("in_chs"),
                                                      c.integer("out_chs"), c.integer("ks"));
      });
  table.add("res_blk") = unary_runner([](const Case& c) -> std::unique_ptr<nn::UnaryModule> {
    c.config().only("eps", 1e-5);
    c.config().only("momentum", 0.1);
    return std::make_unique<models::ResidualStem>(build_for(c), c.integer("in_chs"),
                                                  c.integer("out_chs"));
  });
  table.add("decoder_block") = run_block;
  table.add("unet_upconv") = unet_runner("unet_upconv");
  table.add("unet_attention") = unet_runner("att_unet");
  table.add("unet_classic") = unet_runner("unet_classic");
  table.add("emcad_mscb") = unary_runner([](const Case& c) -> std::unique_ptr<nn::UnaryModule> {
    return std::make_unique<models::MultiScaleConv>(build_for(c), c.integer("i"), c.integer("o"),
                                                    multi_scale_of(c));
  });
  table.add("emcad_eucb") = unary_runner([](const Case& c) -> std::unique_ptr<nn::UnaryModule> {
    return std::make_unique<models::UpConv>(build_for(c), c.integer("in_channels"),
                                            c.integer("out_channels"));
  });
  table.add("emcad_cab") = unary_runner([](const Case& c) -> std::unique_ptr<nn::UnaryModule> {
    return std::make_unique<models::ChannelAttention>(build_for(c), c.integer("in_channels"),
                                                      c.integer("ratio"));
  });
  table.add("emcad_sab") = unary_runner([](const Case& c) -> std::unique_ptr<nn::UnaryModule> {
    return std::make_unique<models::SpatialAttention>(build_for(c), c.integer("kernel"));
  });
  table.add("emcad_lgag") = run_gate;
  table.add("pvt_emcad") = run_emcad;
  table.add("pvt_seg") = run_pvt_seg;
  return table;
}

}  // namespace fovea::verify
