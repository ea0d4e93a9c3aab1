#include "visualise/figures/shared/volume_view.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "metrics/label_maps.h"
#include "visualise/figures/shared/shared_options.h"

namespace fovea::visualise {
namespace {

constexpr const char* kNeurological = "neurological";

const std::vector<std::string>& conventions() {
  static const std::vector<std::string> words = {"radiological", kNeurological};
  return words;
}

}  // namespace

const schema::Fields<VolumeView>& volume_view_fields() {
  static const auto fields =
      schema::Fields<VolumeView>{}
          .add("slices", &VolumeView::slices, schema::greater_than(0),
               "how many in each plane (default: 3)")
          .add("query", &VolumeView::query,
               "slice, row and column of a voxel of the file, from 0 (default: the mean of all)")
          .add("convention", &VolumeView::convention, words(conventions()),
               "the patient's right at the left of axial and coronal slices, as if seen from the "
               "feet and the front (radiological, the default), or at the right");
  return fields;
}

void VolumeView::check() const {
  if (!convention.empty()) check_word("--convention", convention, conventions());
}

Convention VolumeView::side() const {
  return convention == kNeurological ? Convention::kNeurological : Convention::kRadiological;
}

std::optional<Sides3> VolumeView::voxel_in(const CaseVolume& v) const {
  if (query.empty()) return std::nullopt;
  const Sides3 size = file_size(v);
  bool inside = query.size() == 3;
  for (std::size_t axis = 0; inside && axis < 3; ++axis)
    inside = query[axis] >= 0 && query[axis] < size[axis];
  FOVEA_CHECK(inside, ConfigError,
              fmt::format("--query {}: expected slice, row and column of a voxel of the file, from "
                          "0; {} has {} x {} x {}",
                          fmt::join(query, ","), v.name, size[0], size[1], size[2]));
  const std::optional<Sides3> voxel = voxel_of_file(v, {query[0], query[1], query[2]});
  if (!voxel) {
    const Sides3 a = file_voxel_of(v, {0, 0, 0});
    const Sides3 b = file_voxel_of(v, {v.size[0] - 1, v.size[1] - 1, v.size[2] - 1});
    const auto range = [&](std::size_t k) {
      return fmt::format("{} to {}", std::min(a[k], b[k]), std::max(a[k], b[k]));
    };
    throw ConfigError(fmt::format(
        "--query {}: lies outside the part of {} that the network sees (its border of zeros is cut "
        "off): expected slices {}, rows {}, columns {}",
        fmt::join(query, ","), v.name, range(0), range(1), range(2)));
  }
  return voxel;
}

std::string dice_line(const CaseVolume& v) {
  if (!has_truth(v)) return "no truth";
  std::string line =
      fmt::format("Dice {:.2f} %", 100 * metrics::class_mean(v.dice, 1, metrics::Empty::kOne));
  const std::vector<std::string>& names = scored_names(v);
  for (std::size_t k = 1; v.dice.size() > 2 && k < v.dice.size(); ++k)
    line += std::isnan(v.dice[k]) ? fmt::format(", {} in neither", names[k])
                                  : fmt::format(", {} {:.2f} %", names[k], 100 * v.dice[k]);
  return line;
}

}  // namespace fovea::visualise
