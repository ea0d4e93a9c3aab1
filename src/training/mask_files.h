// Predicted masks as pictures and their probabilities as numbers.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "training/batch_source.h"

namespace fovea::training {

/// predicted_masks/<stem>.png            grey, 255 = foreground (probability >= 0.5), at the size
///                                       the network sees
/// predicted_masks_original/<stem>.png   at the size of the image's file: probabilities are
///                                       resized, then cut at 0.5
/// <folder>/index.csv                    index,name,file: which picture is of which sample
/// probabilities.safetensors             "probabilities" (n, 1, h, w) float32, "index" (n) int64;
///                                       metadata "names" is a JSON list
/// Samples whose files share a stem get distinct_stems().
class MaskFiles {
 public:
  /// The words that MaskFiles knows.
  static std::vector<std::string> words();
  /// Opens nothing unless masks are wanted. `source` outlives this.
  MaskFiles(const BatchSource& source, std::string split, std::filesystem::path folder,
            const std::set<std::string>& wanted);

  /// Writes the masks of a batch. prob: (b, 1, h, w), on the host; indices in the split.
  void add(const Tensor& prob, const std::vector<std::int64_t>& indices);
  /// Writes the rest; names of all files, folders by their name.
  std::vector<std::string> finish() const;

 private:
  void write_mask(const std::filesystem::path& file, const Tensor& prob) const;
  void write_index(const std::string& folder) const;
  std::string name_of(std::int64_t sample) const { return source_.sample_name(split_, sample); }
  std::string file_of(std::int64_t sample) const;

  const BatchSource& source_;
  std::string split_;
  std::filesystem::path folder_;
  bool masks_, original_masks_, probabilities_;
  std::vector<std::string> stems_;     // of all samples of the split
  std::vector<std::int64_t> indices_;  // of those that came
  std::vector<float> values_;
  Shape sample_;
  Device host_;
};

}  // namespace fovea::training
