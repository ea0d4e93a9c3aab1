// Volumes on disk: NIfTI-1 in one file (.nii, .nii.gz), in either byte order.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/files/pictures/image_file.h"
#include "data/volumes/orientation.h"

namespace fovea::data {

/// What a header says of a volume. Axes are those of the file, the slowest first: slices (its z),
/// rows (y), columns (x); nothing is turned here (orientation.h does).
struct VolumeSize {
  std::int64_t depth = 0, height = 0, width = 0;
  std::array<double, 3> spacing = {1, 1, 1};  // of slices, rows, columns in millimetres
  /// By the sform where its code is not 0, else by the qform, else the spacing alone. dformer 7.2.
  Affine affine = {{{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}}};
  /// Along the fourth axis: volumes on one grid, such as the sequences of a scan.
  std::int64_t channels = 1;

  std::int64_t plane() const { return height * width; }
  std::int64_t voxels() const { return depth * plane(); }
};

/// (channels, depth, height, width) row-major, scaled as the header says: value x slope +
/// intercept.
struct Volume : VolumeSize {
  std::vector<float> values;
};

/// Largest volume that is read, in bytes once expanded.
inline constexpr std::size_t kMaxVolumeBytes = std::size_t{1} << 31;

/// True for the endings .nii and .nii.gz.
bool has_nifti_extension(const std::filesystem::path& path);

/// The whole content of a file, plain or compressed: one channel or several. Axes beyond the fourth
/// must be 1. Throws FileError starting with `name` for what is no such file, is cut short, holds
/// colours or complex numbers, or a value that is not finite, with its voxel.
Volume decode_nifti(std::span<const std::byte> file, std::string_view name);
/// decode_nifti of a file's content, which has one channel; FileError for more.
Volume read_nifti(const std::filesystem::path& path);
/// The same with any number of channels.
Volume read_nifti_channels(const std::filesystem::path& path);
/// The same of a file of labels: whole numbers are taken as they are stored, whatever the header
/// says of their scale. dformer 7.2.
Volume read_nifti_labels(const std::filesystem::path& path);
/// The header alone, of any number of channels: the first bytes of the file are read.
VolumeSize read_nifti_size(const std::filesystem::path& path);
/// How a volume lies in the body, from the header alone; nothing where neither its sform nor its
/// qform is in use.
std::optional<Affine> read_nifti_affine(const std::filesystem::path& path);

/// Writes a volume of labels (depth, height, width), 8 bits a voxel, or 16 where a value is above
/// 255; compressed where `path` ends in .gz. Place and size of the voxels are those of the NIfTI
/// file `like`, whatever its number of channels; of no file, voxels of size 1. Throws FileError if
/// `like` has another size.
void write_nifti_labels(const std::filesystem::path& path, const VolumeSize& size,
                        const std::vector<std::uint16_t>& labels,
                        const std::filesystem::path& like);
/// The same of real numbers, 32 bits a voxel.
void write_nifti_values(const std::filesystem::path& path, const VolumeSize& size,
                        std::span<const float> values, const std::filesystem::path& like);

/// A slice of a volume of labels. Throws FileError starting with `name` for a value that is no
/// whole number from 0 to 65535, with its voxel.
Image label_slice(const Volume& volume, std::int64_t slice, std::string_view name);

}  // namespace fovea::data
