// The attention heads of a network: where each of them ends, and heads switched off or scaled
// there.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "attention/probe.h"
#include "models/model.h"

namespace fovea::explain {

/// An attention whose heads end in one projection: its input channels belong to the heads one after
/// another. Behind that lies everything a head does: a norm per head, as DIFF and M-DGSA have it,
/// stands before (a gate before it would be divided out), and so does a local branch of a head.
struct HeadSite {
  std::string module;  // "blocks.0.attn"
  std::int64_t heads = 0;
  Tensor projection;   // the weight (dim, branches * heads * width)
  std::string linear;  // the module that has it: "blocks.0.attn.proj"
  /// How often all heads stand beside each other: GDLA's local branch, which has the same heads,
  /// lies behind the global one.
  std::int64_t branches = 1;

  /// The head that an input channel of the projection belongs to.
  std::int64_t head_of(std::int64_t channel) const {
    const std::int64_t channels = projection.size(1) / branches;
    return channel % channels * heads / channels;
  }
};

/// Runs a network once with a probe.
using ProbedPass = std::function<void(attention::Probe& probe)>;
/// The attentions that such a pass runs, in network order. Throws ConfigError for one without such
/// a projection, and for a network without attention. `model` is put into evaluation mode.
std::vector<HeadSite> head_sites(models::Model& model, const ProbedPass& pass);
/// The same of a pass with these inputs.
std::vector<HeadSite> head_sites(models::Model& model, const models::Inputs& inputs);

/// What heads add times a factor each, while it lives: the columns of their projection are scaled,
/// and given back bit by bit. What else the attention adds stays: the projection's bias, M-DGSA's
/// residual of queries.
class ScaledHeads {
 public:
  /// factors: one for each head of the site.
  ScaledHeads(const HeadSite& site, const std::vector<double>& factors);
  ~ScaledHeads();
  ScaledHeads(const ScaledHeads&) = delete;
  ScaledHeads& operator=(const ScaledHeads&) = delete;

 private:
  Tensor weight_, whole_;
};

/// Factors that switch one head off.
std::vector<double> all_but(std::int64_t head, std::int64_t heads);

}  // namespace fovea::explain
