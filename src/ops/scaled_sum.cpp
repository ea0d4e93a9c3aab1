#include "ops/scaled_sum.h"

#include <fmt/format.h>

#include "autograd/graph.h"
#include "backend/backend.h"
#include "ops/create.h"

namespace fovea::ops {
namespace {

using autograd::Gradients;
using autograd::Op;

// w x + u is what a batch norm of fixed statistics computes whose channels are the planes: mean 0,
// deviation 1, weight w, residual u. The gradient of that weight is the one of w.
struct AsNorm {
  Shape planes;  // (1, b c, size)
  ChannelNorm norm;
  static constexpr ChannelNormArgs kArgs{.fixed_stats = true};

  AsNorm(const Tensor& w, const Tensor& x) {
    const std::int64_t count = x.size(0) * x.size(1);
    planes = {1, count, x.shape().part(2, x.rank()).numel()};
    norm.mean = zeros({count}, w.dtype(), w.device());
    norm.rstd = ones({count}, w.dtype(), w.device());
    norm.weight = w.alias({count});
  }
  Tensor view(const Tensor& map) const { return map.defined() ? map.alias(planes) : map; }
};

void check(const Tensor& u, const Tensor& w, const Tensor& x) {
  FOVEA_CHECK(x.rank() >= 2 && x.shape().part(1, x.rank()).numel() > 0, ShapeError,
              fmt::format("scaled_sum: x is {}; expected (b, c, spatial...) with c and spatial "
                          "sizes of at least 1",
                          to_string(x.shape())));
  FOVEA_CHECK(
      w.shape() == (Shape{x.size(0), x.size(1)}) && w.dtype() == compute_dtype(x.dtype()),
      ShapeError,
      fmt::format("scaled_sum: w is {} {}; expected {} ({}, {})", name_of(w.dtype()),
                  to_string(w.shape()), name_of(compute_dtype(x.dtype())), x.size(0), x.size(1)));
  FOVEA_CHECK(!u.defined() || (u.shape() == x.shape() && u.dtype() == x.dtype()), ShapeError,
              fmt::format("scaled_sum: u is {} {}; expected {} {} as x is", name_of(u.dtype()),
                          to_string(u.shape()), name_of(x.dtype()), to_string(x.shape())));
}

}  // namespace

Tensor scaled_sum(const Tensor& u, const Tensor& w, const Tensor& x) {
  check(u, w, x);
  Op op("scaled_sum", {u, w, x});
  const AsNorm as(w, x);
  Tensor y = Tensor::empty_like(x);
  backend(x).channel_norm(AsNorm::kArgs, as.view(x), as.norm, as.view(u), as.view(y));
  op.macs(y.numel());
  return op.output(y, [=](const Tensor& dy, Gradients& in) {
    if (in.wanted(1)) {
      Tensor dw = Tensor::empty_like(w);
      ChannelNormGradients to;
      to.weight = dw.alias({w.numel()});
      backend(dy).channel_norm_backward(AsNorm::kArgs, as.view(x), as.norm, {}, {}, as.view(dy),
                                        to);
      in.add(1, std::move(dw));
    }
    if (in.wanted(2)) {
      const Tensor sum = in.buffer(2);
      backend(dy).channel_norm(AsNorm::kArgs, as.view(dy), as.norm, as.view(sum), as.view(sum));
    }
    in.add(0, dy);
  });
}

}  // namespace fovea::ops
