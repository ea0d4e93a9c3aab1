#include "data/audio/mel_scale.h"

#include <cmath>

namespace fovea::data {

double mel_of(double hertz) { return 2595 * std::log10(1 + hertz / 700); }
double hertz_of(double mel) { return 700 * (std::pow(10, mel / 2595) - 1); }

double band_corner(const LogMelPlan& plan, std::int64_t i) {
  const double low = mel_of(plan.f_min), high = mel_of(plan.f_max);
  return hertz_of(low + (high - low) * static_cast<double>(i) /
                            static_cast<double>(plan.num_mels + 1));
}

}  // namespace fovea::data
