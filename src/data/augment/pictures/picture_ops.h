// Changes of 8-bit pictures with exactly Pillow's values (ImageOps, ImageEnhance, Image.transform),
// for RandAugment. All work in place. One channel is grey, three are colour; other numbers of
// channels are handled one by one.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "data/augment/geometry.h"
#include "data/files/pictures/image_file.h"

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
/// Keeps the highest bits only; 0 gives black.
void posterize(Image& picture, int bits);

// Blends of the picture and a degenerate one (named beside each): a factor of 1 gives the picture,
// 0 the degenerate one, above 1 an extrapolation.
void enhance_colour(Image& picture, double factor);      // grey
void enhance_contrast(Image& picture, double factor);    // the mean of the grey picture
void enhance_brightness(Image& picture, double factor);  // black
void enhance_sharpness(Image& picture, double factor);   // smoothed over 3 x 3, but for the edge

/// The pixel at (x, y) becomes that at (m0 x + m1 y + m2, m3 x + m4 y + m5), with half-pixel
/// centres; kNearest, kBilinear or kBicubic (a = -1). Pixels from outside are `fill`, one value for
/// each channel.
void affine(Image& picture, const std::array<double, 6>& matrix, Resampling how,
            std::span<const std::uint8_t> fill);
/// Counter-clockwise about the centre, by affine().
void rotate(Image& picture, double degrees, Resampling how, std::span<const std::uint8_t> fill);

}  // namespace fovea::data
