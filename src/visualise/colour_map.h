// Colour maps (dgsa, section 9) and the palette of curves.
#pragma once

#include <string_view>

#include "visualise/canvas.h"

namespace fovea::visualise {

enum class ColourMap {
  kPlasma,  // default of heat maps: deep blue to bright yellow
  kViridis,
  kCividis,    // for colour-blind readers
  kDiverging,  // blue, white, red: signed values scaled symmetrically
  kBlues,      // white to dark blue: confusion matrices
  kGrey,
};

/// plasma, viridis, cividis, diverging, blues, grey. Throws ConfigError for other names.
ColourMap colour_map_from_name(std::string_view name);
std::string_view name_of(ColourMap map);

/// Linear interpolation between equally spaced anchors (10 for plasma, viridis and cividis), each
/// channel rounded half up; t is clamped to [0, 1]; NaN gives kMissing.
Colour colour_of(ColourMap map, double t);

/// The k-th colour (any k >= 0, repeating after 7) of a palette that colour-blind readers can tell
/// apart (Okabe and Ito).
Colour palette_colour(std::int64_t k);

/// Black or white, whichever is easier to read on `background`.
Colour readable_on(Colour background);

}  // namespace fovea::visualise
