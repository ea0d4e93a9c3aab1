// A split of a data set, ready for training: chosen samples, augmentation, noise, normalisation.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/corruptions.h"
#include "data/options.h"
#include "data/source.h"
#include "data/transforms.h"
#include "tensor/tensor.h"

namespace fovea::data {

/// One sample as a person would look at it.
struct Sample {
  std::vector<float> image;  // (channels, height, width) in [0, 1]
  std::vector<float> mask;   // (1, height, width) in [0, 1]; empty where there are none
  std::int64_t label = 0;
  std::string name;
};

/// How prepare() changes a sample. All randomness is a function of seed, split, epoch, the sample's
/// place in its files, and the corruption's type and level.
struct Draw {
  std::uint64_t seed = 0;
  std::int64_t epoch = 0;                          // 0 for evaluation
  bool augment = false;                            // the augment list and training noise
  std::optional<CorruptionLevel> corruption = {};  // evaluation noise, on every sample
};

/// Thread-safe after construction.
class Dataset {
 public:
  /// indices: the samples of `source` that belong to this split, ascending. Bad samples among them
  /// (Source::problems) throw FileError or are left out, by options.on_bad_sample.
  Dataset(std::shared_ptr<const Source> source, Split split, std::vector<std::int64_t> indices,
          CommonOptions options);
  ~Dataset();
  Dataset(const Dataset&) = delete;
  Dataset& operator=(const Dataset&) = delete;

  Split split() const { return split_; }
  std::int64_t size() const { return static_cast<std::int64_t>(indices_.size()); }
  const std::vector<std::string>& class_names() const { return source_->info().class_names; }
  std::int64_t num_classes() const { return static_cast<std::int64_t>(class_names().size()); }
  std::int64_t channels() const { return source_->info().channels; }
  std::int64_t height() const { return source_->info().height; }
  std::int64_t width() const { return source_->info().width; }
  /// Floats of one image.
  std::int64_t sample_size() const { return image_shape().numel(); }
  bool has_masks() const { return source_->info().masks.has_value(); }
  // One sample's part of a batch, without the batch axis. Loaders and tasks go by these alone, so
  // that nothing but a data set knows how many spatial axes there are.
  /// (channels, height, width), float32.
  Shape image_shape() const { return {channels(), height(), width()}; }
  /// () for a class, (1, height, width) for a mask.
  Shape target_shape() const { return has_masks() ? Shape{1, height(), width()} : Shape{}; }
  /// int64 classes, float32 masks.
  DType target_dtype() const { return has_masks() ? DType::kFloat32 : DType::kInt64; }
  const CommonOptions& options() const { return options_; }
  /// The grid of types and levels that a robustness evaluation walks through.
  const Noise& eval_noise() const { return eval_noise_; }
  /// What normalisation removes, one value a channel; 0 and 1 where it is off.
  std::span<const double> mean() const { return mean_; }
  std::span<const double> std() const { return std_; }
  /// Samples left out when the data set was opened, with the reason.
  const std::vector<std::string>& left_out() const { return left_out_; }
  /// What a user should know of the files (Source::notes).
  const std::vector<std::string>& notes() const { return source_->notes(); }

  // As Source.
  std::vector<std::filesystem::path> files() const { return source_->files(); }
  std::string recipe() const { return source_->recipe(); }

  // i in [0, size()).
  std::int64_t label(std::int64_t i) const;
  std::string name(std::int64_t i) const;
  /// Place in the files, independent of limit and split.
  std::int64_t source_index(std::int64_t i) const;
  /// Undecorated. Throws FileError if the sample cannot be read.
  Sample get(std::int64_t i) const;
  /// Any picture file as the samples are prepared: of a file of the data set what get() gives,
  /// without its label and mask. Where the samples have no picture files, or all one size, pictures
  /// of other sizes are fitted (resize.h, fit). Throws FileError.
  Sample get_file(const std::filesystem::path& file) const;
  /// Writes sample_size() floats: scale to [0, 1], augment, noise, normalise; where there are
  /// masks, resize after augmentation, and the mask follows its image. A random resized crop that
  /// is the first of the list is cut from the picture as its file has it. Throws FileError.
  void prepare(std::int64_t i, const Draw& draw, float* image, float* mask = nullptr) const;
  /// The same into row `row` of a batch: images (b, image_shape), targets (b, target_shape).
  void prepare(std::int64_t i, const Draw& draw, const Tensor& images, const Tensor& targets,
               std::int64_t row) const;

 private:
  struct Decoded {
    Image image, mask;
  };
  struct Cache;
  /// From the cache, or read into `fresh`, which is then offered to the cache by keep().
  const Decoded& decode(std::int64_t source_index, Decoded& fresh) const;
  void keep(std::int64_t source_index, Decoded&& fresh) const;
  /// At the data set's size: the whole picture, or with a context what the first transform cuts.
  void read_scaled(std::int64_t source_index, const TransformContext* cut, float* out) const;
  /// A picture of the data set's size as planes in [0, 1].
  void scale(const Image& image, float white, float* out) const;
  /// dataset_masks.cpp: the same of a picture of any size, where samples are resized as planes.
  void scale_whole(const Image& image, float white, float* out) const;
  /// dataset_masks.cpp: both at the data set's size; a stream if they are to be augmented.
  void read_pair(std::int64_t source_index, const RandomStream* augment, float* image,
                 float* mask) const;

  std::shared_ptr<const Source> source_;
  Split split_;
  std::vector<std::int64_t> indices_;
  CommonOptions options_;
  std::vector<std::unique_ptr<const Transform>> augment_;
  bool cuts_files_ = false;  // pictures are decoded, and kept, as large as their files have them
  Noise train_noise_;
  Noise eval_noise_;
  std::vector<double> mean_;
  std::vector<double> std_;
  std::vector<std::string> left_out_;
  std::unique_ptr<Cache> cache_;
};

}  // namespace fovea::data
