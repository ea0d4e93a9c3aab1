#include "experiment/reports/volume_files.h"

#include <fmt/format.h>

#include <utility>

#include "base/distinct_names.h"
#include "base/error.h"
#include "base/file.h"
#include "data/files/nifti.h"

namespace fovea::experiment {

VolumeFiles::VolumeFiles(const data::ImageDataset& images, std::filesystem::path folder,
                         std::vector<int> label_values)
    : images_(images), folder_(std::move(folder)), label_values_(std::move(label_values)) {
  FOVEA_CHECK(!label_values_.empty() && images_.slice_of(0).has_value(), ConfigError,
              "--save volumes: the samples are no slices of volumes with maps of labels; choose "
              "original_masks");
  io::make_directories(folder_);
}

void VolumeFiles::add(std::int64_t sample, const Tensor& labels) {
  const data::SliceOf slice = *images_.slice_of(sample);
  Volume& volume = volumes_[slice.volume];
  volume.slice = slice;
  volume.height = labels.size(-2);
  volume.width = labels.size(-1);
  std::vector<std::uint16_t>& values = volume.slices[slice.place];
  for (const std::int64_t label : labels.host_values<std::int64_t>())
    values.push_back(static_cast<std::uint16_t>(label_values_.at(static_cast<std::size_t>(label))));
  if (std::ssize(volume.slices) < slice.depth) return;
  write(volume);
  volumes_.erase(slice.volume);
}

void VolumeFiles::finish() {
  for (const auto& [name, volume] : volumes_) write(volume);
  volumes_.clear();
}

void VolumeFiles::write(const Volume& volume) const {
  const data::VolumeSize size{volume.slice.depth, volume.height, volume.width};
  std::vector<std::uint16_t> labels(static_cast<std::size_t>(size.voxels()),
                                    static_cast<std::uint16_t>(label_values_.front()));
  for (const auto& [place, values] : volume.slices)
    std::copy(values.begin(), values.end(), labels.begin() + place * size.plane());
  const bool nifti = data::has_nifti_extension(volume.slice.file);
  data::write_nifti_labels(folder_ / (slug(volume.slice.volume) + ".nii.gz"), size, labels,
                           nifti ? volume.slice.file : std::filesystem::path());
}

}  // namespace fovea::experiment
