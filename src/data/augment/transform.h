// Random changes of training samples. A picture passes through: scale to [0, 1] -> the `augment`
// list in its order -> noise (corruptions.h) -> normalise; so augmentation and noise see [0, 1],
// and the zero padding of a crop is black. A volume is changed as a crop of prepared voxels
// (volumes/volume_augment.h).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "data/augment/boxes/boxed_picture.h"
#include "data/augment/corruptions.h"
#include "data/augment/draws.h"
#include "data/augment/geometry.h"
#include "data/augment/pictures/masked_picture.h"
#include "data/augment/volumes/volume_crop.h"
#include "tensor/random.h"

namespace fovea::data {

/// What a transform of pictures may use besides the image.
struct TransformContext {
  RandomStream stream;           // of this sample, epoch and place in the list
  std::span<const double> mean;  // of the data set, one value a channel; may be empty
  std::span<const double> std = {};
  bool mask = false;  // the planes are a mask: values are moved, never mixed
};

/// Keeps the shape unless it reshapes(). One that cuts (cuts()) may be asked instead which part of
/// a picture it keeps, before that has its final size.
class PictureTransform {
 public:
  virtual ~PictureTransform() = default;
  /// Changes an image in [0, 1] in place.
  virtual void apply(Planes x, const TransformContext& context) const = 0;
  /// True if it only moves pixels. A mask then goes through apply() as well, with the same stream
  /// and so with the same draws: it stays on its image.
  virtual bool moves_pixels() const { return false; }
  /// Where its entry says that it applies to pictures with masks: the option that rules them out
  /// after all; "": none.
  virtual std::string option_without_masks() const { return ""; }
  /// True if it may turn by quarters. After apply(), where swaps_sides() says so for the same
  /// draws, the planes of a picture of h x w are then those of one of w x h.
  virtual bool turns() const { return false; }
  virtual bool swaps_sides(const TransformContext&) const { return false; }
  /// True if all it does is to keep a part of the picture, cut(), and resize that.
  virtual bool cuts() const { return false; }
  /// The part it keeps of a picture of this size; the same draws as apply().
  virtual Box cut(std::int64_t height, std::int64_t width, const TransformContext&) const {
    return {0, 0, height, width};
  }
  /// How that part is resized; nothing: as the data set resizes pictures.
  virtual std::optional<Resampling> interpolation() const { return {}; }
  /// True if it changes the size of a picture with its mask: reshape() then is all it does.
  virtual bool reshapes() const { return false; }
  virtual void reshape(MaskedPicture& /*picture*/, const TransformContext& /*context*/) const {}
};

/// One that changes the size of pictures with masks. What does not have the data set's size at the
/// end of the list is resized to it.
class ReshapingTransform : public PictureTransform {
 public:
  void apply(Planes, const TransformContext&) const final {}
  bool reshapes() const final { return true; }
  void reshape(MaskedPicture& picture, const TransformContext& context) const override = 0;
};

/// Changes a picture together with its objects; it may change its size.
class BoxTransform {
 public:
  virtual ~BoxTransform() = default;
  virtual void apply(BoxedPicture& picture, const TransformContext& context) const = 0;
  /// True if the picture then has the size at which a network is trained, so that it is not resized
  /// to that of evaluations.
  virtual bool sets_size() const { return false; }
};

/// `draws` is the stream of this sample, epoch and transform.
class VolumeTransform {
 public:
  virtual ~VolumeTransform() = default;
  /// How a crop of this size is turned and scaled, before its voxels are read; nothing: it is not.
  virtual std::optional<CropMatrix> turn(const VolumeSides& /*size*/,
                                         const RandomStream& /*draws*/) const {
    return {};
  }
  /// Changes the voxels of a crop in place.
  virtual void apply(VolumeCrop& /*crop*/, const RandomStream& /*draws*/) const {}
};

/// Log-mel features of a recording, (frames, channels) row by row.
struct Features {
  std::int64_t frames = 0, channels = 0;
  std::span<float> values;
};

/// `draws` is the stream of this sample, epoch and transform.
class FeatureTransform {
 public:
  virtual ~FeatureTransform() = default;
  virtual void apply(const Features& x, const RandomStream& draws) const = 0;
};

/// A change of the values of single channels: with `prob` it is made, then in each channel with
/// `channel_prob`.
class ChannelTransform : public VolumeTransform {
 public:
  explicit ChannelTransform(double prob, double channel_prob = 1)
      : prob_(prob), channel_prob_(channel_prob) {}
  void apply(VolumeCrop& crop, const RandomStream& draws) const final;

 private:
  /// `draws` is the channel's own stream, of which draw 0 is used up.
  virtual void change(std::span<float> values, const VolumeSides& size,
                      const RandomStream& draws) const = 0;

  double prob_, channel_prob_;
};

}  // namespace fovea::data
