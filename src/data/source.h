// What a reader of one kind of data set of images provides: labels known at once, pixels on demand.
// A new data set is one source file that derives from Source, and one line in datasets.def.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "data/augment/geometry.h"
#include "data/augment/resize.h"
#include "data/batch.h"
#include "data/files/pictures/image_file.h"
#include "data/part.h"
#include "data/parts/split.h"

namespace fovea::data {

/// kSoft: the value of a pixel in [0, 1] is its share of foreground. kLabels: every pixel has a
/// class.
enum class Masks { kNone, kSoft, kLabels };

/// What all samples of a data set have in common.
struct SourceInfo {
  std::vector<std::string> class_names;
  std::int64_t channels = 3;
  std::int64_t height = 0;
  std::int64_t width = 0;
  /// Of pictures whose channels lie in files of their own (images/channel_pictures.h): what each is
  /// called; else empty.
  std::vector<std::string> channel_names = {};
  float pixel_max = 255.0f;  // the pixel value that becomes 1
  /// Default normalisation in units of [0, 1], one value a channel.
  std::vector<double> mean;
  std::vector<double> std;
  /// Every image is stretched to [0, 1] by its own extremes before it is augmented.
  bool stretch = false;
  /// As `stretch`, but after augmentation and resizing. For images with masks.
  bool stretch_last = false;
  /// Whether a mask belongs to every image. Files may then have any size; image and mask are
  /// brought to height x width after augmentation.
  Masks masks = Masks::kNone;
  /// How image and mask are brought to height x width; kBilinear, or kSpline of both.
  Resampling image_resize = Resampling::kBilinear;
  /// How soft masks are resized; maps of labels always by the nearest pixel.
  Resampling mask_resize = Resampling::kNearest;
  /// For label maps: the label of pixels from outside, or without a class.
  std::int64_t no_label = kIgnoreLabel;
  /// For label maps: whether the first class is the background. False where every class is a thing
  /// of its own, as of scenes (mmseg's reduce_zero_label).
  bool background = true;
  /// For label maps: the value in files for each class.
  std::vector<int> label_values = {};
  /// read() gives pictures as large as their files have them, which fitted() brings to height x
  /// width. Masks then follow by fitted_mask(), and augmentation sees both at that size.
  bool own_sizes = false;
  /// The options of fitted().
  FitOptions fit = {};
  /// Of picture files.
  Exif exif = Exif::kIgnore;
  /// Where there are masks, of whole pictures in evaluations: 0, they are resized to height x width
  /// as in training; else they keep their aspect ratio, and are as large as these limits allow:
  /// `height` of their shorter side, this of their longer one (geometry.h, rescaled_size).
  std::int64_t longest = 0;
  /// Where there are masks: training samples are parts of height x width of pictures that keep
  /// their own sizes or, where `longest` is not 0, their aspect ratio: the longer side is then
  /// this. Evaluations see whole pictures of that size.
  bool patches = false;
  /// Of patches: the share of those of each batch that lie around a pixel of a random class.
  double foreground = 0.33;

  /// Whether evaluations see pictures at sizes of their own.
  bool whole_evaluations() const { return longest > 0 || patches; }
};

/// The volume that a sample is a slice of.
struct SliceOf {
  std::string volume;          // its unique name
  std::int64_t place = 0;      // from 0
  std::int64_t depth = 0;      // slices of the volume
  std::filesystem::path file;  // of the volume, or of the slice
};

/// A picture file with the channels that samples have. Throws FileError.
Image read_picture(const std::filesystem::path& file, const SourceInfo& info);

class Source : public Part {
 public:
  const SourceInfo& info() const { return info_; }
  const std::vector<std::string>& class_names() const override { return info_.class_names; }
  bool has_classes() const override { return info_.masks == Masks::kNone; }
  bool has_background() const override { return info_.background; }
  /// Pixels of info().height x width x channels (any height and width where there are masks or
  /// own_sizes), values 0..pixel_max. Throws FileError that names the file and the record.
  virtual Image read(std::int64_t index) const = 0;
  /// Any picture file, as read() reads those of the samples; of data sets without picture files as
  /// it is, values 0..255. Throws FileError, and ConfigError for samples that no picture can be.
  Image read_file(const std::filesystem::path& file) const;
  /// A picture of any size at info().height x width, as info().fit says.
  Image fitted(const Image& picture) const;
  /// The mask of such a picture, as fitted() leaves that: pixel floor(i in / out).
  Image fitted_mask(const Image& mask) const;
  /// Nothing for a picture that is no slice.
  virtual std::optional<SliceOf> slice_of(std::int64_t /*index*/) const { return {}; }
  /// The spacing of a sample's pixels in millimetres: (h, w), for a slice (d, h, w); empty:
  /// unknown.
  virtual std::vector<double> spacing(std::int64_t /*index*/) const { return {}; }
  /// The mask of an image of this size, one channel: soft 0..white, of labels 1 + class, and 0
  /// where a pixel has none. Only where info().masks says that there are masks.
  virtual Image read_mask(std::int64_t index, const Image& image) const;
  /// Throws FileError if these samples of a split are useless for training or evaluation, e.g.
  /// masks without any foreground. Unreadable samples are reported by read().
  virtual void check_targets(const std::vector<std::int64_t>& /*indices*/, Split /*split*/) const {}
  /// True if read() does not touch a file, so that caching would only double the memory.
  virtual bool in_memory() const { return true; }

 protected:
  Source() = default;
  explicit Source(SourceInfo info) : info_(std::move(info)) {}

  SourceInfo info_;
};

/// Where a reader looks for files, and for which part.
struct Place {
  std::filesystem::path root;
  Split split = Split::kTrain;
  /// Of weights that are given: their classes, and the size of images. A reader that would look at
  /// train for these need not. Else empty, and 0.
  std::vector<std::string> class_names = {};
  std::int64_t height = 0, width = 0;
};

}  // namespace fovea::data
