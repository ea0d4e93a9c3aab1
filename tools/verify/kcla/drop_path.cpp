// Stochastic depth with the mask of a case.

#include <fmt/format.h>

#include "ops/create.h"
#include "ops/elementwise.h"
#include "ops/shape.h"
#include "verify/module_case.h"
#include "verify/runners.h"

namespace fovea::verify {
namespace {

class Nothing final : public nn::Module {
 public:
  std::string type() const override { return "Nothing"; }
};

// The library draws its masks. Whether a sample is dropped depends on nothing but its own draw, so
// the case's batch is put together from several draws, each sample from one that treats it as the
// case's mask does. Any mask comes together after a few draws, however large the batch.
Tensor dropped_as(const Tensor& x, const std::vector<double>& mask, double p) {
  constexpr std::uint64_t kDraws = 10000;
  std::vector<Tensor> samples(mask.size());
  std::size_t missing = mask.size();
  for (std::uint64_t seed = 0; missing > 0 && seed < kDraws; ++seed) {
    const Tensor drawn = ops::drop_path(x, p, RandomStream(seed));
    const Tensor ones = ops::ones(x.shape(), x.dtype(), x.device());
    const Tensor kept = ops::drop_path(ones, p, RandomStream(seed));
    const std::int64_t size = x.numel() / x.size(0);
    for (std::size_t i = 0; i < mask.size(); ++i) {
      const auto first = static_cast<std::int64_t>(i);
      const bool is_kept = kept.host_values<float>()[static_cast<std::size_t>(first * size)] > 0;
      if (samples[i].defined() || is_kept != (mask[i] > 0)) continue;
      samples[i] = ops::slice(drawn, 0, first, 1);
      --missing;
    }
  }
  return missing > 0 ? Tensor() : ops::concat(samples, 0);
}

void run_drop_path(const Case& c, Checker& check) {
  const double p = c.number("drop_prob");
  Nothing module;
  const auto forward = [&](const Inputs& inputs) {
    return std::map<std::string, Tensor>{
        {"y", dropped_as(inputs.at("x"), to_doubles(inputs.at("mask")), p)}};
  };
  run_module(c, module, forward, check);
}

}  // namespace

Table kcla_drop_path() {
  Table table;
  table.add("drop_path") = run_drop_path;
  return table;
}

}  // namespace fovea::verify
