#include "data/volume_slices.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/error.h"

namespace fovea::data {
namespace {

constexpr std::size_t kRecent = 8;  // volumes
constexpr float kWhite = 65535;

std::vector<Image> stretched_slices(const Volume& volume) {
  const auto [low, high] = std::minmax_element(volume.values.begin(), volume.values.end());
  const double least = *low;
  const double range = double{*high} - least;
  std::vector<Image> slices;
  auto value = volume.values.begin();
  for (std::int64_t k = 0; k < volume.depth; ++k) {
    Image& image = slices.emplace_back(Image{volume.height, volume.width, 1, {}});
    for (std::int64_t i = 0; i < volume.plane(); ++i, ++value) {
      const double share = range > 0 ? (double{*value} - least) / range : 0.0;
      image.deep.push_back(static_cast<std::uint16_t>(std::nearbyint(share * double{kWhite})));
    }
  }
  return slices;
}

std::string text(const VolumeSize& size) {
  return fmt::format("{} x {} x {}", size.depth, size.height, size.width);
}

}  // namespace

VolumeSlices::VolumeSlices(std::vector<LabelledVolume> volumes, SourceInfo info,
                           std::vector<std::string> notes)
    : Source(std::move(info)), volumes_(std::move(volumes)), rule_(info_.label_values, {}) {
  notes_ = std::move(notes);
  std::set<std::string> names;
  for (const LabelledVolume& volume : volumes_) {
    FOVEA_CHECK(
        names.insert(volume.name).second, FileError,
        fmt::format("{}: another volume is called {} too", volume.image.string(), volume.name));
  }
  for (std::size_t v = 0; v < volumes_.size(); ++v) {
    VolumeSize size;
    try {
      size = read_nifti_size(volumes_[v].image);
    } catch (const FileError& error) {
      problems_.push_back({std::ssize(slices_), error.what()});
      size.depth = 1;
    }
    sizes_.push_back(size);
    for (std::int64_t k = 0; k < size.depth; ++k) slices_.push_back({v, k});
  }
  labels_.assign(slices_.size(), 0);
}

VolumeSlices::Loaded VolumeSlices::read_volume(std::size_t v) const {
  const LabelledVolume& files = volumes_[v];
  const Volume image = read_nifti(files.image);
  const Volume labels = read_nifti(files.labels);
  FOVEA_CHECK(
      image.depth == labels.depth && image.plane() == labels.plane() && image.width == labels.width,
      FileError,
      fmt::format("{}: is {}, its image {} is {}", files.labels.string(), text(labels),
                  files.image.filename().string(), text(image)));
  Loaded loaded{stretched_slices(image), {}};
  for (std::int64_t k = 0; k < labels.depth; ++k) {
    const std::string where = fmt::format("{}: slice {}", files.labels.string(), k);
    const MaskFile slice{label_slice(labels, k, files.labels.string())};
    loaded.labels.push_back(rule_.apply(slice, where));
  }
  return loaded;
}

std::shared_ptr<const VolumeSlices::Loaded> VolumeSlices::load(std::size_t v) const {
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [known, loaded] : recent_) {
      if (known == v) return loaded;
    }
  }
  auto loaded = std::make_shared<const Loaded>(read_volume(v));
  const std::lock_guard lock(mutex_);
  if (recent_.size() == kRecent) recent_.erase(recent_.begin());
  recent_.emplace_back(v, loaded);
  return loaded;
}

Image VolumeSlices::read(std::int64_t index) const {
  const auto loaded = load(slice(index).volume);
  return loaded->images.at(static_cast<std::size_t>(slice(index).place));
}

Image VolumeSlices::read_mask(std::int64_t index, const Image&) const {
  const auto loaded = load(slice(index).volume);
  return loaded->labels.at(static_cast<std::size_t>(slice(index).place));
}

std::vector<double> VolumeSlices::spacing(std::int64_t index) const {
  const auto& all = sizes_[slice(index).volume].spacing;
  return {all.begin(), all.end()};
}

std::optional<SliceOf> VolumeSlices::slice_of(std::int64_t index) const {
  const Slice& own = slice(index);
  const LabelledVolume& volume = volumes_[own.volume];
  return SliceOf{volume.name, own.place, sizes_[own.volume].depth, volume.image};
}

std::string VolumeSlices::name(std::int64_t index) const {
  return fmt::format("{}: slice {}", volumes_[slice(index).volume].image.string(),
                     slice(index).place);
}

std::vector<std::filesystem::path> VolumeSlices::files() const {
  std::vector<std::filesystem::path> files;
  for (const LabelledVolume& volume : volumes_)
    files.insert(files.end(), {volume.image, volume.labels});
  return files;
}

}  // namespace fovea::data
