#include "ops/diffusion/diffusion.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "base/error.h"
#include "ops/create.h"
#include "ops/elementwise.h"
#include "ops/indexing.h"
#include "ops/reduce.h"
#include "ops/shape.h"
#include "tensor/host.h"

namespace fovea::ops {
namespace {

void check_steps(const char* name, const Tensor& t, const Tensor& x) {
  const bool fits = x.rank() >= 2 && t.dtype() == DType::kInt64 && t.shape() == Shape{x.size(0)};
  FOVEA_CHECK(
      fits, ShapeError,
      fmt::format("{}: steps are {} {} for a batch {}; expected int64, one for each item of "
                  "(b, c, ...)",
                  name, name_of(t.dtype()), to_string(t.shape()), to_string(x.shape())));
}

void check_like(const char* name, const char* what, const Tensor& x, const Tensor& like) {
  FOVEA_CHECK(x.shape() == like.shape(), ShapeError,
              fmt::format("{}: {} is {}, x is {}; expected one shape", name, what,
                          to_string(x.shape()), to_string(like.shape())));
}

// f(step) of every item's step, (b, 1, ...), to be stretched over x.
template <class F>
Tensor of_steps(const DiffusionChain& chain, const Tensor& t, const Tensor& x, F&& f) {
  std::vector<double> values;
  for (std::size_t step = 0; step < chain.betas.size(); ++step) values.push_back(f(step));
  const Tensor table = from_doubles(values, {chain.steps(), 1}, x.dtype(), x.device());
  Shape shape{x.size(0)};
  while (shape.rank() < x.rank()) shape.push_back(1);
  return reshape(embedding(table, t), shape);
}

Tensor listed(const DiffusionChain& chain, const std::vector<double>& values, const Tensor& t,
              const Tensor& x) {
  return of_steps(chain, t, x, [&](std::size_t step) { return values[step]; });
}

Tensor item_means(const Tensor& x) { return mean(reshape(x, {x.size(0), -1}), {1}); }

struct Parts {
  Tensor noise, logits;  // the latter undefined where nothing is learned
};
Parts parts_of(const char* name, StepVariance variance, const Tensor& output, const Tensor& x) {
  const std::int64_t c = x.size(1);
  const bool learned = variance == StepVariance::kLearnedRange;
  Shape expected = x.shape();
  expected[1] = learned ? 2 * c : c;
  FOVEA_CHECK(output.shape() == expected, ShapeError,
              fmt::format("{}: the network's output is {} for x {}; expected {}", name,
                          to_string(output.shape()), to_string(x.shape()), to_string(expected)));
  if (!learned) return {output, {}};
  return {slice(output, 1, 0, c), slice(output, 1, c, c)};
}

Tensor log_variance_of(const DiffusionChain& chain, StepVariance variance, const Tensor& logits,
                       const Tensor& x, const Tensor& t) {
  const std::vector<double>& low = chain.posterior_log_variance_clipped;
  if (variance == StepVariance::kFixedSmall) return listed(chain, low, t, x);
  const auto high = [&](std::size_t step) { return std::log(chain.betas[step]); };
  if (variance == StepVariance::kFixedLarge) {
    // The first step has the posterior's of the second, as the first beta says too little.
    return of_steps(chain, t, x, [&](std::size_t step) { return step == 0 ? low[0] : high(step); });
  }
  // f log beta + (1 - f) low with f = (logit + 1) / 2
  const Tensor half_range =
      of_steps(chain, t, x, [&](std::size_t step) { return (high(step) - low[step]) / 2; });
  const Tensor middle =
      of_steps(chain, t, x, [&](std::size_t step) { return (high(step) + low[step]) / 2; });
  return add(mul(logits, half_range), middle);
}

Tensor start_of(const DiffusionChain& chain, const Tensor& noise, const Tensor& x_t,
                const Tensor& t) {
  const auto& a = chain.alphas_cumprod;
  const Tensor scale = of_steps(chain, t, x_t, [&](std::size_t s) { return 1 / std::sqrt(a[s]); });
  const Tensor share =
      of_steps(chain, t, x_t, [&](std::size_t s) { return -std::sqrt(1 / a[s] - 1); });
  return add_product(mul(x_t, scale), noise, share, false);
}

Tensor posterior_mean(const DiffusionChain& chain, const Tensor& x_start, const Tensor& x_t,
                      const Tensor& t) {
  return add_product(mul(x_start, listed(chain, chain.posterior_mean_coef1, t, x_t)), x_t,
                     listed(chain, chain.posterior_mean_coef2, t, x_t), false);
}

// Divergence of one normal distribution from another, an element.
Tensor normal_kl(const Tensor& mean1, const Tensor& log_variance1, const Tensor& mean2,
                 const Tensor& log_variance2) {
  const Tensor difference = sub(log_variance1, log_variance2);
  const Tensor distance = mul(square(sub(mean1, mean2)), exp(neg(log_variance2)));
  return affine(add(sub(exp(difference), difference), distance), 0.5, -0.5);
}

// -ln of the probability of the bin of 1 / 127.5 around x; the outermost bins have no end. The
// normal distribution function is that of tanh, (1 + tanh u) / 2 = sigmoid(2 u) with u = sqrt(2 /
// pi) (z + 0.044715 z^3). The difference of two that are close is taken as
//   sigmoid(a) - sigmoid(b) = sigmoid(a) sigmoid(-b) (1 - exp(b - a)),
// of which float32 keeps its digits.
Tensor bin_nll(const Tensor& x, const Tensor& mean, const Tensor& log_variance) {
  constexpr double kCubic = 0.044715;
  const double scale = 2 * std::sqrt(2 / std::numbers::pi);
  const auto log_of = [](const Tensor& p) { return log(clamp(p, 1e-12, 1)); };
  const auto limit = [&](double value) {
    return from_doubles({value}, {1}, x.dtype(), x.device());
  };
  const Tensor centred = sub(x, mean);
  const Tensor inverse = exp(mul(log_variance, -0.5));
  const Tensor upper = mul(inverse, affine(centred, 1, 1.0 / 255));
  const Tensor lower = mul(inverse, affine(centred, 1, -1.0 / 255));
  const auto doubled = [&](const Tensor& z) {
    return mul(z, affine(square(z), kCubic * scale, scale));
  };
  const Tensor below_upper = sigmoid(doubled(upper));
  const Tensor above_lower = sigmoid(neg(doubled(lower)));
  const Tensor squares = add(add(square(upper), mul(upper, lower)), square(lower));
  const Tensor distance = mul(mul(inverse, 2.0 / 255), affine(squares, kCubic * scale, scale));
  const Tensor inside = mul(mul(below_upper, above_lower), neg(expm1(neg(distance))));
  const Tensor not_lowest = where(greater(x, limit(0.999)), log_of(above_lower), log_of(inside));
  return neg(where(less(x, limit(-0.999)), log_of(below_upper), not_lowest));
}

}  // namespace

Tensor noised(const DiffusionChain& chain, const Tensor& x_start, const Tensor& t,
              const Tensor& noise) {
  check_steps("noised", t, x_start);
  check_like("noised", "noise", noise, x_start);
  const auto& a = chain.alphas_cumprod;
  const Tensor kept = of_steps(chain, t, x_start, [&](std::size_t s) { return std::sqrt(a[s]); });
  const Tensor added =
      of_steps(chain, t, x_start, [&](std::size_t s) { return std::sqrt(1 - a[s]); });
  return add_product(mul(x_start, kept), noise, added, false);
}

DiffusionLoss diffusion_loss(const DiffusionChain& chain, StepVariance variance,
                             const Tensor& output, const Tensor& x_start, const Tensor& x_t,
                             const Tensor& t, const Tensor& noise) {
  check_steps("diffusion_loss", t, x_start);
  check_like("diffusion_loss", "x_t", x_t, x_start);
  check_like("diffusion_loss", "noise", noise, x_start);
  const Parts parts = parts_of("diffusion_loss", variance, output, x_start);
  const Tensor mse = item_means(square(sub(parts.noise, noise)));
  if (!parts.logits.defined()) return {mse, mse};
  const Tensor predicted = start_of(chain, parts.noise.detach(), x_t, t);
  const Tensor mean = posterior_mean(chain, predicted, x_t, t);
  const Tensor log_variance = log_variance_of(chain, variance, parts.logits, x_t, t);
  const Tensor kl = item_means(
      normal_kl(posterior_mean(chain, x_start, x_t, t),
                listed(chain, chain.posterior_log_variance_clipped, t, x_t), mean, log_variance));
  const Tensor nll = item_means(bin_nll(x_start, mean, log_variance));
  const Tensor nats = where(equal(t, zeros({1}, DType::kInt64, t.device())), nll, kl);
  const Tensor vb = mul(nats, 1 / std::numbers::ln2);
  return {add(mse, vb), mse, vb};
}

StepBack step_back(const DiffusionChain& chain, const StepBackOptions& options,
                   const Tensor& output, const Tensor& x_t, const Tensor& t) {
  check_steps("step_back", t, x_t);
  const Parts parts = parts_of("step_back", options.variance, output, x_t);
  Tensor x_start = start_of(chain, parts.noise, x_t, t);
  if (options.clip_denoised) x_start = clamp(x_start, -1, 1);
  return {posterior_mean(chain, x_start, x_t, t),
          log_variance_of(chain, options.variance, parts.logits, x_t, t), x_start};
}

Tensor ddpm_sample(const StepBack& back, const Tensor& t, const Tensor& noise) {
  check_like("ddpm_sample", "noise", noise, back.mean);
  check_steps("ddpm_sample", t, noise);
  Shape shape{noise.size(0)};
  while (shape.rank() < noise.rank()) shape.push_back(1);
  const Tensor drawn = cast(greater(t, zeros({1}, DType::kInt64, t.device())), noise.dtype());
  const Tensor deviation = mul(exp(mul(back.log_variance, 0.5)), reshape(drawn, shape));
  return add(back.mean, mul(deviation, noise));
}

Tensor ddim_sample(const DiffusionChain& chain, const StepBack& back, const Tensor& x_t,
                   const Tensor& t, double eta, const Tensor& noise) {
  check_steps("ddim_sample", t, x_t);
  const auto& a = chain.alphas_cumprod;
  const auto& before = chain.alphas_cumprod_prev;
  const auto sigma = [&](std::size_t s) {
    return eta * std::sqrt((1 - before[s]) / (1 - a[s])) * std::sqrt(1 - a[s] / before[s]);
  };
  // The noise that x_start and x_t imply: another than the network's where x_start was cut.
  const auto part = [&](double (*of)(double)) {
    return of_steps(chain, t, x_t, [&](std::size_t s) { return of(a[s]); });
  };
  const Tensor eps = sub(mul(x_t, part([](double p) { return 1 / std::sqrt(1 - p); })),
                         mul(back.x_start, part([](double p) { return std::sqrt(p / (1 - p)); })));
  const Tensor kept = of_steps(chain, t, x_t, [&](std::size_t s) { return std::sqrt(before[s]); });
  const Tensor towards = of_steps(chain, t, x_t, [&](std::size_t s) {
    return std::sqrt(std::max(0.0, 1 - before[s] - sigma(s) * sigma(s)));
  });
  const Tensor mean = add_product(mul(back.x_start, kept), eps, towards, false);
  if (eta == 0) return mean;
  check_like("ddim_sample", "noise", noise, x_t);
  const Tensor drawn =
      of_steps(chain, t, x_t, [&](std::size_t step) { return step == 0 ? 0.0 : sigma(step); });
  return add_product(mean, noise, drawn, false);
}

Tensor guided(const Tensor& with, const Tensor& without, double scale, std::int64_t channels) {
  check_like("guided", "the output without a class", without, with);
  FOVEA_CHECK(with.rank() >= 2 && channels >= 1 && channels <= with.size(1), ShapeError,
              fmt::format("guided: {} channels of outputs {}", channels, to_string(with.shape())));
  const Tensor plain = slice(without, 1, 0, channels);
  const Tensor led = add(plain, mul(sub(slice(with, 1, 0, channels), plain), scale));
  if (channels == with.size(1)) return led;
  return concat({led, slice(with, 1, channels, with.size(1) - channels)}, 1);
}

}  // namespace fovea::ops
