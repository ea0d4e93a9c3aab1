#include "autograd/gradient_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "autograd/graph.h"
#include "autograd/mode.h"

namespace fovea::autograd {
namespace {

Tensor random_contraction(const Tensor& output, std::uint64_t seed) {
  std::vector<double> values(static_cast<std::size_t>(output.numel()));
  const RandomStream stream = RandomStream(seed).fork("contraction");
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = stream.normal(i);
  return Tensor::from(values, output.shape(), output.device());
}

double contract(const Tensor& output, const Tensor& weights) {
  const auto x = output.host_values<double>();
  const auto w = weights.host_values<double>();
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * w[i];
  return sum;
}

}  // namespace

GradientCheck check_gradients(const std::function<Tensor(const std::vector<Tensor>&)>& function,
                              const std::vector<Tensor>& inputs,
                              const GradientCheckOptions& options) {
  for (const Tensor& input : inputs) {
    if (input.defined() && input.requires_grad()) input.set_grad({});
  }
  const Tensor output = function(inputs);
  const Tensor weights = random_contraction(output, options.seed);
  backward(output, weights);

  GradientCheck result;
  const NoGrad no_grad;
  for (std::size_t which = 0; which < inputs.size(); ++which) {
    const Tensor& input = inputs[which];
    if (!input.defined() || !input.requires_grad()) continue;
    std::vector<double> analytic(static_cast<std::size_t>(input.numel()), 0.0);
    if (input.grad().defined()) input.grad().download(analytic.data());
    std::vector<double> elements(analytic.size());
    input.download(elements.data());
    for (std::size_t i = 0; i < elements.size(); ++i) {
      const double before = elements[i];
      const double step = options.step * std::max(1.0, std::abs(before));
      const auto value_at = [&](double element) {
        elements[i] = element;
        input.upload(elements.data());
        return contract(function(inputs), weights);
      };
      const double above = value_at(before + step);
      const double below = value_at(before - step);
      elements[i] = before;
      input.upload(elements.data());
      const double numeric = (above - below) / (2 * step);
      const double found = analytic[i];
      const double share =
          std::abs(found - numeric) / (options.atol + options.rtol * std::abs(numeric));
      // Written so that a NaN fails.
      if (!(share <= 1.0) && (result.passed || !(share <= result.worst))) {
        result.passed = false;
        result.message = fmt::format("input {} {} element {}: analytic {}, numeric {}", which,
                                     to_string(input.shape()), i, found, numeric);
      }
      if (!(share <= result.worst)) result.worst = share;
    }
  }
  return result;
}

}  // namespace fovea::autograd
