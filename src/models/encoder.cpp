#include "models/encoder.h"

#include <fmt/format.h>

#include <utility>

#include "autograd/graph.h"
#include "autograd/hooks.h"
#include "nn/init.h"
#include "nn/linear.h"
#include "nn/sizes.h"
#include "ops/elementwise.h"

namespace fovea::models {

using schema::greater_than;
using schema::in_range;

schema::Fields<EncoderOptions> encoder_fields(const EncoderOptions& defaults) {
  using O = EncoderOptions;
  return schema::Fields<O>(defaults)
      .add("embed_dim", &O::embed_dim, nn::channel_count(), "channels of the tokens")
      .add("depth", &O::depth, nn::block_count(), "number of encoder blocks")
      .add_component("attention", &O::attention, attention::variants().choices(),
                     "token attention of every block")
      .for_every_type({"num_heads"})
      .add_component("ffn", &O::ffn, nn::ffn_choices(),
                     "feed-forward network of every block; null = the one that belongs to the "
                     "attention: mlp, or mix_ffn with enhanced_linear")
      .add("mlp_ratio", &O::mlp_ratio, nn::width_ratio(),
           "with ffn=null: hidden width of that network relative to embed_dim; null = 4")
      .add_enum("norm", &O::norm,
                {{"layer_norm", nn::NormKind::kLayerNorm}, {"rms_norm", nn::NormKind::kRMSNorm}},
                "normalisation of the blocks and at the end")
      .add("norm_eps", &O::norm_eps, greater_than(0), "its epsilon")
      .add_enum("norm_position", &O::norm_position,
                {{"pre", NormPosition::kPre},
                 {"post", NormPosition::kPost},
                 {"res_post", NormPosition::kResPost}},
                "before the branches with a final norm, after the residual sums without one, or at "
                "the end of the branches with a final norm (timm's ResPostBlock)")
      .add("init_values", &O::init_values, greater_than(0),
           "layer scale: a learned factor for each channel of the branches, which starts at this "
           "value; null = none")
      .add("drop_rate", &O::drop_rate, in_range(0, 0.99),
           "dropout after the positions, on the attention branch and in the ffn")
      .add("drop_path_rate", &O::drop_path_rate, in_range(0, 0.99),
           "stochastic depth, rising linearly from 0 to this at the last block")
      .add_enum("init", &O::init,
                {{"torch", nn::Init::kTorch}, {"trunc_normal", nn::Init::kTruncNormal}},
                "initial weights: uniform +-1 / sqrt(fan_in), or normal(0, 0.02) truncated with "
                "zero biases")
      .add("checkpointing", &O::checkpointing,
           "keep only block inputs and compute the rest again in backward: less memory, more time")
      .no_effect();
}

schema::Component ffn_of(const EncoderOptions& o) {
  FOVEA_CHECK(!o.ffn || !o.mlp_ratio, ConfigError,
              fmt::format("model.mlp_ratio: is for the network that belongs to the attention "
                          "(ffn=null), and model.ffn is {}; set model.ffn.expansion={}",
                          o.ffn->type, *o.mlp_ratio));
  if (o.ffn) return *o.ffn;
  const std::string own = attention::variants().find(o.attention.type).info.ffn;
  if (!o.mlp_ratio) return {own, {}};
  return schema::with_options(own, {{"expansion", *o.mlp_ratio}});
}

namespace {

// x gamma over the last axis.
class LayerScale final : public nn::UnaryModule {
 public:
  LayerScale(const nn::Build& build, std::int64_t dim, double init_values)
      : gamma_(parameter("gamma", nn::init_constant(build, {dim}, init_values))) {}
  std::string type() const override { return "LayerScale"; }

 protected:
  Tensor forward(const Tensor& x) override { return ops::mul(x, gamma_); }

 private:
  Tensor gamma_;
};

// Two layers with GELU between them.
class HiddenHead final : public nn::UnaryModule {
 public:
  HiddenHead(const nn::Build& build, std::int64_t dim, std::int64_t hidden, std::int64_t classes)
      : fc1_(child<nn::Linear>("fc1", build, dim, hidden)),
        fc2_(child<nn::Linear>("fc2", build, hidden, classes)) {}
  std::string type() const override { return "HiddenHead"; }

 protected:
  Tensor forward(const Tensor& x) override { return fc2_(ops::gelu(fc1_(x))); }

 private:
  nn::Linear& fc1_;
  nn::Linear& fc2_;
};

}  // namespace

std::unique_ptr<nn::UnaryModule> make_head(const nn::Build& build, std::int64_t dim,
                                           const std::optional<std::int64_t>& hidden,
                                           std::int64_t classes) {
  if (hidden) return std::make_unique<HiddenHead>(build, dim, *hidden, classes);
  return std::make_unique<nn::Linear>(build, dim, classes);
}

EncoderBlock::EncoderBlock(const nn::Build& build, const EncoderOptions& o, std::int64_t layer,
                           const attention::Layout& layout)
    : norm_position_(o.norm_position),
      norm1_(child("norm1", nn::make_norm(o.norm, build.at("norm1"), o.embed_dim, o.norm_eps))),
      attn_(child("attn",
                  attention::make_attention(o.attention, {build.at("attn"), o.embed_dim, layer,
                                                          o.depth, layout, o.norm, o.norm_eps}))),
      norm2_(child("norm2", nn::make_norm(o.norm, build.at("norm2"), o.embed_dim, o.norm_eps))),
      mlp_(child("mlp", nn::make_ffn(ffn_of(o), build.at("mlp"), o.embed_dim, o.drop_rate))) {
  FOVEA_CHECK(!o.init_values || o.norm_position == NormPosition::kPre, ConfigError,
              "model.init_values: layer scale is for norm_position=pre; leave it out");
  if (o.init_values) {
    ls1_ = &child<LayerScale>("ls1", build, o.embed_dim, *o.init_values);
    ls2_ = &child<LayerScale>("ls2", build, o.embed_dim, *o.init_values);
  }
  if (o.drop_rate > 0) drop_ = &child<nn::Dropout>("drop", build, o.drop_rate);
  const double rate = o.depth > 1 ? o.drop_path_rate * static_cast<double>(layer - 1) /
                                        static_cast<double>(o.depth - 1)
                                  : 0.0;
  if (rate > 0) drop_path_ = &child<nn::DropPath>("drop_path", build, rate);
}

Tensor EncoderBlock::residual(const Tensor& x, Tensor branch, nn::UnaryModule* scale) const {
  if (scale != nullptr) branch = (*scale)(branch);
  if (drop_path_ != nullptr) branch = (*drop_path_)(branch);
  return ops::add(x, std::move(branch));
}

Tensor EncoderBlock::operator()(Tensor x, const attention::Context& context) {
  const auto scope = enter();
  const auto attend = [&](const Tensor& t) {
    const Tensor y = attn_(t, context);
    return drop_ != nullptr ? (*drop_)(y) : y;
  };
  const nn::Grid grid{context.grid_h, context.grid_w, context.prefix_tokens};
  switch (norm_position_) {
    case NormPosition::kPre:
      x = residual(x, attend(norm1_(x)), ls1_);
      x = residual(x, mlp_(norm2_(x), grid), ls2_);
      break;
    case NormPosition::kPost:
      x = norm1_(residual(x, attend(x), nullptr));
      x = norm2_(residual(x, mlp_(x, grid), nullptr));
      break;
    case NormPosition::kResPost:
      x = residual(x, norm1_(attend(x)), nullptr);
      x = residual(x, norm2_(mlp_(x, grid)), nullptr);
      break;
  }
  x = autograd::hooked(x);
  if (context.probe != nullptr) context.probe->record("features", x);
  return x;
}

Encoder::Encoder(const nn::Build& build, const EncoderOptions& o, const attention::Layout& layout)
    : checkpointing_(o.checkpointing) {
  for (std::int64_t i = 0; i < o.depth; ++i) {
    blocks_.push_back(&child<EncoderBlock>(fmt::format("blocks.{}", i), build, o, i + 1, layout));
  }
  if (o.final_norm && o.norm_position != NormPosition::kPost) {
    norm_ = &child("norm", nn::make_norm(o.norm, build.at("norm"), o.embed_dim, o.norm_eps));
  }
}

Tensor Encoder::operator()(Tensor x, const attention::Context& context) {
  for (EncoderBlock* block : blocks_) {
    const bool recompute = checkpointing_ && training();
    x = recompute ? autograd::checkpoint(
                        [block, context](const auto& t) { return (*block)(t[0], context); }, {x})
                  : (*block)(std::move(x), context);
  }
  if (norm_ == nullptr) return x;
  if (context.probe != nullptr) context.probe->record("tokens_before_final_norm", x);
  return (*norm_)(x);
}

}  // namespace fovea::models
