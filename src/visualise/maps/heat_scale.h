// What the numbers of a picture are, and which values its colours begin and end with: decided here
// for all pictures, and by explorer/scale.js for the page in the same way.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "visualise/drawing/colour_bar.h"
#include "visualise/drawing/colour_map.h"
#include "visualise/maps/rollouts/rollout.h"

namespace fovea::visualise {

/// Whether a quantity has a sign is a property of what was computed, never of the values at hand,
/// so that zero and the sign have the same colours in every panel of a figure.
struct Quantity {
  bool is_signed = false;
  std::string name;  // what the colour bar says: "signed rollout"
};

/// Attention of single heads.
Quantity attention_quantity(bool signed_maps);
/// A rollout: signed if the maps are and the signs are kept (Sign::kRaw).
Quantity rollout_quantity(const RolloutOptions& options, bool signed_maps);
/// What each of n tokens has where all have alike: 1 / n, or 0 (there is none) for quantities with
/// a sign and for rollouts whose rows are not normalised.
double even_share(const Quantity& quantity, std::int64_t n);
double even_share(const RolloutOptions& options, bool signed_maps, std::int64_t n);

/// The map of quantities without sign, unless another is asked for.
inline constexpr ColourMap kHeat = ColourMap::kInferno;

/// The palette of quantities without sign by its name. Throws ConfigError for unknown names and for
/// diverging, whose middle would not be 0.
ColourMap sequential_from_name(std::string_view name);

/// The values at the two ends of the colours, low < high; between them they lie evenly or, with
/// `logarithmic`, by their logarithms (0 < low).
struct Limits {
  double low = 0;
  double high = 1;
  bool logarithmic = false;
  bool operator==(const Limits&) const = default;
};

/// Which values colours begin and end with.
enum class HeatEnds {
  kPercentiles,  // the percentiles kLowPercentile and kHighPercentile, so that maps without a peak
                 // show what they have; -m to m for signed quantities, m that of |value|
  kFromZero,     // 0 to the largest; -m to m, m the largest |value|
  kEvenShare,    // the percentiles, by logarithms, counted in even shares; not for signed ones
  kMinMax,       // the least to the largest (dgsa section 9), of signed quantities in a palette for
                 // those without sign, as zero has no place of its own
};
std::string_view name_of(HeatEnds ends);
inline constexpr double kLowPercentile = 1, kHighPercentile = 99;
/// What differs by less than this share of its size is taken to be the same: float32 rounds such
/// maps. And what is less than this share of the largest |value| is taken to be nothing.
inline constexpr double kEvenNoise = 1e-5, kNothing = 1e-9;

/// Which pictures of a figure have the same colours.
enum class HeatSharing {
  kColumn,  // all of one network
  kFigure,  // all of one quantity, networks side by side
  kImage,   // none
};

struct HeatScale {
  HeatEnds ends = HeatEnds::kPercentiles;
  HeatSharing sharing = HeatSharing::kColumn;
  bool operator==(const HeatScale&) const = default;
};
/// One or two words with a comma between them: percentiles, from_zero, even_share or minmax, and
/// column, figure or image. By itself minmax is of each image, as dgsa draws it. Throws ConfigError
/// for other words and for two of a kind.
HeatScale heat_scale_from_text(std::string_view text);

/// Diverging for signed quantities, except from least to largest; else `sequential`.
ColourMap palette_of(const Quantity& quantity, ColourMap sequential = kHeat,
                     HeatEnds ends = HeatEnds::kPercentiles);

/// The ends for values of which NaN and infinities do not count; `even` as even_share() gives it.
/// Where the percentiles are the same but not all values are, the least and the largest. Where all
/// are the same v: 0 to 2 v. Throws ConfigError for kEvenShare without an even share.
Limits limits_of(const Quantity& quantity, std::span<const double> values,
                 HeatEnds ends = HeatEnds::kPercentiles, double even = 0);

/// Where a value lies between its limits: 0 to 1, clamped; NaN stays NaN.
double position_of(double value, const Limits& limits);
Matrix positions_of(const Matrix& values, const Limits& limits);

/// The values that one network has to show.
struct HeatColumn {
  std::string name;
  Quantity quantity;
  std::vector<std::vector<double>> values;  // a list for each picture
  double even = 0;                          // even_share() of its values
};

/// The limits of every picture of every column. Throws ConfigError for kEvenShare and a column that
/// has none.
std::vector<std::vector<Limits>> limits_of(const std::vector<HeatColumn>& columns,
                                           const HeatScale& scale);

/// The bar of a column, with its numbers, what is marked and how its ends were found; where every
/// picture has its own limits, with words instead of numbers. `columns` says how many stand
/// side by side.
ColourBar bar_of(const HeatColumn& column, const std::vector<Limits>& limits,
                 const HeatScale& scale, ColourMap sequential, std::size_t columns);
/// The same for one list of values with one pair of limits.
ColourBar bar_of(const Quantity& quantity, const Limits& limits, HeatEnds ends,
                 ColourMap sequential, double even);

/// "0.0041 to 0.0093", for pictures with limits of their own; from least to largest also where zero
/// lies between them: "−0.3 to 0.1, 0 at 75 %".
std::string limits_text(const Limits& limits, HeatEnds ends, double even);

}  // namespace fovea::visualise
