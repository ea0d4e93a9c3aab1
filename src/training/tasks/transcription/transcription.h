// Task: what is said in recordings, as text. mala 7.5, 8.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/audio/speech_dataset.h"
#include "metrics/texts/transcripts.h"
#include "models/sequences/transcriber.h"
#include "ops/decoding/ctc_decoding.h"
#include "training/losses/loss.h"
#include "training/tasks/task.h"

namespace fovea::training {

/// Drives a transcriber. Metrics: the loss, word and character error rates of the decoded text. The
/// weights of the lowest word error rate are the best.
class Transcription final : public Task {
 public:
  /// `model` outlives the task. Throws ConfigError for a network that is no transcriber, or has
  /// fewer symbols than the data.
  Transcription(models::Model& model, std::shared_ptr<BatchSource> source,
                const schema::Component& loss);

  static std::vector<metrics::MetricInfo> metrics_of(const models::DataShape&) {
    return metrics::transcript_metrics();
  }
  static data::Batch random_batch(const models::DataShape& shape, std::int64_t size,
                                  const Device& device);

  Tensor loss_of(const models::Outputs& output, const data::Batch& batch) const override;
  std::vector<metrics::MetricInfo> metrics() const override {
    return metrics::transcript_metrics();
  }
  metrics::MetricInfo monitor() const override { return metrics::kWer; }
  Metrics measure(data::Split split, const std::optional<NoiseLevel>& noise) override {
    return evaluate_in_full(split, noise).metrics;
  }
  /// A table of the transcripts, and how many words were missed, made up or taken for others.
  Report report(const ReportRequest& request) override;
  void set_decoding(const DecodingOptions& options) override;
  std::string text_of(const data::Batch& batch) override;
  std::map<std::string, std::string> files() const override;

  struct Evaluation {
    Metrics metrics;
    std::vector<std::int64_t> indices;  // of the samples in the split, ascending
    std::vector<metrics::Transcript> transcripts;
  };
  /// Everything about one split; throws as measure().
  Evaluation evaluate_in_full(data::Split split, const std::optional<NoiseLevel>& noise = {});

 private:
  const data::SpeechDataset& samples(data::Split split) const;
  const data::SpeechDataset& any_samples() const;
  /// As options.ngram_text says.
  std::vector<std::string> counted_sentences(const DecodingOptions& options) const;
  /// The texts of a batch, from logits on the host.
  std::vector<std::string> texts_of(const models::Outputs& output) const;

  Loss loss_;
  DecodingOptions decoding_;
  std::optional<ops::NgramModel> language_;
  std::vector<std::string> sentences_;  // that it was counted in
};

}  // namespace fovea::training
