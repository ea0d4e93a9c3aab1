// The "train" section of an experiment file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backend/devices.h"
#include "schema/fields.h"

namespace fovea::training {

enum class ClipMode { kNorm, kValue };
enum class MonitorMode { kAuto, kMax, kMin };
enum class Select { kAuto, kBest, kLast };
enum class SelectOn { kVal, kTest };
enum class Sampler { kShuffle, kBalanced };

/// In which order gradients are added. Addition of floats is not associative.
enum class GradientOrder {
  kMicroBatches,  // from left to right over all of the step: any number of ranks gives the same
                  // bits
  kRanks,         // each rank adds its own first, and sends one sum: less travels
};

struct TrainOptions {
  std::int64_t epochs = 100;
  std::int64_t steps = 0;  // 0 = by epochs
  std::int64_t batch_size = 128;
  std::int64_t eval_batch_size = 0;  // 0 = batch_size
  Sampler sampler = Sampler::kShuffle;
  std::int64_t num_workers = 1;
  std::int64_t grad_accum_steps = 1;
  std::vector<std::string> freeze;  // patterns (training/parameters.h)
  double clip_grad = 0;             // 0 = off
  ClipMode clip_mode = ClipMode::kNorm;
  double ema_decay = 0;                     // 0 = off
  std::int64_t ema_base_size = 0;           // samples of a step that ema_decay is of; 0 = any
  std::int64_t eval_every = 1;              // epochs
  std::int64_t eval_every_steps = 0;        // instead; 0 = by epochs
  std::int64_t log_every = 50;              // steps
  std::int64_t checkpoint_every = 1;        // epochs
  std::int64_t checkpoint_every_steps = 0;  // 0 = only at the end of epochs
  std::int64_t keep_every = 0;              // epochs; 0 = only last and best
  std::string monitor;                      // "" = of the task; "top1", "ema_top1", "loss"
  bool monitor_averages = false;            // also the monitor of averaged weights
  MonitorMode monitor_mode = MonitorMode::kAuto;
  std::int64_t patience = 0;  // evaluations; 0 = no early stopping
  double min_delta = 0;
  Select select = Select::kAuto;
  std::optional<SelectOn> select_on;  // none: val where there is one
  std::string precision = "float32";
  std::string device = "cpu";
  bool allow_tf32 = false;
  bool batch_invariant = false;
  std::int64_t threads = 0;
  bool cuda_graphs = false;
  bool detect_anomaly = false;
  bool tensorboard = true;
  double rank_timeout = 600;  // seconds
  GradientOrder gradient_order = GradientOrder::kMicroBatches;
  std::string gradient_type = "float32";
  bool shard_optimizer = false;
  bool sync_batch_norm = false;

  /// For make_device.
  DeviceSettings device_settings(int with_threads) const {
    return {with_threads, allow_tf32, batch_invariant};
  }
  /// The decay of averaged weights for the samples of a step. mala 7.1.
  double decay_of_step() const;
};

const schema::Fields<TrainOptions>& train_fields();

}  // namespace fovea::training
