// The keys that every data set of images has, whatever its files look like.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/augment/mix.h"
#include "data/augment/noise.h"
#include "data/parts/split.h"
#include "schema/fields.h"

namespace fovea::data {

struct ImageOptions : SplitOptions {
  static constexpr Kind kKind = Kind::kImages;
  using Common = ImageOptions;
  static const schema::Fields<ImageOptions>& keys();

  bool normalise = true;
  std::vector<double> mean;
  std::vector<double> std;
  std::vector<schema::Component> augment;
  std::int64_t aug_repeats = 1;
  MixOptions mix;
  NoiseBySplit noise;
  OnBadSample on_bad_sample = OnBadSample::kFail;
  std::int64_t cache_bytes = std::int64_t{1} << 30;
};

}  // namespace fovea::data
