// What a training step costs one process: the part of a forecast that is measured, or calculated
// for a card that is not here.
#pragma once

#include <cstdint>
#include <string>

#include "experiment/file/experiment.h"
#include "experiment/forecast/settings.h"

namespace fovea::experiment {

struct StepCosts {
  std::int64_t batch_size = 0;     // samples of a micro-batch: train.batch_size
  std::int64_t micro_batches = 1;  // of a step of one process: train.grad_accum_steps
  double forward_s = 0;            // seconds of one micro-batch
  double backward_s = 0;
  double update_s = 0;   // of the optimiser, once a step
  double host_copy = 0;  // bytes a second of gradients between device and host

  // Bytes, counted on the meta device.
  std::int64_t parameter_bytes = 0;
  std::int64_t gradient_bytes = 0;
  std::int64_t optimiser_bytes = 0;  // its state
  std::int64_t saved_bytes = 0;      // what the forward pass keeps for the backward pass
  std::int64_t peak_bytes = 0;       // of a step with all of these, and averaged weights
  std::int64_t sample_bytes = 0;     // of one sample, as the network gets it

  // How gradients travel, by the settings of the experiment.
  double sent_bytes = 0;       // of those of a rank: train.gradient_type
  bool own_first = false;      // each rank adds up its own before: train.gradient_order
  bool shared_update = false;  // train.shard_optimizer

  double memory = 0;      // bytes of the card; 0: not known
  bool on_host = false;   // the memory of the device is that of the host
  std::string time_from;  // "measured: ...", "calculated, not measured: ..."
  std::string copy_from;  // the same of host_copy
};

/// Measured steps run on the experiment's device; nothing is run for calculated ones. Both have
/// random inputs of train.batch_size, and no data set is read beyond its sizes. Throws BackendError
/// where train.device is not here and the settings name no card.
StepCosts step_costs(const Experiment& experiment, const ForecastSettings& settings);

}  // namespace fovea::experiment
