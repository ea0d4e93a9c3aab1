// From a resolved experiment to data, network and training loop.
#pragma once

#include <atomic>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "experiment/experiment.h"
#include "training/image_classification.h"
#include "training/segmentation.h"
#include "training/trainer.h"

namespace fovea::experiment {

struct RunOptions {
  std::filesystem::path folder;
  bool resume = false;
  int threads = 0;             // 0 = train.threads, or all cores
  std::int64_t overfit = 0;    // train and evaluate on this many samples; 0 = off
  std::filesystem::path init;  // weights to start from; empty = none
  std::vector<std::string> init_ignore;
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

  const Experiment& experiment() const { return experiment_; }
  models::Model& model() { return *model_; }
  training::DataTask& task() { return *task_; }
  // The task as what it is; throws ConfigError if the experiment has another.
  training::ImageClassification& image_classification();
  training::Segmentation& segmentation();
  const Device& device() const { return device_; }

 private:
  training::TrainerSetup setup() const;

  schema::Value resolved_;
  RunOptions options_;
  Experiment experiment_;
  Device device_;
  Device host_;
  models::DataShape shape_;  // of the opened data set
  std::unique_ptr<models::Model> model_;
  std::unique_ptr<training::DataTask> task_;
};

/// The configuration of a run folder (config.json).
schema::Value load_config(const std::filesystem::path& run_folder);

/// Copies the weights of checkpoints/<which> into the network; `ema` takes the averaged ones.
void load_run_weights(const std::filesystem::path& run_folder, const std::string& which, bool ema,
                      models::Model& model, const Device& host);

}  // namespace fovea::experiment
