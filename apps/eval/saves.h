// What --save asks for: which outputs of the network are written, and how.
#pragma once

#include <string>
#include <vector>

#include "models/model.h"

namespace fovea::apps {

struct Saves {
  bool logits_tensors = false, logits_table = false;
  bool probabilities_tensors = false, probabilities_table = false;
  bool masks = false, original_masks = false;

  bool logits() const { return logits_tensors || logits_table; }
  bool probabilities() const { return probabilities_tensors || probabilities_table; }
  bool scores() const { return logits() || probabilities(); }
  bool any() const { return scores() || masks || original_masks; }
};

/// From words like "logits", "probabilities.csv", "masks". Throws ConfigError for others, and for
/// what a network with this output does not give.
Saves parse_saves(const std::vector<std::string>& words, models::Output output);

}  // namespace fovea::apps
