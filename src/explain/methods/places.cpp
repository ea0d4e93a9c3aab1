#include "explain/methods/places.h"

#include <fmt/format.h>

#include <algorithm>

#include "autograd/mode.h"
#include "base/error.h"
#include "ops/create.h"
#include "tensor/host.h"

namespace fovea::explain {

Tensor baseline_of(const ExplanationRequest& request, const BaselineOptions& options,
                   const std::string& method) {
  const autograd::NoGrad no_grad;
  const Subject& subject = request.subject;
  const Tensor& x = subject.x();
  if (options.baseline == Baseline::kZero) return ops::zeros_like(x);
  FOVEA_CHECK(!subject.reads_text() && x.rank() == 4, ConfigError,
              fmt::format("{}: baseline is for images; expected zero for others", method));
  std::vector<double> values;
  for (std::int64_t i = 0; i < x.size(0); ++i) {
    const Image base = baseline_image(image_at(x, i), options, request.colours);
    values.insert(values.end(), base.values.begin(), base.values.end());
  }
  return from_doubles(values, x.shape(), x.dtype(), x.device());
}

Explanation of_places(const Subject& subject, const std::vector<double>& attribution,
                      Reduce reduce) {
  const Tensor& x = subject.x();
  const GridSize size = subject.size();
  const std::int64_t channels = x.size(subject.reads_text() ? 2 : 1), places = size.count();
  Explanation result{{}, size, reduce == Reduce::kSum};
  for (std::int64_t i = 0; i < subject.batch(); ++i) {
    const auto first = attribution.begin() + i * channels * places;
    std::vector<double> one(first, first + channels * places);
    if (subject.reads_text()) {  // (n, dim) -> (dim, n)
      for (std::int64_t j = 0; j < places; ++j) {
        for (std::int64_t c = 0; c < channels; ++c)
          one[static_cast<std::size_t>(c * places + j)] = first[j * channels + c];
      }
    }
    std::vector<double> map = reduced(one, channels, reduce);
    for (std::int64_t j = 0; subject.reads_text() && j < places; ++j) {
      if (subject.valid()[static_cast<std::size_t>(i * places + j)] == 0)
        map[static_cast<std::size_t>(j)] = 0;
    }
    result.values.insert(result.values.end(), map.begin(), map.end());
  }
  return result;
}

std::int64_t groups_of(const ExplanationRequest& request) {
  return std::max<std::int64_t>(1, request.batch_size / request.subject.batch());
}

}  // namespace fovea::explain
