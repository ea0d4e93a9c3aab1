#include "metrics/texts/questions.h"

#include <cmath>

namespace fovea::metrics {
namespace {

MetricInfo accuracy(const QuestionScores& scores, const char* name) {
  return {.name = scores.set + name, .unit = "%", .decimals = 2};
}

// The most probable choice, in all or for each byte.
std::size_t chosen(const ScoredQuestion& question, bool per_byte) {
  const auto score = [&](std::size_t i) {
    const ScoredChoice& choice = question.choices[i];
    return per_byte ? choice.log_likelihood / static_cast<double>(choice.bytes)
                    : choice.log_likelihood;
  };
  std::size_t best = 0;
  for (std::size_t i = 1; i < question.choices.size(); ++i) {
    if (score(i) > score(best)) best = i;
  }
  return best;
}

}  // namespace

std::vector<MetricInfo> question_metrics(const QuestionScores& scores) {
  std::vector<MetricInfo> infos = {accuracy(scores, "_acc")};
  if (scores.normalised) infos.push_back(accuracy(scores, "_acc_norm"));
  if (scores.words)
    infos.push_back({.name = scores.set + "_perplexity", .larger_is_better = false, .decimals = 2});
  return infos;
}

std::vector<Measurement> measure_questions(const QuestionScores& scores,
                                           const std::vector<ScoredQuestion>& questions) {
  double right = 0, right_per_byte = 0, nats = 0;
  for (const ScoredQuestion& question : questions) {
    const ScoredChoice& truth = question.choices[question.right];
    nats -= truth.log_likelihood;
    right += (scores.words ? truth.greedy : chosen(question, false) == question.right) ? 1 : 0;
    right_per_byte += chosen(question, true) == question.right ? 1 : 0;
  }
  const auto n = static_cast<double>(questions.size());
  std::vector<double> values = {100 * right / n};
  if (scores.normalised) values.push_back(100 * right_per_byte / n);
  if (scores.words) values.push_back(std::exp(nats / n));
  std::vector<Measurement> measured;
  for (const MetricInfo& info : question_metrics(scores))
    measured.push_back({.info = info, .value = values[measured.size()]});
  return measured;
}

}  // namespace fovea::metrics
