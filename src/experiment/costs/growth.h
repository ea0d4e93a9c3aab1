// What layer attention adds to its backbone as networks get deeper, and how fast that grows:
// multiply-adds, memory and time with attention minus those without. kcla figure 6.
#pragma once

#include <functional>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "experiment/file/experiment.h"

namespace fovea::experiment {

/// The costs of one network, or of one minus another.
struct Cost {
  std::int64_t macs = 0;        // forward, batch 1
  std::int64_t peak_bytes = 0;  // of a training step at the experiment's batch size
  double ms = std::numeric_limits<double>::quiet_NaN();  // of such a step; NaN: not timed
  double ms_spread = std::numeric_limits<double>::quiet_NaN();
};

/// A backbone of one depth, and what every layer attention adds to it.
struct Depth {
  std::int64_t blocks = 0;  // of each stage
  std::int64_t layers = 0;  // convolutions of all blocks, the stem's and the head
  Cost backbone;
  std::vector<Cost> added;
};

/// The experiment with these overrides, "key=value", on top of its own.
using Variation = std::function<Experiment(const std::vector<std::string>& overrides)>;

struct GrowthSettings {
  std::vector<std::int64_t> blocks = {};           // of each stage, for every depth; ascending
  std::vector<std::string> layer_attentions = {};  // names; the experiment's own keeps its options
  /// Timed steps of every network of the last depth; shallower networks run more, in proportion to
  /// their blocks. 0: nothing is run, memory is counted on the meta device; otherwise it is the
  /// peak of the steps that were run.
  std::int64_t steps = 0;
  std::function<void(double share)> progress = {};  // told how much of the timing is done
};

/// The networks of one depth are timed in turns, step by step, and all depths in several passes, so
/// that whatever else the machine does meets all alike: ms of an addition is the median of the
/// differences to the backbone in the same turn, ms_spread half the distance of the quartiles.
/// Throws ConfigError unless the network is a ResNet that takes a layer attention.
std::vector<Depth> measure_depths(const Variation& variation, const GrowthSettings& settings);

/// How y grows with x. NaN: too few points, or some y not positive.
struct GrowthRate {
  double exponent = 0;  // p of y = a x^p, least squares in logarithms over all points
  double last = 0;      // the same through the last two points
  /// Share of c x^2 in the last y, with a + b x + c x^2 fitted to all points (least squares of
  /// relative errors, at least three points): 0 is linear growth, 1 purely quadratic. A sum of both
  /// has an exponent between 1 and 2 however certain its square is.
  double square = 0;
};
GrowthRate growth_rate(std::span<const double> x, std::span<const double> y);

/// The rates of one layer attention against the number of layers.
struct Growth {
  GrowthRate macs, peak_bytes, ms;
};
std::vector<Growth> growth_of(const std::vector<Depth>& depths);

/// One object: settings, every depth, every rate; what was not measured is null.
schema::Value to_json(const Experiment& experiment, const GrowthSettings& settings,
                      const std::vector<Depth>& depths);
/// Tables for people: one of the additions, one of their rates.
std::string to_text(const GrowthSettings& settings, const std::vector<Depth>& depths);

}  // namespace fovea::experiment
