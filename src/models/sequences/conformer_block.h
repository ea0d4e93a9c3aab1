// The block of a Conformer: attention and convolution between two halves of a feed-forward network.
// mala 4.6; names are ESPnet's.
#pragma once

#include "models/sequences/conformer_attention.h"
#include "nn/dropout.h"
#include "nn/norm.h"

namespace fovea::models {

struct ConformerBlockOptions {
  std::int64_t dim = 0, hidden = 0, kernel_size = 31;
  double drop_rate = 0;
  ConformerAttentionOptions attention = {};
};

/// w_2(SiLU(w_1(x))): (b, n, dim) -> the same.
class ConformerFfn final : public nn::UnaryModule {
 public:
  ConformerFfn(const nn::Build& build, std::int64_t dim, std::int64_t hidden, double drop_rate);
  std::string type() const override { return "ConformerFFN"; }

 protected:
  Tensor forward(const Tensor& x) override;

 private:
  nn::Linear& w_1_;
  nn::Linear& w_2_;
  nn::Dropout& dropout_;
};

/// A convolution of kernel 1 over time, of tokens (b, n, in) -> (b, n, out). Parameters: weight
/// (out, in, 1), as PyTorch's Conv1d has it, bias (out).
class PointwiseConv1d final : public nn::UnaryModule {
 public:
  PointwiseConv1d(const nn::Build& build, std::int64_t in, std::int64_t out);
  std::string type() const override { return "Conv1d"; }

 protected:
  Tensor forward(const Tensor& x) override;

 private:
  Tensor weight_, bias_;
};

/// A depthwise convolution over time with zeros around it, of tokens (b, n, channels) -> the same;
/// `kernel` is odd. Parameters: weight (channels, 1, kernel), bias (channels).
class DepthwiseConv1d final : public nn::UnaryModule {
 public:
  DepthwiseConv1d(const nn::Build& build, std::int64_t channels, std::int64_t kernel);
  std::string type() const override { return "Conv1d"; }

 protected:
  Tensor forward(const Tensor& x) override;

 private:
  Tensor weight_, bias_;
};

/// Pointwise convolution to twice the channels, a gated linear unit, depthwise convolution, batch
/// norm, SiLU, pointwise convolution: (b, n, dim) -> the same. Tokens that the mask hides count as
/// zeros around the sequence, and not in the statistics of the norm. Names: pointwise_conv1,
/// depthwise_conv, norm, pointwise_conv2.
class ConformerConv final : public nn::Module {
 public:
  ConformerConv(const nn::Build& build, std::int64_t dim, std::int64_t kernel);
  std::string type() const override { return "ConformerConv"; }
  Tensor operator()(const Tensor& x, const Tensor& key_mask);

 private:
  Tensor normalised(const Tensor& x, const Tensor& key_mask);

  PointwiseConv1d& pointwise_1_;
  DepthwiseConv1d& depthwise_;
  nn::BatchNorm2d& norm_;
  PointwiseConv1d& pointwise_2_;
};

/// x + ffn / 2, + attention, + convolution, + ffn / 2, then a norm; a norm before each, eps 1e-12.
/// (b, n, dim) -> the same. Names: norm_ff_macaron, feed_forward_macaron, norm_mha, self_attn,
/// norm_conv, conv_module, norm_ff, feed_forward, norm_final.
class ConformerBlock final : public nn::Module {
 public:
  static constexpr double kNormEps = 1e-12;

  ConformerBlock(const nn::Build& build, const ConformerBlockOptions& options);
  std::string type() const override { return "ConformerBlock"; }
  bool is_block() const override { return true; }
  Tensor operator()(const Tensor& x, const attention::Context& context);

 private:
  nn::LayerNorm& norm_ff_macaron_;
  ConformerFfn& ff_macaron_;
  nn::LayerNorm& norm_mha_;
  ConformerAttention& attn_;
  nn::LayerNorm& norm_conv_;
  ConformerConv& conv_;
  nn::LayerNorm& norm_ff_;
  ConformerFfn& ff_;
  nn::LayerNorm& norm_final_;
  nn::Dropout& dropout_;
};

}  // namespace fovea::models
