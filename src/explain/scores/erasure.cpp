#include "explain/scores/erasure.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "explain/scores/order.h"

namespace fovea::explain {
namespace {

using Text = std::vector<std::int64_t>;

// The text without the tokens at these places.
Text without(const Text& text, const std::vector<bool>& taken, Removal removal) {
  Text rest;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!taken[i]) {
      rest.push_back(text[i]);
    } else if (removal == Removal::kPad) {
      rest.push_back(0);
    }
  }
  return rest;
}

double comprehensiveness_score(const Explained& e, const ErasureOptions& options) {
  return erasure(e, options).comprehensiveness;
}
double sufficiency_score(const Explained& e, const ErasureOptions& options) {
  return erasure(e, options).sufficiency;
}

schema::Fields<ErasureOptions> erasure_fields() {
  return schema::Fields<ErasureOptions>{}
      .add_enum("removal", &ErasureOptions::removal,
                {{"delete", Removal::kDelete}, {"pad", Removal::kPad}},
                "tokens are taken out and later ones move up, or padding stands in their place")
      .add("fractions", &ErasureOptions::fractions, schema::in_range(0, 1),
           "shares of the tokens that are removed or kept");
}

}  // namespace

Erasure erasure(const Explained& e, const ErasureOptions& options) {
  FOVEA_CHECK(!options.fractions.empty(), ConfigError,
              "erasure: no fractions; expected shares of the tokens, such as 0.1");
  // Padding is neither a token nor removed.
  Text text;
  std::vector<std::size_t> place;  // of the tokens in the text
  std::vector<double> relevance;
  for (std::size_t i = 0; i < e.text.size(); ++i) {
    if (e.text[i] == 0) continue;
    place.push_back(i);
    relevance.push_back(e.relevance[i]);
  }
  FOVEA_CHECK(!place.empty(), ShapeError, "erasure: the text has no tokens; expected at least one");
  const std::vector<std::int64_t> order = descending(relevance);
  const std::size_t n = order.size();
  std::vector<Text> texts{e.text};
  for (const double q : options.fractions) {
    const auto rounded = static_cast<std::size_t>(std::floor(q * static_cast<double>(n) + 0.5));
    const std::size_t count = std::clamp<std::size_t>(rounded, 1, n);
    std::vector<bool> top(e.text.size(), false), rest(e.text.size(), false);
    for (std::size_t k = 0; k < n; ++k)
      (k < count ? top : rest)[place[static_cast<std::size_t>(order[k])]] = true;
    texts.push_back(without(e.text, top, options.removal));
    texts.push_back(without(e.text, rest, options.removal));
  }
  const std::vector<Answer> answers = e.network->ask(texts, e.target);
  Erasure result;
  for (std::size_t k = 1; k < answers.size(); k += 2) {
    result.comprehensiveness_at.push_back(answers[0].probability - answers[k].probability);
    result.sufficiency_at.push_back(answers[0].probability - answers[k + 1].probability);
    result.comprehensiveness += result.comprehensiveness_at.back();
    result.sufficiency += result.sufficiency_at.back();
  }
  result.comprehensiveness /= static_cast<double>(options.fractions.size());
  result.sufficiency /= static_cast<double>(options.fractions.size());
  return result;
}

FOVEA_SCORE(comprehensiveness,
            "what the probability of the class loses without the most relevant tokens, mean over "
            "the fractions (ERASER)",
            (ScoreRule{Better::kHigher, {Need::kText}}), erasure_fields(), comprehensiveness_score)
FOVEA_SCORE(
    sufficiency,
    "what the probability of the class loses with the most relevant tokens alone, mean over "
    "the fractions (ERASER)",
    (ScoreRule{Better::kLower, {Need::kText}}), erasure_fields(), sufficiency_score)

}  // namespace fovea::explain
