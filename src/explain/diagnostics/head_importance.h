// How much a network's loss depends on each head (Michel, Levy, Neubig, Are sixteen heads really
// better than one?, 2019). explain C.8.
#pragma once

#include <string>
#include <vector>

#include "models/model.h"

namespace fovea::explain {

/// An attention whose heads end in one projection: its input channels belong to the heads one after
/// another. Behind that lies everything a head does: a norm per head, as DIFF and M-DGSA have it,
/// stands before (a gate before it would be divided out), and so does a local branch of a head.
struct HeadSite {
  std::string module;  // "blocks.0.attn"
  std::int64_t heads = 0;
  Tensor projection;  // the weight (dim, heads * width)
};

/// The attentions that a pass with these inputs runs, in network order. Throws ConfigError for one
/// without such a projection, and for a network without attention.
std::vector<HeadSite> head_sites(models::Model& model, const models::Inputs& inputs);

/// All of (layers, heads) but the losses. Cross-entropy, means over samples.
struct HeadImportance {
  double loss = 0;
  double top1 = 0;  // share of samples that are right
  /// mean |sum_ic u_ic dL/du_ic| over samples, u the head's channels at the projection.
  std::vector<std::vector<double>> importance = {};
  /// The loss, and the share of right ones, with the head's channels 0, minus those of the network.
  std::vector<std::vector<double>> ablation_loss = {}, ablation_top1 = {};
};

/// inputs: b samples; labels: (b) int64. The network is in evaluation mode, and its weights and
/// gradients are the same afterwards.
HeadImportance head_importance(models::Model& model, const models::Inputs& inputs,
                               const Tensor& labels);

/// Each layer divided by the root of the sum of its squares; a layer of zeros stays.
std::vector<std::vector<double>> normalised_by_layer(std::vector<std::vector<double>> importance);

}  // namespace fovea::explain
