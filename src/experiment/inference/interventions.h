// What `eval` changes in networks and in what they see before it scores them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/part.h"
#include "experiment/run/open_run.h"
#include "explain/interventions/drop_patches.h"
#include "explain/interventions/set_heads.h"

namespace fovea::experiment {

struct Interventions {
  std::vector<explain::HeadSetting> heads = {};
  std::optional<explain::PatchDrop> drop = {};

  bool empty() const { return heads.empty() && !drop; }
  /// One for each, "set_heads=blocks.3:0=off", "drop_patches=50%, zero, seed 1".
  std::vector<std::string> lines() const;
  /// {"set_heads": [...], "drop_patches": "50%, zero, seed 1"}, those that there are.
  schema::Value record() const;
  /// For the folder of results: "-changed-1a2b3c4d", another one for every other change; "" without
  /// any.
  std::string suffix() const;
};

/// Networks and inputs of opened runs as interventions say, while it lives. The weights are the
/// same afterwards.
class Intervened {
 public:
  /// Throws ConfigError, naming the option, for heads and patches that are not there.
  Intervened(const std::vector<Opened>& opened, const Interventions& asked, data::Split split);
  ~Intervened();
  Intervened(const Intervened&) = delete;
  Intervened& operator=(const Intervened&) = delete;

 private:
  std::vector<std::unique_ptr<explain::SetHeads>> heads_;
  std::vector<training::Task*> tasks_;  // whose inputs are changed
};

}  // namespace fovea::experiment
