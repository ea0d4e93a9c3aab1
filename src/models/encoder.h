// The Transformer encoder block and a stack of them, shared by vision and text. dgsa 3.1.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "attention/attention.h"
#include "nn/dropout.h"
#include "nn/ffn.h"
#include "nn/norm.h"
#include "schema/fields.h"

namespace fovea::models {

enum class NormPosition { kPre, kPost, kResPost };
/// What is added to the tokens before the first block.
enum class Positions { kLearned, kSinusoidal, kNone };
/// The input of a head: the class token, the mean over the other tokens, or what one more attention
/// reads from them.
enum class Pool { kToken, kAvg, kMap };

/// Options of every encoder. Keys are timm's where timm has them.
struct EncoderOptions {
  std::int64_t embed_dim = 256;
  std::int64_t depth = 8;
  schema::Component attention{"softmax", {}};
  std::optional<schema::Component> ffn = schema::Component{"mlp", {}};  // none: that of Info::ffn
  std::optional<double> mlp_ratio;  // of that of Info::ffn; none: 4
  nn::NormKind norm = nn::NormKind::kLayerNorm;
  double norm_eps = 1e-6;
  NormPosition norm_position = NormPosition::kPre;
  bool final_norm = true;             // behind the last block; never with kPost
  std::optional<double> init_values;  // of layer scale; none: there is none
  double drop_rate = 0.0;
  double drop_path_rate = 0.0;
  nn::Init init = nn::Init::kTorch;
  bool checkpointing = false;
};
schema::Fields<EncoderOptions> encoder_fields(const EncoderOptions& defaults);

/// The feed-forward network of the blocks: that of the options, or the one that belongs to their
/// attention.
schema::Component ffn_of(const EncoderOptions& options);

/// A linear layer, or with `hidden` two of them with GELU between: (b, dim) -> (b, classes). Names:
/// weight and bias, or fc1 and fc2. dgsa 3.2.
std::unique_ptr<nn::UnaryModule> make_head(const nn::Build& build, std::int64_t dim,
                                           const std::optional<std::int64_t>& hidden,
                                           std::int64_t classes);

/// Pre-norm:      x + ls1(drop(attn(norm1(x)))), then x + ls2(mlp(norm2(x))).
/// Post-norm:     norm1(x + drop(attn(x))), then norm2(x + mlp(x)).
/// Res-post-norm: x + norm1(drop(attn(x))), then x + norm2(mlp(x)): timm's ResPostBlock.
/// ls1 and ls2 are there with init_values: layer scale, a factor gamma for each channel that starts
/// at this value (Touvron et al. 2021, CaiT). Names: norm1, attn, ls1.gamma, norm2, mlp, ls2.gamma.
/// `layer` counts from 1; `layout`: of the tokens, where they lie on a grid.
class EncoderBlock final : public nn::Module {
 public:
  EncoderBlock(const nn::Build& build, const EncoderOptions& options, std::int64_t layer,
               const attention::Layout& layout = {});
  std::string type() const override { return "EncoderBlock"; }
  bool is_block() const override { return true; }
  Tensor operator()(Tensor x, const attention::Context& context);

 private:
  Tensor residual(const Tensor& x, Tensor branch, nn::UnaryModule* scale) const;

  NormPosition norm_position_;
  nn::UnaryModule& norm1_;
  attention::Attention& attn_;
  nn::UnaryModule& norm2_;
  nn::FeedForward& mlp_;
  nn::UnaryModule* ls1_ = nullptr;
  nn::UnaryModule* ls2_ = nullptr;
  nn::Dropout* drop_ = nullptr;
  nn::DropPath* drop_path_ = nullptr;
};

/// blocks.0 ... blocks.{depth - 1} and, with final_norm, `norm`, one after another. Registered
/// under the empty name, so that its children's names have no prefix.
class Encoder final : public nn::Module {
 public:
  Encoder(const nn::Build& build, const EncoderOptions& options,
          const attention::Layout& layout = {});
  std::string type() const override { return "Encoder"; }
  Tensor operator()(Tensor x, const attention::Context& context);

 private:
  std::vector<EncoderBlock*> blocks_;
  nn::UnaryModule* norm_ = nullptr;
  bool checkpointing_;
};

}  // namespace fovea::models
