// Magnitude-aware linear attention (MALA) on given heads: what the token attention `mala` and
// MAViT's attention share. mala 3.2, 3.3.
#pragma once

#include <optional>

#include "attention/attention.h"
#include "ops/attention/magnitude_attention.h"

namespace fovea::attention {

enum class MalaCoefficient { kFormula, kNone, kLearnable };
enum class LearnableShape { kScalar, kHead, kChannel };

struct MalaOptions {
  FeatureMap kernel = FeatureMap::kEluPlusOne;
  std::optional<double> exp_max;
  ops::SimilarityScale scaling = ops::SimilarityScale::kHeadDimMean;
  double eps = 1e-6;
  MalaCoefficient beta = MalaCoefficient::kFormula, gamma = MalaCoefficient::kFormula;
  LearnableShape learnable_shape = LearnableShape::kHead;
  ops::Normaliser normaliser = ops::Normaliser::kUnrotated;
};

/// Keys of every network with MALA; the options of each derive from MalaOptions.
schema::Fields<MalaOptions> mala_fields();

/// Queries, keys and values as views of heads -> heads concatenated: (b, n, heads * head_dim).
/// A probe sees the map as "attn", signed. Names: beta, gamma, where they are learnable.
class Mala final : public nn::Module {
 public:
  Mala(const nn::Build& build, const MalaOptions& options, std::int64_t num_heads,
       std::int64_t head_dim);
  std::string type() const override { return "Mala"; }

  struct Heads {
    ops::HeadView q, k, v;
  };
  Tensor operator()(const Heads& heads, const Context& context,
                    const ops::RotaryTables& rotary = {}, const ops::HeadFinish& finish = {});

  /// The options of a call, with the learned parameters.
  ops::MagnitudeOptions options(const Context& context, const ops::RotaryTables& rotary) const;

 private:
  Tensor coefficient(const char* name, const nn::Build& build, MalaCoefficient kind, double start);
  Tensor of_channels(const Tensor& learned) const;

  MalaOptions o_;
  std::int64_t num_heads_, head_dim_;
  Tensor beta_, gamma_;
};

}  // namespace fovea::attention
