#include "data/volume_part.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cmath>
#include <utility>

#include "base/error.h"

namespace fovea::data {
namespace {

constexpr int kNoClass = -1;

void check_size(const VolumeSize& expected, const VolumeSize& size,
                const std::filesystem::path& file) {
  FOVEA_CHECK(size.depth == expected.depth && size.height == expected.height &&
                  size.width == expected.width,
              FileError,
              fmt::format("{}: is {} x {} x {}, the first channel of its volume is {} x {} x {}",
                          file.string(), size.depth, size.height, size.width, expected.depth,
                          expected.height, expected.width));
}

std::vector<std::uint8_t> classes_of(const Volume& labels, const VolumeInfo& info,
                                     const std::filesystem::path& file) {
  std::array<int, 256> number;
  number.fill(kNoClass);
  for (std::size_t c = 0; c < info.label_values.size(); ++c)
    number.at(static_cast<std::size_t>(info.label_values[c])) = static_cast<int>(c);
  std::vector<std::uint8_t> classes;
  classes.reserve(labels.values.size());
  for (const float value : labels.values) {
    const bool fits = value >= 0 && value <= 255 && value == std::floor(value);
    const int known = fits ? number[static_cast<std::size_t>(value)] : kNoClass;
    if (known == kNoClass) {
      const auto at = std::ssize(classes);
      throw FileError(
          fmt::format("{}: label {} in slice {}, row {}, column {}; the data set declares {}",
                      file.string(), value, at / labels.plane(), at % labels.plane() / labels.width,
                      at % labels.width, fmt::join(info.label_values, ", ")));
    }
    classes.push_back(static_cast<std::uint8_t>(known));
  }
  return classes;
}

}  // namespace

LabelledVoxels read_volume(const VolumeCase& files, const VolumeInfo& info) {
  FOVEA_CHECK(std::ssize(files.images) == info.channels, FileError,
              fmt::format("{}: {} files of channels; the data set has {}",
                          files.images.empty() ? files.labels.string() : files.images[0].string(),
                          files.images.size(), info.channels));
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
