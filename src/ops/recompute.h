// Results that backward makes again instead of keeping them.
#pragma once

#include <functional>
#include <memory>

#include "autograd/graph.h"
#include "tensor/tensor.h"

namespace fovea::ops {

/// How the result of a cheap operation (a norm, the function between two linear layers) is made
/// again from what that operation keeps anyway. Operations that need the result in backward keep
/// this in its place. Handed from one to the other as the recipe of the graph (autograd/graph.h).
class Recompute {
 public:
  explicit Recompute(std::function<Tensor()> make) : make_(std::move(make)) {}

 private:
  friend class Kept;
  std::function<Tensor()> make_;
  Tensor made_;
};
using Recipe = std::shared_ptr<Recompute>;

inline Recipe recipe(std::function<Tensor()> make) {
  return std::make_shared<Recompute>(std::move(make));
}

/// What backward keeps of an input: its recipe, or without one the input itself.
class Kept {
 public:
  explicit Kept(const Tensor& x) {
    if (const Recipe* found = autograd::recipe_of<Recipe>(x)) {
      recipe_ = *found;
    } else {
      x_ = x;
    }
  }
  /// The input. Made once for all that keep it: the queries, keys and values of one norm.
  Tensor get() const {
    if (recipe_ == nullptr) return x_;
    if (recipe_->made_.defined()) return recipe_->made_;
    const Tensor made = recipe_->make_();
    // Besides this one only the operation that made it still knows the recipe: nobody will ask.
    if (recipe_.use_count() > 2) recipe_->made_ = made;
    return made;
  }

 private:
  Recipe recipe_;
  Tensor x_;
};

}  // namespace fovea::ops
