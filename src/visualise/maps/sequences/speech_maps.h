// What a transcriber makes of one recording: probabilities of symbols frame by frame, the symbols
// of the best path and when they were said, and the maps of its encoder. mala 7.5; Graves et al.,
// "Connectionist temporal classification" (ICML 2006), figure 1.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/sequences/transcriber.h"
#include "visualise/maps/rollouts/rollout.h"

namespace fovea::visualise {

/// How the frames of logits (tokens) lie on the frames of features: token j stands for `step` of
/// them, whose middle is frame first + j step.
struct TokenTimes {
  double first = 0, step = 1;
};
/// From what the network says of its own lengths.
TokenTimes token_times(const models::Transcriber& network);

/// A symbol, and the tokens that say it.
struct HeardSymbol {
  std::int64_t symbol = 0;
  std::int64_t first = 0, last = 0;  // tokens
  std::int64_t peak = 0;             // the one of them that gives it the most probability
  double probability = 0;            // there
  bool operator==(const HeardSymbol&) const = default;
};

struct HeardSpeech {
  Matrix probabilities;              // (tokens, symbols), softmax of the logits
  std::vector<HeardSymbol> heard;    // the best path without blanks, equal neighbours joined
  std::vector<HeardSymbol> aligned;  // the likeliest path that says the truth; empty: there is none
  std::vector<AttentionMap> layers;  // of the encoder, over tokens; none without attention
};

/// Runs the network in evaluation mode on features (1, t, mels), all of whose frames are of the
/// recording. `truth`: symbols of the transcript, or none. Throws ConfigError for a recording too
/// short for one token.
HeardSpeech observe_speech(models::Transcriber& network, const Tensor& features,
                           const std::vector<std::int64_t>& truth, std::int64_t blank);

/// The symbols of the path that takes the best symbol of every token; `probabilities` as above.
std::vector<HeardSymbol> best_path(const Matrix& probabilities, std::int64_t blank);

/// The rows of the peaks of a rollout over tokens, (symbols, tokens).
Matrix rows_of(const Matrix& rollout, std::span<const HeardSymbol> symbols);

}  // namespace fovea::visualise
