#include "experiment/pictures/volume_case.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>
#include <vector>

#include "autograd/mode.h"
#include "base/error.h"
#include "data/files/nifti.h"
#include "data/given/given_samples.h"
#include "data/volumes/volume_regions.h"
#include "metrics/label_maps.h"

namespace fovea::experiment {
namespace {

using visualise::CaseVolume;

// Of dformer's pictures of Synapse, in Hounsfield units. dformer 8, figure 4.
constexpr visualise::Limits kSoftTissue{-160, 240};

template <class To, class From>
std::vector<To> values_as(const Tensor& tensor) {
  const auto values = tensor.host_values<From>();
  std::vector<To> result;
  result.reserve(values.size());
  for (const From value : values) result.push_back(static_cast<To>(value));
  return result;
}

// A volume as the network sees it.
struct Prepared {
  Tensor image;  // (1, c, d, h, w)
  Tensor mask;   // (1, d, h, w); undefined for files of one's own
  data::VolumePlace place;
  std::vector<std::filesystem::path> files;  // none for generated volumes
};

Prepared prepared(Run& run, data::Split split, const data::VolumeDataset& volumes,
                  const visualise::VolumeInput& input) {
  const training::BatchSource& source = run.task().source();
  if (!input.index) {
    data::GivenVolume given = data::given_volume(volumes, input.files, source.options().host);
    return {std::move(given.image), {}, given.place, input.files};
  }
  const data::Batch batch = source.one(split, *input.index);
  return {batch.at("image"), batch.at("mask"), volumes.place(*input.index),
          volumes.files_of(*input.index).images};
}

Tensor probabilities_of(Run& run, const Tensor& image) {
  data::Batch batch;
  batch.set("image", image);
  batch.indices = {0};
  return run.task().probabilities_of(batch);
}

std::vector<double> dice_of(const Tensor& truth, const Tensor& found,
                            const data::VolumeDataset& volumes) {
  metrics::ConfusionMatrix confusion(volumes.num_classes());
  confusion.add(truth.host_values<std::int64_t>(), found.host_values<std::int64_t>(),
                data::kIgnoreLabel);
  return metrics::class_dice(metrics::class_counts(confusion, data::scored_labels(volumes.info())));
}

void set_names(CaseVolume& v, const data::VolumeDataset& volumes) {
  v.classes = volumes.class_names();
  if (!volumes.info().regions.empty()) v.regions = data::scored_names(volumes.info());
}

void set_body(CaseVolume& v, const std::vector<std::filesystem::path>& files,
              const data::VolumePlace& place) {
  if (files.empty()) return;
  BodyAxes body = body_axes(data::read_nifti_affine(files.front()), place);
  v.codes = std::move(body.codes);
  v.tilt = body.tilt;
}

// Voxels whose truth does not count are background in both, so that no error is seen there.
void set_truth(CaseVolume& v, const Tensor& truth) {
  const auto known = truth.host_values<std::int64_t>();
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

visualise::SeenVolume seen_volume(Run& run, data::Split split, const data::VolumeDataset& volumes,
                                  const visualise::VolumeInput& input) {
  const autograd::NoGrad no_grad;
  const Prepared sample = prepared(run, split, volumes, input);
  const Tensor all = probabilities_of(run, sample.image);
  const Tensor prob = all.alias(all.shape().part(1, all.rank()));
  CaseVolume v;
  v.name = input.name;
  v.size = {prob.size(1), prob.size(2), prob.size(3)};
  v.file = file_axes(sample.place, v.size);
  const auto spacing = data::turned(sample.place.spacing, sample.place.turn);
  for (std::size_t axis = 0; axis < 3; ++axis)
    v.spacing[axis] = spacing[axis] * std::abs(v.file[axis].step);
  set_body(v, sample.files, sample.place);
  set_values(v, sample.image.alias(sample.image.shape().part(1, 5)).rows(0, 1), volumes.plan());
  const std::vector<data::Region>& regions = volumes.info().regions;
  v.predicted = values_as<std::uint8_t, std::int64_t>(
      regions.empty() ? metrics::predicted_labels(all) : data::region_labels(all, regions));
  set_names(v, volumes);
  if (input.index) {
    set_truth(v, sample.mask);
    v.dice = dice_of(volumes.original_mask(*input.index),
                     volumes.labels_at_original(prob, *input.index), volumes);
  }
  return {std::move(v), sample.image};
}

CaseVolume volume_on_file(Run& run, data::Split split, const data::VolumeDataset& volumes,
                          const visualise::VolumeInput& input) {
  const autograd::NoGrad no_grad;
  const Prepared sample = prepared(run, split, volumes, input);
  const Tensor all = probabilities_of(run, sample.image);
  const data::VolumeInfo& info = volumes.info();
  const data::LabelledVoxels original =
      input.index ? volumes.original(*input.index) : data::read_volume({input.files, {}, {}}, info);
  CaseVolume v;
  v.name = input.name;
  v.size = {original.depth, original.height, original.width};
  v.spacing = original.spacing;
  data::VolumePlace whole;
  whole.file = whole.box = v.size;
  v.file = file_axes(whole, v.size);
  set_body(v, sample.files, whole);
  v.values.assign(original.values.begin(), original.values.begin() + original.voxels());
  const data::Intensities seen = data::intensities_of(v.values);
  v.window = v.range = {seen.low, seen.high};
  if (volumes.plan().ct) {
    v.unit = "HU";
    v.window = kSoftTissue;
  }
  v.predicted = data::labels_on_file(all.host_values<float>(), info,
                                     {all.size(2), all.size(3), all.size(4)}, sample.place);
  set_names(v, volumes);
  if (input.index) {
    const Tensor truth = volumes.original_mask(*input.index);
    const std::vector<std::int64_t> found(v.predicted.begin(), v.predicted.end());
    v.dice = dice_of(truth, Tensor::from(found, truth.shape(), truth.device()), volumes);
    set_truth(v, truth);
  }
  return v;
}

}  // namespace fovea::experiment
