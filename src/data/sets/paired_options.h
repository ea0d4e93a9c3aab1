// Inside of paired_folder.cpp: its keys.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/images/paired_source.h"
#include "data/registry.h"
#include "schema/fields.h"

namespace fovea::data {

enum class PairLayout { kShared, kBySplit, kIsic2017, kIsic2018 };
enum class PairIntensity { kUnit, kMinMax255 };

struct PairsOptions : ImageOptions {
  static constexpr Kind kKind = Kind::kMaskedImages;
  static Kind kind_of(const schema::Value& options);
  PairLayout layout = PairLayout::kShared;
  std::string images = "images";
  std::string masks = "masks";
  std::string mask_suffix;
  std::string splits = "splits";
  std::int64_t img_size = 0;
  std::vector<std::int64_t> patch_size;
  double foreground = 0.33;
  std::int64_t longest = 0;
  std::vector<double> spacing;
  std::int64_t in_chans = 3;
  std::vector<std::string> channels;
  MaskType mask_type = MaskType::kForeground;
  std::optional<std::int64_t> mask_threshold;
  schema::Value mask_values;
  std::vector<std::string> classes;
  bool background = true;
  std::optional<std::int64_t> ignore_value;
  Resampling mask_resize = Resampling::kNearest;
  PairIntensity intensity = PairIntensity::kUnit;
  bool exif = false;
  bool lists_test() const;
  std::optional<SampleShape> sample_shape() const;
  /// Values of the classes that the options name; empty: those found in train.
  std::vector<int> label_values() const;
  std::int64_t channel_count() const { return channels.empty() ? in_chans : std::ssize(channels); }
};
/// All keys, with what is checked of them together.
schema::Fields<PairsOptions> paired_folder_fields();

}  // namespace fovea::data
