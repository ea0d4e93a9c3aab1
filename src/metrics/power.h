// How large a difference repeated runs can show, and how many runs a difference needs. Paired
// differences are taken to be normal; the test is that of the signs (statistics.h, sign_flip_p).
#pragma once

#include <cstdint>
#include <optional>

namespace fovea::metrics {

/// The power that is asked for where nothing else is said.
inline constexpr double kPower = 0.8;

/// The share of experiments with n pairs in which the test gives p <= alpha, where the mean of the
/// differences is `effect` standard deviations of theirs. Up to 12 pairs from 20,000 drawn
/// experiments, the same every time (standard error at most 0.4 %); above by Student's t, of which
/// the test of the signs differs by less than that. n >= 1, alpha in (0, 1), effect >= 0.
double sign_flip_power(std::int64_t n, double alpha, double effect);

/// The smallest effect that n pairs show with kPower; nothing where no result of so few pairs
/// gives p <= alpha.
std::optional<double> detectable_effect(std::int64_t n, double alpha);

/// The pairs that an effect > 0 needs for kPower, and their power. Nothing above 10,000.
struct PairsNeeded {
  std::int64_t pairs = 0;
  double power = 0;
};
std::optional<PairsNeeded> pairs_for(double effect, double alpha);

}  // namespace fovea::metrics
