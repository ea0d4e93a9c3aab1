// Batch norm of a batch that several processes hold a part of, each (ops/batch_statistics.h).
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "autograd/graph.h"
#include "backend/backend.h"
#include "backend/fused_args.h"
#include "ops/batch_statistics.h"
#include "ops/elementwise.h"
#include "ops/shape.h"
#include "tensor/host.h"

namespace fovea::ops {
namespace {

using autograd::Gradients;
using autograd::Op;
using Numbers = std::vector<double>;

thread_local const SharedBatch* shared = nullptr;

// Of one channel.
struct Moments {
  double count = 0, mean = 0, squares = 0;  // squared distances from the mean, summed up
  // Chan, Golub and LeVeque, 1979.
  void add(const Moments& other) {
    if (other.count == 0) return;
    const double all = count + other.count, apart = other.mean - mean;
    squares += other.squares + apart * apart * count * other.count / all;
    mean += apart * other.count / all;
    count = all;
  }
};

struct Statistics {
  Tensor mean, rstd;
  double count = 0;  // values per channel
};

// Of all parts.
Statistics statistics_of(const SharedBatch& batch, const Tensor& x, double eps) {
  Statistics of;
  of.mean = Tensor::empty({x.size(1)}, compute_dtype(x.dtype()), x.device());
  of.rstd = Tensor::empty_like(of.mean);
  const auto channels = static_cast<std::size_t>(x.size(1));
  const double count = static_cast<double>(x.numel() / x.size(1));
  Numbers own(2 * channels + 1);
  own.back() = count;
  if (count > 0) {
    backend(x).channel_norm_stats({.eps = eps, .x = x, .mean = of.mean, .rstd = of.rstd});
    const Numbers means = host_doubles(of.mean), rstds = host_doubles(of.rstd);
    for (std::size_t c = 0; c < channels; ++c) {
      own[c] = means[c];
      own[channels + c] = count * std::max(0.0, 1 / (rstds[c] * rstds[c]) - eps);
    }
  }
  std::vector<Moments> all(channels);
  for (const Numbers& part : batch.gather(own)) {
    for (std::size_t c = 0; c < channels; ++c)
      all[c].add({part.back(), part[c], part[channels + c]});
  }
  Numbers means, rstds;
  for (const Moments& channel : all) {
    means.push_back(channel.mean);
    rstds.push_back(1 / std::sqrt(channel.squares / std::max(1.0, channel.count) + eps));
  }
  of.count = all.front().count;
  of.mean = from_doubles(means, of.mean.shape(), of.mean.dtype(), x.device());
  of.rstd = from_doubles(rstds, of.mean.shape(), of.mean.dtype(), x.device());
  return of;
}

// What the statistics, which depend on x, add to the gradient of x:
//   - weight rstd / count (sum dy + (x - mean) rstd sum dy (x - mean) rstd),
// with the sums over all parts.
Tensor through_statistics(const SharedBatch& batch, const Statistics& of, const Tensor& weight,
                          const Tensor& x, const ChannelNormGradients& own) {
  const Numbers of_bias = host_doubles(own.bias), of_weight = host_doubles(own.weight);
  const std::size_t channels = of_bias.size();
  Numbers sums(of_bias);
  sums.insert(sums.end(), of_weight.begin(), of_weight.end());
  const auto parts = batch.gather(sums);
  std::ranges::fill(sums, 0);
  for (const Numbers& part : parts) {
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += part[i];
  }
  const Numbers means = host_doubles(of.mean), rstds = host_doubles(of.rstd);
  const Numbers weights = weight.defined() ? host_doubles(weight) : Numbers(channels, 1);
  Numbers constants, slopes;
  for (std::size_t c = 0; c < channels; ++c) {
    const double factor = -weights[c] * rstds[c] / of.count;
    slopes.push_back(factor * rstds[c] * sums[channels + c]);
    constants.push_back(factor * sums[c] - slopes.back() * means[c]);
  }
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(x.rank()), 1);
  sizes[1] = x.size(1);
  const auto along_channels = [&](const Numbers& values) {
    return from_doubles(values, Shape(sizes), of.mean.dtype(), x.device());
  };
  const Tensor wide = cast(x, of.mean.dtype());
  return cast(add(mul(wide, along_channels(slopes)), along_channels(constants)), x.dtype());
}

}  // namespace

ShareStatistics::ShareStatistics(const SharedBatch& batch) { shared = &batch; }
ShareStatistics::~ShareStatistics() { shared = nullptr; }
const SharedBatch* shared_batch() { return shared; }

Tensor shared_batch_norm(const SharedBatch& batch, const BatchNorm& norm, const Tensor& x,
                         const Tensor& residual, bool relu) {
  Op op(relu ? "batch_norm_relu" : "batch_norm", {x, norm.weight, norm.bias, residual});
  const Statistics of = statistics_of(batch, x, norm.eps);
  if (batch.moves) update_running(norm, of.mean, of.rstd, static_cast<std::int64_t>(of.count));
  NormedMap kept{.x = x,
                 .norm = {of.mean, of.rstd, norm.weight, norm.bias},
                 .residual = residual,
                 .relu = relu,
                 .fixed_stats = true};
  const Tensor y = Tensor::empty_like(x);
  backend(y).channel_norm(kept, y);
  const bool gated = relu && residual.defined();
  kept.x = op.keep(x);
  kept.norm.weight = op.keep(norm.weight);
  kept.norm.bias = op.keep(norm.bias);
  kept.residual = op.keep(residual, gated);
  return op.output(y, [=, &batch](const Tensor& dy, Gradients& in) {
    ChannelNormGradients to;
    to.x = Tensor::empty_like(dy);
    if (gated) to.residual = Tensor::empty_like(dy);
    to.weight = Tensor::empty_like(of.mean);
    to.bias = Tensor::empty_like(of.mean);
    backend(dy).channel_norm_backward({.of = kept, .y = {}, .dy = dy, .to = to});
    if (in.wanted(0))
      in.add(0, add(to.x, through_statistics(batch, of, kept.norm.weight, kept.x, to)));
    in.add(1, to.weight);
    in.add(2, to.bias);
    in.add(3, gated ? to.residual : dy);
  });
}

}  // namespace fovea::ops
