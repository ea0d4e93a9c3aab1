#include "experiment/reports/predicted_volumes.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/distinct_names.h"
#include "base/file.h"
#include "data/volumes/volume_regions.h"
#include "metrics/label_maps.h"
#include "schema/json/value.h"

namespace fovea::experiment {
namespace {

using schema::Value;

constexpr const char* kVolumeFolder = "predicted_volumes";
constexpr const char* kProbabilityFolder = "predicted_probabilities";

data::VolumeSize size_on_file(const data::VolumePlace& place) {
  return {place.file[0], place.file[1], place.file[2], place.spacing};
}

Value or_null(double value) { return std::isnan(value) ? Value() : Value(value); }
Value or_null(const std::filesystem::path& file) {
  return file.empty() ? Value() : Value(file.string());
}

// Of data::scored_names().
std::vector<std::string> summary_keys(const data::VolumeInfo& info) {
  std::vector<std::string> keys;
  if (!info.regions.empty()) keys.emplace_back("0");
  for (const data::Region& region : info.regions) keys.push_back(region.key);
  for (std::size_t c = 0; info.regions.empty() && c < info.label_values.size(); ++c)
    keys.push_back(std::to_string(info.label_values[c]));
  return keys;
}

}  // namespace

std::vector<std::string> write_prediction(const std::filesystem::path& folder,
                                          const std::string& name, const Tensor& prob,
                                          const data::VolumePlace& place,
                                          const std::filesystem::path& like,
                                          const data::VolumeInfo& info, const VolumeOutputs& what,
                                          const training::Postprocessing& postprocessing) {
  const data::VolumeSides size{prob.size(1), prob.size(2), prob.size(3)};
  const auto maps = prob.host_values<float>();
  std::vector<std::string> names;
  if (what.labels) {
    std::vector<std::uint8_t> labels = data::labels_on_file(maps, info, size, place);
    if (!postprocessing.empty())
      training::postprocess(
          postprocessing, labels,
          {{place.file.begin(), place.file.end()}, {place.spacing.begin(), place.spacing.end()}});
    std::vector<std::uint16_t> values;
    for (const std::uint8_t label : labels)
      values.push_back(static_cast<std::uint16_t>(info.label_values[label]));
    names.push_back(name + ".nii.gz");
    data::write_nifti_labels(folder / names.back(), size_on_file(place), values, like);
  }
  const std::size_t voxels = maps.size() / static_cast<std::size_t>(prob.size(0));
  const std::vector<std::string> words = metrics::class_words(data::scored_names(info));
  const std::size_t without_background = info.regions.empty() ? 0 : 1;  // the first map's name
  for (std::size_t c = 1; what.probabilities && c < words.size(); ++c) {
    names.push_back(name + "_" + words[c] + ".nii.gz");
    const std::size_t k = c - without_background;
    data::write_nifti_values(
        folder / names.back(), size_on_file(place),
        data::map_on_file(std::span(maps).subspan(k * voxels, voxels), size, place, 0.0f), like);
  }
  return names;
}

PredictedVolumes::PredictedVolumes(const data::VolumeDataset& volumes, std::filesystem::path folder,
                                   const std::set<std::string>& wanted,
                                   const training::Postprocessing& postprocessing)
    : volumes_(volumes),
      folder_(std::move(folder)),
      labels_(wanted.contains("volumes")),
      probabilities_(wanted.contains("probabilities")),
      postprocessing_(postprocessing) {
  if (labels_) io::make_directories(folder_ / kVolumeFolder);
  if (probabilities_) io::make_directories(folder_ / kProbabilityFolder);
}

void PredictedVolumes::add(std::int64_t sample, const Tensor& prob) const {
  const data::VolumeCase files = volumes_.files_of(sample);
  const auto write = [&](const char* folder, const VolumeOutputs& what) {
    write_prediction(folder_ / folder, slug(volumes_.case_name(sample)),
                     prob.alias(prob.shape().part(1, prob.rank())), volumes_.place(sample),
                     files.images.empty() ? std::filesystem::path() : files.images.front(),
                     volumes_.info(), what, postprocessing_);
  };
  if (labels_) write(kVolumeFolder, {true, false});
  if (probabilities_) write(kProbabilityFolder, {false, true});
}

std::vector<std::string> PredictedVolumes::finish() const {
  std::vector<std::string> folders;
  if (labels_) folders.emplace_back(kVolumeFolder);
  if (probabilities_) folders.emplace_back(kProbabilityFolder);
  return folders;
}

std::filesystem::path PredictedVolumes::labels_file(std::int64_t sample) const {
  if (!labels_) return {};
  return folder_ / kVolumeFolder / (slug(volumes_.case_name(sample)) + ".nii.gz");
}

void write_nnunet_summary(const std::filesystem::path& file, const data::VolumeDataset& volumes,
                          const PredictedVolumes& predicted,
                          const std::vector<std::int64_t>& samples,
                          const std::vector<metrics::ClassCounts>& counts,
                          const std::vector<std::int64_t>& voxels) {
  constexpr const char* kNames[] = {"Dice", "IoU", "TP", "FP", "FN", "TN", "n_pred", "n_ref"};
  constexpr std::size_t kNumbers = std::size(kNames);
  const std::vector<std::string> keys = summary_keys(volumes.info());
  // By class and number: the sum over the cases that have it, and how many these are.
  std::vector<std::vector<double>> sums(keys.size(), std::vector<double>(kNumbers, 0)),
      cases = sums;
  Value per_case = Value::array();
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const metrics::ClassCounts& n = counts[i];
    const std::vector<double> dice = metrics::class_dice(n), iou = metrics::class_iou(n);
    Value scores = Value::object();
    for (std::size_t c = 1; c < keys.size(); ++c) {
      const auto tp = static_cast<double>(n.both[c]);
      const auto ref = static_cast<double>(n.truth[c]), pred = static_cast<double>(n.predicted[c]);
      const double numbers[kNumbers] = {dice[c],  iou[c],
                                        tp,       pred - tp,
                                        ref - tp, static_cast<double>(voxels[i]) - ref - pred + tp,
                                        pred,     ref};
      Value one = Value::object();
      for (std::size_t k = 0; k < kNumbers; ++k) {
        one.set(kNames[k], or_null(numbers[k]));
        if (std::isnan(numbers[k])) continue;
        sums[c][k] += numbers[k];
        ++cases[c][k];
      }
      scores.set(keys[c], one);
    }
    per_case.push_back(
        Value::object({{"case", volumes.case_name(samples[i])},
                       {"metrics", scores},
                       {"prediction_file", or_null(predicted.labels_file(samples[i]))},
                       {"reference_file", or_null(volumes.files_of(samples[i]).labels)}}));
  }
  Value mean = Value::object(), foreground = Value::object();
  std::vector<double> all(kNumbers, 0);
  std::vector<double> defined(kNumbers, 0);
  for (std::size_t c = 1; c < keys.size(); ++c) {
    Value one = Value::object();
    for (std::size_t k = 0; k < kNumbers; ++k) {
      const double number = cases[c][k] > 0 ? sums[c][k] / cases[c][k] : std::nan("");
      one.set(kNames[k], or_null(number));
      if (std::isnan(number)) continue;
      all[k] += number;
      ++defined[k];
    }
    mean.set(keys[c], one);
  }
  for (std::size_t k = 0; k < kNumbers; ++k)
    foreground.set(kNames[k], or_null(defined[k] > 0 ? all[k] / defined[k] : std::nan("")));
  io::write_atomic(
      file, Value::object(
                {{"foreground_mean", foreground}, {"mean", mean}, {"metric_per_case", per_case}})
                    .dump() +
                "\n");
}

}  // namespace fovea::experiment
