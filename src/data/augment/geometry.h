// Moving the pixels of planes, for geometric augmentation and resizing. A mask goes through the
// same functions as its image.
#pragma once

#include <array>
#include <cstdint>

#include "data/augment/corruptions.h"
#include "data/files/pictures/image_file.h"

namespace fovea::data {

/// A part of a picture, in pixels.
struct Box {
  std::int64_t top = 0, left = 0, height = 0, width = 0;
};
/// The pixels of a box, which lies inside.
Image crop(const Image& image, Box box);
/// Copies the box into `to`, which has its size and the channels of `from`.
void crop(Planes from, Box box, Planes to);

/// Height and width of a picture that keeps its aspect ratio and is made as large as both limits
/// allow, of its shorter and of its longer side: int(side x scale + 0.5), as mmcv rounds. mala 7.2,
/// 7.3.
std::array<std::int64_t, 2> rescaled_size(std::int64_t height, std::int64_t width,
                                          std::int64_t shorter, std::int64_t longer);

/// Mirrors left and right, in place.
void flip_horizontally(Planes x);
/// Mirrors top and bottom, in place.
void flip_vertically(Planes x);
/// Pixel (i, j) becomes pixel (i + down, j + right); 0 comes in from outside.
void shift(Planes x, std::int64_t down, std::int64_t right);
/// Turns counter-clockwise about the centre on the same canvas. Every pixel takes the nearest one
/// of the old image (ties to even), 0 outside: torchvision's `rotate` of tensors. kcla 5.4.
void rotate(Planes x, double degrees);

/// `white` becomes 1; in a 16-bit image 65535 does. `to` has the image's shape.
void to_planes(const Image& image, float white, Planes to);
/// The inverse: 1 becomes 255; values are rounded and clipped to [0, 1].
Image to_image(Planes from);

enum class Resampling {
  kBilinear,       // four neighbours; PyTorch's align_corners=False
  kNearest,        // PyTorch's "nearest-exact", which lies on the same grid
  kBicubic,        // sixteen neighbours; pictures only (resize.h)
  kNearestCorner,  // floor(i in / out): PyTorch's and OpenCV's "nearest"; pictures only
  kSpline,         // scipy's zoom (zoom.h), for masks zoom_nearest(); planes only
};
/// Half-pixel centres, replicated edges, no antialiasing; kBilinear, kNearest or kSpline, which has
/// a grid of its own. The channels must be equal; `to` must not overlap `from`.
void resample(Planes from, Planes to, Resampling how);

/// (x - min) / (max - min) over all channels; zeros where all values are equal. kcla 5.4.
void stretch(Planes x);

}  // namespace fovea::data
