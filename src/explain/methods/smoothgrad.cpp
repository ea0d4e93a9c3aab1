// The mean of gradients of noisy inputs. explain A.10.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "explain/methods/places.h"
#include "ops/create.h"
#include "ops/elementwise.h"
#include "ops/shape.h"
#include "tensor/host.h"

namespace fovea::explain {
namespace {

struct SmoothgradOptions {
  double sigma = 0.15;
  std::int64_t samples = 25;
  bool absolute_first = false;
  Reduce reduce = Reduce::kAbsSum;
};

// max x - min x of every sample, over all of it.
std::vector<double> ranges_of(const Tensor& x) {
  const std::vector<double> values = host_doubles(x);
  const std::int64_t b = x.size(0), each = x.numel() / b;
  std::vector<double> ranges;
  for (std::int64_t i = 0; i < b; ++i) {
    const auto first = values.begin() + i * each;
    const auto [low, high] = std::minmax_element(first, first + each);
    ranges.push_back(*high - *low);
  }
  return ranges;
}

// Draws [first, first + count) of every sample, each like x: (count b, ...).
Tensor noise_of(const ExplanationRequest& request, const SmoothgradOptions& o, std::int64_t first,
                std::int64_t count) {
  const Tensor& x = request.subject.x();
  Shape all = x.shape();
  all[0] *= count;
  if (request.noise.defined()) return request.noise.rows(first, first + count).alias(all);
  const std::vector<double> ranges = ranges_of(x);
  Shape one = x.shape();
  one[0] = 1;
  std::vector<Tensor> draws;
  for (std::int64_t k = first; k < first + count; ++k) {
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      const RandomStream stream = request.random[i].fork("smoothgrad").fork(as_index(k));
      draws.push_back(
          ops::random_normal(one, 0, o.sigma * ranges[i], stream, x.dtype(), x.device()));
    }
  }
  return ops::concat(draws, 0);
}

Explanation smoothgrad(const ExplanationRequest& request, const SmoothgradOptions& o) {
  const Subject& subject = request.subject;
  const Tensor& x = subject.x();
  const std::int64_t draws = request.noise.defined() ? request.noise.size(0) : o.samples;
  const auto each = static_cast<std::size_t>(x.numel());
  std::vector<double> mean(each, 0.0);
  for (std::int64_t first = 0; first < draws; first += groups_of(request)) {
    const std::int64_t count = std::min(groups_of(request), draws - first);
    const Tensor noisy = ops::add(repeated(x, count), noise_of(request, o, first, count));
    const std::vector<double> gradients = host_doubles(subject.gradient(noisy, request.targets));
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      const double g = o.absolute_first ? std::abs(gradients[i]) : gradients[i];
      mean[i % each] += g / static_cast<double>(draws);
    }
  }
  return of_places(subject, mean, o.reduce);
}

schema::Fields<SmoothgradOptions> smoothgrad_fields() {
  schema::Fields<SmoothgradOptions> fields;
  fields
      .add("sigma", &SmoothgradOptions::sigma, schema::greater_than(0),
           "deviation of the noise relative to the range of the input's values")
      .add("samples", &SmoothgradOptions::samples, schema::at_least(1), "noisy inputs")
      .add("absolute_first", &SmoothgradOptions::absolute_first,
           "mean of the sizes of gradients, as Captum's NoiseTunnel over Saliency; false: of the "
           "gradients");
  return add_reduce(fields);
}

}  // namespace

FOVEA_EXPLANATION(smoothgrad,
                  {.title = "mean gradient of noisy inputs",
                   .source = "Smilkov et al., 2017",
                   .per_pixel = true},
                  smoothgrad_fields(), smoothgrad)

}  // namespace fovea::explain
