// From a resolved experiment to data, network and training loop.
#pragma once

#include <atomic>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/registry.h"
#include "experiment/file/experiment.h"
#include "experiment/run/open_data.h"
#include "parallel/ranks.h"
#include "training/store/foreign_weights.h"
#include "training/tasks/task.h"
#include "training/trainer.h"

namespace fovea::experiment {

struct RunOptions {
  std::filesystem::path folder;
  bool resume = false;
  std::int64_t extend = 0;   // with resume: so many epochs more for a finished run; 0 = off
  int threads = 0;           // 0 = train.threads, or all cores
  std::int64_t overfit = 0;  // train and evaluate on this many samples; 0 = off
  /// Weights to start from; a run or a checkpoint may stand for its file
  /// (training/store/weights_file.h).
  std::optional<training::ForeignWeights> init;
  /// All weights come from elsewhere: those that backbones start from (models::load_pretrained) are
  /// not read.
  bool all_weights_given = false;
  /// What lies beside weights, instead of what would be made of train, such as a vocabulary; null =
  /// that.
  std::shared_ptr<const data::WeightFiles> weight_files;
  /// Which parts of the data set are opened; of kNone weight_files say enough.
  data::OpenParts parts = data::OpenParts::kAll;
  /// One part alone.
  std::optional<data::Split> only;
  /// Where the network lives, instead of train.device; undefined = there. The meta device leaves
  /// everything but the arithmetic: the network has shapes and no memory.
  Device device;
  /// Where data are looked for before they are opened; null = nowhere.
  OpenData* data = nullptr;
  /// The processes that train together; null = one.
  parallel::Ranks* ranks = nullptr;
  training::ProgressSink* progress = nullptr;
  const std::atomic<bool>* stop = nullptr;
};

/// Everything one experiment needs, in the order it must be made and destroyed.
class Run {
 public:
  /// Opens the data, builds the network. Throws ConfigError and FileError.
  Run(const schema::Value& resolved, const RunOptions& options);

  /// Trains to the end and returns summary.json.
  schema::Value train();
  training::DryRun dry_run();
  /// Throws what the training loop would throw before its first step: ConfigError for a monitor
  /// that is not measured, or options of optimiser and schedule that do not fit; and what the first
  /// evaluation would throw for windows (eval.inferer) that do not fit data or network.
  void check();
  /// Reads what evaluations need besides the data, once: training and `eval` do, figures and
  /// predictions can do without. Throws FileError.
  void prepare_evaluation();
  /// The learning rates of the whole run in a line (optim/rates.h).
  std::string rates_text();

  const Experiment& experiment() const { return experiment_; }
  /// Every setting, resolved.
  const schema::Value& config() const { return resolved_; }
  models::Model& model() { return *model_; }
  training::Task& task() { return *task_; }
  const Device& device() const { return device_; }
  /// What was taken from RunOptions::init; nothing without it.
  const std::optional<nn::LoadReport>& init() const { return init_; }
  /// Compares what lies beside the weights of a checkpoint with the data
  /// (BatchSource::check_files).
  void check_files(const training::Checkpoint& checkpoint, const std::filesystem::path& folder);
  /// Lines for the user: what could not be compared, what became of old or foreign settings.
  const std::vector<std::string>& notes() const { return notes_; }
  void add_notes(const std::vector<std::string>& notes) {
    notes_.insert(notes_.end(), notes.begin(), notes.end());
  }
  const models::DataShape& shape() const { return shape_; }

 private:
  OpenedData open_data(training::BatchOptions options) const;
  void build_model();
  training::TrainerSetup setup() const;
  std::optional<schema::Value> described_init() const;

  schema::Value resolved_;
  RunOptions options_;
  Experiment experiment_;
  Device device_;
  Device host_;
  models::DataShape shape_;  // of the opened data set
  std::unique_ptr<models::Model> model_;
  std::optional<nn::LoadReport> init_;
  std::unique_ptr<training::Task> task_;
  std::vector<std::string> notes_;
  bool asks_ = false;  // eval.questions have been read
};

/// The configuration of a run folder (config.json), or of the model file that was made of a run.
schema::Value load_config(const std::filesystem::path& run);
/// What load_config() gave with overrides "key=value", resolved.
schema::Value resolved_of_run(const schema::Value& config,
                              const std::vector<std::string>& overrides, schema::Notes& notes);

/// Name of the file in a run folder that says which weights training began with (train --init).
inline constexpr const char* kInitFile = "init.json";

}  // namespace fovea::experiment
