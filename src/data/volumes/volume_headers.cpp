#include "data/volumes/volume_headers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "base/error.h"

namespace fovea::data {
namespace {

constexpr const char* kUnknownAxes = "unknown";

std::string codes_of(const VolumeSize& size) {
  try {
    return axis_codes(size.affine, "");
  } catch (const FileError&) {
    return kUnknownAxes;
  }
}

// Files round spacings differently.
void check_spacing(const VolumeSize& expected, const VolumeSize& size,
                   const std::filesystem::path& file, const std::filesystem::path& image) {
  constexpr double kRounding = 1e-3;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const double difference = std::abs(size.spacing[axis] - expected.spacing[axis]);
    FOVEA_CHECK(difference <= kRounding * std::abs(expected.spacing[axis]), FileError,
                fmt::format("{}: its voxels are {:.6g} mm large (depth, height, width), those of "
                            "{} {:.6g}; write its header anew, or exclude the case with "
                            "dataset.exclude",
                            file.string(), fmt::join(size.spacing, " x "),
                            image.filename().string(), fmt::join(expected.spacing, " x ")));
  }
}

// The largest distance between the places of the corners of two grids of one size, in millimetres.
double distance_of(const VolumeSize& a, const VolumeSize& b) {
  double largest = 0;
  for (int corner = 0; corner < 8; ++corner) {
    const std::array<double, 3> at = {static_cast<double>((corner & 1) != 0 ? a.width - 1 : 0),
                                      static_cast<double>((corner & 2) != 0 ? a.height - 1 : 0),
                                      static_cast<double>((corner & 4) != 0 ? a.depth - 1 : 0)};
    double squares = 0;
    for (std::size_t r = 0; r < 3; ++r) {
      double difference = a.affine[r][3] - b.affine[r][3];
      for (std::size_t c = 0; c < 3; ++c) difference += (a.affine[r][c] - b.affine[r][c]) * at[c];
      squares += difference * difference;
    }
    largest = std::max(largest, std::sqrt(squares));
  }
  return largest;
}

// How the affine of labels differs from that of their image; nothing for less than half a voxel.
std::optional<std::string> elsewhere(const VolumeSize& image, const VolumeSize& labels) {
  const std::string own = codes_of(labels), of_image = codes_of(image);
  if (own != of_image) return fmt::format("axes {}, of the image {}", own, of_image);
  const double least = *std::min_element(image.spacing.begin(), image.spacing.end());
  const double distance = distance_of(image, labels);
  if (distance <= least / 2) return std::nullopt;  // (NaN is told)
  return fmt::format("up to {:.3g} mm away", distance);
}

// The first image of a volume, and how its labels differ.
VolumeSize check_volume(const VolumeCase& files, const VolumeInfo& info,
                        std::vector<std::string>& moved) {
  const VolumeSize first = read_nifti_size(files.images.front());
  check_channels(files, first, info);
  for (std::size_t c = 1; c < files.images.size(); ++c) {
    const VolumeSize size = read_nifti_size(files.images[c]);
    check_size(first, size, files.images[c]);
    check_spacing(first, size, files.images[c], files.images.front());
  }
  if (files.labels.empty()) return first;
  const VolumeSize labels = read_nifti_size(files.labels);
  check_size(first, labels, files.labels);
  check_spacing(first, labels, files.labels, files.images.front());
  if (const auto difference = elsewhere(first, labels))
    moved.push_back(fmt::format("{} ({})", files.labels.string(), *difference));
  return first;
}

}  // namespace

VolumeHeaders read_headers(const std::vector<VolumeCase>& cases, const VolumeInfo& info) {
  VolumeHeaders result;
  std::vector<std::string> moved;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    VolumeSize size;
    try {
      size = check_volume(cases[i], info, moved);
    } catch (const FileError& error) {
      result.problems.push_back({static_cast<std::int64_t>(i), error.what()});
    }
    result.sizes.push_back(size);
  }
  if (!moved.empty()) {
    result.notes.push_back(
        fmt::format("dataset: the labels of {} of {} volumes have another affine than their "
                    "images, e.g. {}; voxels are compared one by one whatever the affines say",
                    moved.size(), cases.size(), moved.front()));
  }
  return result;
}

std::map<std::string, std::int64_t> orientations(const std::vector<VolumeSize>& headers) {
  std::map<std::string, std::int64_t> counts;
  for (const VolumeSize& header : headers) {
    if (header.voxels() > 0) ++counts[codes_of(header)];
  }
  return counts;
}

std::string orientations_text(const std::map<std::string, std::int64_t>& orientations) {
  std::vector<std::pair<std::string, std::int64_t>> all(orientations.begin(), orientations.end());
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<std::string> words;
  for (const auto& [codes, count] : all) words.push_back(fmt::format("{} {}", codes, count));
  return fmt::format("{}", fmt::join(words, ", "));
}

}  // namespace fovea::data
