// A batch of inputs and a network as explanations see them: a differentiable input, scores of
// classes, and the layout of tokens.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "autograd/hooks.h"
#include "explain/maps/token_map.h"
#include "explain/maps/tokens.h"
#include "models/model.h"

namespace fovea::explain {

/// Puts the network into evaluation mode and takes its parameters out of differentiation while it
/// lives. The network must outlive it.
class Subject {
 public:
  /// Images (b, c, h, w), normalised as in training, or ids (b, n) of texts with the mask of valid
  /// ones (b, n) uint8; without it 0 is padding. Throws ConfigError for a network that does not
  /// classify images, their pixels or texts.
  Subject(models::Model& model, const Tensor& input, const Tensor& valid = {});
  ~Subject();
  Subject(const Subject&) = delete;
  Subject& operator=(const Subject&) = delete;

  models::Model& model() const { return model_; }
  std::int64_t batch() const { return input_.size(0); }
  bool reads_text() const { return text_; }
  /// Pixels get a class each; scores are sums over those that the unperturbed prediction gives to a
  /// class.
  bool segments() const { return !text_ && mask_.defined(); }
  /// The images as given; of texts the ids.
  const Tensor& input() const { return input_; }
  /// What pixel methods differentiate: the images (b, c, h, w), or the vectors of words (b, n, dim)
  /// before positions are added.
  const Tensor& x() const { return x_; }
  /// Height and width of the input in places of x: pixels, or one row of words.
  GridSize size() const;
  /// Words of a text that are no padding, for each: (b, n), 1 = a word.
  const std::vector<std::uint8_t>& valid() const { return valid_; }

  /// Scores (k b, classes) of k b inputs like x, in k groups of the batch's order: logits, or of
  /// segmentations their sums over fixed masks.
  Tensor scores(const Tensor& x, attention::Probe* probe = nullptr) const;
  /// The class with the largest score of every sample, the lowest of equals. Of segmentations, the
  /// class other than 0 with most pixels, where there is one.
  std::vector<std::int64_t> predicted() const;
  /// Of every sample of such inputs the score of its target. `probabilities`: softmax of scores.
  std::vector<double> target_scores(const Tensor& x, const std::vector<std::int64_t>& targets,
                                    bool probabilities = false) const;
  /// d (score of the target) / dx for every sample of k b inputs like x.
  Tensor gradient(const Tensor& x, const std::vector<std::int64_t>& targets,
                  attention::Probe* probe = nullptr) const;
  /// Scores of the unperturbed input.
  const Tensor& clean_scores() const { return clean_; }

  /// How tokens are laid out and read; layout and grid of networks with tokens of one size.
  TokenLayout layout() const { return layout_; }
  /// The grid of patches; nothing (0 x 0) for texts and networks with grids of several sizes.
  GridSize grid() const { return grid_; }

 private:
  Tensor run(const Tensor& x, attention::Probe* probe) const;

  models::Model& model_;
  std::vector<std::pair<Tensor, bool>> parameters_;  // and whether they required gradients
  models::Inputs inputs_of(const Tensor& input, std::int64_t groups) const;

  Tensor input_, x_, clean_;
  Tensor given_valid_;
  Tensor mask_;  // (b, classes, spatial...)
  bool text_ = false;
  TokenLayout layout_;
  GridSize grid_;
  std::vector<std::uint8_t> valid_;
};

/// Throws ConfigError unless every target is a class of scores (b, classes) and there are b.
void check_targets(const std::vector<std::int64_t>& targets, const Tensor& scores);
/// (k b, ...) from x (b, ...): k times the batch.
Tensor repeated(const Tensor& x, std::int64_t k);

}  // namespace fovea::explain
