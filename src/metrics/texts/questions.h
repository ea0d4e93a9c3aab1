// Metrics of language models on questions: which of several continuations of a text they find the
// most probable, and how probable the right one is. mala 8; the names are those of
// lm-evaluation-harness.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "metrics/metric_info.h"

namespace fovea::metrics {

/// What a model says of one continuation.
struct ScoredChoice {
  double log_likelihood = 0;  // sum over its tokens
  bool greedy = false;        // each of its tokens is the most probable one
  std::int64_t bytes = 0;     // at least 1
};

struct ScoredQuestion {
  std::vector<ScoredChoice> choices;
  std::size_t right = 0;
};

/// What is measured of a set of questions, whose name the metrics begin with.
struct QuestionScores {
  std::string set;
  /// There is one choice, a word: `acc` is the share of those that a greedy decoder writes, and
  /// `perplexity` exp of the mean of -log likelihoods.
  bool words = false;
  /// `acc_norm` beside `acc`: log likelihoods are divided by bytes before they are compared.
  bool normalised = false;
};

/// "piqa_acc" and so on, in percent; of equal choices the first is taken.
std::vector<MetricInfo> question_metrics(const QuestionScores& scores);
/// NaN without questions.
std::vector<Measurement> measure_questions(const QuestionScores& scores,
                                           const std::vector<ScoredQuestion>& questions);

}  // namespace fovea::metrics
