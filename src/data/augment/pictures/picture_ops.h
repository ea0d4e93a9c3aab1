// Changes of pictures of 8 bits, value for value as Pillow makes them (ImageOps, ImageEnhance,
// Image.transform): what RandAugment is made of. All work in place; channels are one grey, or three
// of colour, else each on its own.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "data/augment/geometry.h"
#include "data/files/image_file.h"

namespace fovea::data {

/// Every channel stretched from its least to its largest value to 0..255.
void autocontrast(Image& picture);
/// Every channel with about equally many pixels of each value.
void equalize(Image& picture);
/// 255 - v.
void invert(Image& picture);
/// 255 - v from the threshold on.
void solarize(Image& picture, int threshold);
/// v + add, at most 255, of values below 128.
void solarize_add(Image& picture, int add);
/// The highest bits alone; 0 leaves black.
void posterize(Image& picture, int bits);

// A factor of 1 changes nothing, 0 leaves the first picture of each: blends of it and the picture,
// beyond 1 extrapolated.
void enhance_colour(Image& picture, double factor);      // grey
void enhance_contrast(Image& picture, double factor);    // the mean of the grey picture
void enhance_brightness(Image& picture, double factor);  // black
void enhance_sharpness(Image& picture, double factor);   // smoothed over 3 x 3, but for the edge

/// The pixel at (x, y) becomes that at (m0 x + m1 y + m2, m3 x + m4 y + m5), with half-pixel
/// centres; kNearest, kBilinear or kBicubic (a = -1). What comes from outside is `fill`, one value
/// a channel.
void affine(Image& picture, const std::array<double, 6>& matrix, Resampling how,
            std::span<const std::uint8_t> fill);
/// Counter-clockwise about the centre, by affine().
void rotate(Image& picture, double degrees, Resampling how, std::span<const std::uint8_t> fill);

}  // namespace fovea::data
