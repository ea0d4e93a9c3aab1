// How much a network's loss depends on each head (Michel, Levy, Neubig, Are sixteen heads really
// better than one?, 2019). explain C.8.
#pragma once

#include <functional>
#include <vector>

#include "explain/interventions/heads.h"
#include "models/model.h"

namespace fovea::explain {

/// For each layer and head.
using HeadTable = std::vector<std::vector<double>>;

/// All of (layers, heads) but the losses. Cross-entropy, means over samples.
struct HeadImportance {
  double loss = 0;
  double top1 = 0;  // share of samples that are right
  /// mean |sum_ic u_ic dL/du_ic| over samples, u the head's channels at the projection.
  HeadTable importance = {};
  /// The loss, and the share of right ones, with the head's channels 0, minus those of the network.
  HeadTable ablation_loss = {}, ablation_top1 = {};
};

/// The same sample by sample: for each layer and head a value for each sample.
struct HeadEffects {
  std::vector<double> loss, right;  // of the network; right: 1 or 0
  std::vector<HeadTable> importance = {}, ablation_loss = {}, ablation_right = {};

  /// Adds those of other samples.
  void append(const HeadEffects& more);
  HeadImportance means() const;
};

/// inputs: b samples; labels: (b) int64. The network is in evaluation mode, and its weights and
/// gradients are the same afterwards. `step` is called before each of head_passes() passes.
HeadEffects head_effects(
    models::Model& model, const std::vector<HeadSite>& sites, const models::Inputs& inputs,
    const Tensor& labels, const std::function<void()>& step = [] {});
/// The importance alone: of each site, head and sample.
std::vector<HeadTable> head_importances(models::Model& model, const std::vector<HeadSite>& sites,
                                        const models::Inputs& inputs, const Tensor& labels);
/// How often head_effects() runs the network on a batch.
std::int64_t head_passes(const std::vector<HeadSite>& sites);

/// The means of head_effects() over these samples.
HeadImportance head_importance(models::Model& model, const models::Inputs& inputs,
                               const Tensor& labels);

/// Each layer divided by the root of the sum of its squares; a layer of zeros stays.
HeadTable normalised_by_layer(HeadTable importance);

}  // namespace fovea::explain
