// Slices of volumes with labels as samples: image and map of labels at the slice's own size.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "data/files/nifti.h"
#include "data/images/label_values.h"
#include "data/source.h"

namespace fovea::data {

/// A volume and its labels: two files, or twice the same.
struct LabelledVolume {
  std::filesystem::path image;
  std::filesystem::path labels;
  std::string name;  // unique
  /// Of a file that is a single slice: of which volume.
  std::optional<SliceOf> part_of = {};
};

/// How files hold volumes. All throw FileError that names the file.
struct VolumeFormat {
  /// Reads as little of the file as possible; height and width are not needed.
  VolumeSize (*size)(const LabelledVolume& volume);
  struct Both {
    Volume image, labels;
  };
  Both (*read)(const LabelledVolume& volume);
  bool unit = false;     // values are in [0, 1]; else they are stretched over their volume
  bool spacing = false;  // files say how large voxels are
};
/// Two NIfTI files.
VolumeFormat nifti_format();

/// Slices as networks see them (gdla 6.4): one channel, zoomed to squares of img_size by splines;
/// labels are class numbers.
SourceInfo slices_info(std::vector<std::string> classes, std::int64_t img_size);

/// One channel. Values are those of [0, 1] and kept in 16 bits, which loses at most 2^-17 of that
/// range. A sample is called "<file>: slice <k>", k from 0; of a file that is a slice, "<file>".
class VolumeSlices final : public Source {
 public:
  /// info: height and width of what networks see, classes, label_values. Reads the headers; a
  /// volume whose header is damaged, or does not fit that of its labels, is one bad sample. Throws
  /// FileError for two of one name.
  VolumeSlices(std::vector<LabelledVolume> volumes, SourceInfo info,
               std::vector<std::string> notes = {}, VolumeFormat format = nifti_format());

  Image read(std::int64_t index) const override;
  Image read_mask(std::int64_t index, const Image& image) const override;
  std::optional<SliceOf> slice_of(std::int64_t index) const override;
  std::vector<double> spacing(std::int64_t index) const override;
  std::string name(std::int64_t index) const override;
  std::vector<std::filesystem::path> files() const override;
  bool in_memory() const override { return false; }

 private:
  struct Slice {
    std::size_t volume = 0;
    std::int64_t place = 0;
  };
  // Of one volume, all slices as samples have them.
  struct Loaded {
    std::vector<Image> images, labels;
    std::int64_t bytes() const;
  };
  const Slice& slice(std::int64_t index) const { return slices_[static_cast<std::size_t>(index)]; }
  std::shared_ptr<const Loaded> load(std::size_t volume) const;
  /// Sets sizes_; `wrong` are the volumes whose headers cannot be used, and why.
  void read_sizes(std::map<std::size_t, std::string>& wrong);
  Loaded read_volume(std::size_t volume) const;

  std::vector<LabelledVolume> volumes_;
  VolumeFormat format_;
  std::vector<VolumeSize> sizes_;
  std::vector<Slice> slices_;
  LabelRule rule_;
  // The volumes read last: neighbours in a file are mostly asked for one after another.
  mutable std::mutex mutex_;
  mutable std::vector<std::pair<std::size_t, std::shared_ptr<const Loaded>>> recent_;
};

}  // namespace fovea::data
