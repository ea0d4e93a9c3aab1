// Task: a mask for each image, of one foreground or of a class for every pixel.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "metrics/cases.h"
#include "metrics/label_maps.h"
#include "metrics/segmentation.h"
#include "training/data_task.h"
#include "training/loss.h"
#include "training/segmentation_cases.h"

namespace fovea::training {

/// What both have in common: a dense network whose finest map is compared with "mask".
class Segmentation : public DataTask {
 public:
  /// By what the masks of `source` are; where it is null, by what the loss compares.
  static std::unique_ptr<DataTask> make(models::Model& model, std::shared_ptr<BatchSource> source,
                                        const schema::Component& loss);
  static std::vector<metrics::MetricInfo> metrics_of(const models::DataShape& shape);
  static data::Batch random_batch(const models::DataShape& shape, std::int64_t size,
                                  const Device& device);

  void add_metrics(const metrics::CaseMetrics& asked) override;
  Tensor loss_of(const models::Outputs& output, const data::Batch& batch) const override;
  /// Probabilities of one sample, (k, h, w) on the host.
  Tensor predict(const std::string& split, std::int64_t i);
  PixelClasses pixel_classes(const std::string& split, std::int64_t i) override;
  Tensor probabilities_of(const data::Batch& batch) override {
    return probabilities(infer(batch).maps.front());
  }

 protected:
  /// Throws ConfigError where the network has another number of maps than there are classes.
  Segmentation(models::Model& model, std::shared_ptr<BatchSource> source,
               const schema::Component& loss, Compares compares);
  /// Of logits (b, k, h, w).
  virtual Tensor probabilities(const Tensor& map) const = 0;
  Tensor mean_loss(const models::Outputs& output, const Tensor& masks) const {
    return loss_(output, masks);
  }
  /// The metrics of every evaluation, and behind them those asked for by add_metrics(), of each of
  /// these classes too.
  std::vector<metrics::MetricInfo> with_cases(std::vector<metrics::MetricInfo> metrics,
                                              const std::vector<std::string>& class_names) const;
  /// Places of the classes that means are of.
  std::vector<std::size_t> chosen_classes() const;
  /// Gathers what these need to know.
  CaseCollector collect_cases() const { return CaseCollector(asked_); }
  /// Sample i of a batch; truth and prediction have `size` pixels, one number an axis.
  CaseCollector::Image image_of(std::span<const std::int64_t> truth,
                                std::span<const std::int64_t> predicted,
                                const std::vector<std::int64_t>& size, const data::Batch& batch,
                                std::int64_t i, const std::string& split) const;
  /// Whether scores are made at the size of the files.
  bool at_original_size(const std::string& split) const;
  /// "224 x 224": what the network sees of the first sample.
  std::string network_size(const std::string& split) const;
  /// The mask of a sample at that size, without the axis of the batch.
  Tensor original_truth(const std::string& split, std::int64_t index) const;
  /// Predicted labels (h, w) of sample i of a batch, brought to that size.
  Tensor labels_at_original(const Tensor& labels, const data::Batch& batch, std::int64_t i,
                            const std::string& split) const;
  /// A member of results.json, and a line that says how predictions are brought to the files' size,
  /// or in pixels of what size distances are.
  void add_score_size(Report& report, const std::string& split, const char* how) const;
  /// Adds their values, of each of these classes too.
  void add_cases(Metrics& metrics, const std::vector<metrics::CaseScores>& cases,
                 const std::vector<std::string>& class_names) const;
  /// In results.json under the metric's name: the value that leaves out what is undefined, and how
  /// much that is; and a line for people where it is anything.
  void add_cases(Report& report, const std::vector<metrics::CaseScores>& cases,
                 const std::vector<std::string>& class_names) const;
  /// Of images: further columns of samples.csv, their heads and the cells of each row; none where
  /// no metric was asked for. Of volumes: writes volumes.csv. "" for the name of an only class.
  std::vector<std::string> write_cases(const ReportRequest& request,
                                       const std::vector<metrics::CaseScores>& cases,
                                       const std::vector<std::string>& class_words,
                                       std::string& heads) const;
  /// Samples to draw, spread over the split: their places in a list of so many.
  static std::vector<std::size_t> drawn(const ReportRequest& request, std::size_t samples);
  /// Where images without foreground are counted: a member of results.json, and a line for people
  /// if there are any.
  static void add_empty_images(Report& report, std::int64_t in_truth, std::int64_t in_both);

 private:
  schema::Component named_loss_;
  Compares compares_;
  Loss loss_;
  metrics::CaseMetrics asked_;
};

/// Soft masks of one foreground: the sigmoid of the map is its probability.
/// Metrics: metrics::measure_masks, with the mean over the images of each one's loss. The weights
/// of the highest Dice over all pixels are the best.
class MaskSegmentation final : public Segmentation {
 public:
  /// `model` outlives the task.
  MaskSegmentation(models::Model& model, std::shared_ptr<BatchSource> source,
                   const schema::Component& loss = {"bce_dice", {}})
      : Segmentation(model, std::move(source), loss, Compares::kMasks) {}

  metrics::MetricInfo monitor() const override { return metrics::kPooledDice; }
  metrics::MetricInfo headline() const override { return metrics::kPooledDice; }
  std::vector<metrics::MetricInfo> metrics() const override {
    return with_cases(metrics::mask_metrics(), {});
  }
  /// Throws ConfigError for classes, of which masks have one.
  void add_metrics(const metrics::CaseMetrics& asked) override;
  Metrics measure(const std::string& split, const std::optional<NoiseLevel>& noise) override {
    return evaluate_in_full(split, noise).metrics;
  }
  /// samples.csv, overlays-*.png with outlines of some samples, and what MaskFiles writes.
  Report report(const ReportRequest& request) override;

  struct Evaluation {
    Metrics metrics;
    metrics::MaskCounts counts;
    std::vector<std::int64_t> indices;  // of the samples in the split, ascending
    std::vector<metrics::MaskCounts> by_sample;
    std::vector<metrics::CaseScores> cases;  // empty unless add_metrics() asked
    std::int64_t truth_empty = 0;            // images without foreground in the truth
    std::int64_t both_empty = 0;  // of these, those without foreground in the prediction either
  };
  /// Everything about one split; throws as measure(). `also` sees every batch with its
  /// probabilities.
  Evaluation evaluate_in_full(const std::string& split, const std::optional<NoiseLevel>& noise = {},
                              const Visit& also = {});

 private:
  Tensor probabilities(const Tensor& map) const override;
  Tensor probabilities_of_sample(const Tensor& logits, std::int64_t i) const;
  void write_overlays(const ReportRequest& request, const Evaluation& clean);
};

/// Maps of labels: the softmax over the maps is the probability of each class.
/// Metrics: metrics::measure_label_maps, with the mean over the images of each one's loss. The
/// weights of the highest Dice over all pixels, mean over the classes, are the best.
class LabelSegmentation final : public Segmentation {
 public:
  /// `model` outlives the task.
  LabelSegmentation(models::Model& model, std::shared_ptr<BatchSource> source,
                    const schema::Component& loss = {"dice_ce", {}})
      : Segmentation(model, std::move(source), loss, Compares::kLabelMaps) {}

  metrics::MetricInfo monitor() const override { return metrics::kPooledDice; }
  metrics::MetricInfo headline() const override { return metrics::kPooledDice; }
  std::vector<metrics::MetricInfo> metrics() const override {
    return with_cases(metrics::label_map_metrics(source().class_names()), source().class_names());
  }
  Metrics measure(const std::string& split, const std::optional<NoiseLevel>& noise) override {
    return evaluate_in_full(split, noise).metrics;
  }
  /// samples.csv with columns for each class, confusion.{csv,png} of the pixels, overlays-*.png
  /// with a colour for each class, and what MaskFiles writes; of volumes instead of the last two
  /// nnU-Net's summary.json and what PredictedVolumes writes.
  Report report(const ReportRequest& request) override;

  struct Evaluation {
    Metrics metrics;
    metrics::ConfusionMatrix confusion;  // of all pixels that count
    std::vector<std::int64_t> indices;   // of the samples in the split, ascending
    std::vector<metrics::ClassCounts> by_sample;
    std::vector<metrics::CaseScores> cases;  // empty unless add_metrics() asked
  };
  /// Everything about one split; throws as measure(). `also` sees every batch with its logits.
  Evaluation evaluate_in_full(const std::string& split, const std::optional<NoiseLevel>& noise = {},
                              const Visit& also = {});

 private:
  Tensor probabilities(const Tensor& map) const override;
  Tensor probabilities_of_sample(const Tensor& logits, std::int64_t i) const;
  void write_overlays(const ReportRequest& request, const Evaluation& clean);
};

}  // namespace fovea::training
