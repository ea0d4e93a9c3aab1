// Which operators of the golden cases are known, one table a paper.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "verify/case.h"

namespace fovea::verify {

/// Thrown by a runner for a configuration that the toolkit does not have.
class NotImplemented : public Error {
 public:
  using Error::Error;
};

using Runner = std::function<void(const Case&, Checker&)>;
using Table = std::map<std::string, Runner>;

/// papers/dgsa: attention, blocks, vision networks.
Table dgsa_networks();
/// papers/dgsa: optimisers, schedules, noise, rollout, training sequences.
Table dgsa_procedures();
/// papers/kcla: layer attentions, channel attentions, their parts.
Table kcla_operators();
/// papers/kcla: the numbers behind its figures.
Table kcla_figures();
/// papers/kcla: batch norm, convolutions, ResNets.
Table kcla_networks();
/// papers/kcla: losses, metrics, recipes, pre-processing, segmentation networks.
Table kcla_segmentation();

/// All tables together.
const Table& runners();

}  // namespace fovea::verify
