#include "visualise/layouts/volume_comparison.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "visualise/drawing/montage.h"
#include "visualise/layouts/disagreement.h"
#include "visualise/layouts/label_overlay.h"

namespace fovea::visualise {
namespace {

constexpr double kOpaque = 1;

void check_labels(const ComparedVolume& one, std::size_t networks) {
  check(one.volume);
  FOVEA_CHECK(one.predicted.size() == networks, ShapeError,
              fmt::format("volume comparison: {} has {} predictions of {} networks",
                          one.volume.name, one.predicted.size(), networks));
  for (const std::vector<std::uint8_t>& labels : one.predicted)
    FOVEA_CHECK(labels.size() == one.volume.values.size(), ShapeError,
                fmt::format("volume comparison: {} has {} labels for {} voxels", one.volume.name,
                            labels.size(), one.volume.values.size()));
}

std::vector<std::int64_t> slices_of(const VolumeComparison& c, const ComparedVolume& one) {
  if (one.through) return {(*one.through)[axes_of(one.volume, c.plane).across]};
  return chosen_slices(one.volume, c.plane, c.look.slices, one.predicted);
}

// The pictures of one slice: image, truth where `judged` (a hole for a volume without one), and
// what each network says.
std::vector<Canvas> row_of(const VolumeComparison& c, const ComparedVolume& one,
                           const SlicePixels& pixels, bool judged) {
  const CaseVolume& v = one.volume;
  std::vector<Canvas> row = {pixels.image()};
  std::vector<std::vector<std::int64_t>> segmentations;
  const auto add = [&](const std::vector<std::uint8_t>& labels) {
    row.push_back(pixels.classes(labels, kOpaque));
    const std::vector<std::uint8_t> seen = pixels.of(labels);
    segmentations.emplace_back(seen.begin(), seen.end());
  };
  if (has_truth(v)) {
    add(v.truth);
  } else if (judged) {
    row.emplace_back();
  }
  for (const std::vector<std::uint8_t>& labels : one.predicted) add(labels);
  const std::vector<PixelBox> boxes =
      disagreement_boxes(segmentations, row[0].height, row[0].width, c.boxes);
  for (Canvas& picture : row) {
    if (picture.width == 0) continue;
    for (const PixelBox& box : boxes) draw_box(picture, box);
    picture = pixels.marked(std::move(picture));
  }
  return row;
}

}  // namespace

Canvas volume_comparison(const VolumeComparison& c) {
  FOVEA_CHECK(!c.volumes.empty(), ShapeError, "volume comparison: no volumes");
  const bool judged = std::any_of(c.volumes.begin(), c.volumes.end(),
                                  [](const ComparedVolume& one) { return has_truth(one.volume); });
  Montage montage;
  montage.title = c.title;
  montage.factor = 1;
  montage.column_labels = {"image"};
  if (judged) montage.column_labels.emplace_back("truth");
  montage.column_labels.insert(montage.column_labels.end(), c.networks.begin(), c.networks.end());
  for (const ComparedVolume& one : c.volumes) {
    check_labels(one, c.networks.size());
    SliceLook look = c.look;
    look.through = one.through;
    for (const std::int64_t index : slices_of(c, one)) {
      const SlicePixels pixels(one.volume, {c.plane, index}, look);
      montage.row_labels.push_back(
          fmt::format("{}: {}", one.volume.name, slice_label(one.volume, c.plane, index)));
      montage.rows.push_back(row_of(c, one, pixels, judged));
    }
  }
  const std::vector<std::string>& classes = c.volumes.front().volume.classes;
  std::vector<LegendEntry> legend;
  for (std::size_t k = 1; k < classes.size(); ++k)
    legend.push_back({class_colour(static_cast<std::int64_t>(k)), classes[k]});
  if (c.boxes > 0) legend.push_back(box_legend(c.boxes));
  return with_legend(render(montage), legend);
}

}  // namespace fovea::visualise
