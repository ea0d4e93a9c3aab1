// How explanations and their scores ask a network: many changed inputs, some at a time, about one
// class.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "models/model.h"

namespace fovea::explain {

/// Logits (k, classes) row-major, for k inputs on the host: images (k, c, h, w) float32 as the
/// network sees them, or tokens (k, n) int64 with the mask of those that are valid.
using Logits = std::function<std::vector<double>(const models::Inputs& inputs)>;

/// The logits of a classifier in evaluation mode, on its own device, without recording of
/// gradients; on the host parts of the inputs are passed at the same time. The network must outlive
/// the function.
Logits logits_of(models::Model& model);

/// What a network says of one input about a class.
struct Answer {
  double logit = 0;
  double probability = 0;      // softmax, in float64
  std::int64_t predicted = 0;  // the class of the largest logit, the lowest index on ties
};

/// One image, on the host.
struct Image {
  std::int64_t channels = 0, height = 0, width = 0;
  std::vector<float> values;  // (channels, height, width) row-major

  std::int64_t pixels() const { return height * width; }
};
/// Image i of images (b, c, h, w) float32, of any device.
Image image_at(const Tensor& images, std::int64_t i);

/// What a network says of the inputs of a sample. Asked about one for a second time, by whatever
/// method or score, it does not run again: answers are kept while this lives.
class Questions {
 public:
  /// Throws ConfigError unless batch_size is at least 1.
  Questions(Logits logits, std::int64_t batch_size);

  /// Answers about class `target` of `count` images; `change(k, image)` makes the k-th of a copy of
  /// `start`. Throws ConfigError if the network has no such class.
  std::vector<Answer> ask(const Image& start, std::int64_t target, std::int64_t count,
                          const std::function<void(std::int64_t, Image&)>& change) const;
  /// Answers about class `target` of texts. Those of a batch are padded to the longest. Id 0 is
  /// padding wherever it stands; a text without any other counts as one valid token of padding.
  std::vector<Answer> ask(std::span<const std::vector<std::int64_t>> texts,
                          std::int64_t target) const;
  /// The class that the network predicts.
  std::int64_t predicted(const Image& image) const;
  std::int64_t predicted(std::span<const std::int64_t> text) const;

 private:
  using Key = std::pair<std::int64_t, std::string>;  // class and hash of the input

  std::vector<Answer> answers(const models::Inputs& inputs, std::int64_t count,
                              std::int64_t target) const;
  /// Whether an input is neither known nor among those that wait.
  bool is_new(const Key& key, const std::vector<Key>& waiting) const;
  void answer(const models::Inputs& inputs, std::vector<Key>& waiting) const;
  std::vector<Answer> known(const std::vector<Key>& keys) const;

  Logits logits_;
  std::int64_t batch_size_;
  mutable std::map<Key, Answer> known_;
};

}  // namespace fovea::explain
