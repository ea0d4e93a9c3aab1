// Parts of decoders whose blocks attend to the tokens of a map. gdla 2.12 to 2.14.
#pragma once

#include <optional>
#include <vector>

#include "attention/attention.h"
#include "nn/convolution.h"
#include "nn/ffn.h"
#include "nn/norm.h"

namespace fovea::models {

/// Two 3x3 convolutions with batch norm and a ReLU between, the shortcut through a 1x1 one where
/// channels change, and a ReLU: (b, in, h, w) -> (b, out, h, w). Names: conv1, norm1, conv2, norm2,
/// conv3, norm3. gdla 2.14.
class ResidualStem final : public nn::UnaryModule {
 public:
  ResidualStem(const nn::Build& build, std::int64_t in, std::int64_t out);
  std::string type() const override { return "ResidualStem"; }

 protected:
  Tensor forward(const Tensor& x) override;

 private:
  nn::Conv2d& conv1_;
  nn::BatchNorm2d& norm1_;
  nn::Conv2d& conv2_;
  nn::BatchNorm2d& norm2_;
  nn::Conv2d* conv3_ = nullptr;
  nn::BatchNorm2d* norm3_ = nullptr;
};

/// Transposed convolution without bias that makes maps exactly `factor` times as large: (b, in, h,
/// w) -> (b, out, factor h, factor w). kernel is odd. Name: up. gdla 2.13.
class TransposedUp final : public nn::UnaryModule {
 public:
  TransposedUp(const nn::Build& build, std::int64_t in, std::int64_t out, std::int64_t kernel,
               std::int64_t factor = 2);
  std::string type() const override { return "TransposedUp"; }

 protected:
  Tensor forward(const Tensor& x) override { return up_(x); }

 private:
  nn::ConvTranspose2d& up_;
};

struct TokenDecoderBlockOptions {
  schema::Component attention;  // its num_heads are those of the slot's block
  schema::Component ffn;
  bool preconv = false;
  double norm_eps = 1e-5;
};

/// x + attn(u), then x + mlp(norm2(x)), on the tokens of a map (b, dim, h, w) -> the same.
/// u = norm1(x), or with `preconv` SiLU(dwc(norm1(x))) with a dense 3x3 convolution. A probe sees
/// "block_input" and what the attention adds to it, "attn_delta", as tokens, and the result as
/// "features" (gdla 9). Names: norm1, dwc, attn, norm2, mlp. gdla 2.12.
class TokenDecoderBlock final : public nn::Module {
 public:
  /// `heads`: of the attention, in place of its own num_heads.
  TokenDecoderBlock(const attention::Slot& slot, std::int64_t heads,
                    const TokenDecoderBlockOptions& options);
  std::string type() const override { return "TokenDecoderBlock"; }
  Tensor operator()(const Tensor& map, attention::Probe* probe = nullptr);

 private:
  nn::LayerNorm& norm1_;
  nn::Conv2d* dwc_ = nullptr;
  attention::Attention* attn_ = nullptr;
  nn::LayerNorm* norm2_ = nullptr;
  nn::FeedForward* mlp_ = nullptr;
};

}  // namespace fovea::models
