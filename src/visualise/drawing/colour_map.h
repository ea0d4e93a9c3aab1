// Colour maps (dgsa and gdla, section 9) and the palette of curves.
#pragma once

#include <string_view>
#include <vector>

#include "visualise/drawing/canvas.h"

namespace fovea::visualise {

enum class ColourMap {
  kInferno,  // black to pale yellow, perceptually even: heat, unless another is asked for
  kPlasma,   // deep blue to bright yellow
  kViridis,
  kViridis16,  // the same from 16 anchors, as gdla's figures want it
  kCividis,    // for colour-blind readers
  // Signed values, 0 in the middle: blue below, light grey at 0, red above. Told apart with any
  // colour vision; the same in PNG, SVG and the explorer.
  kDiverging,
  kBlueRed,  // gdla's differences, -1 to 1: pure blue, white at 0, pure red
  kReds,     // values from 0 on: the upper half of kDiverging, so that a sign keeps its colour
  kJet,      // dark blue to dark red by way of green, as mala's figures want it
  kBlues,    // white to dark blue: confusion matrices
  kGrey,
};

/// inferno, plasma, viridis, viridis16, cividis, diverging, bwr, reds, jet, blues, grey. Throws
/// ConfigError for other names.
ColourMap colour_map_from_name(std::string_view name);
std::string_view name_of(ColourMap map);

/// Linear interpolation between equally spaced anchors (52 for inferno, 10 for plasma, viridis and
/// cividis), each channel rounded half up; t is clamped to [0, 1]; NaN gives kMissing.
Colour colour_of(ColourMap map, double t);

/// The colours at equal distances that a map is made of.
std::vector<Colour> anchors_of(ColourMap map);

/// The k-th colour (any k >= 0, repeating after 7) of a palette that colour-blind readers can tell
/// apart (Okabe and Ito).
Colour palette_colour(std::int64_t k);

/// Black or white, whichever is easier to read on `background`.
Colour readable_on(Colour background);

}  // namespace fovea::visualise
