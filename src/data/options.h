// The keys that every data set of images has, whatever its files look like.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/corruptions.h"
#include "data/split.h"
#include "schema/fields.h"

namespace fovea::data {

/// What happens when a sample cannot be read: the run ends with its name, or it is left out and
/// counted.
enum class OnBadSample { kFail, kSkip };

/// A preset, or types and levels (corruptions.h).
struct NoiseOptions {
  std::string preset;
  std::vector<std::string> types;
  std::vector<double> levels = {0.1, 0.2, 0.3, 0.4, 0.5};
  double prob = 0.5;
  double fill = 0.0;
};

/// Throws ConfigError for an unknown name.
Noise make_noise(const NoiseOptions& options);

struct NoiseBySplit {
  NoiseOptions train;
  NoiseOptions
      eval;  // the grid that a robustness evaluation walks through; never applied by itself
};

struct CommonOptions : SplitOptions {
  static constexpr Kind kKind = Kind::kImages;
  bool normalise = true;
  std::vector<double> mean;
  std::vector<double> std;
  std::vector<schema::Component> augment;
  NoiseBySplit noise;
  OnBadSample on_bad_sample = OnBadSample::kFail;
  std::int64_t cache_bytes = std::int64_t{1} << 30;
};

const schema::Fields<CommonOptions>& common_fields();

}  // namespace fovea::data
