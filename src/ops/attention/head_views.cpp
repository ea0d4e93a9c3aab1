#include "ops/attention/head_views.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "ops/create.h"

namespace fovea::ops::views {
namespace {

// How many heads of `views` read each channel of x.
std::vector<int> times_taken(const Tensor& x, const std::vector<HeadView>& views) {
  std::vector<int> taken(static_cast<std::size_t>(x.size(-1)), 0);
  for (const HeadView& view : views) {
    if (view.x.id() != x.id()) continue;
    for (const std::int64_t offset : view.offsets) {
      for (std::int64_t i = 0; i < view.dim; ++i) ++taken[static_cast<std::size_t>(offset + i)];
    }
  }
  return taken;
}

}  // namespace

HeadLayout layout_of(const HeadView& view) {
  const std::int64_t width = view.x.size(-1);
  return {view.x.size(1) * width, width, view.offsets, view.dim};
}

void check_view(const char* op, const char* name, const HeadView& view) {
  FOVEA_CHECK(
      view.x.rank() == 3, ShapeError,
      fmt::format("{}: {} is {}; expected (b, n, width)", op, name, to_string(view.x.shape())));
  for (const std::int64_t offset : view.offsets) {
    FOVEA_CHECK(offset >= 0 && offset + view.dim <= view.x.size(-1), ShapeError,
                fmt::format("{}: a head of {} takes channels [{}, {}) of {}", op, name, offset,
                            offset + view.dim, view.x.size(-1)));
  }
}

void check_views(const char* op, const HeadView& q, const HeadView& k, const HeadView& v) {
  check_view(op, "q", q);
  check_view(op, "k", k);
  check_view(op, "v", v);
  const bool fits = q.dim == k.dim && q.offsets.size() == k.offsets.size() &&
                    k.offsets.size() == v.offsets.size() && q.x.size(0) == k.x.size(0) &&
                    k.x.size(0) == v.x.size(0) && k.x.size(1) == v.x.size(1);
  FOVEA_CHECK(
      fits, ShapeError,
      fmt::format(
          "{}: q is {} with {} heads of {}, k {} with {} of {}, v {} with {}; expected equal "
          "batch, heads and head_dim, and as many keys as values",
          op, to_string(q.x.shape()), q.offsets.size(), q.dim, to_string(k.x.shape()),
          k.offsets.size(), k.dim, to_string(v.x.shape()), v.offsets.size()));
}

bool cover(const std::vector<Tensor>& tensors, const std::vector<HeadView>& views) {
  return std::all_of(tensors.begin(), tensors.end(), [&](const Tensor& x) {
    const std::vector<int> taken = times_taken(x, views);
    return std::all_of(taken.begin(), taken.end(), [](int times) { return times == 1; });
  });
}

bool disjoint(const std::vector<Tensor>& tensors, const std::vector<HeadView>& views) {
  return std::all_of(tensors.begin(), tensors.end(), [&](const Tensor& x) {
    const std::vector<int> taken = times_taken(x, views);
    return std::all_of(taken.begin(), taken.end(), [](int times) { return times <= 1; });
  });
}

ViewGradients::ViewGradients(const std::vector<Tensor>& inputs, bool zeroed,
                             autograd::Gradients& in)
    : inputs_(inputs), in_(in) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const bool wanted = in.wanted(static_cast<int>(i));
    gradients_.push_back(!wanted  ? Tensor()
                         : zeroed ? zeros_like(inputs[i])
                                  : Tensor::empty_like(inputs[i]));
  }
}

Tensor ViewGradients::gradient_of(const Tensor& x) const {
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    if (inputs_[i].id() == x.id()) return gradients_[i];
  }
  return {};
}

void ViewGradients::hand_over() {
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    if (gradients_[i].defined()) in_.add(static_cast<int>(i), std::move(gradients_[i]));
  }
}

Tensors distinct(const std::vector<Tensor>& tensors) {
  std::vector<Tensor> unique;
  for (const Tensor& tensor : tensors) {
    const bool known = std::any_of(unique.begin(), unique.end(),
                                   [&](const Tensor& other) { return other.id() == tensor.id(); });
    if (!known) unique.push_back(tensor);
  }
  return unique;
}

}  // namespace fovea::ops::views
