// The scores that a user asks for, with their options, and which a run allows.
#pragma once

#include <string>
#include <vector>

#include "explain/pictures/asked_methods.h"
#include "explain/scores/score.h"

namespace fovea::explain {

struct AskedScore {
  const ScoreEntry* score;
  schema::Component options;
};

/// What a run has for scores to ask.
enum class Judges {
  kImages,         // a classifier of images
  kSegmentations,  // of pixels, with masks
  kTexts,
};

/// Why a score is not defined there: "needs masks, which ... has not"; "" where it is.
std::string unfit(const ScoreEntry& score, Judges judges);

/// `names` of scores, or "all": those that are defined there; `left_out` gets a line on the others.
/// Assignments as "deletion.step=2". Throws ConfigError for unknown scores and options, for a score
/// named twice, for one that is not defined there, and for options of scores that are not asked
/// for.
std::vector<AskedScore> asked_scores(const std::vector<std::string>& names,
                                     const std::vector<std::string>& assignments, Judges judges,
                                     std::vector<std::string>& left_out);

/// Whether an assignment "deletion.step=2" is of a score.
bool is_of_score(const std::string& assignment);

}  // namespace fovea::explain
