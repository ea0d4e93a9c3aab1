// Decoders of attention blocks over any backbone: PVT-GDLA (gated differential linear attention),
// and the same with softmax, linear and differential attention. gdla 3.2; names of the public code.

#include <fmt/format.h>

#include "models/counting.h"
#include "models/dense.h"
#include "models/token_decoder.h"
#include "nn/sizes.h"
#include "ops/elementwise.h"
#include "ops/shape.h"

namespace {

using namespace fovea;
using models::DataShape;
using models::PyramidLevel;
using models::ResidualStem;
using models::TokenDecoderBlock;
using models::TransposedUp;
using schema::at_least;

struct PyramidAttentionOptions : models::ImageOptions, models::TokenDecoderBlockOptions {
  schema::Component backbone{"pvt_v2_b2", {}};
  std::optional<std::vector<std::int64_t>> num_heads;
  std::int64_t us_ks = 3;
  std::optional<std::int64_t> first_us_ks;
  bool deep_supervision = true;
};

Tensor enlarged(const Tensor& map, const Tensor& like) {
  return ops::resize(map, {like.size(2), like.size(3)}, ops::Interpolation::kLinear);
}

class PyramidAttention final : public models::DenseNetwork {
 public:
  PyramidAttention(const nn::Build& build, const PyramidAttentionOptions& o, const DataShape& data)
      : DenseNetwork(build, o, data),
        backbone_(add_backbone("backbone", build, o.backbone, in_chans() == 1 ? 3 : in_chans())) {
    const std::vector<PyramidLevel>& levels = backbone_.levels();
    check_size(levels.back().stride);
    check_options(o, levels.size());
    const std::size_t blocks = levels.size() - 1;
    for (std::size_t k = 1; k <= blocks; ++k) {  // of map blocks - k, the coarsest first
      const PyramidLevel& from = levels[levels.size() - k];
      const PyramidLevel& to = levels[blocks - k];
      const std::int64_t kernel = k == 1 ? o.first_us_ks.value_or(o.us_ks) : o.us_ks;
      ups_.push_back(&child<TransposedUp>(fmt::format("up{}", k), build, from.channels, to.channels,
                                          kernel, from.stride / to.stride));
      const std::int64_t heads = o.num_heads ? (*o.num_heads)[blocks - k] : heads_for(to.channels);
      heads_.push_back(heads);
      const std::string name = fmt::format("de{}", k);
      const attention::Slot slot{build.at(name), to.channels, std::ssize(levels) - std::ssize(ups_),
                                 std::ssize(levels) - 1};
      blocks_.push_back(&child(name, std::make_unique<TokenDecoderBlock>(slot, heads, o)));
    }
    resblk_ = &child<ResidualStem>("resblk", build, in_chans(), levels.front().channels);
    for (std::size_t k = 0; k < (o.deep_supervision ? levels.size() : 1); ++k)
      heads_of_maps_.push_back(&add_head(fmt::format("head{}", k + 1), build, levels[k].channels));
  }
  std::string type() const override { return "PyramidAttention"; }

  // In the public code a decoder's softmax is a function, which counts 1 per score.
  std::optional<std::int64_t> paper_macs(
      const std::vector<autograd::Event>& events) const override {
    std::int64_t total = models::ptflops_macs(events, *this);
    for (const autograd::Event& event : events) {
      const bool two = event.op == "two_map_attention";
      if (event.backward || (!two && event.op != "attention")) continue;
      for (std::size_t k = 0; k < heads_.size(); ++k) {
        if (event.module != fmt::format("de{}.attn", k + 1)) continue;
        total += (two ? 2 : 1) * heads_[k] * event.output[1] * event.output[1];
      }
    }
    return total;
  }

 protected:
  std::vector<Tensor> maps(const Tensor& images, attention::Probe* probe) override {
    const std::int64_t reduction = backbone_.levels().back().stride;
    FOVEA_CHECK(images.size(2) % reduction == 0 && images.size(3) % reduction == 0, ShapeError,
                fmt::format("model: images are {} x {}; this network needs multiples of {}",
                            images.size(2), images.size(3), reduction));
    // An encoder for three colours gets grey images as three equal channels.
    const bool grey = images.size(1) == 1;
    const std::vector<Tensor> levels =
        backbone_(grey ? ops::concat({images, images, images}, 1) : images, probe);
    const Tensor stem = (*resblk_)(images);
    std::vector<Tensor> decoded = levels;
    for (std::size_t k = 0; k < blocks_.size(); ++k) {
      const std::size_t to = levels.size() - 2 - k;
      decoded[to] = (*blocks_[k])(ops::add((*ups_[k])(decoded[to + 1]), levels[to]), probe);
    }
    const Tensor finest = ops::add(enlarged(decoded.front(), images), stem);
    std::vector<Tensor> logits{(*heads_of_maps_.front())(finest)};
    for (std::size_t k = 1; k < heads_of_maps_.size(); ++k)
      logits.push_back(enlarged((*heads_of_maps_[k])(decoded[k]), images));
    return logits;
  }

 private:
  // Heads of 32 channels, as in the paper.
  static std::int64_t heads_for(std::int64_t channels) {
    return std::max<std::int64_t>(1, channels / 32);
  }

  static void check_options(const PyramidAttentionOptions& o, std::size_t levels) {
    FOVEA_CHECK(
        !o.num_heads || o.num_heads->size() + 1 == levels, ConfigError,
        fmt::format("model.num_heads: {} numbers for the {} levels of the backbone; expected "
                    "one less",
                    o.num_heads ? o.num_heads->size() : 0, levels));
    for (const std::int64_t kernel : {o.us_ks, o.first_us_ks.value_or(o.us_ks)})
      FOVEA_CHECK(kernel % 2 == 1, ConfigError,
                  fmt::format("model.us_ks: {}; expected an odd number", kernel));
  }

  models::Backbone& backbone_;
  std::vector<TransposedUp*> ups_;
  std::vector<std::int64_t> heads_;
  std::vector<TokenDecoderBlock*> blocks_;
  ResidualStem* resblk_ = nullptr;
  std::vector<nn::Conv2d*> heads_of_maps_;  // the finest map first
};

schema::Fields<PyramidAttentionOptions> pyramid_attention_fields(
    schema::Component attention, schema::Component ffn, bool preconv = false,
    std::optional<std::int64_t> first_us_ks = std::nullopt) {
  using O = PyramidAttentionOptions;
  O defaults;
  defaults.attention = std::move(attention);
  defaults.ffn = std::move(ffn);
  defaults.preconv = preconv;
  defaults.first_us_ks = first_us_ks;
  schema::Fields<O> fields(defaults);
  fields
      .add_component("backbone", &O::backbone, models::backbones().choices(),
                     "the encoder; every level but the coarsest gets a decoder block")
      .add_component("attention", &O::attention, attention::variants().choices(),
                     "token attention of every block; its num_heads gives way to model.num_heads")
      .add_component("ffn", &O::ffn, nn::ffn_choices(), "feed-forward network of every block")
      .add("num_heads", &O::num_heads, at_least(1),
           "heads of the blocks, that of the finest level first; null = one for every 32 channels")
      .add("preconv", &O::preconv, "a dense 3x3 convolution and SiLU before each attention")
      .add("norm_eps", &O::norm_eps, schema::greater_than(0), "epsilon of the blocks' layer norms")
      .add("us_ks", &O::us_ks, nn::side_length(),
           "kernel of the transposed convolutions that enlarge maps; odd")
      .add("first_us_ks", &O::first_us_ks, nn::side_length(),
           "that of the first one, behind the coarsest level; null = us_ks")
      .add("deep_supervision", &O::deep_supervision,
           "logits of every level, enlarged to the image; else of the finest alone");
  return models::add_dense_fields(fields);
}

schema::Component public_differential() {
  return schema::with_options("differential", {{"fused_qkv", true},
                                               {"qkv_bias", true},
                                               {"proj_bias", false},
                                               {"lambda_dim", "head"},
                                               {"lambda_depth_offset", 0},
                                               {"rope_base", 10000.0}});
}

}  // namespace

FOVEA_MODEL(pvt_gdla, PyramidAttention,
            "PVT-GDLA: PVTv2 and a decoder of gated differential linear attention (gdla 3.2)",
            pyramid_attention_fields({"gated_differential_linear", {}}, {"gated_mix_ffn", {}},
                                     true))
FOVEA_MODEL(pvt_self_attn, PyramidAttention,
            "PVT-SelfAttn: PVTv2 and a decoder of softmax attention (gdla 3.2)",
            pyramid_attention_fields(schema::with_options("softmax", {{"rope_base", 10000.0}}),
                                     {"mlp", {}}))
FOVEA_MODEL(pvt_linear_attn, PyramidAttention,
            "PVT-LinearAttn: PVTv2 and a decoder of linear attention (gdla 3.2)",
            pyramid_attention_fields({"linear", {}}, {"mlp", {}}))
FOVEA_MODEL(pvt_diff_attn, PyramidAttention,
            "PVT-DiffAttn: PVTv2 and a decoder of differential attention (gdla 3.2)",
            pyramid_attention_fields(public_differential(),
                                     schema::with_options("swiglu", {{"expansion", 8.0},
                                                                     {"gate_last", true}}),
                                     false, 3))
