// Activation patching (causal tracing): a network reads one input, and at one place gets what it
// computed there of another. Vig et al., Investigating gender bias in language models using causal
// mediation analysis, 2020; Meng et al., Locating and editing factual associations in GPT, 2022.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "explain/interventions/heads.h"
#include "explain/subject.h"

namespace fovea::explain {

/// What a network says about one class.
struct TargetScore {
  double logit = 0;
  double probability = 0;  // softmax; NaN for segmentations, whose scores are sums over pixels
};

/// A layer with an activation of the other input, for all tokens but where said otherwise. Nothing
/// where the layer has no such place.
struct PatchedLayer {
  std::string module;                      // the attention: "blocks.0.attn"
  std::optional<TargetScore> prefix = {};  // class and register tokens behind the block
  TargetScore attention = {};              // all heads
  std::optional<TargetScore> ffn = {};     // what the feed-forward network adds
  std::vector<TargetScore> heads = {};
};

struct Patching {
  TargetScore clean, other;
  std::vector<PatchedLayer> layers;

  /// (patched - clean) / (other - clean) of logits: 0 changes nothing, 1 gives all of the
  /// difference. NaN where the two inputs have one logit.
  double effect(const TargetScore& patched) const;
};

/// clean: one input; other: another one like Subject::x(). One pass for every place. Throws
/// ConfigError where the two do not have the same number of tokens, and as head_sites().
Patching patch_activations(const Subject& clean, const Tensor& other, std::int64_t target,
                           const std::vector<HeadSite>& sites);

}  // namespace fovea::explain
