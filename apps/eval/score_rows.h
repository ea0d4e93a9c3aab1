// Logits of all samples of a split, and the files they are written to.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/file.h"
#include "eval/saves.h"
#include "training/batch_source.h"

namespace fovea::apps {

class ScoreRows {
 public:
  /// logits: (b, classes), on the host.
  void add(const training::DataBatch& batch, const Tensor& logits);

  /// The files asked for, and their names:
  ///   logits.safetensors         "logits" (n, classes) float32, "index" (n) and "label" (n) int64;
  ///                              metadata "names" and "classes" are JSON lists
  ///   logits.csv                 index,name,label and a column for each class
  ///   probabilities.safetensors, probabilities.csv: the softmax of the logits, likewise
  /// Rows are ordered by index, the number of the sample in its split; `names` are in that order.
  std::vector<std::string> write(const io::fs::path& folder, const Saves& saves,
                                 const std::vector<std::string>& names,
                                 const std::vector<std::string>& classes) const;

 private:
  std::int64_t width_ = 0;  // classes
  std::vector<float> values_;
  std::vector<std::int64_t> indices_, labels_;
  Device host_;
};

}  // namespace fovea::apps
