// Times one step of an experiment on random data.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "experiment/experiment.h"

namespace fovea::bench {

struct Settings {
  std::int64_t steps = 20;
  std::int64_t warm_up = 5;
  std::int64_t batch_size = 0;  // 0 = the experiment's
  bool infer = false;
  bool attention_only = false;
  std::int64_t tokens = 0;  // with attention_only; 0 = the model's
};

/// One operation, forward or backward, over all profiled steps.
struct ProfileRow {
  std::string op;
  bool backward = false;
  double ms_per_step = 0;
  double share = 0;
  std::int64_t calls_per_step = 0;
  std::int64_t macs_per_step = 0;
};

struct Result {
  std::vector<double> ms;  // of every timed step, ascending
  std::int64_t batch_size = 0;
  std::int64_t peak_bytes = 0;
  double allocations_per_step = 0;
  std::vector<ProfileRow> profile;  // largest share first
  std::string backend;

  double quantile(double q) const;
};

Result run(const experiment::Experiment& experiment, const Device& device,
           const Settings& settings);

schema::Value to_json(const experiment::Experiment& experiment, const Settings& settings,
                      const Result& result);
std::string to_text(const experiment::Experiment& experiment, const Settings& settings,
                    const Result& result);

}  // namespace fovea::bench
