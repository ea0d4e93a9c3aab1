// The keys that every data set of images with boxes has, whatever its files look like.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/augment/noise.h"
#include "data/dataset.h"
#include "data/parts/split.h"
#include "schema/fields.h"

namespace fovea::data {

struct BoxOptions : SplitOptions {
  static constexpr Kind kKind = Kind::kBoxes;
  using Common = BoxOptions;
  static const schema::Fields<BoxOptions>& keys();
  /// Height and width are those of a batch of usual images at the size of evaluations.
  SampleShape usual_shape(std::int64_t classes, std::int64_t channels = 3) const;

  std::int64_t min_size = 800;
  std::int64_t max_size = 1333;
  bool antialias = false;
  std::int64_t size_divisor = 32;
  bool masks = false;
  bool normalise = true;
  std::vector<double> mean;
  std::vector<double> std;
  std::vector<schema::Component> augment;
  bool filter_empty = true;
  std::int64_t min_image_side = 32;
  bool group_by_aspect = true;
  NoiseBySplit noise;
  OnBadSample on_bad_sample = OnBadSample::kFail;
};

/// What is wrong with the names in `classes` of a data set of boxes, or "".
std::string classes_problem(const std::vector<std::string>& classes);

}  // namespace fovea::data
