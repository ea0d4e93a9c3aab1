// Predicted masks as pictures and their probabilities as numbers.
#pragma once

#include <string>
#include <vector>

#include "eval/job.h"

namespace fovea::apps {

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
  /// Opens nothing unless masks are asked for. Throws ConfigError where the network sees a part of
  /// an image only, so that its mask has no place in the original.
  explicit MaskFiles(const Job& job);

  /// Writes the masks of a batch. prob: (b, 1, h, w), on the host.
  void add(const training::DataBatch& batch, const Tensor& prob);
  /// Writes the rest; names of all files, folders by their name.
  std::vector<std::string> finish() const;

 private:
  void write_mask(const io::fs::path& file, const Tensor& prob) const;
  void write_index(const std::string& folder) const;

  const Job& job_;
  std::vector<std::string> stems_;     // of all samples of the split
  std::vector<std::int64_t> indices_;  // of those that came
  std::vector<float> values_;
  Shape sample_;
  Device host_;
};

}  // namespace fovea::apps
