// Rollouts of maps over one sequence of tokens: what figures of images and of texts share.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tensor/safetensors.h"
#include "visualise/figures/figure.h"
#include "visualise/figures/shared/shared_options.h"
#include "visualise/maps/attention_maps.h"
#include "visualise/pages/explorer.h"

namespace fovea::visualise {

/// A run, how its maps are rolled out, and what it saw.
struct RolledOut {
  const ShownRun& run;
  bool signed_maps = false;
  RolloutOptions rollout;
  std::vector<Observation> seen = {};  // one for each input

  /// The class that the run sees in an input; empty for a network without a head.
  std::string predicted(std::size_t input) const;
  /// What its rollouts are.
  Quantity quantity() const;
  /// The even share of its rollout of an input.
  double even_share_of(std::size_t input) const;
  /// "raw, sum".
  std::string policy() const;
};

/// The runs, which have seen nothing yet. Throws ConfigError for a network without attention to
/// roll out.
std::vector<RolledOut> rolled_out(const FigureRequest& request, const RolloutSettings& settings);

/// Of one input <key>/attn/<layer> (heads, n, n) and <key>/rollout (n, n), each where there is one.
void add_rollout(TensorFile& file, const std::string& key, const std::vector<AttentionMap>& layers,
                 const Matrix& rollout, const Device& host);

/// maps.safetensors: <run>/<input>/attn/<layer> (heads, n, n) and <run>/<input>/rollout (n, n);
/// metadata <run>: which weights these are of.
void write_rollout_maps(const std::filesystem::path& path, const std::vector<RolledOut>& all,
                        const std::vector<std::string>& inputs);

/// Everything but what the tokens are.
ExplorerModel explorer_model(const RolledOut& one, std::size_t input);

/// Weights, predictions and files.
void say_rollouts(const FigureRequest& request, const std::vector<RolledOut>& all,
                  const std::vector<std::string>& inputs, const std::vector<std::string>& files);

}  // namespace fovea::visualise
