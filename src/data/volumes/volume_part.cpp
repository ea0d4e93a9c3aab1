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
  FOVEA_CHECK(
      size.channels == 1, FileError,
      fmt::format("{}: {} channels along its fourth axis; expected one volume of three axes",
                  file.string(), size.channels));
  FOVEA_CHECK(size.depth == first.depth && size.height == first.height && size.width == first.width,
              FileError,
              fmt::format("{}: is {} x {} x {}, the first channel of its volume is {} x {} x {}",
                          file.string(), size.depth, size.height, size.width, first.depth,
                          first.height, first.width));
}

void check_channels(const VolumeCase& files, const VolumeSize& first, const VolumeInfo& info) {
  const std::string file = files.images.front().string();
  if (files.images.size() == 1 && first.channels > 1) {
    FOVEA_CHECK(first.channels == info.channels, FileError,
                fmt::format("{}: {} channels along its fourth axis; the data set has {}", file,
                            first.channels, info.channels));
    return;
  }
  FOVEA_CHECK(std::ssize(files.images) == info.channels, FileError,
              fmt::format("{}: {} {} of channels; the data set has {}{}", file, files.images.size(),
                          files.images.size() == 1 ? "file" : "files", info.channels,
                          info.channels == 1 ? ""
                                             : ", in files that end in _0000, _0001, ..., or along "
                                               "the fourth axis of one"));
}

LabelledVoxels read_volume(const VolumeCase& files, const VolumeInfo& info) {
  LabelledVoxels result;
  result.file = files.images.front();
  Volume first = read_nifti_channels(result.file);
  check_channels(files, first, info);
  static_cast<VolumeSize&>(result) = first;
  result.values = std::move(first.values);
  for (std::size_t c = 1; c < files.images.size(); ++c) {
    const Volume channel = read_nifti_channels(files.images[c]);
    check_size(result, channel, files.images[c]);
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
