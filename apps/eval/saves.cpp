#include "eval/saves.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "base/error.h"
#include "base/suggest.h"

namespace fovea::apps {
namespace {

using Places = std::map<std::string, bool Saves::*>;

// What is written of each kind of network, by word.
const Places& places_of(models::Output output) {
  static const Places classes = {{"logits", &Saves::logits_tensors},
                                 {"logits.safetensors", &Saves::logits_tensors},
                                 {"logits.csv", &Saves::logits_table},
                                 {"probabilities", &Saves::probabilities_tensors},
                                 {"probabilities.safetensors", &Saves::probabilities_tensors},
                                 {"probabilities.csv", &Saves::probabilities_table}};
  static const Places masks = {{"masks", &Saves::masks},
                               {"original_masks", &Saves::original_masks},
                               {"probabilities", &Saves::probabilities_tensors},
                               {"probabilities.safetensors", &Saves::probabilities_tensors}};
  return output == models::Output::kMasks ? masks : classes;
}

}  // namespace

Saves parse_saves(const std::vector<std::string>& words, models::Output output) {
  const Places& places = places_of(output);
  std::vector<std::string> known;
  for (const auto& [word, place] : places) known.push_back(word);
  Saves saves;
  for (const std::string& word : words) {
    const auto found = places.find(word);
    FOVEA_CHECK(
        found != places.end(), ConfigError,
        fmt::format("--save {}: a network that gives {} has nothing of that name{} known: {}", word,
                    output == models::Output::kMasks ? "masks" : "classes",
                    did_you_mean(word, known), fmt::join(known, ", ")));
    saves.*(found->second) = true;
  }
  return saves;
}

}  // namespace fovea::apps
