// Task: a mask for each image, of one foreground, of a class for every pixel, or of regions of such
// classes that overlap.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "metrics/cases.h"
#include "metrics/label_maps.h"
#include "metrics/segmentation.h"
#include "training/losses/loss.h"
#include "training/tasks/segmentation/segmentation_cases.h"
#include "training/tasks/task.h"

namespace fovea::training {

/// What all have in common: a dense network whose finest map is compared with "mask".
class Segmentation : public Task {
 public:
  /// By what the masks of `source` are, and whether its outputs are regions; where it is null, by
  /// what the loss compares.
  static std::unique_ptr<Task> make(models::Model& model, std::shared_ptr<BatchSource> source,
                                    const schema::Component& loss);
  static std::vector<metrics::MetricInfo> metrics_of(const models::DataShape& shape);
  static std::vector<metrics::MetricInfo> asked_metrics(const metrics::CaseMetrics& asked,
                                                        const models::DataShape& shape);
  static data::Batch random_batch(const models::DataShape& shape, std::int64_t size,
                                  const Device& device);

  void add_metrics(const metrics::CaseMetrics& asked) override;
  Tensor loss_of(const models::Outputs& output, const data::Batch& batch) const override;
  /// Probabilities of one sample, (k, h, w) on the host.
  Tensor predict(data::Split split, std::int64_t i);
  PixelClasses pixel_classes(data::Split split, std::int64_t i) override;
  Tensor predicted_classes(const data::Batch& batch) override;
  Picture picture(data::Split split, std::int64_t i) override;
  Tensor probabilities_of(const data::Batch& batch) override {
    return probabilities(infer(batch).maps.front());
  }
  void set_postprocessing(const PostprocessingOptions& options) override;
  PostprocessingChoice choose_postprocessing(data::Split split) override;

 protected:
  /// Throws ConfigError where the network has another number of maps than the source has outputs.
  Segmentation(models::Model& model, std::shared_ptr<BatchSource> source,
               const schema::Component& loss, Compares compares);
  /// Of logits (b, k, h, w).
  virtual Tensor probabilities(const Tensor& map) const = 0;
  /// Its inverse, but for a constant.
  virtual Tensor logits(const Tensor& probabilities) const = 0;
  models::Outputs outputs_for(const Tensor& probabilities) const override {
    return {.maps = {logits(probabilities)}};
  }
  Tensor mean_loss(const models::Outputs& output, const Tensor& masks) const {
    return loss_(output, target_of(masks));
  }
  /// What the loss compares maps with, from the masks of a batch.
  virtual Tensor target_of(const Tensor& masks) const { return masks; }
  /// Names of what is scored, the background first where there is one, and the labels of each.
  virtual const std::vector<std::string>& scored_names() const { return source().class_names(); }
  virtual metrics::LabelSets scored_labels() const;
  /// The first of these that is not the background.
  virtual std::size_t first_scored() const { return 1; }
  /// The metrics of every evaluation, and behind them those asked for by add_metrics(), of each of
  /// these classes too.
  std::vector<metrics::MetricInfo> with_cases(std::vector<metrics::MetricInfo> metrics,
                                              const std::vector<std::string>& class_names) const;
  /// Places of the classes that means are of.
  std::vector<std::size_t> chosen_classes() const;
  /// Gathers what these need to know.
  CaseCollector collect_cases() const { return CaseCollector(asked_, scored_labels()); }
  /// Sample i of a batch; truth and prediction have `size` pixels, one number an axis.
  CaseCollector::Image image_of(std::span<const std::int64_t> truth,
                                std::span<const std::int64_t> predicted,
                                const std::vector<std::int64_t>& size, const data::Batch& batch,
                                std::int64_t i, data::Split split) const;
  /// Whether scores are made at the size of the files.
  bool at_original_size(data::Split split) const;
  /// "224 x 224": what the network sees of the first sample.
  std::string network_size(data::Split split) const;
  /// The mask of a sample at that size, without the axis of the batch.
  Tensor original_truth(data::Split split, std::int64_t index) const;
  /// 1 where a probability is that of foreground, 0 elsewhere: int64 of the same shape.
  static Tensor foreground_labels(const Tensor& shares);
  /// Truth and predicted labels of every sample of a split, as they are compared.
  using VisitLabels =
      std::function<void(const Tensor& truth, const Tensor& predicted, const metrics::Grid& grid)>;
  virtual void each_case(data::Split split, const VisitLabels& visit) = 0;
  /// The labels of sample i of a batch after postprocessing(), of that many pixels, one number an
  /// axis. Throws ConfigError for slices of volumes, which are predicted one by one.
  Tensor postprocessed_labels(const Tensor& labels, const std::vector<std::int64_t>& size,
                              const data::Batch& batch, std::int64_t i, data::Split split) const;
  void check_no_slices(data::Split split) const;
  /// Size and, where it is known, spacing of what sample i of a batch is compared as.
  metrics::Grid grid_of(const std::vector<std::int64_t>& size, const data::Batch& batch,
                        std::int64_t i, data::Split split) const;
  /// Predicted labels (h, w) of sample i of a batch, brought to that size.
  Tensor labels_at_original(const Tensor& labels, const data::Batch& batch, std::int64_t i,
                            data::Split split) const;
  /// A member of results.json, and a line that says how predictions are brought to the files' size,
  /// or in pixels of what size distances are.
  void add_score_size(Report& report, data::Split split, const char* how) const;
  /// Adds their values, of each of these classes too.
  void add_cases(Metrics& metrics, const std::vector<metrics::CaseScores>& cases,
                 const std::vector<std::string>& class_names) const;
  /// In results.json under the metric's name: the value that leaves out what is undefined, and how
  /// much that is; and a line for people where it is anything.
  void add_cases(Report& report, const std::vector<metrics::CaseScores>& cases,
                 const std::vector<std::string>& class_names) const;
  /// Adds the table of samples, with further columns for cases that are images, and that of volumes
  /// where the cases are these. class_words: "" for the name of an only class.
  void add_tables(Report& report, Table samples, const std::vector<metrics::CaseScores>& cases,
                  const std::vector<std::string>& class_words) const;
  /// "disc07, DSC 93.1 %", of the name of a sample and a share of 1.
  static std::string shown_label(const std::string& name, const char* score, double share);
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
  std::vector<metrics::MetricInfo> metrics() const override {
    return with_cases(metrics::mask_metrics(), {});
  }
  /// Throws ConfigError for classes, of which masks have one.
  void add_metrics(const metrics::CaseMetrics& asked) override;
  Metrics measure(data::Split split, const std::optional<NoiseLevel>& noise) override {
    return evaluate_in_full(split, noise).metrics;
  }
  /// A table of the samples, and some of them to be shown.
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
  /// probabilities, `labels` what is compared of every sample.
  Evaluation evaluate_in_full(data::Split split, const std::optional<NoiseLevel>& noise = {},
                              const Visit& also = {}, const VisitLabels& labels = {});

 private:
  Tensor probabilities(const Tensor& map) const override;
  Tensor logits(const Tensor& prob) const override { return log_odds(prob); }
  metrics::LabelSets scored_labels() const override { return {{0}, {1}}; }
  void each_case(data::Split split, const VisitLabels& visit) override {
    evaluate_in_full(split, {}, {}, visit);
  }
};

/// What tasks share whose samples have a label for every pixel, and whose predictions are brought
/// to that form before they are scored. The weights of the highest Dice over all pixels, mean over
/// what is scored but the background, are the best.
class LabelledSegmentation : public Segmentation {
 public:
  metrics::MetricInfo monitor() const override { return metrics::kPooledDice; }
  std::vector<metrics::MetricInfo> metrics() const override;
  Metrics measure(data::Split split, const std::optional<NoiseLevel>& noise) override {
    return evaluate_in_full(split, noise).metrics;
  }
  /// A table of the samples with columns for all that is scored, the counts of their pixels, and
  /// some of them to be shown, unless they are volumes.
  Report report(const ReportRequest& request) override;

  struct Evaluation {
    Metrics metrics;
    metrics::ConfusionMatrix confusion;           // of all pixels that count, by their labels
    std::vector<std::int64_t> indices;            // of the samples in the split, ascending
    std::vector<metrics::ClassCounts> by_sample;  // of what is scored
    std::vector<std::int64_t> pixels;             // that count, by sample
    std::vector<metrics::CaseScores> cases;       // empty unless add_metrics() asked
  };
  /// Everything about one split; throws as measure(). `also` sees every batch with its logits,
  /// `labels` what is compared of every sample.
  Evaluation evaluate_in_full(data::Split split, const std::optional<NoiseLevel>& noise = {},
                              const Visit& also = {}, const VisitLabels& labels = {});

 protected:
  using Segmentation::Segmentation;
  /// Labels (b, spatial...) int64 at the network's size, of maps of logits.
  virtual Tensor labels_of(const Tensor& map) const = 0;
  /// Whether every pixel is of one thing that is scored: there is an accuracy then, and the
  /// background is scored like others.
  virtual bool scores_every_pixel() const = 0;
  /// What is said of one kind alone.
  virtual void add_scores(Report& /*report*/, const Evaluation& /*clean*/) const {}

 private:
  Tensor probabilities_of_sample(const Tensor& logits, std::int64_t i) const;
  double dice_of(const metrics::ClassCounts& sample) const;
  void each_case(data::Split split, const VisitLabels& visit) override {
    evaluate_in_full(split, {}, {}, visit);
  }
  Table samples_table(const Evaluation& clean, const std::vector<std::string>& names) const;
  schema::Value per_class_json(const Evaluation& clean) const;
};

/// Maps of labels: the softmax over the maps is the probability of each class.
/// Metrics: metrics::measure_label_maps, with the mean over the images of each one's loss. Reports
/// have the confusion matrix of the pixels.
class LabelSegmentation final : public LabelledSegmentation {
 public:
  /// `model` outlives the task.
  LabelSegmentation(models::Model& model, std::shared_ptr<BatchSource> source,
                    const schema::Component& loss = {"dice_ce", {}})
      : LabelledSegmentation(model, std::move(source), loss, Compares::kLabelMaps) {}

 private:
  Tensor probabilities(const Tensor& map) const override;
  Tensor logits(const Tensor& prob) const override { return log_probabilities(prob); }
  Tensor labels_of(const Tensor& map) const override { return metrics::predicted_labels(map); }
  std::size_t first_scored() const override { return source().has_background() ? 1 : 0; }
  bool scores_every_pixel() const override { return true; }
  void add_scores(Report& report, const Evaluation& clean) const override;
};

/// Regions of the labels of volumes, which may overlap (data::Region): the sigmoid of each map is
/// the probability of its region. nnU-Net's region-based training.
/// Metrics: metrics::measure_regions, of the regions of truth and predicted labels, with the mean
/// over the volumes of each one's loss.
class RegionSegmentation final : public LabelledSegmentation {
 public:
  /// `model` outlives the task. Samples of the source have regions.
  RegionSegmentation(models::Model& model, std::shared_ptr<BatchSource> source,
                     const schema::Component& loss = {"dice_ce", {}});

  Tensor loss_of(const models::Outputs& output, const data::Batch& batch) const override;
  /// Throws ConfigError for one that takes the maps for classes.
  void set_inferer(std::unique_ptr<const Inferer> inferer) override;

 private:
  Tensor probabilities(const Tensor& map) const override;
  Tensor logits(const Tensor& prob) const override { return log_odds(prob); }
  Tensor labels_of(const Tensor& map) const override;
  Tensor target_of(const Tensor& masks) const override;
  const std::vector<std::string>& scored_names() const override { return names_; }
  metrics::LabelSets scored_labels() const override { return labels_; }
  bool scores_every_pixel() const override { return false; }

  std::vector<std::string> names_;  // the background first, as are the labels
  metrics::LabelSets labels_;
};

}  // namespace fovea::training
