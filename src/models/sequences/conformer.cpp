// Conformer with CTC: two convolutions of stride 2, blocks of attention and convolution, and logits
// of symbols. mala 4.6, 7.5; names are ESPnet's.

#include <fmt/format.h>

#include <cmath>

#include "models/sequences/conformer_block.h"
#include "models/sequences/transcriber.h"
#include "nn/convolution.h"
#include "nn/embedding.h"
#include "nn/sizes.h"
#include "ops/elementwise.h"
#include "ops/shape.h"

namespace {

using namespace fovea;
using models::DataShape;
using models::Inputs;
using models::Outputs;

struct ConformerOptions {
  std::optional<std::int64_t> num_mels, num_classes;
  std::int64_t embed_dim = 144, depth = 16;
  double mlp_ratio = 4;
  std::int64_t kernel_size = 31;
  double drop_rate = 0.1;
  models::ConformerAttentionOptions attention;
};

constexpr std::int64_t kLeastFrames = 7;  // that both convolutions make one of

// A quarter of the frames and of the channels of features.
std::int64_t quarter(std::int64_t n) { return n < kLeastFrames ? 0 : ((n - 3) / 2 - 2) / 2 + 1; }

// (b, t, mels) -> (b, t / 4, dim). Names: conv.0, conv.2, out.0.
class Subsampling final : public nn::UnaryModule {
 public:
  Subsampling(const nn::Build& build, std::int64_t mels, std::int64_t dim)
      : conv_0_(child<nn::Conv2d>("conv.0", build, 1, dim, ops::Sizes{3},
                                  ops::ConvOptions{.stride = {2}})),
        conv_2_(child<nn::Conv2d>("conv.2", build, dim, dim, ops::Sizes{3},
                                  ops::ConvOptions{.stride = {2}})),
        out_(child<nn::Linear>("out.0", build, dim * quarter(mels), dim)) {}
  std::string type() const override { return "Conv2dSubsampling"; }

 protected:
  Tensor forward(const Tensor& x) override {
    const Tensor image = ops::reshape(x, {x.size(0), 1, x.size(1), x.size(2)});
    const Tensor map = ops::relu(conv_2_(ops::relu(conv_0_(image))));  // (b, dim, t, mels)
    return out_(ops::reshape(ops::transpose(map, 1, 2), {map.size(0), map.size(2), -1}));
  }

 private:
  nn::Conv2d& conv_0_;
  nn::Conv2d& conv_2_;
  nn::Linear& out_;
};

class ConformerEncoder final : public nn::Module {
 public:
  ConformerEncoder(const nn::Build& build, const ConformerOptions& o, std::int64_t mels)
      : dim_(o.embed_dim),
        absolute_(o.attention.type != models::ConformerMechanism::kSoftmax),
        embed_(child<Subsampling>("embed", build, mels, o.embed_dim)),
        dropout_(child<nn::Dropout>("dropout", build, o.drop_rate)) {
    const models::ConformerBlockOptions block{
        .dim = o.embed_dim,
        .hidden = static_cast<std::int64_t>(o.mlp_ratio * static_cast<double>(o.embed_dim)),
        .kernel_size = o.kernel_size,
        .drop_rate = o.drop_rate,
        .attention = o.attention};
    for (std::int64_t i = 0; i < o.depth; ++i)
      blocks_.push_back(
          &child<models::ConformerBlock>(fmt::format("encoders.{}", i), build, block));
    after_norm_ =
        &child<nn::LayerNorm>("after_norm", build, o.embed_dim, models::ConformerBlock::kNormEps);
  }
  std::string type() const override { return "ConformerEncoder"; }

  Tensor operator()(const Tensor& features, const attention::Context& context) {
    const auto scope = enter();
    Tensor x = ops::mul(embed_(features), std::sqrt(static_cast<double>(dim_)));
    if (absolute_)
      x = ops::add(x, nn::sinusoidal_positions(x.size(1), dim_, x.dtype(), x.device()));
    x = dropout_(x);
    for (models::ConformerBlock* block : blocks_) x = (*block)(x, context);
    return (*after_norm_)(x);
  }

 private:
  std::int64_t dim_;
  bool absolute_;  // positions are added to the tokens
  Subsampling& embed_;
  nn::Dropout& dropout_;
  std::vector<models::ConformerBlock*> blocks_;
  nn::LayerNorm* after_norm_ = nullptr;
};

class Conformer final : public models::Transcriber {
 public:
  Conformer(const nn::Build& build, const ConformerOptions& o, const DataShape& data)
      : activations_(build.activation_dtype()),
        mels_(o.num_mels.value_or(data.mels)),
        encoder_(child<ConformerEncoder>("encoder", build, o, checked_mels(mels_))),
        ctc_lo_(child<nn::Linear>("ctc.ctc_lo", build, o.embed_dim,
                                  o.num_classes.value_or(data.num_classes))) {}
  std::string type() const override { return "Conformer"; }
  std::int64_t frames_of(std::int64_t frames) const override { return quarter(frames); }

 protected:
  Outputs forward(const Inputs& in, attention::Probe* probe) override {
    const Tensor& features = in.features;
    FOVEA_CHECK(features.rank() == 3 && features.size(2) == mels_, ShapeError,
                fmt::format("conformer: features are {}; expected (b, t, {})",
                            to_string(features.shape()), mels_));
    Tensor x = ops::cast(features, activations_);
    // A batch of nothing but very short recordings.
    if (x.size(1) < kLeastFrames) x = ops::pad(x, {{0, 0}, {0, kLeastFrames - x.size(1)}, {0, 0}});
    attention::Context context;
    context.probe = probe;
    Outputs out;
    if (in.num_frames.device().type() != DeviceType::kMeta) {
      out.frames = frames_in(in.num_frames, x);
      context.key_mask = mask_of(out.frames, x);
    }
    out.logits = ctc_lo_(encoder_(x, context));
    return out;
  }

 private:
  static std::int64_t checked_mels(std::int64_t mels) {
    FOVEA_CHECK(mels >= kLeastFrames, ConfigError,
                fmt::format("conformer: features have {} mel channels; expected {} or more", mels,
                            kLeastFrames));
    return mels;
  }

  // Frames of logits that each recording has.
  static std::vector<std::int64_t> frames_in(const Tensor& num_frames, const Tensor& x) {
    std::vector<std::int64_t> all;
    for (const std::int64_t frames : num_frames.host_values<std::int64_t>()) {
      FOVEA_CHECK(
          frames >= 0 && frames <= x.size(1), ShapeError,
          fmt::format("conformer: a recording has {} frames; expected 0 to {}", frames, x.size(1)));
      all.push_back(quarter(frames));
    }
    FOVEA_CHECK(
        std::ssize(all) == x.size(0), ShapeError,
        fmt::format("conformer: {} numbers of frames for a batch of {}", all.size(), x.size(0)));
    return all;
  }

  // 1 for frames of a recording; undefined where all are. A recording too short for one frame keeps
  // the first, whose logits nothing reads.
  static Tensor mask_of(const std::vector<std::int64_t>& frames, const Tensor& x) {
    const std::int64_t b = x.size(0), n = quarter(x.size(1));
    std::vector<std::uint8_t> mask(static_cast<std::size_t>(b * n), 0);
    bool whole = true;
    for (std::int64_t i = 0; i < b; ++i) {
      const std::int64_t length = std::max<std::int64_t>(1, frames[static_cast<std::size_t>(i)]);
      whole = whole && length == n;
      std::fill_n(mask.begin() + i * n, length, std::uint8_t{1});
    }
    return whole ? Tensor() : Tensor::from(mask, {b, n}, x.device());
  }

  DType activations_;
  std::int64_t mels_;
  ConformerEncoder& encoder_;
  nn::Linear& ctc_lo_;
};

}  // namespace

FOVEA_MODEL(conformer_s, Conformer,
            "Conformer-S with CTC, features of recordings to symbols (mala 4.6)",
            fovea::schema::Fields<ConformerOptions>{}
                .add("num_mels", &ConformerOptions::num_mels, fovea::nn::channel_count(7),
                     "channels of the features; null = those of the data")
                .add("num_classes", &ConformerOptions::num_classes, fovea::nn::class_count(2),
                     "symbols, of which the first is the blank; null = those of the data")
                .add("embed_dim", &ConformerOptions::embed_dim, fovea::nn::channel_count(2),
                     "channels of the tokens; an even number")
                .add("depth", &ConformerOptions::depth, fovea::nn::block_count(),
                     "number of blocks")
                .add("mlp_ratio", &ConformerOptions::mlp_ratio, fovea::nn::width_ratio(),
                     "hidden width of the feed-forward networks relative to embed_dim")
                .add("kernel_size", &ConformerOptions::kernel_size, fovea::nn::side_length(),
                     "frames that a depthwise convolution sees; an odd number")
                .add("drop_rate", &ConformerOptions::drop_rate, fovea::schema::in_range(0, 0.99),
                     "dropout of tokens, of hidden layers and of every branch")
                .add_object("attention", &ConformerOptions::attention,
                            models::conformer_attention_fields(), "attention of the blocks"))
