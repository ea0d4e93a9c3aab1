// Images with boxes, and masks where files have them: the samples of one part of a data set as its
// files provide them. What an image holds is known at once, its pixels and masks come on demand.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/mask_runs.h"
#include "data/augment/boxes/boxed_picture.h"
#include "data/files/pictures/image_file.h"
#include "data/part.h"

namespace fovea::data {

/// An image before its pixels are read.
struct BoxedImage {
  std::string name;  // its file, or how it is made
  std::int64_t height = 0, width = 0;
  std::optional<std::int64_t> id = {};  // COCO's; nothing: its place + 1
  std::vector<BoxedObject> objects = {};
};

/// What all images of a data set have in common.
struct BoxInfo {
  std::vector<std::string> class_names;
  std::vector<std::int64_t> category_ids = {};  // COCO's, by class; empty: place + 1
  std::int64_t channels = 3;
  bool has_masks = false;  // whether masks can be asked for
  Exif exif = Exif::kIgnore;
  /// Default normalisation in units of [0, 1], one value a channel.
  std::vector<double> mean = {0.485, 0.456, 0.406};
  std::vector<double> std = {0.229, 0.224, 0.225};
};

/// Thread-safe after construction.
class BoxPart : public Part {
 public:
  const BoxInfo& info() const { return info_; }
  const std::vector<std::string>& class_names() const override { return info_.class_names; }
  bool has_classes() const override { return false; }
  std::string name(std::int64_t index) const override { return image(index).name; }
  const BoxedImage& image(std::int64_t index) const {
    return images_[static_cast<std::size_t>(index)];
  }
  /// Objects that were left out of an image: their boxes have no area, are not finite, or lie
  /// outside.
  std::int64_t skipped_boxes(std::int64_t index) const {
    return skipped_[static_cast<std::size_t>(index)];
  }

  /// Pixels of info().channels, 8 or 16 bits, of the size that image() says. Throws FileError.
  virtual Image read(std::int64_t index) const = 0;
  /// One for each of image(index).objects, of the image's size. Only where info().has_masks. Throws
  /// FileError.
  virtual std::vector<MaskRuns> read_masks(std::int64_t index) const;
  /// Any picture file as read() reads those of the samples. Throws FileError.
  Image read_file(const std::filesystem::path& file) const;

 protected:
  BoxPart() = default;
  explicit BoxPart(BoxInfo info) { describe(std::move(info)); }
  void describe(BoxInfo info);
  /// Adds an image without the objects that no network can learn, which are counted.
  void add(BoxedImage image);
  /// After the last image: notes what was counted. `reader` starts the line.
  void note_skipped(const char* reader);

 private:
  BoxInfo info_;
  std::vector<BoxedImage> images_;
  std::vector<std::int64_t> skipped_;
  std::string first_skipped_;
};

/// Images in picture files.
class BoxedFiles : public BoxPart {
 public:
  Image read(std::int64_t index) const override;
  std::vector<std::filesystem::path> files() const override;

 protected:
  /// Files besides the pictures, e.g. of annotations.
  std::vector<std::filesystem::path> other_files_;
};

}  // namespace fovea::data
