// What a language model says of a text, token by token, and what it says it for: maps of attention,
// and what changes where a token is left out. mala 3.4, 4.6.
#pragma once

#include <cstdint>
#include <vector>

#include "models/sequences/language_model.h"
#include "visualise/maps/rollouts/rollout.h"

namespace fovea::visualise {

/// The most probable token behind another.
struct NextToken {
  std::int64_t token = 0;
  double probability = 0;
};

struct ReadText {
  std::vector<NextToken> next;       // behind every token, of those that are known
  std::vector<AttentionMap> layers;  // lower triangles; none without attention
};

/// Runs the network in evaluation mode on a text; tokens from `known` on, which no piece of text
/// stands for, are never said. Throws ConfigError for an empty text.
ReadText read_text(models::LanguageModel& network, const std::vector<std::int64_t>& tokens,
                   std::int64_t known);

/// Adds so many tokens to a text that has one or more, each the most probable of those that are
/// known, as a greedy decoder does.
void write_on(models::LanguageModel& network, std::vector<std::int64_t>& tokens, std::int64_t count,
              std::int64_t known);

/// For every token of `context`, ln p(next | context) - ln p(next | context without it): above 0
/// where it makes `next` more probable. The tokens behind one that is left out move up. (Erasure:
/// Li, Monroe and Jurafsky, "Understanding neural networks through representation erasure", 2016,
/// eq. 1, of ln p and not divided by it.) Of a single token 0: without it nothing is left to read.
std::vector<double> erasure(models::LanguageModel& network,
                            const std::vector<std::int64_t>& context, std::int64_t next);

}  // namespace fovea::visualise
