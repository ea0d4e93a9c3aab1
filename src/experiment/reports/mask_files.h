// Predicted masks as pictures and their probabilities as numbers.
#pragma once

#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "data/images/image_dataset.h"
#include "experiment/reports/volume_files.h"
#include "training/batch_source.h"
#include "training/inference/postprocessing.h"

namespace fovea::experiment {

/// What a mask is written with: what becomes of its labels, and millimetres between its pixels
/// where they are known.
struct MaskFinish {
  const training::Postprocessing& how;
  std::optional<std::vector<double>> spacing;
};
/// Of one foreground, (1, 1, h, w): 255 where the probability is at least 0.5, at this size.
data::Image cut_at_half(const Tensor& prob, std::int64_t height, std::int64_t width,
                        const MaskFinish& finish);
/// The value that files have for the class of each pixel; 16 bits where one is above 255. labels:
/// (..., h, w) int64.
data::Image label_picture(const Tensor& labels, const std::vector<int>& values,
                          const MaskFinish& finish);

/// predicted_masks/<stem>.png            at the size the network sees
/// predicted_masks_original/<stem>.png   at the size of the image's file
///   Of one foreground: grey, 255 = foreground (probability >= 0.5); for the larger ones
///   probabilities are resized, then cut. Of several classes: the value that mask files have for a
///   class, 16 bits where one is above 255; the larger ones as ImageDataset::at_original.
/// predicted_volumes/<volume>.nii.gz     of slices of volumes: the same values (volume_files.h)
/// <folder>/index.csv                    index,name,file: which picture is of which sample
/// probabilities.safetensors             "probabilities" (n, k, h, w) float32, "index" (n) int64;
///                                       metadata "names" and "classes" are JSON lists
/// Slices are called <volume>_slice<k>; other samples whose files share a stem get
/// distinct_stems().
class MaskFiles {
 public:
  /// The words that MaskFiles knows.
  static std::vector<std::string> words();
  /// Opens nothing unless masks are wanted. `source` and `postprocessing` outlive this.
  /// label_values: of several classes, what files have for each. Throws ConfigError for volumes of
  /// images that are no slices.
  MaskFiles(const training::BatchSource& source, data::Split split, std::filesystem::path folder,
            const std::set<std::string>& wanted, const training::Postprocessing& postprocessing,
            std::vector<int> label_values = {});

  /// Writes the masks of a batch. prob: (b, k, h, w), on the host; labels: of several classes, the
  /// predicted one of every pixel, (b, h, w).
  void add(const data::Batch& batch, const Tensor& prob, const Tensor& labels = {});
  /// Writes the rest; names of all files, folders by their name.
  std::vector<std::string> finish();

 private:
  const data::ImageDataset& images() const;
  std::vector<std::string> stems_of_samples() const;
  /// One sample at the size of its file: prob (1, 1, h, w), or labels (1, h, w).
  void add_original(const Tensor& prob, const Tensor& labels, const data::Geometry& plane,
                    std::int64_t sample);
  MaskFinish finish_of(const data::Geometry& plane, std::int64_t height, std::int64_t width) const;
  void write_index(const std::string& folder) const;
  std::string name_of(std::int64_t sample) const { return source_.sample_name(split_, sample); }
  std::string file_of(std::int64_t sample) const;

  const training::BatchSource& source_;
  const training::Postprocessing& postprocessing_;
  data::Split split_;
  std::filesystem::path folder_;
  bool masks_, original_masks_, volumes_, probabilities_;
  std::vector<int> label_values_;
  std::optional<VolumeFiles> volume_files_;
  std::vector<std::string> stems_;     // of all samples of the split
  std::vector<std::int64_t> indices_;  // of those that came
  std::vector<float> values_;
  Shape sample_;
  Device host_;
};

}  // namespace fovea::experiment
