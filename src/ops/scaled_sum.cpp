#include "ops/scaled_sum.h"

#include <fmt/format.h>

#include "autograd/graph.h"
#include "backend/backend.h"
#include "ops/relevance.h"

namespace fovea::ops {
namespace {

using autograd::Gradients;
using autograd::Op;

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
  relevance::refuse("scaled_sum");
  Op op("scaled_sum", {u, w, x});
  Tensor y = Tensor::empty_like(x);
  backend(x).scaled_sum(u, w, x, y);
  op.macs(y.numel());
  return op.output(y, [x = op.keep(x, w.requires_grad()), w = op.keep(w, x.requires_grad())](
                          const Tensor& dy, Gradients& in) {
    if (in.wanted(1)) {
      Tensor dw = in.empty(1);
      backend(dy).scaled_sum_backward(x, dy, dw);
      in.add(1, std::move(dw));
    }
    if (in.wanted(2)) {
      const Tensor sum = in.buffer(2);
      backend(dy).scaled_sum(sum, w, dy, sum);
    }
    in.add(0, dy);
  });
}

}  // namespace fovea::ops
