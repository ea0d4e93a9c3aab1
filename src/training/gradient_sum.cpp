#include "training/gradient_sum.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "backend/backend.h"
#include "base/error.h"

namespace fovea::training {

GradientSum::GradientSum(const std::vector<optim::Parameter>& parameters, parallel::Ranks& ranks)
    : parameters_(parameters), sums_(parameters.size()) {
  if (ranks.alone()) return;
  std::vector<std::int64_t> sizes;
  for (const optim::Parameter& parameter : parameters) {
    FOVEA_CHECK(parameter.tensor.dtype() == DType::kFloat32, ConfigError,
                fmt::format("{} is {}; several ranks train parameters of float32", parameter.name,
                            name_of(parameter.tensor.dtype())));
    sizes.push_back(parameter.tensor.numel());
  }
  shared_.emplace(ranks, sizes);
  list_ = shared_->empty_list();
}

Tensor GradientSum::taken(std::size_t i) const {
  const Tensor& parameter = parameters_[i].tensor;
  Tensor gradient = parameter.grad();
  if (gradient.defined()) parameter.set_grad({});
  return gradient;
}

void GradientSum::add(bool own) {
  for (std::size_t i = 0; own && i < parameters_.size(); ++i) {
    Tensor gradient = taken(i);
    if (shared_) {
      list_.has[i] = gradient.defined();
      if (gradient.defined()) gradient.download(shared_->part(list_, i).data());
    } else if (gradient.defined() && sums_[i].defined()) {
      backend(gradient).axpy(1.0, gradient, sums_[i]);
    } else if (gradient.defined()) {
      sums_[i] = std::move(gradient);
    }
  }
  if (shared_) shared_->add(own ? &list_ : nullptr);
}

void GradientSum::finish() {
  if (!shared_) {
    for (std::size_t i = 0; i < parameters_.size(); ++i)
      parameters_[i].tensor.set_grad(std::exchange(sums_[i], {}));
    return;
  }
  parallel::OrderedSum::List sum = shared_->finish();
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const Tensor& parameter = parameters_[i].tensor;
    if (!sum.has[i]) continue;
    const Tensor gradient = Tensor::empty_like(parameter);
    gradient.upload(shared_->part(sum, i).data());
    parameter.set_grad(gradient);
  }
}

}  // namespace fovea::training
