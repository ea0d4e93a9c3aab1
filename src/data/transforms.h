// Random changes of training images. A sample passes through: scale to [0, 1] -> the `augment` list
// in its order -> noise (corruptions.h) -> normalise; so augmentation and noise see [0, 1], and the
// zero padding of a crop is black. Every transform keeps the shape.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/corruptions.h"
#include "schema/description.h"
#include "tensor/random.h"

namespace fovea::data {

/// What a transform may use besides the image.
struct TransformContext {
  RandomStream stream;           // of this sample, epoch and place in the list
  std::span<const double> mean;  // of the data set, one value a channel; may be empty
};

class Transform {
 public:
  virtual ~Transform() = default;
  /// Changes an image in [0, 1] in place.
  virtual void apply(Planes x, const TransformContext& context) const = 0;
  /// True if it only moves pixels. A mask then goes through apply() as well, with the same stream
  /// and so with the same draws: it stays on its image.
  virtual bool moves_pixels() const { return false; }
};

struct RandomCropOptions {
  std::int64_t padding = 4;
};
/// Pads with zeros on every side and cuts the original size at a uniform place.
std::unique_ptr<Transform> make_random_crop(const RandomCropOptions& options = {});

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
/// after normalisation), "zero", or "noise" (uniform).
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
