#include "models/volumes/dformer_units.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "base/error.h"

namespace fovea::models {
namespace {

std::int64_t divided_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

ops::UnitPlan plan_of(const Size3& grid, const Size3& unit, const Size3& count) {
  return {.grid = sizes_of(grid), .unit = sizes_of(unit), .count = sizes_of(count)};
}

ops::UnitPlan by_unit(const Size3& grid, UnitScheme scheme, const Size3& wanted) {
  Size3 unit, count;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    unit[axis] = std::min(wanted[axis], grid[axis]);
    count[axis] = divided_up(grid[axis], unit[axis]);
  }
  ops::UnitPlan plan = plan_of(grid, unit, count);
  plan.dilated = scheme == UnitScheme::kGlobal;
  return plan;
}

// No plan where units with the gap of the public code do not cover the padded axis.
std::optional<ops::UnitPlan> by_reference(const Size3& grid, UnitScheme scheme,
                                          const PartitionOptions& o) {
  if (grid[1] < o.unit[1])
    return plan_of(grid, grid, {1, 1, 1});  // the public code asks no other axis
  Size3 unit = o.unit, count;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    count[axis] = divided_up(grid[axis], unit[axis]);
    if (scheme != UnitScheme::kGlobal) continue;
    const std::int64_t padded = divided_up(grid[axis], o.interval) * o.interval;
    count[axis] = padded / unit[axis];
    if (count[axis] == 0 || padded % count[axis] != 0) return std::nullopt;
    unit[axis] = padded / count[axis];
  }
  ops::UnitPlan plan = plan_of(grid, unit, count);
  plan.dilated = scheme == UnitScheme::kGlobal;
  return plan;
}

// Axes that one window covers are not shifted.
ops::UnitPlan shifted(const Size3& grid, const Size3& wanted) {
  ops::UnitPlan plan = by_unit(grid, UnitScheme::kShifted, wanted);
  for (std::size_t axis = 0; axis < 3; ++axis)
    plan.shift.push_back(grid[axis] <= wanted[axis] ? 0 : wanted[axis] / 2);
  return plan;
}

}  // namespace

ops::UnitPlan partition(const Size3& grid, UnitScheme scheme, const PartitionOptions& o) {
  if (scheme == UnitScheme::kShifted) return shifted(grid, o.unit);
  if (o.rule == PartitionRule::kUnit) return by_unit(grid, scheme, o.unit);
  if (const auto plan = by_reference(grid, scheme, o)) return *plan;
  FOVEA_CHECK(o.rule == PartitionRule::kAuto, ConfigError,
              fmt::format("model.gs_partition: \"reference\" has no global units of {} with "
                          "interval {} for tokens on {}; set model.gs_partition=auto",
                          fmt::join(o.unit, " x "), o.interval, fmt::join(grid, " x ")));
  return by_unit(grid, scheme, o.unit);
}

PartitionedGrid Partitions::of(const Size3& grid, const Device& device) {
  return last_.of(grid, [&] { return made(grid, device); });
}

PartitionedGrid Partitions::made(const Size3& grid, const Device& device) const {
  ops::UnitPlan plan = partition(grid, scheme_, options_);
  Size3 of_units = grid;
  Size3 padded;
  for (std::size_t axis = 0; axis < 3; ++axis) padded[axis] = plan.unit[axis] * plan.count[axis];
  const bool only_depth = padded[1] == grid[1] && padded[2] == grid[2] && padded[0] > grid[0];
  // Padding that is not masked counts as tokens.
  if (scheme_ == UnitScheme::kShifted
          ? !options_.mask_shifted
          : options_.mask == PaddingMask::kReference && plan.dilated && only_depth) {
    of_units = padded;
    plan.grid = sizes_of(padded);
  }
  return {of_units, ops::Units(plan, device)};
}

}  // namespace fovea::models
