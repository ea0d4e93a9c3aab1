#include "experiment/pictures/volume_case.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>
#include <vector>

#include "autograd/mode.h"
#include "base/error.h"
#include "data/files/nifti.h"
#include "data/volumes/volume_regions.h"
#include "metrics/label_maps.h"

namespace fovea::experiment {
namespace {

using visualise::CaseVolume;

template <class To, class From>
std::vector<To> values_as(const Tensor& tensor) {
  const auto values = tensor.host_values<From>();
  std::vector<To> result;
  result.reserve(values.size());
  for (const From value : values) result.push_back(static_cast<To>(value));
  return result;
}

std::vector<double> dice_on_file(const data::VolumeDataset& volumes, const Tensor& prob,
                                 std::int64_t i) {
  metrics::ConfusionMatrix confusion(volumes.num_classes());
  const Tensor truth = volumes.original_mask(i), found = volumes.labels_at_original(prob, i);
  confusion.add(truth.host_values<std::int64_t>(), found.host_values<std::int64_t>(),
                data::kIgnoreLabel);
  return metrics::class_dice(metrics::class_counts(confusion, data::scored_labels(volumes.info())));
}

// Voxels whose truth does not count are background in both, so that no error is seen there.
void set_labels(CaseVolume& v, const Tensor& truth, const Tensor& predicted) {
  const auto known = truth.host_values<std::int64_t>();
  v.predicted = values_as<std::uint8_t, std::int64_t>(predicted);
  for (std::size_t i = 0; i < known.size(); ++i) {
    if (known[i] < 0) v.predicted[i] = 0;
    v.truth.push_back(static_cast<std::uint8_t>(std::max<std::int64_t>(known[i], 0)));
  }
}

void set_values(CaseVolume& v, const Tensor& channel, const data::VolumePlan& plan) {
  v.values = values_as<float, float>(channel);
  if (plan.ct && !plan.channels.empty()) {
    const data::Intensities& by = plan.channels.front();
    for (float& value : v.values) value = static_cast<float>(double{value} * by.std + by.mean);
    v.unit = "HU";
    v.range = {by.low, by.high};
  }
  const data::Intensities seen = data::intensities_of(v.values);
  v.window = {seen.low, seen.high};
  if (v.unit.empty()) v.range = v.window;
}

}  // namespace

std::array<visualise::FileAxis, 3> file_axes(const data::VolumePlace& place,
                                             const visualise::Sides3& size) {
  std::array<visualise::FileAxis, 3> axes;
  for (std::size_t a = 0; a < 3; ++a) {
    const std::int64_t count = place.file[place.turn.from[a]];
    // Voxels lie over the part of the file that was taken, edge on edge.
    const double step = static_cast<double>(place.box[a]) / static_cast<double>(size[a]);
    const double start = static_cast<double>(place.first[a]) + step / 2 - 0.5;
    axes[a] = {place.turn.from[a], count, start, step};
    if (!place.turn.mirrored[a]) continue;
    axes[a].start = static_cast<double>(count - 1) - start;
    axes[a].step = -step;
  }
  return axes;
}

BodyAxes body_axes(const std::optional<data::Affine>& affine, const data::VolumePlace& place) {
  if (!affine) return {};
  const data::Affine turned = data::turned(*affine, place.file, place.turn);
  BodyAxes axes;
  try {
    axes.codes = data::axis_codes(turned, "");
  } catch (const FileError&) {
    return {};
  }
  for (std::size_t c = 0; c < 3; ++c) {
    const std::size_t world = std::string("RASLPI").find(axes.codes[c]) % 3;
    const double length = std::hypot(turned[0][c], turned[1][c], turned[2][c]);
    const double along = std::min(1.0, std::abs(turned[world][c]) / length);
    axes.tilt = std::max(axes.tilt, std::acos(along) * 180 / std::numbers::pi);
  }
  std::reverse(axes.codes.begin(), axes.codes.end());  // they are of columns, rows, slices
  return axes;
}

CaseVolume volume_case(Run& run, data::Split split, const data::VolumeDataset& volumes,
                       std::int64_t i) {
  const autograd::NoGrad no_grad;
  const data::Batch batch = run.task().source().one(split, i);
  const Tensor all = run.task().probabilities_of(batch);
  const Tensor prob = all.alias(all.shape().part(1, all.rank()));
  CaseVolume v;
  v.name = volumes.case_name(i);
  v.size = {prob.size(1), prob.size(2), prob.size(3)};
  const data::VolumePlace place = volumes.place(i);
  v.file = file_axes(place, v.size);
  const auto spacing = data::turned(place.spacing, place.turn);
  for (std::size_t axis = 0; axis < 3; ++axis)
    v.spacing[axis] = spacing[axis] * std::abs(v.file[axis].step);
  const data::VolumeCase files = volumes.files_of(i);
  if (!files.images.empty()) {
    BodyAxes body = body_axes(data::read_nifti_affine(files.images.front()), place);
    v.codes = std::move(body.codes);
    v.tilt = body.tilt;
  }
  const Tensor& image = batch.at("image");  // (1, c, d, h, w)
  set_values(v, image.alias(image.shape().part(1, 5)).rows(0, 1), volumes.plan());
  const data::VolumeInfo& info = volumes.info();
  const bool of_regions = !info.regions.empty();
  set_labels(v, batch.at("mask"),
             of_regions ? data::region_labels(all, info.regions) : metrics::predicted_labels(all));
  v.classes = volumes.class_names();
  if (of_regions) v.regions = data::scored_names(info);
  v.dice = dice_on_file(volumes, prob, i);
  return v;
}

}  // namespace fovea::experiment
