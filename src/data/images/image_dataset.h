// Images with classes or masks: chosen samples, augmentation, noise, normalisation.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "data/augment/pictures/masked_picture.h"
#include "data/augment/transforms.h"
#include "data/dataset.h"
#include "data/images/image_options.h"
#include "data/source.h"

namespace fovea::data {

/// Samples hold "image" and "label", or "image" and "mask".
class ImageDataset final : public Dataset {
 public:
  /// kFixed: all of the data set's height and width. kOwn: as SourceInfo::longest and
  /// SourceInfo::patches say, each alone in its batch, and without augmentation.
  enum class Sizes { kFixed, kOwn };
  /// indices: the samples of `source` that belong to this split, ascending. Bad samples among them
  /// (Source::problems) throw FileError or are left out, by options.on_bad_sample.
  ImageDataset(std::shared_ptr<const Source> source, Split split,
               const std::vector<std::int64_t>& indices, ImageOptions options,
               Sizes sizes = Sizes::kFixed);
  ~ImageDataset() override;

  std::int64_t channels() const { return source_->info().channels; }
  /// Of pictures with a file or a page for each channel; else empty.
  const std::vector<std::string>& channel_names() const { return source_->info().channel_names; }
  std::int64_t height() const { return source_->info().height; }
  std::int64_t width() const { return source_->info().width; }
  /// What normalisation removes, one value a channel; 0 and 1 where it is off.
  std::span<const double> mean() const { return mean_; }
  std::span<const double> std() const { return std_; }

  const std::vector<Field>& fields() const override { return fields_; }
  SampleShape shape() const override;
  schema::Value description() const override;
  std::shared_ptr<const Dataset> for_evaluation() const override;
  /// For label maps, the value in files for each class; else empty.
  const std::vector<int>& label_values() const { return source_->info().label_values; }
  /// Nothing for a sample that is not a slice.
  std::optional<SliceOf> slice_of(std::int64_t i) const {
    return source_->slice_of(source_index(i));
  }
  /// The mask of a sample at the size of its file, otherwise as "mask". Throws FileError.
  Tensor original_mask(std::int64_t i) const;
  /// Labels (h, w) int64 of what a network sees, brought back to height x width of a file by the
  /// nearest pixel, on the grid by which images are resized: where that is scipy's zoom, its
  /// order 0.
  Tensor at_original(const Tensor& labels, std::int64_t height, std::int64_t width) const;
  std::int64_t repeats() const override { return options_.aug_repeats; }
  bool skips_bad_samples() const override { return options_.on_bad_sample == OnBadSample::kSkip; }
  /// Scale to [0, 1], augment, noise, normalise; where there are masks, resize after augmentation,
  /// and the mask follows its image. A random resized crop that is the first of the list is cut
  /// from the picture as its file has it.
  void prepare(std::int64_t i, const Draw& draw, Sample& into) const override;
  /// Mixes images (mix.h) if draw.augment; the batch then has a "target".
  void mix(Batch& batch, const Draw& draw) const override;
  /// The image in [0, 1].
  Sample get(std::int64_t i) const override;
  /// Any picture file, prepared as the samples are: for a file of the data set what get() gives,
  /// without label and mask. Where samples have no picture files, or all one size, other sizes are
  /// fitted (resize.h, fit). Throws FileError.
  Sample get_file(const std::filesystem::path& file) const;

 private:
  struct Decoded {
    Image image, mask;
    std::int64_t height = 0, width = 0;  // of the picture as its file has it
  };
  struct Cache;
  /// What is made of an image and its mask.
  struct PairDraw {
    const RandomStream* augment = nullptr;  // null: they are not augmented
    const RandomStream* patch = nullptr;    // null: they are taken whole
    bool foreground = false;                // of a patch (draw_patch)
  };
  bool has_masks() const { return source_->info().masks != Masks::kNone; }
  /// Where `part` lies in a picture of that size, after mirrors and turns of augmentation.
  static Geometry geometry_of(std::int64_t height, std::int64_t width, const Box& part);
  /// The geometry with what the source knows: for a slice its place in the volume.
  Geometry placed(Geometry in_plane, std::int64_t source_index) const;
  /// The tensor of one image.
  static Planes planes_of(const Sample& sample);
  /// From the cache, or read into `fresh`, which is then offered to the cache by keep().
  const Decoded& decode(std::int64_t source_index, Decoded& fresh) const;
  void keep(std::int64_t source_index, Decoded&& fresh) const;
  /// At the data set's size: the whole picture, or with a context what the first transform cuts.
  void read_scaled(std::int64_t source_index, const TransformContext* cut, Sample& into) const;
  /// Height and width at which a picture of this size is seen.
  std::array<std::int64_t, 2> size_of(std::int64_t height, std::int64_t width) const;
  /// A picture of the data set's size as planes in [0, 1].
  void scale(const Image& image, float white, Planes out) const;
  /// To [0, 1] by its own extremes, each channel by itself where these lie apart.
  void stretch_own(Planes x) const;
  // image_masks.cpp:
  /// As scale(), for a picture of any size, where samples are resized as planes.
  void scale_whole(const Image& image, float white, Planes out) const;
  /// A picture, or a mask, at the size at which patches are cut from it; others as they are.
  Image at_patch_scale(Image picture, Resampling how) const;
  MaskedPicture planes_of_pair(const Decoded& decoded, const PairDraw& draw) const;
  void augment_pair(MaskedPicture& pair, const RandomStream& augment, Box& part) const;
  /// Image and mask at their final size.
  void read_pair(std::int64_t source_index, const PairDraw& draw, Sample& into) const;
  void write_mask(Planes from, const Tensor& to) const;
  void resize_labels(Planes from, Planes to) const;
  void write_labels(const std::vector<float>& from, const Tensor& to) const;

  std::shared_ptr<const Source> source_;
  ImageOptions options_;
  Sizes sizes_;
  std::vector<Field> fields_;
  std::vector<std::unique_ptr<const PictureTransform>> augment_;
  bool cuts_files_ = false;  // pictures are decoded, and kept, as large as their files have them
  std::vector<double> mean_;
  std::vector<double> std_;
  std::unique_ptr<Cache> cache_;
};

/// The data set as images. Throws ConfigError for another kind.
const ImageDataset& images_of(const Dataset& dataset);

}  // namespace fovea::data
