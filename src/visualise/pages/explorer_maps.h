// Attention maps in the form in which the explorer's page carries them.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "visualise/maps/rollouts/rollout.h"

namespace fovea::visualise {

/// The largest error of a packed weight, as a share of the largest |w| in its row.
inline constexpr double kPackedError = 0.0079;

/// Maps of one network, all (n, n), in base64. The bytes are a zlib stream (RFC 1950) of
///   scales: a float32, little-endian, for each row of each map: s = max |w| of the row;
///   values: an int8 q for each entry, with w ~ s sign(q) (q / 127)^2.
/// Maps are ordered by layer and head, then `rollout`, unless it is empty. The square spends the 8
/// bits on small weights, which are most: one of a hundredth of the largest is kept within 8 %.
///
/// Throws ShapeError if there is no layer, values do not fit the sizes or sizes differ, and
/// NumericError for values that are not finite as float32.
std::string pack_maps(std::span<const AttentionMap> layers, const Matrix& rollout);

struct ExplorerObjectMap;
/// The same for the maps of so many detections, whose rows are ordered by map, head and object.
/// Throws ShapeError if values do not fit the sizes, and NumericError as above.
std::string pack_object_maps(std::span<const ExplorerObjectMap> maps, std::int64_t objects);
/// The same for one row. Throws NumericError as above, naming `where`.
std::string pack_row(std::span<const double> row, const std::string& where);

}  // namespace fovea::visualise
