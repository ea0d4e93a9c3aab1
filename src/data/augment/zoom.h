// Zooming and turning planes as scipy.ndimage and numpy do it, which the public code of TransUNet
// and of those that follow it calls. gdla 6.4.
#pragma once

#include "data/augment/corruptions.h"

namespace fovea::data {

/// Output place o reads input place o (in - 1) / (out - 1): first on first and last on last. Cubic
/// B-splines whose coefficients come from a picture mirrored at its ends: scipy's zoom of order 3.
/// Results may lie outside the range of the inputs. The channels must be equal; `to` must not
/// overlap `from`.
void zoom_spline(Planes from, Planes to);
/// The same grid with the input floor(place + 0.5): order 0.
void zoom_nearest(Planes from, Planes to);

/// Turns counter-clockwise as it is seen, about the centre on the same canvas; every pixel takes
/// the input floor(place + 0.5), 0 outside: scipy's rotate of order 0 without reshape. (rotate() of
/// geometry.h is torchvision's, which differs where a place lies between two pixels.)
void rotate_nearest(Planes x, double degrees);

/// numpy's rot90: `turns` quarters counter-clockwise, of any sign. Returns the turned planes; after
/// an odd number of turns x.data holds planes of x.width x x.height.
Planes rot90(Planes x, std::int64_t turns);

}  // namespace fovea::data
