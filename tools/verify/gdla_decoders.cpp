// The gdla paper's decoders and segmentation networks, from the words of its golden cases.

#include <fmt/format.h>

#include "models/attention_gate.h"
#include "models/emcad_parts.h"
#include "models/model.h"
#include "models/token_decoder.h"
#include "verify/gdla.h"
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
        [&](const Tensors& inputs) -> Tensors {
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
  return {"gated_differential_linear", "gated_mix_ffn"};
}

models::TokenDecoderBlockOptions block_of(const Case& c, const std::string& decoder) {
  const DecoderWords words = words_of(decoder);
  const std::string ffn = c.text("ffn") == "mix_ffn" ? "gated_mix_ffn" : c.text("ffn", words.ffn);
  models::TokenDecoderBlockOptions o;
  o.attention = gdla_attention(c, words.attention);
  o.ffn = gdla_ffn(c, ffn, c.number("hidden_ratio"));
  o.preconv = decoder == "gdla";
  o.norm_eps = c.number("norm_eps");
  return o;
}

void run_block(const Case& c, Checker& check) {
  models::TokenDecoderBlock block(
      {build_for(c), c.integer("dim"), c.integer("depth", 1), c.integer("depth", 1)},
      c.integer("n_heads"), block_of(c, c.text("attn")));
  attention::Probe probe(true);
  run_module(
      c, block,
      [&](const Tensors& inputs) -> Tensors {
        const Tensor y = block(inputs.at("x"), &probe);
        return {{"y", y}, {"tap_delta", probe.all("attn_delta").at(0)}};
      },
      check);
}

// Maps by the name of the level they come from: p1 is the finest.
void run_network(const Case& c, const Value& options, Checker& check) {
  const auto model = models::make(resolved(models::entries().choices(), options), build_for(c), {});
  run_module(
      c, *model,
      [&](const Tensors& inputs) {
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
        models::make(resolved(models::entries().choices(), options), build_for(c), {});
    run_module(
        c, *model,
        [&](const Tensors& inputs) -> Tensors {
          return {{"y", (*model)({.image = inputs.at("x")}).maps.front()}};
        },
        check);
  };
}

models::MultiScaleOptions multi_scale_of(const Case& c) {
  models::MultiScaleOptions o;
  o.kernels.clear();
  for (const Value& kernel : c.config().at("ks").items()) o.kernels.push_back(kernel.as_int());
  o.expansion = c.integer("ef");
  o.parallel = c.flag("par");
  o.add = c.flag("add");
  o.activation =
      c.text("a") == "relu" ? models::EmcadActivation::kRelu : models::EmcadActivation::kRelu6;
  return o;
}

void run_gate(const Case& c, Checker& check) {
  models::AttentionGate gate(build_for(c), {.channels = c.integer("F_l"),
                                            .hidden = c.integer("F_int"),
                                            .kernel = c.integer("kernel_size"),
                                            .groups = c.integer("groups")});
  run_module(
      c, gate,
      [&](const Tensors& inputs) -> Tensors {
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
        {"lgag_ks", "gate_kernel"}});
  options.set("backbone", gdla_backbone(c.config().at("backbone")));
  run_network(c, options, check);
}

}  // namespace

schema::Value gdla_decoder(const Case& c) {
  const std::string decoder = c.text("decoder");
  const DecoderWords words = words_of(decoder);
  Value options = Value::object({{"type", "pvt_gdla"}});
  take(c, options,
       {{"in_chs", "in_chans"},
        {"n_classes", "num_classes"},
        {"us_ks", "us_ks"},
        {"norm_eps", "norm_eps"},
        {"deepsupervision", "deep_supervision"}});
  options.set("backbone", gdla_backbone(c.config().at("backbone")));
  options.set("attention", gdla_attention(c, words.attention).options);
  options.set("ffn", gdla_ffn(c, words.ffn, c.number("hidden_ratio")).options);
  options.set("preconv", decoder == "gdla");
  Value heads = Value::array();  // the last number, of the coarsest level, is not used
  const auto& given = c.config().at("n_heads").items();
  for (std::size_t i = 0; i + 1 < given.size(); ++i) heads.push_back(given[i]);
  options.set("num_heads", heads);
  return options;
}

Table gdla_decoders() {
  Table table;
  table.add("upsample_conv_transpose") =
      unary_runner([](const Case& c) -> std::unique_ptr<nn::UnaryModule> {
        return std::make_unique<models::TransposedUp>(build_for(c), c.integer("in_chs"),
                                                      c.integer("out_chs"), c.integer("ks"));
      });
  table.add("res_blk") = unary_runner([](const Case& c) -> std::unique_ptr<nn::UnaryModule> {
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
