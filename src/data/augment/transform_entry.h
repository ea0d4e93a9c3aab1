// What a transform of transforms.def is to the list of them. A transform is one source file, which
// ends in FOVEA_TRANSFORM, and one line in transforms.def.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "data/augment/transforms.h"
#include "schema/fields.h"
#include "schema/registry.h"

namespace fovea::data {

struct TransformEntry : schema::Choice {
  static constexpr const char* kKind = "transform";
  template <class Transform>
  using Maker = std::function<std::unique_ptr<const Transform>(const schema::Component&,
                                                               const std::string& path)>;
  Changes changes;
  Maker<PictureTransform> make_for_pictures = {};  // where it changes any
  Maker<BoxTransform> make_for_boxes = {};
  Maker<VolumeTransform> make_for_volumes = {};
  Maker<FeatureTransform> make_for_features = {};
};

/// A transform of pictures that leaves pixels, and so boxes and masks, where they are.
class PixelsAlone final : public BoxTransform {
 public:
  explicit PixelsAlone(std::unique_ptr<const PictureTransform> own) : own_(std::move(own)) {}
  void apply(BoxedPicture& picture, const TransformContext& context) const override {
    own_->apply(picture.planes(), context);
  }

 private:
  std::unique_ptr<const PictureTransform> own_;
};

/// Of transforms without options.
struct NoOptions {};

template <Changes kChanges, class Transform, class Options>
TransformEntry make_transform_entry(std::string name, std::string help,
                                    schema::Fields<Options> fields) {
  constexpr bool kOfPictures = std::is_base_of_v<PictureTransform, Transform>;
  constexpr bool kOfVolumes = std::is_base_of_v<VolumeTransform, Transform>;
  static_assert(kOfPictures == (kChanges.has(kPictures) || kChanges.has(kMaskedPictures)));
  constexpr bool kOfBoxes = std::is_base_of_v<BoxTransform, Transform>;
  constexpr bool kOfFeatures = std::is_base_of_v<FeatureTransform, Transform>;
  static_assert(kOfVolumes == kChanges.has(kVolumes));
  static_assert(kOfFeatures == kChanges.has(kFeatures));
  static_assert(kOfBoxes ? kChanges.has(kBoxedPictures)
                         : kOfPictures || !kChanges.has(kBoxedPictures));
  const auto shared = std::make_shared<const schema::Fields<Options>>(std::move(fields));
  const auto make = [shared](const schema::Component& component, const std::string& path) {
    return std::make_unique<const Transform>(shared->parse(component, path));
  };
  TransformEntry entry{{std::move(name), std::move(help), shared}, kChanges};
  if constexpr (kOfPictures) entry.make_for_pictures = make;
  if constexpr (kOfBoxes) {
    entry.make_for_boxes = make;
  } else if constexpr (kChanges.has(kBoxedPictures)) {
    entry.make_for_boxes = [make](const schema::Component& component, const std::string& path) {
      return std::make_unique<const PixelsAlone>(make(component, path));
    };
  }
  if constexpr (kOfVolumes) entry.make_for_volumes = make;
  if constexpr (kOfFeatures) entry.make_for_features = make;
  return entry;
}

/// All of transforms.def, and what was added since.
schema::Registry<TransformEntry>& transforms();

}  // namespace fovea::data

/// FOVEA_TRANSFORM(name, Class, kPictures | kMaskedPictures, help, Fields<Options>{}...): defines
/// the entry that a line of transforms.def refers to. Class has a constructor of const Options& and
/// derives from PictureTransform, BoxTransform, VolumeTransform, FeatureTransform or several, by
/// what it changes; one of pictures that moves no pixels may name kBoxedPictures without being a
/// BoxTransform. Inside namespace fovea::data.
#define FOVEA_TRANSFORM(name, Class, changes, help, ...)                     \
  TransformEntry transform_entry_##name() {                                  \
    return make_transform_entry<changes, Class>(#name, help, (__VA_ARGS__)); \
  }
