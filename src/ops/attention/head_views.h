// What operations on views of heads share (HeadView in ops/attention/attention.h); for their
// sources only.
#pragma once

#include <utility>
#include <vector>

#include "autograd/graph.h"
#include "backend/backend.h"
#include "ops/attention/attention.h"

namespace fovea::ops::views {

HeadLayout layout_of(const HeadView& view);
/// Throws ShapeError, naming the operation and the view, for heads outside their tensor.
void check_view(const char* op, const char* name, const HeadView& view);
/// Checks all three, and that batch, heads and head_dim are equal, and keys as many as values.
void check_views(const char* op, const HeadView& q, const HeadView& k, const HeadView& v);
/// True if the heads of `views` read every channel of their tensors exactly once.
bool cover(const std::vector<Tensor>& tensors, const std::vector<HeadView>& views);
/// True if no channel is read twice.
bool disjoint(const std::vector<Tensor>& tensors, const std::vector<HeadView>& views);
using Tensors = std::vector<Tensor>;
/// Each tensor once.
Tensors distinct(const std::vector<Tensor>& tensors);

/// Gradients for the distinct tensors behind q, k and v: a fused projection gets one. Zeroed where
/// the kernel adds to them.
class ViewGradients {
 public:
  ViewGradients(const std::vector<Tensor>& inputs, bool zeroed, autograd::Gradients& in);
  /// The gradient of the input that `x` is.
  Tensor gradient_of(const Tensor& x) const;
  void hand_over();

 private:
  const std::vector<Tensor>& inputs_;
  autograd::Gradients& in_;
  std::vector<Tensor> gradients_;
};

}  // namespace fovea::ops::views
