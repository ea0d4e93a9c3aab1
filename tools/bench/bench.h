// Times one step of an experiment on random data, or on the weights and inputs of files.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "experiment/costs/measured_peaks.h"
#include "experiment/costs/profile.h"
#include "experiment/file/experiment.h"

namespace fovea::bench {

using Clock = std::chrono::steady_clock;

/// What is timed: the model, or one of the modules that each of its blocks has.
enum class Part { kModel, kAttention, kFfn };

struct Settings {
  std::int64_t steps = 20;
  std::int64_t warm_up = 5;
  std::int64_t batch_size = 0;  // 0 = the experiment's; 1 for a part
  bool infer = false;
  Part part = Part::kModel;
  std::int64_t tokens = 0;                         // of a part; 0 = 1024
  bool profile = true;                             // three more steps, watched
  std::optional<experiment::MeasuredPeaks> peaks;  // of this machine: the profile has limits
  std::string init;                                // safetensors file of weights; empty = random
  std::string inputs;  // safetensors file of x, y and upstream; empty = random
  Clock::time_point started = Clock::now();
};

struct Result {
  std::vector<double> ms;  // of every timed step, ascending
  std::int64_t batch_size = 0;
  std::int64_t peak_bytes = 0;       // of tensors, while stepping
  std::int64_t peak_rss_bytes = 0;   // of the process, while stepping
  std::int64_t start_rss_bytes = 0;  // of the process, before the model was built
  double start_up_s = 0;             // from the start of the program to the first step
  double cpu_ms_per_step = 0;        // of the processor, all threads; mean
  double loss = 0;                   // of the first step, before any update
  double allocations_per_step = 0;
  double present_share = 0;  // of registers' peak that products in the cache reached between steps
  std::vector<experiment::ProfileRow> profile;  // largest share first
  std::string backend;

  double quantile(double q) const;
};

/// The loss of a part is the mean of output x upstream.
Result run(const experiment::Experiment& experiment, const Device& device,
           const Settings& settings);

schema::Value to_json(const experiment::Experiment& experiment, const Settings& settings,
                      const Result& result);
std::string to_text(const experiment::Experiment& experiment, const Settings& settings,
                    const Result& result);
/// The roofline of a result with limits, .png or .svg. Throws as visualise::write_plots().
void draw(const std::filesystem::path& path, const experiment::Experiment& experiment,
          const Settings& settings, const Result& result);

}  // namespace fovea::bench
