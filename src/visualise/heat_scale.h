// What the numbers of a picture are, and which values its colours begin and end with.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "visualise/colour_bar.h"
#include "visualise/colour_map.h"
#include "visualise/rollout.h"

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

/// Diverging for signed quantities, else `sequential`.
ColourMap palette_of(const Quantity& quantity, ColourMap sequential = ColourMap::kReds);

/// The palette of quantities without sign by its name. Throws ConfigError for unknown names and for
/// diverging, whose middle would not be 0.
ColourMap sequential_from_name(std::string_view name);

/// The values at the two ends of the colours, low < high.
struct Limits {
  double low = 0;
  double high = 1;
  bool operator==(const Limits&) const = default;
};

/// -m to m for a signed quantity, 0 to m for others, m the largest finite |value|; m = 1 where
/// there is none but zero.
Limits limits_of(const Quantity& quantity, std::span<const double> values);

/// Which values share their limits.
enum class HeatScale {
  kColumn,  // all pictures of one network
  kFigure,  // all networks of one quantity
  kImage,   // none: the bar counts in the largest |value| of each picture
  kMinMax,  // none, and colours begin at the least value of a picture (dgsa section 9)
};
/// column, figure, image, minmax. Throws ConfigError for other names.
HeatScale heat_scale_from_name(std::string_view name);

/// The values that one network has to show.
struct HeatColumn {
  std::string name;
  Quantity quantity;
  std::vector<std::vector<double>> values;  // a list for each picture
};

/// The limits of every picture of every column. Throws ConfigError for kMinMax and a signed
/// quantity, whose zero it would move.
std::vector<std::vector<Limits>> limits_of(const std::vector<HeatColumn>& columns, HeatScale scale);

/// The bar below a column: its numbers, or shares of each picture's own.
ColourBar bar_of(const HeatColumn& column, const std::vector<Limits>& limits, HeatScale scale,
                 ColourMap sequential);

}  // namespace fovea::visualise
