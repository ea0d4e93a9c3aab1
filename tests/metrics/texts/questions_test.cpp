#include "metrics/texts/questions.h"

#include <catch2/catch.hpp>

#include <cmath>

using namespace fovea::metrics;

TEST_CASE("questions: accuracy in all and for each byte", "[metrics]") {
  const QuestionScores scores{.set = "s", .normalised = true};
  // The first: the short choice is more probable, the long one for each byte.
  const std::vector<ScoredQuestion> questions = {
      {{{.log_likelihood = -4, .bytes = 2}, {.log_likelihood = -5, .bytes = 10}}, 1},
      {{{.log_likelihood = -3, .bytes = 3}, {.log_likelihood = -3, .bytes = 3}}, 0},
      {{{.log_likelihood = -3, .bytes = 3}, {.log_likelihood = -9, .bytes = 3}}, 1}};
  const auto measured = measure_questions(scores, questions);
  CHECK(infos_of(measured) == question_metrics(scores));
  REQUIRE(measured.size() == 2);
  CHECK(value_of(measured, "s_acc") == Approx(100.0 / 3));
  CHECK(value_of(measured, "s_acc_norm") == Approx(200.0 / 3));
}

TEST_CASE("questions: the next word", "[metrics]") {
  const QuestionScores scores{.set = "w", .words = true};
  const auto measured =
      measure_questions(scores, {{{{.log_likelihood = -1, .greedy = true, .bytes = 1}}, 0},
                                 {{{.log_likelihood = -2, .greedy = false, .bytes = 1}}, 0}});
  REQUIRE(measured.size() == 2);
  CHECK(value_of(measured, "w_acc") == Approx(50));
  CHECK(value_of(measured, "w_perplexity") == Approx(std::exp(1.5)));
  CHECK_FALSE(measured[1].info.larger_is_better);
  CHECK(std::isnan(measure_questions(scores, {})[0].value));
}
