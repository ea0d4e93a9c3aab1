// How D-Former cuts a grid of tokens into units of attention. dformer 3.2, 3.10.
#pragma once

#include "base/last_made.h"
#include "models/volumes/volume_network.h"
#include "ops/attention/units.h"

namespace fovea::models {

enum class UnitScheme {
  kLocal,    // a unit is a block of neighbours: LSM
  kGlobal,   // a unit has every g-th token along each axis: GSM
  kShifted,  // windows of 3D Swin, moved by half a window
};

/// The rule for the sizes of padding, units and gaps.
enum class PartitionRule {
  kReference,  // the public code: padding to the interval, and the gap follows from the unit
  kUnit,       // the paper's n = g u: padding to multiples of the unit
  kAuto,       // kReference, or kUnit where that has no plan
};

/// Whether the keys of padding are masked.
enum class PaddingMask {
  kAny,        // always
  kReference,  // as the public code: in global units not where only the depth was padded
};

struct PartitionOptions {
  Size3 unit{2, 8, 8};
  std::int64_t interval = 8;
  PartitionRule rule = PartitionRule::kAuto;
  PaddingMask mask = PaddingMask::kAny;  // of local and global units
  bool mask_shifted = true;              // whether shifted windows mask the keys of padding
};

/// The plan for a grid. Where the grid is smaller than a unit, the reference rule makes one unit of
/// the whole grid in either scheme. Throws ConfigError where the rule has no plan for the grid.
ops::UnitPlan partition(const Size3& grid, UnitScheme scheme, const PartitionOptions& options);

struct PartitionedGrid {
  /// The grid that the units are of: where padding is not masked the one of the padded map.
  Size3 grid;
  ops::Units units;
};

/// Units of one scheme, made again only when the grid changes.
class Partitions {
 public:
  Partitions(UnitScheme scheme, const PartitionOptions& options)
      : scheme_(scheme), options_(options) {}

  /// For tokens on `grid`.
  PartitionedGrid of(const Size3& grid, const Device& device);

 private:
  PartitionedGrid made(const Size3& grid, const Device& device) const;

  UnitScheme scheme_;
  PartitionOptions options_;
  LastMade<Size3, PartitionedGrid> last_;
};

}  // namespace fovea::models
