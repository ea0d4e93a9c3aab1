// What an experiment is about: the loss of a batch, and the evaluation of a part of the data. A
// derived task is a goal: it compares outputs with targets and does not know what the inputs are.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "metrics/cases.h"
#include "metrics/detection/objects.h"
#include "models/model.h"
#include "parallel/ranks.h"
#include "training/batch_source.h"
#include "training/decoding_options.h"
#include "training/inference/choose_postprocessing.h"
#include "training/inference/inferer.h"
#include "training/inference/postprocessing.h"
#include "training/inference/sampler.h"
#include "training/tasks/task_report.h"

namespace fovea::training {

/// A goal, with the network that learns it and the data it is measured on.
class Task {
 public:
  virtual ~Task() = default;
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;

  // What a derived task says.

  /// Mean loss over the samples of a batch, () with gradients recorded, from what the network gave
  /// for it. Both on one device.
  virtual Tensor loss_of(const models::Outputs& output, const data::Batch& batch) const = 0;
  /// The same, with what it is the sum of, for logs: names and values without gradients.
  struct LossParts {
    Tensor sum;
    std::vector<std::pair<std::string, Tensor>> parts = {};
  };
  virtual LossParts loss_parts_of(const models::Outputs& output, const data::Batch& batch) const {
    return {loss_of(output, batch)};
  }
  /// What measure() gives, known without training.
  virtual std::vector<metrics::MetricInfo> metrics() const = 0;
  /// The one of them that decides which weights are best.
  virtual metrics::MetricInfo monitor() const = 0;
  /// The one that is shown first, and under noise.
  virtual metrics::MetricInfo headline() const { return monitor(); }
  /// Scores of one split, optionally with noise on every sample. Switches recording of gradients
  /// off; the model's mode is the caller's. Throws ConfigError for a split that is not there and
  /// for an unknown type of noise.
  virtual Metrics measure(data::Split split, const std::optional<NoiseLevel>& noise) = 0;
  /// Scores a split and says all that there is to be said of it. Throws as measure().
  virtual Report report(const ReportRequest& request) = 0;

  /// Classes of the pixels of a sample, (h, w) int64 on the host; of soft masks 1 is foreground.
  struct PixelClasses {
    Tensor truth, predicted;
  };
  /// Truth and prediction for sample i of a split. Throws ConfigError for a task without pixels of
  /// classes.
  virtual PixelClasses pixel_classes(data::Split split, std::int64_t i);
  /// The prediction alone, of an image in a batch of its own. Throws as pixel_classes().
  virtual Tensor predicted_classes(const data::Batch& batch);

  /// A sample as a person looks at it, on the host: the image (c, h, w) in [0, 1]; truth and
  /// prediction are shares of a foreground (1, h, w) float32, or classes (h, w) int64, below 0
  /// where a pixel does not count; of detections, where they are undefined, what lies in the image.
  struct Picture {
    Tensor image, truth, predicted;
    std::vector<metrics::TruthObject> objects = {};  // boxes and masks are of this image
    std::vector<metrics::DetectedObject> found = {};
  };
  /// Sample i of a split, of those that a report shows. Throws ConfigError for a task that has no
  /// pictures of its samples.
  virtual Picture picture(data::Split split, std::int64_t i);

  /// Probabilities for given samples, on the host: (b, classes), or of masks (b, k, spatial...),
  /// for which the inferer runs a dense network. Throws ConfigError for tasks that predict none.
  /// Recording of gradients and the mode are the caller's.
  virtual Tensor probabilities_of(const data::Batch& batch);

  /// Other networks for the same classes of the same samples: evaluations are then of the mean of
  /// their probabilities and this one's. Each reads its own data. They outlive this. Throws
  /// ConfigError for tasks without probabilities.
  void set_members(std::vector<Task*> members);

  /// What a detector finds in the only image of a batch, in pixels of its file, whose size the
  /// batch's geometry says; the highest score first. Throws ConfigError for tasks that find
  /// nothing. Recording of gradients and the mode are the caller's.
  virtual std::vector<metrics::DetectedObject> objects_in(const data::Batch& batch);

  /// What is said in the only recording of a batch. Throws ConfigError for tasks that write no
  /// text. Recording of gradients and the mode are the caller's.
  virtual std::string text_of(const data::Batch& batch);
  /// How a transcriber's logits become text from now on; without this, by the best symbol of every
  /// frame. Other tasks throw ConfigError for anything else. Throws FileError for a text that
  /// cannot be read.
  virtual void set_decoding(const DecodingOptions& options);

  /// Sets of questions that evaluations put to a language model from now on. Throws ConfigError for
  /// other tasks, unless there are none, and FileError for files.
  virtual void set_questions(const std::vector<schema::Component>& sets);

  /// The processes that share evaluations from now on: each runs the network on its part of the
  /// batches, and all see what it said of every one. They outlive this.
  void share_evaluations(parallel::Ranks& ranks) { ranks_ = &ranks; }

  /// What evaluations give the network in place of their batches, from now on; reports show it too.
  using InputChange = std::function<data::Batch(const data::Batch&)>;
  void change_inputs(InputChange change) { change_ = std::move(change); }
  /// Runs the network on a sample of a split as evaluations do, of a dense network on one window of
  /// zeros.
  void look(data::Split split, attention::Probe& probe);

  /// How a dense network's maps of whole samples are made, from now on; without this, by one pass.
  /// Throws ConfigError for another kind of network unless the inferer is whole.
  virtual void set_inferer(std::unique_ptr<const Inferer> inferer);
  /// Images (n, c, h, w) in [0, 1] on the host, made from noise. Throws ConfigError for tasks that
  /// make none, and as sample_images().
  virtual Tensor generate_images(const ImageRequest& request);

  /// BatchSource::files(), and what the task itself needs beside the weights.
  virtual std::map<std::string, std::string> files() const { return source().files(); }

  /// Further metrics that evaluations give from now on. Throws ConfigError for what the task does
  /// not measure.
  virtual void add_metrics(const metrics::CaseMetrics& asked);

  /// What becomes of predicted labels before they are scored, written or shown, from now on. Throws
  /// ConfigError for a task without labels of pixels, and for what does not fit its classes.
  virtual void set_postprocessing(const PostprocessingOptions& options);
  const Postprocessing& postprocessing() const { return postprocessing_; }
  /// What improves the predictions of a split, by nnU-Net's rule, those so far taken as they are.
  /// Throws ConfigError as set_postprocessing().
  virtual PostprocessingChoice choose_postprocessing(data::Split split);

  // What all share.

  models::Model& model() const { return model_; }
  BatchSource& source() { return *source_; }
  const BatchSource& source() const { return *source_; }
  /// Begins a training pass: all that network and task draw in it follows from this stream.
  void set_random(const RandomStream& random);
  /// The loss of a batch in any memory, a scalar with gradients recorded. Mode and randomness are
  /// the caller's.
  Tensor loss(const data::Batch& batch) { return loss_parts(batch).sum; }
  LossParts loss_parts(const data::Batch& batch);
  /// What the network makes of a batch, on its device.
  models::Outputs output(const data::Batch& batch, attention::Probe* probe = nullptr);
  /// Gives the network zeros as large as what evaluations will give it, a window or the first whole
  /// picture. Throws ConfigError where they do not fit the samples or the network.
  void check_inferer();

 protected:
  /// `model` outlives the task. `source` may be null: losses of given batches are then all that can
  /// be asked for. Throws ConfigError unless samples have the tensors that the network reads and
  /// `needed`, which the task compares with.
  Task(models::Model& model, std::shared_ptr<BatchSource> source,
       const std::vector<std::string>& needed);

  Postprocessing postprocessing_;

  /// What the network and the loss see of a batch in training: a task may add to it, and draws what
  /// it needs from `random`.
  virtual data::Batch prepared(const data::Batch& batch, const RandomStream& random) const;

  /// Throws ConfigError for eval.classes, which only segmentations have.
  static void check_no_classes(const metrics::CaseMetrics& asked);

  const Device& device() const { return device_; }  // of the model
  const Device& host() const { return source_->options().host; }
  bool has_source() const { return source_ != nullptr; }
  /// What scores and reports are made of: outputs on the host, of a dense network by the inferer;
  /// of a detector, which makes boxes of them, they stay where they are.
  models::Outputs infer(const data::Batch& batch);
  /// Whether outputs are means over several networks.
  bool has_members() const { return !members_.empty(); }
  /// The same of samples of a split, with the members' share.
  models::Outputs infer(data::Split split, const data::Batch& batch);
  /// What a network would give for these probabilities, as probabilities_of() makes them. Throws
  /// ConfigError for tasks whose outputs are not averaged.
  virtual models::Outputs outputs_for(const Tensor& probabilities) const;
  /// Names of samples, for tables.
  std::vector<std::string> names_of(const std::vector<std::int64_t>& indices,
                                    data::Split split) const;

  /// Called with a batch and what is said of it, on the host: logits of classes, or probabilities
  /// of masks.
  using Visit = std::function<void(const data::Batch& batch, const Tensor& output)>;
  using VisitOutputs = std::function<void(const data::Batch& batch, const models::Outputs& output)>;
  /// Every batch of a split, in order, with the network's output on the host and with noise on
  /// every sample if asked for. Of a batch that another rank has read, what the network reads first
  /// is missing. Throws ConfigError for a split that is not there.
  void for_each_batch(data::Split split, const std::optional<NoiseLevel>& noise,
                      const VisitOutputs& visit);
  void check_split(data::Split split) const;
  /// Sample i of a split as evaluations give it to the network, in a batch of its own.
  data::Batch evaluated(data::Split split, std::int64_t i) const {
    return changed(source().one(split, i));
  }

 private:
  void share_batches(data::Split split, const std::optional<NoiseLevel>& noise,
                     const VisitOutputs& visit);
  data::Batch changed(const data::Batch& batch) const { return change_ ? change_(batch) : batch; }

  models::Model& model_;
  std::shared_ptr<BatchSource> source_;
  Device device_;  // of the model
  DType dtype_ = DType::kFloat32;
  RandomStream random_;  // of the pass
  std::unique_ptr<const Inferer> inferer_;
  InputChange change_;  // null: none
  std::vector<Task*> members_;
  parallel::Ranks* ranks_ = nullptr;  // null: one process
};

/// log(p / largest p) of probabilities (b, classes, ...), which keeps their last bits apart, and
/// log odds: a softmax, or a sigmoid, of them is the probabilities. On the host; none is infinite.
Tensor log_probabilities(const Tensor& probabilities);
Tensor log_odds(const Tensor& probabilities);

/// The order that sorts `keys`; reordered() brings a parallel list into it.
std::vector<std::size_t> ascending(const std::vector<std::int64_t>& keys);
template <class T>
std::vector<T> reordered(const std::vector<T>& list, const std::vector<std::size_t>& order) {
  std::vector<T> result;
  result.reserve(list.size());
  for (const std::size_t i : order) result.push_back(list[i]);
  return result;
}

}  // namespace fovea::training
