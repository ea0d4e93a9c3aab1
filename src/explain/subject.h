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
  /// classify images, their pixels or texts. `region`: of a segmentation, the pixels whose logits
  /// are summed to scores, (b, spatial...) with 1 where one counts; without it those that the
  /// unperturbed prediction gives to a class. Throws ConfigError for one of another network, of
  /// another size, or without pixels.
  Subject(models::Model& model, const Tensor& input, const Tensor& valid = {},
          const Tensor& region = {});
  ~Subject();
  Subject(const Subject&) = delete;
  Subject& operator=(const Subject&) = delete;

  models::Model& model() const { return model_; }
  std::int64_t batch() const { return input_.size(0); }
  bool reads_text() const { return text_; }
  /// Pixels get a class each; scores are sums over those of a region, or over those that the
  /// unperturbed prediction gives to a class.
  bool segments() const { return !text_ && mask_.defined(); }
  bool has_region() const { return region_.defined(); }
  /// Of a sample, how the pixels of the region lie on the tokens of a grid over the image, sum 1.
  std::vector<double> shares_of_region(const GridSize& grid, std::int64_t item) const;
  /// The images as given; of texts the ids.
  const Tensor& input() const { return input_; }
  /// What pixel methods differentiate: the images (b, c, h, w), or the vectors of words (b, n, dim)
  /// before positions are added.
  const Tensor& x() const { return x_; }
  /// Height and width (and depth) of the input in places of x: pixels, or one row of words.
  GridSize size() const;
  /// Words of a text that are no padding, for each: (b, n), 1 = a word.
  const std::vector<std::uint8_t>& valid() const { return valid_; }
  /// The same of one text, with the tokens of the prefix, which all are valid, in front.
  std::vector<std::uint8_t> valid_tokens(std::int64_t item) const;

  /// Scores (k b, classes) of k b inputs like x, in k groups of the batch's order: logits, or of
  /// segmentations their sums over fixed masks.
  Tensor scores(const Tensor& x, attention::Probe* probe = nullptr) const;
  /// The class with the largest score of every sample, the lowest of equals. Of segmentations, the
  /// class other than 0 with most pixels, where there is one; with a region the class with most of
  /// its pixels.
  std::vector<std::int64_t> predicted() const;
  /// Of a segmentation, how many of the pixels that it looks at (of the region, where there is one)
  /// are predicted to be of a class.
  double pixels_predicted(std::int64_t item, std::int64_t target) const {
    return predicts_[as_index(item * clean_.size(1) + target)];
  }
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
  models::Inputs inputs_of(const Tensor& input, std::int64_t groups) const;
  void watch_pixels(const Tensor& maps);

  models::Model& model_;
  std::vector<std::pair<Tensor, bool>> parameters_;  // and whether they required gradients

  Tensor input_, x_, clean_;
  Tensor given_valid_;
  Tensor region_;                 // (b, spatial...), on the host
  Tensor mask_;                   // (b, classes, spatial...): whose logits a score is the sum of
  std::vector<double> predicts_;  // of segmentations (b, classes): what predicted() compares
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
