// The words of `fovea inspect EXPERIMENT --forecast 'gpus=64 net=400G'`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "experiment/forecast/network.h"

namespace fovea::experiment {

/// The share of the backward pass behind which sums of gradients hide in `fovea train`: buckets
/// travel while it goes on, and the last of them after it. Assumed.
inline constexpr double kOverlapOfTrain = 0.5;

struct ForecastSettings {
  std::int64_t ranks = 0;  // the most that are shown
  Network network;
  /// Bytes a second of gradients copied between device and host; none: measured.
  std::optional<double> host_copy;
  SumKind sum = SumKind::kOrdered;
  double overlap = kOverlapOfTrain;  // share of the backward pass, 0 to 1
  bool zero = false;                 // shared updates (ZeRO-1), also where the experiment has none
  std::int64_t batch = 0;  // samples of a step of all ranks; 0: as many ranks, as many times more

  // Where the time of a micro-batch comes from; without card and tflops it is measured.
  std::string card;                        // a name of cards(); "" = none
  std::optional<double> tflops;            // 1e12 operations a second, 2 a multiply-add
  std::optional<double> memory_bandwidth;  // bytes a second
  std::optional<double> memory;            // bytes of a card
  double share = 0.4;                      // of these peaks that kernels reach
  double speed = 1;                        // the ranks' devices relative to that

  bool is_calculated() const { return !card.empty() || tflops.has_value(); }
};

/// Words "key=value" apart by spaces. Bandwidths of networks are in bit/s: 400G is 400 Gbit/s,
/// 50GB/s the same. Throws ConfigError for what cannot be meant.
ForecastSettings read_forecast_settings(const std::string& words);

/// All keys, for the documentation's test.
std::vector<std::string> forecast_keys();

}  // namespace fovea::experiment
