// UNETR: a ViT of large patches whose hidden states are the skip connections of a decoder of
// convolutions. Names are MONAI's. dformer 4.3.

#include <fmt/format.h>

#include "attention/attention.h"
#include "base/error.h"
#include "models/volumes/unetr_parts.h"
#include "models/volumes/volume_network.h"
#include "nn/init.h"
#include "nn/linear.h"
#include "nn/norm.h"
#include "nn/sizes.h"
#include "ops/elementwise.h"
#include "ops/linear.h"
#include "ops/shape.h"

namespace {

using namespace fovea;
using models::DataShape;
using models::Size3;
using schema::at_least;

constexpr std::int64_t kPatch = 16;
constexpr double kNormEps = 1e-5;

// How patches become tokens: a convolution, or a linear layer of the voxels, channels last. The two
// differ only in the order of weights.
enum class PatchProjection { kConv, kPerceptron };

struct UnetrOptions : models::VolumeOptions, models::UnetrBlocks {
  std::int64_t feature_size = 16;
  std::int64_t hidden_size = 768;
  std::int64_t mlp_dim = 3072;
  std::int64_t num_heads = 12;
  bool qkv_bias = false;
  PatchProjection proj_type = PatchProjection::kConv;
};

// Names: mlp.linear1, mlp.linear2.
class UnetrMlp final : public nn::UnaryModule {
 public:
  UnetrMlp(const nn::Build& build, std::int64_t dim, std::int64_t hidden)
      : linear1_(child<nn::Linear>("linear1", build, dim, hidden)),
        linear2_(child<nn::Linear>("linear2", build, hidden, dim)) {}
  std::string type() const override { return "UnetrMlp"; }

 protected:
  Tensor forward(const Tensor& x) override { return linear2_(ops::gelu(linear1_(x))); }

 private:
  nn::Linear& linear1_;
  nn::Linear& linear2_;
};

class UnetrBlock final : public nn::Module {
 public:
  UnetrBlock(const nn::Build& build, const UnetrOptions& o, std::int64_t layer, std::int64_t depth)
      : norm1_(child<nn::LayerNorm>("norm1", build, o.hidden_size, kNormEps)),
        attn_(child("attn", attention::make_attention(
                                schema::with_options("softmax", {{"num_heads", o.num_heads},
                                                                 {"qkv_bias", o.qkv_bias}}),
                                {build.at("attn"), o.hidden_size, layer, depth}))),
        norm2_(child<nn::LayerNorm>("norm2", build, o.hidden_size, kNormEps)),
        mlp_(child<UnetrMlp>("mlp", build, o.hidden_size, o.mlp_dim)) {}
  std::string type() const override { return "UnetrBlock"; }
  bool is_block() const override { return true; }
  Tensor operator()(const Tensor& x, const attention::Context& context) {
    const auto scope = enter();
    const Tensor attended = ops::add(x, attn_(norm1_(x), context));
    return ops::add(attended, mlp_(norm2_(attended)));
  }

 protected:
  // MONAI's blocks also have a cross attention, which UNETR does not use.
  bool keeps_unused(const std::string& name) const override {
    return name.starts_with("norm_cross_attn.") || name.starts_with("cross_attn.");
  }

 private:
  nn::LayerNorm& norm1_;
  attention::Attention& attn_;
  nn::LayerNorm& norm2_;
  UnetrMlp& mlp_;
};

// Names: patch_embedding.{patch_embeddings, position_embeddings}, blocks.N, norm.
class UnetrViT final : public nn::Module {
 public:
  static constexpr std::size_t kDepth = 12;

  UnetrViT(const nn::Build& build, const UnetrOptions& o, std::int64_t in, const Size3& volume)
      : proj_type_(o.proj_type),
        norm_(child<nn::LayerNorm>("norm", build, o.hidden_size, kNormEps)) {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      FOVEA_CHECK(volume[axis] % kPatch == 0, ConfigError,
                  fmt::format("model.img_size: {} x {} x {}; expected multiples of {}", volume[0],
                              volume[1], volume[2], kPatch));
      grid_[axis] = volume[axis] / kPatch;
    }
    const nn::Build embed = build.at("patch_embedding");
    const std::int64_t fan_in = in * kPatch * kPatch * kPatch;
    const bool conv = proj_type_ == PatchProjection::kConv;
    const std::string name = conv ? "patch_embeddings" : "patch_embeddings.1";
    const Shape shape =
        conv ? Shape{o.hidden_size, in, kPatch, kPatch, kPatch} : Shape{o.hidden_size, fan_in};
    weight_ = parameter("patch_embedding." + name + ".weight",
                        nn::init_conv_weight(embed.at(name).at("weight"), shape));
    bias_ = parameter("patch_embedding." + name + ".bias",
                      nn::init_bias(embed.at(name).at("bias"), o.hidden_size, fan_in));
    positions_ = parameter(
        "patch_embedding.position_embeddings",
        nn::init_truncated_normal(embed.at("position_embeddings"), {1, tokens(), o.hidden_size}));
    for (std::size_t i = 0; i < kDepth; ++i)
      blocks_.push_back(&child<UnetrBlock>(fmt::format("blocks.{}", i), build, o,
                                           static_cast<std::int64_t>(i) + 1,
                                           static_cast<std::int64_t>(kDepth)));
  }
  std::string type() const override { return "UnetrViT"; }

  /// The hidden states behind blocks 3, 6 and 9, counted from 0, and the normed last one, as maps
  /// (b, hidden, d, h, w).
  std::vector<Tensor> operator()(const Tensor& volumes, attention::Probe* probe) {
    const auto scope = enter();
    attention::Context context;
    context.probe = probe;
    Tensor x = ops::add(embedded(volumes), positions_);
    std::vector<Tensor> maps;
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      x = (*blocks_[i])(x, context);
      if (probe != nullptr) probe->record("features", map_of(x), fmt::format("blocks.{}", i));
      if (i == 3 || i == 6 || i == 9) maps.push_back(map_of(x));
    }
    maps.push_back(map_of(norm_(x)));
    return maps;
  }

 protected:
  // Some versions of MONAI store a class token, which UNETR does not use.
  bool keeps_unused(const std::string& name) const override {
    return name == "patch_embedding.cls_token";
  }

 private:
  std::int64_t tokens() const { return grid_[0] * grid_[1] * grid_[2]; }
  // A convolution whose kernel is its stride, as a product.
  Tensor embedded(const Tensor& volumes) const {
    const std::int64_t b = volumes.size(0), c = volumes.size(1);
    const Shape expected{b, c, grid_[0] * kPatch, grid_[1] * kPatch, grid_[2] * kPatch};
    FOVEA_CHECK(volumes.shape() == expected, ShapeError,
                fmt::format("unetr: volumes are {}; its positions are of {}",
                            to_string(volumes.shape()), to_string(expected)));
    const Tensor cut =
        ops::reshape(volumes, {b, c, grid_[0], kPatch, grid_[1], kPatch, grid_[2], kPatch});
    const Tensor patches = proj_type_ == PatchProjection::kConv
                               ? ops::permute(cut, {0, 2, 4, 6, 1, 3, 5, 7})
                               : ops::permute(cut, {0, 2, 4, 6, 3, 5, 7, 1});
    const std::int64_t inputs = c * kPatch * kPatch * kPatch;
    return ops::linear(ops::reshape(patches, {b, tokens(), inputs}),
                       ops::reshape(weight_, {weight_.size(0), inputs}), bias_);
  }
  Tensor map_of(const Tensor& x) const {
    return ops::reshape(ops::transpose(x, 1, 2),
                        {x.size(0), x.size(2), grid_[0], grid_[1], grid_[2]});
  }

  PatchProjection proj_type_;
  Size3 grid_{};
  nn::LayerNorm& norm_;
  Tensor weight_, bias_, positions_;
  std::vector<UnetrBlock*> blocks_;
};

class Unetr final : public models::VolumeNetwork {
 public:
  Unetr(const nn::Build& build, const UnetrOptions& o, const DataShape& data)
      : VolumeNetwork(build, o, data),
        vit_(child<UnetrViT>("vit", build, o, in_chans(), known_size("its table of positions"))),
        encoder1_(child<models::VolumeResBlock>("encoder1.layer", build, in_chans(), o.feature_size,
                                                o.res_block)) {
    const std::int64_t f = o.feature_size, hidden = o.hidden_size;
    for (int level = 0; level < 3; ++level)
      encoders_.push_back(&child<models::HiddenUp>(fmt::format("encoder{}", level + 2), build,
                                                   hidden, 2 * f << level, 2 - level, o));
    for (int level = 3; level >= 0; --level)
      decoders_.push_back(&child<models::VolumeUp>(fmt::format("decoder{}", level + 2), build,
                                                   level == 3 ? hidden : 2 * f << level, f << level,
                                                   o));
    head_ = &child<nn::Conv3d>("out.conv.conv", build, f, num_classes(), ops::Sizes{1});
  }
  std::string type() const override { return "UNETR"; }

 protected:
  std::vector<Tensor> maps(const Tensor& volumes, attention::Probe* probe) override {
    const std::vector<Tensor> hidden = vit_(volumes, probe);
    std::vector<Tensor> skips{encoder1_(volumes)};
    for (std::size_t i = 0; i < encoders_.size(); ++i) skips.push_back((*encoders_[i])(hidden[i]));
    Tensor x = hidden.back();
    for (models::VolumeUp* decoder : decoders_) {
      x = (*decoder)(x, skips.back());
      skips.pop_back();
    }
    return {(*head_)(x)};
  }

 private:
  UnetrViT& vit_;
  models::VolumeResBlock& encoder1_;
  std::vector<models::HiddenUp*> encoders_;
  std::vector<models::VolumeUp*> decoders_;
  nn::Conv3d* head_ = nullptr;
};

schema::Fields<UnetrOptions> unetr_fields() {
  using O = UnetrOptions;
  schema::Fields<O> fields;
  fields.add("feature_size", &O::feature_size, nn::channel_count(), "channels at the volume's size")
      .add("hidden_size", &O::hidden_size, nn::channel_count(), "channels of the tokens")
      .add("mlp_dim", &O::mlp_dim, nn::channel_count(), "hidden width of the FFNs")
      .add("num_heads", &O::num_heads, at_least(1), "heads of every block")
      .add("qkv_bias", &O::qkv_bias, "bias on the fused q, k, v projection")
      .add_enum("proj_type", &O::proj_type,
                {{"conv", PatchProjection::kConv}, {"perceptron", PatchProjection::kPerceptron}},
                "how patches become tokens: a convolution, or a linear layer of their voxels; the "
                "same but for the names and order of its weights")
      .add("conv_block", &O::conv_block,
           "a block of convolutions behind each doubling of a hidden state; the count of Table 3 "
           "is without")
      .add("res_block", &O::res_block, "blocks of convolutions have a residual sum");
  return models::add_volume_fields(fields);
}

}  // namespace

FOVEA_MODEL(unetr, Unetr,
            "UNETR: a ViT of 16^3 patches and a decoder of convolutions (dformer 4.3)",
            unetr_fields())
