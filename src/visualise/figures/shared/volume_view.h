// Which slices of volumes are drawn, and how they are turned: options of figures of volumes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "schema/fields.h"
#include "visualise/pages/case_volume.h"

namespace fovea::visualise {

struct VolumeView {
  std::optional<std::int64_t> slices;
  std::vector<std::int64_t> query;
  std::string convention;

  /// Whether one of them was given.
  bool given() const { return slices || !query.empty() || !convention.empty(); }
  /// Throws ConfigError for a convention that is none.
  void check() const;
  Convention side() const;
  /// --query names a voxel of the file; here it is that of the volume. Throws ConfigError for one
  /// outside of it.
  std::optional<Sides3> voxel_in(const CaseVolume& v) const;
};
const schema::Fields<VolumeView>& volume_view_fields();

/// "Dice 81.23 %, liver 80.10 %, ...", or "no truth".
std::string dice_line(const CaseVolume& v);

}  // namespace fovea::visualise
