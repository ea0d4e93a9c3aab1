// The list of transforms, transforms.def, as data sets use it.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "data/augment/normalisation.h"
#include "data/augment/transform.h"
#include "schema/describe/description.h"

namespace fovea::data {

/// What transforms change; one may apply to several. kPictures are those with classes.
struct Changes {
  unsigned bits = 0;

  constexpr bool has(Changes what) const { return (bits & what.bits) == what.bits; }
  constexpr Changes operator|(Changes other) const { return {bits | other.bits}; }
  /// "pictures and pictures with masks".
  std::string text() const;
};
inline constexpr Changes kPictures{1}, kMaskedPictures{2}, kVolumes{4}, kBoxedPictures{8},
    kFeatures{16};

/// The entries that apply to `what`, a kind called "transform", of kBoxedPictures "box_transform",
/// of kFeatures "feature_transform".
/// Another one of the list is refused by saying what it applies to, and which ones would fit.
schema::Choices transform_choices(Changes what);
/// Those that apply to pictures with classes or to pictures with masks. One that does not apply to
/// what a data set holds is refused when it is made.
schema::Choices picture_transform_choices();

/// One entry of an `augment` list, e.g. schema::Component{"horizontal_flip"}, for kPictures or
/// kMaskedPictures. `path` is its place in the experiment file, for messages. Throws ConfigError
/// for one that does not apply to them.
std::unique_ptr<const PictureTransform> make_picture_transform(const schema::Component& component,
                                                               const std::string& path,
                                                               Changes what = kPictures);
/// The same for kBoxedPictures. Of pictures with boxes a transform that leaves pixels where they
/// are changes the pixels alone.
std::unique_ptr<const BoxTransform> make_box_transform(const schema::Component& component,
                                                       const std::string& path);
std::unique_ptr<const VolumeTransform> make_volume_transform(const schema::Component& component,
                                                             const std::string& path);
std::unique_ptr<const FeatureTransform> make_feature_transform(const schema::Component& component,
                                                               const std::string& path);

}  // namespace fovea::data
