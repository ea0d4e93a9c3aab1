// Logits of all samples of a split, and the files they are written to.
#pragma once

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "tensor/tensor.h"

namespace fovea::training {

class ScoreRows {
 public:
  /// logits: (b, classes), labels: (b) int64, both on the host; indices of the samples in the
  /// split.
  void add(const Tensor& logits, const Tensor& labels, const std::vector<std::int64_t>& indices);

  /// The softmax of each row, (n, classes) in the order of the indices.
  std::vector<float> probabilities() const;

  /// The words that write() knows.
  static std::vector<std::string> words();
  /// The files asked for, and their names:
  ///   logits.safetensors         "logits" (n, classes) float32, "index" (n) and "label" (n) int64;
  ///                              metadata "names" and "classes" are JSON lists
  ///   logits.csv                 index,name,label and a column for each class
  ///   probabilities.safetensors, probabilities.csv: the softmax of the logits, likewise
  /// Rows are ordered by index; `names` are in that order.
  std::vector<std::string> write(const std::filesystem::path& folder,
                                 const std::set<std::string>& wanted,
                                 const std::vector<std::string>& names,
                                 const std::vector<std::string>& classes) const;

 private:
  std::vector<float> sorted_values() const;

  std::int64_t width_ = 0;  // classes
  std::vector<float> values_;
  std::vector<std::int64_t> indices_, labels_;
  Device host_;
};

}  // namespace fovea::training
