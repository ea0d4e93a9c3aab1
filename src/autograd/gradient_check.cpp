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
  const auto x = output.values<double>();
  const auto w = weights.values<double>();
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
  const auto value = [&] { return contract(function(inputs), weights); };
  for (std::size_t which = 0; which < inputs.size(); ++which) {
    const Tensor& input = inputs[which];
    if (!input.defined() || !input.requires_grad()) continue;
    const Tensor analytic = input.grad();
    for (std::int64_t i = 0; i < input.numel(); ++i) {
      double& element = input.data<double>()[i];
      const double before = element;
      const double step = options.step * std::max(1.0, std::abs(before));
      element = before + step;
      const double above = value();
      element = before - step;
      const double below = value();
      element = before;
      const double numeric = (above - below) / (2 * step);
      const double found = analytic.defined() ? analytic.data<double>()[i] : 0.0;
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
