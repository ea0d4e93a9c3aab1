#include "data/volumes/volume_slices.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "base/error.h"
#include "data/volumes/volume_headers.h"

namespace fovea::data {
namespace {

constexpr std::size_t kRecent = 8;  // volumes
constexpr std::int64_t kRecentBytes = std::int64_t{1} << 28;
constexpr float kWhite = 65535;

// `unit`: values are in [0, 1] already, but for rounding.
std::vector<Image> slices_of(const Volume& volume, bool unit, const std::string& name) {
  constexpr float kRounding = 1e-3f;
  const auto [low, high] = std::minmax_element(volume.values.begin(), volume.values.end());
  const double least = unit ? 0 : *low;
  const double range = unit ? 1 : double{*high} - least;
  for (std::size_t i = 0; unit && i < volume.values.size(); ++i) {
    const float value = volume.values[i];
    FOVEA_CHECK(value >= -kRounding && value <= 1 + kRounding, FileError,
                fmt::format("{}: value {} in slice {}; expected values in [0, 1]", name, value,
                            static_cast<std::int64_t>(i) / volume.plane()));
  }
  std::vector<Image> slices;
  auto value = volume.values.begin();
  for (std::int64_t k = 0; k < volume.depth; ++k) {
    Image& image = slices.emplace_back(Image{volume.height, volume.width, 1, {}});
    for (std::int64_t i = 0; i < volume.plane(); ++i, ++value) {
      const double share = range > 0 ? std::clamp((double{*value} - least) / range, 0.0, 1.0) : 0.0;
      image.deep.push_back(static_cast<std::uint16_t>(std::nearbyint(share * double{kWhite})));
    }
  }
  return slices;
}

std::string text(const VolumeSize& size) {
  return fmt::format("{} x {} x {}", size.depth, size.height, size.width);
}

std::int64_t bytes_of(const std::vector<Image>& images) {
  return std::accumulate(images.begin(), images.end(), std::int64_t{0},
                         [](std::int64_t sum, const Image& image) { return sum + image.bytes(); });
}

}  // namespace

VolumeFormat nifti_format() {
  VolumeFormat format;
  format.size = [](const LabelledVolume& volume) { return read_nifti_size(volume.image); };
  format.read = [](const LabelledVolume& volume) {
    return VolumeFormat::Both{read_nifti(volume.image), read_nifti(volume.labels)};
  };
  format.spacing = true;
  return format;
}

std::int64_t VolumeSlices::Loaded::bytes() const { return bytes_of(images) + bytes_of(labels); }

SourceInfo slices_info(std::vector<std::string> classes, std::int64_t img_size) {
  SourceInfo info;
  for (std::size_t c = 0; c < classes.size(); ++c) info.label_values.push_back(static_cast<int>(c));
  info.class_names = std::move(classes);
  info.channels = 1;
  info.height = info.width = img_size;
  info.mean = {0.0};
  info.std = {1.0};
  info.masks = Masks::kLabels;
  info.no_label = 0;
  info.image_resize = Resampling::kSpline;
  return info;
}

VolumeSlices::VolumeSlices(std::vector<LabelledVolume> volumes, SourceInfo info,
                           std::vector<std::string> notes, VolumeFormat format)
    : Source(std::move(info)),
      volumes_(std::move(volumes)),
      format_(format),
      rule_(info_.label_values, {}) {
  notes_ = std::move(notes);
  std::set<std::string> names;
  for (const LabelledVolume& volume : volumes_) {
    FOVEA_CHECK(
        names.insert(volume.name).second, FileError,
        fmt::format("{}: another volume is called {} too", volume.image.string(), volume.name));
  }
  std::map<std::size_t, std::string> wrong;
  read_sizes(wrong);
  for (std::size_t v = 0; v < volumes_.size(); ++v) {
    if (const auto found = wrong.find(v); found != wrong.end()) {
      problems_.push_back({std::ssize(slices_), found->second});
      sizes_[v].depth = 1;
    }
    for (std::int64_t k = 0; k < sizes_[v].depth; ++k) slices_.push_back({v, k});
  }
  labels_.assign(slices_.size(), 0);
}

// NIfTI files say more than their size, and are held against their labels.
void VolumeSlices::read_sizes(std::map<std::size_t, std::string>& wrong) {
  if (format_.spacing) {
    std::vector<VolumeCase> cases;
    for (const LabelledVolume& volume : volumes_)
      cases.push_back({{volume.image}, volume.labels, volume.name});
    VolumeHeaders headers = read_headers(cases, {});
    for (const Problem& problem : headers.problems)
      wrong.emplace(static_cast<std::size_t>(problem.index), problem.message);
    sizes_ = std::move(headers.sizes);
    notes_.insert(notes_.end(), headers.notes.begin(), headers.notes.end());
    return;
  }
  for (std::size_t v = 0; v < volumes_.size(); ++v) {
    try {
      sizes_.push_back(format_.size(volumes_[v]));
    } catch (const FileError& error) {
      wrong.emplace(v, error.what());
      sizes_.emplace_back();
    }
  }
}

VolumeSlices::Loaded VolumeSlices::read_volume(std::size_t v) const {
  const LabelledVolume& files = volumes_[v];
  const auto [image, labels] = format_.read(files);
  FOVEA_CHECK(
      image.depth == labels.depth && image.plane() == labels.plane() && image.width == labels.width,
      FileError,
      fmt::format("{}: is {}, its image {} is {}", files.labels.string(), text(labels),
                  files.image.filename().string(), text(image)));
  Loaded loaded{slices_of(image, format_.unit, files.image.string()), {}};
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
  recent_.emplace_back(v, loaded);
  std::int64_t bytes = 0;
  for (const auto& [known, kept] : recent_) bytes += kept->bytes();
  while (recent_.size() > 1 && (recent_.size() > kRecent || bytes > kRecentBytes)) {
    bytes -= recent_.front().second->bytes();
    recent_.erase(recent_.begin());
  }
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
  return format_.spacing ? std::vector<double>(all.begin(), all.end()) : std::vector<double>();
}

std::optional<SliceOf> VolumeSlices::slice_of(std::int64_t index) const {
  const Slice& own = slice(index);
  const LabelledVolume& volume = volumes_[own.volume];
  if (volume.part_of) return volume.part_of;
  return SliceOf{volume.name, own.place, sizes_[own.volume].depth, volume.image};
}

std::string VolumeSlices::name(std::int64_t index) const {
  const LabelledVolume& volume = volumes_[slice(index).volume];
  if (volume.part_of) return volume.image.string();
  return fmt::format("{}: slice {}", volume.image.string(), slice(index).place);
}

std::vector<std::filesystem::path> VolumeSlices::files() const {
  std::vector<std::filesystem::path> files;
  for (const LabelledVolume& volume : volumes_) {
    files.push_back(volume.image);
    if (volume.labels != volume.image) files.push_back(volume.labels);
  }
  return files;
}

}  // namespace fovea::data
