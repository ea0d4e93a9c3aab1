#include "ops/running_value.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "autograd/graph.h"
#include "backend/backend.h"
#include "ops/batch_statistics.h"
#include "ops/relevance.h"

namespace fovea::ops {
namespace {

using autograd::Gradients;
using autograd::Op;

void check_operand(const char* name, const Tensor& tensor, const Shape& shape, DType dtype) {
  FOVEA_CHECK(
      tensor.shape() == shape && tensor.dtype() == dtype, ShapeError,
      fmt::format("running_value: {} is {} {}; expected {} {}", name, name_of(tensor.dtype()),
                  to_string(tensor.shape()), name_of(dtype), to_string(shape)));
}

void check(const BatchNorm& norm, const Tensor& before, const Tensor& w, const Tensor& x,
           const Tensor& kernel, const Tensor& scale, const Tensor& keep) {
  FOVEA_CHECK(x.rank() == 4, ShapeError,
              fmt::format("running_value: x is {}; expected (b, c, h, w)", to_string(x.shape())));
  check_batch_norm("running_value", norm, x);
  const DType dtype = compute_dtype(x.dtype());
  const Shape planes{x.size(0), x.size(1)};
  check_operand("w", w, planes, dtype);
  check_operand("kernel", kernel, {x.size(1), 1, 3, 3}, dtype);
  check_operand("scale", scale, planes, dtype);
  if (before.defined()) check_operand("before", before, x.shape(), x.dtype());
  if (keep.defined()) check_operand("keep", keep, planes, dtype);
}

// The gradient of the sum, which already holds that of later layers, if there are any.
Tensor gradient_of_sum(Tensor later, const Tensor& like) {
  if (!later.defined()) return Tensor::empty_like(like);
  if (later.unique_storage()) return later;
  Tensor copy = Tensor::empty_like(later);
  backend(later).cast(later, copy);
  return copy;
}

}  // namespace

RunningValue running_value(const BatchNorm& norm, const RunningValueOptions& options,
                           const Tensor& before, const Tensor& w, const Tensor& x,
                           const Tensor& kernel, const Tensor& scale) {
  check(norm, before, w, x, kernel, scale, options.keep);
  relevance::refuse("running_value");
  FOVEA_CHECK(!norm.training || shared_batch() == nullptr, ConfigError,
              "running_value: its batch norm takes the statistics of one process; "
              "train.sync_batch_norm is not implemented for it");
  Op op("running_value", {before, w, x, kernel, norm.weight, norm.bias, scale});
  const Tensor mean = Tensor::empty({x.size(1)}, compute_dtype(x.dtype()), x.device());
  const ValueNorm args{.u = Tensor::empty_like(x),
                       .kernel = kernel,
                       .scale = scale,
                       .norm = {mean, Tensor::empty_like(mean), norm.weight, norm.bias},
                       .keep = options.keep,
                       .fixed_stats = !norm.training,
                       .relu = options.relu,
                       .add_x = options.add_x};
  if (!norm.training) read_running(norm, mean, args.norm.rstd);
  backend(x).running_value({.eps = norm.eps, .before = before, .w = w, .x = x}, args);
  if (norm.training) update_running(norm, mean, args.norm.rstd, x.numel() / x.size(1));
  const Tensor y = Tensor::empty_like(x);
  backend(x).value_norm(args, x, y);
  op.macs(10 * x.numel(), 20 * x.numel());
  ValueNorm kept = args;
  kept.u = op.keep_result(args.u);
  kept.kernel = op.keep(kernel);
  kept.scale = op.keep(scale);
  kept.norm.weight = op.keep(norm.weight);
  kept.norm.bias = op.keep(norm.bias);
  kept.keep = op.keep(options.keep);
  std::vector<Tensor> results = op.outputs(
      {args.u, y},
      [=, w = op.keep(w), x = op.keep(x)](std::vector<Tensor> gradients, Gradients& in) {
        Tensor dy = std::move(gradients[1]);
        const bool room = dy.defined() && dy.unique_storage();
        if (!dy.defined()) {
          dy = Tensor::empty_like(x);
          backend(dy).fill(dy, 0);
        }
        ValueNormGradients to;
        to.adds = gradients[0].defined();
        to.u = gradient_of_sum(std::move(gradients[0]), x);
        to.kernel = Tensor::empty_like(kept.kernel);
        to.scale = Tensor::empty_like(kept.scale);
        to.w = in.empty(1);
        if (in.wanted(2)) to.x = room ? dy : Tensor::empty_like(x);
        to.weight = in.empty(4);
        to.bias = in.empty(5);
        backend(dy).value_norm_backward({.of = kept, .w = w, .x = x, .dy = dy, .to = to});
        in.add(0, std::move(to.u));
        in.add(1, std::move(to.w));
        in.add(2, std::move(to.x));
        in.add(3, std::move(to.kernel));
        in.add(4, std::move(to.weight));
        in.add(5, std::move(to.bias));
        in.add(6, std::move(to.scale));
      });
  return {std::move(results[0]), std::move(results[1])};
}

}  // namespace fovea::ops
