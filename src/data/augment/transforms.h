// Random changes of training images. A sample passes through: scale to [0, 1] -> the `augment` list
// in its order -> noise (corruptions.h) -> normalise; so augmentation and noise see [0, 1], and the
// zero padding of a crop is black. Every transform keeps the shape; one that cuts (cuts()) may be
// asked instead which part of a picture it keeps, before that has its final size.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/augment/corruptions.h"
#include "data/augment/geometry.h"
#include "schema/describe/description.h"
#include "tensor/random.h"

namespace fovea::data {

/// What a transform may use besides the image.
struct TransformContext {
  RandomStream stream;           // of this sample, epoch and place in the list
  std::span<const double> mean;  // of the data set, one value a channel; may be empty
  std::span<const double> std = {};
  bool mask = false;  // the planes are a mask: values are moved, never mixed
};

class Transform {
 public:
  virtual ~Transform() = default;
  /// Changes an image in [0, 1] in place.
  virtual void apply(Planes x, const TransformContext& context) const = 0;
  /// True if it only moves pixels. A mask then goes through apply() as well, with the same stream
  /// and so with the same draws: it stays on its image.
  virtual bool moves_pixels() const { return false; }
  /// False if it has no rule for a mask, so that images with masks cannot go through it.
  virtual bool takes_masks() const { return true; }
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
};

struct RandomCropOptions {
  std::int64_t padding = 4;
};
/// Pads with zeros on every side and cuts the original size at a uniform place.
std::unique_ptr<Transform> make_random_crop(const RandomCropOptions& options = {});

struct RandomResizedCropOptions {
  std::array<double, 2> scale = {0.08, 1};
  std::array<double, 2> ratio = {3.0 / 4.0, 4.0 / 3.0};
  std::optional<Resampling> interpolation = {};
};
/// Keeps a part of the picture (Szegedy et al., "Going deeper with convolutions", CVPR 2015, as
/// torchvision draws it): its share of the area is uniform in `scale`, width over height
/// log-uniform in `ratio`; ten places are tried, then the largest centred part of such a ratio is
/// taken. apply() resizes it to the old size: bilinear without rounding (geometry.h, resample),
/// with an interpolation as Pillow resizes pictures of 8 bits. kcla 5.2, mala 7.1.
std::unique_ptr<Transform> make_random_resized_crop(const RandomResizedCropOptions& options = {});

struct HorizontalFlipOptions {
  double prob = 0.5;
};
/// Mirrors left and right.
std::unique_ptr<Transform> make_horizontal_flip(const HorizontalFlipOptions& options = {});

struct VerticalFlipOptions {
  double prob = 0.5;
};
/// Mirrors top and bottom.
std::unique_ptr<Transform> make_vertical_flip(const VerticalFlipOptions& options = {});

struct RandomRotationOptions {
  double prob = 0.5;
  double min_degrees = 0;
  double max_degrees = 360;
  std::optional<double> degrees;  // one angle for all instead
};
/// Turns counter-clockwise by an angle uniform in [min_degrees, max_degrees) (geometry.h, rotate).
/// kcla 5.4.
std::unique_ptr<Transform> make_random_rotation(const RandomRotationOptions& options = {});

struct RandomErasingOptions {
  double prob = 0.25;
  double min_area = 0.02;
  double max_area = 1.0 / 3.0;
  double min_aspect = 0.3;
  std::string fill = "mean";
};
/// Overwrites one rectangle (Zhong et al., "Random erasing data augmentation", AAAI 2020): its
/// share of the area is uniform in [min_area, max_area], its aspect ratio log-uniform in
/// [min_aspect, 1 / min_aspect]; ten places are tried. fill: "mean" (of the data set, which is zero
/// after normalisation), "zero", "noise" (uniform), or "pixel" (normal, of the data set's mean and
/// deviation; timm's mode of that name). mala 7.1.
std::unique_ptr<Transform> make_random_erasing(const RandomErasingOptions& options = {});

/// The entries of transforms.def. `crop_flip` is random_crop, then horizontal_flip.
schema::Choices transform_choices();
/// One entry of an `augment` list, e.g. schema::Component{"horizontal_flip"}. `path` is its place
/// in the experiment file, for messages. Throws ConfigError.
std::unique_ptr<const Transform> make_transform(const schema::Component& component,
                                                const std::string& path);

/// (x - mean) / std for each channel. The sizes must be x.channels.
void normalise(Planes x, std::span<const double> mean, std::span<const double> std);

}  // namespace fovea::data
