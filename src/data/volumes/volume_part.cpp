#include "data/volumes/volume_part.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "data/batch.h"
#include "data/volumes/volume_headers.h"

namespace fovea::data {
namespace {

constexpr int kNoClass = -1;

std::vector<std::uint8_t> classes_of(const Volume& labels, const VolumeInfo& info,
                                     const std::filesystem::path& file) {
  std::array<int, 256> number;
  number.fill(kNoClass);
  for (std::size_t c = 0; c < info.label_values.size(); ++c)
    number.at(static_cast<std::size_t>(info.label_values[c])) = static_cast<int>(c);
  if (info.ignore_value) number.at(static_cast<std::size_t>(*info.ignore_value)) = kIgnoredVoxel;
  std::vector<std::uint8_t> classes;
  classes.reserve(labels.values.size());
  for (const float value : labels.values) {
    const bool fits = value >= 0 && value <= 255 && value == std::floor(value);
    const int known = fits ? number[static_cast<std::size_t>(value)] : kNoClass;
    if (known == kNoClass) {
      const auto at = std::ssize(classes);
      throw FileError(
          fmt::format("{}: label {} in slice {}, row {}, column {}; the data set declares {}{}",
                      file.string(), value, at / labels.plane(), at % labels.plane() / labels.width,
                      at % labels.width, fmt::join(info.label_values, ", "),
                      info.ignore_value ? fmt::format(", or {} to ignore", *info.ignore_value)
                                        : std::string()));
    }
    classes.push_back(static_cast<std::uint8_t>(known));
  }
  return classes;
}

}  // namespace

std::vector<std::int64_t> sample_labels(std::span<const std::uint8_t> labels) {
  std::vector<std::int64_t> result;
  result.reserve(labels.size());
  for (const std::uint8_t label : labels)
    result.push_back(label == kIgnoredVoxel ? kIgnoreLabel : std::int64_t{label});
  return result;
}

void check_size(const VolumeSize& first, const VolumeSize& size,
                const std::filesystem::path& file) {
  FOVEA_CHECK(size.depth == first.depth && size.height == first.height && size.width == first.width,
              FileError,
              fmt::format("{}: is {} x {} x {}, the first channel of its volume is {} x {} x {}",
                          file.string(), size.depth, size.height, size.width, first.depth,
                          first.height, first.width));
}

void check_channels(const VolumeCase& files, const VolumeInfo& info) {
  FOVEA_CHECK(std::ssize(files.images) == info.channels, FileError,
              fmt::format("{}: {} files of channels; the data set has {}",
                          files.images.empty() ? files.labels.string() : files.images[0].string(),
                          files.images.size(), info.channels));
}

LabelledVoxels read_volume(const VolumeCase& files, const VolumeInfo& info) {
  check_channels(files, info);
  LabelledVoxels result;
  for (const std::filesystem::path& file : files.images) {
    Volume channel = read_nifti(file);
    if (result.values.empty()) {
      static_cast<VolumeSize&>(result) = channel;
      result.file = file;
      result.values = std::move(channel.values);
      continue;
    }
    check_size(result, channel, file);
    result.values.insert(result.values.end(), channel.values.begin(), channel.values.end());
  }
  if (files.labels.empty()) return result;
  const Volume labels = read_nifti_labels(files.labels);
  check_size(result, labels, files.labels);
  result.labels = classes_of(labels, info, files.labels);
  return result;
}

NiftiVolumes::NiftiVolumes(std::vector<VolumeCase> cases, VolumeInfo info,
                           std::vector<std::string> notes)
    : VolumePart(std::move(info)), cases_(std::move(cases)) {
  labels_.assign(cases_.size(), 0);
  notes_ = std::move(notes);
  VolumeHeaders headers = read_headers(cases_, info_);
  headers_ = std::move(headers.sizes);
  problems_ = std::move(headers.problems);
  notes_.insert(notes_.end(), headers.notes.begin(), headers.notes.end());
}

LabelledVoxels NiftiVolumes::read(std::int64_t index) const {
  return read_volume(at(index), info_);
}

LabelledVoxels NiftiVolumes::read_labels(std::int64_t index) const {
  const Volume labels = read_nifti_labels(at(index).labels);
  LabelledVoxels result;
  static_cast<VolumeSize&>(result) = labels;
  result.labels = classes_of(labels, info_, at(index).labels);
  return result;
}

VolumeCase NiftiVolumes::files_of(std::int64_t index) const { return at(index); }

std::string NiftiVolumes::name(std::int64_t index) const { return at(index).name; }

std::vector<std::filesystem::path> NiftiVolumes::files() const {
  std::vector<std::filesystem::path> files;
  for (const VolumeCase& one : cases_) {
    files.insert(files.end(), one.images.begin(), one.images.end());
    if (!one.labels.empty()) files.push_back(one.labels);
  }
  return files;
}

}  // namespace fovea::data
