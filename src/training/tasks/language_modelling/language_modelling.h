// A goal: the next token of a text, from those before it. mala 7.4.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "metrics/texts/language.h"
#include "training/losses/loss.h"
#include "training/tasks/language_modelling/question_scores.h"
#include "training/tasks/task.h"

namespace fovea::training {

/// Learns from "next", the token behind each of "tokens". Metrics: loss, perplexity and
/// bits_per_byte of every token of a text but the first; each sample is read by itself, so its
/// first tokens have little before them. The weights of the lowest bits_per_byte are the best.
class LanguageModelling final : public Task {
 public:
  /// `model` outlives the task.
  LanguageModelling(models::Model& model, std::shared_ptr<BatchSource> source,
                    const schema::Component& loss = {"cross_entropy", {}});

  Tensor loss_of(const models::Outputs& output, const data::Batch& batch) const override;
  std::vector<metrics::MetricInfo> metrics() const override;
  metrics::MetricInfo monitor() const override { return metrics::kBitsPerByte; }
  static std::vector<metrics::MetricInfo> metrics_of(const models::DataShape&) {
    return metrics::language_metrics();
  }
  static data::Batch random_batch(const models::DataShape& shape, std::int64_t batch_size,
                                  const Device& device);
  Metrics measure(data::Split split, const std::optional<NoiseLevel>& noise) override;
  /// How many tokens and bytes were predicted, and the loss by the place of a token in its sample.
  Report report(const ReportRequest& request) override;
  void set_questions(const std::vector<schema::Component>& sets) override;

 private:
  struct Evaluation {
    metrics::LanguageScore score;
    std::vector<metrics::LanguageScore> by_place;
  };
  Evaluation evaluate(data::Split split, const std::optional<NoiseLevel>& noise);
  /// The metrics of a part of the text, and of the questions, which are the same for every part.
  Metrics measured(const Evaluation& evaluation);

  Loss loss_;
  QuestionScorer questions_;
};

}  // namespace fovea::training
