// From frames of CTC's logits to symbols: greedily, by a beam of prefixes, and along a given
// target. Logits are on the host, (frames, symbols) row by row. mala 7.5.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ops/decoding/ngram.h"

namespace fovea::ops {

/// Logits of one sequence.
struct FrameLogits {
  std::span<const float> values;  // (frames, symbols)
  std::int64_t symbols = 0;
  std::int64_t blank = 0;

  std::int64_t frames() const { return std::ssize(values) / symbols; }
};

/// The best symbol of every frame, the first of equal ones; repeats are merged, blanks dropped.
std::vector<std::int64_t> ctc_greedy(const FrameLogits& logits);

struct BeamOptions {
  std::int64_t width = 16;  // prefixes that are kept
  /// Symbols are not tried in frames where they are less likely than the best one by this factor's
  /// logarithm.
  double threshold = 20;
  const NgramModel* language = nullptr;
  double language_weight = 0.5;
  double symbol_bonus = 0;  // added for each symbol: a language model likes short sequences
};

struct Hypothesis {
  std::vector<std::int64_t> symbols;
  double score = 0;  // log p of CTC, and with a language model its weighted log p and the bonuses
};

/// The likeliest sequences, the best first, at most `width`. The probabilities of all paths to a
/// prefix are added up. Hannun et al., "First-pass large vocabulary continuous speech recognition
/// using bi-directional recurrent DNNs", 2014.
std::vector<Hypothesis> ctc_beam_search(const FrameLogits& logits, const BeamOptions& options);

/// For every frame the place in the target of the symbol that the likeliest path is at, or -1 for a
/// blank. Empty where no path gives the target.
std::vector<std::int64_t> ctc_alignment(const FrameLogits& logits,
                                        const std::vector<std::int64_t>& target);

}  // namespace fovea::ops
