// Updates in place, sums over lists of tensors.
#include <cmath>
#include <tuple>

#include "backend/gpu/launch.h"

namespace fovea::gpu {

void GpuBackend::axpy(double alpha, const Tensor& x, const Tensor& y) const {
  launch_items(Kernel::axpy, y.dtype(), y.numel(), Index{y.numel()}, Real{alpha, y.dtype()}, x, y);
}

void GpuBackend::adamw(const AdamWArgs& args, const AdamWTensors& of) const {
  const DType dtype = of.param.dtype();
  const auto step = static_cast<double>(args.step);
  const double rate = args.lr / (1 - std::pow(args.beta1, step));
  const double root = 1 / std::sqrt(1 - std::pow(args.beta2, step));
  launch_items(Kernel::adamw, dtype, of.param.numel(), Index{of.param.numel()},
               Real{args.beta1, dtype}, Real{1 - args.beta1, dtype}, Real{args.beta2, dtype},
               Real{1 - args.beta2, dtype}, Real{rate, dtype}, Real{root, dtype},
               Real{args.eps, dtype}, Real{1 - args.lr * args.weight_decay, dtype}, of.grad,
               of.param, of.m, of.v);
}

void GpuBackend::sgd(const SgdArgs& args, const SgdTensors& of) const {
  const DType dtype = of.param.dtype();
  launch_items(Kernel::sgd, dtype, of.param.numel(), Index{of.param.numel()}, Real{args.lr, dtype},
               Real{args.momentum, dtype}, Real{1 - args.dampening, dtype},
               Real{args.weight_decay, dtype}, Int32{args.nesterov}, Int32{args.first}, of.grad,
               of.param, of.momentum);
}

void GpuBackend::ema(double decay, const Tensor& x, const Tensor& average) const {
  const DType dtype = average.dtype();
  launch_items(Kernel::ema, dtype, average.numel(), Index{average.numel()}, Real{decay, dtype},
               Real{1 - decay, dtype}, x, average);
}

void GpuBackend::sum_list(bool squares, const std::vector<Tensor>& xs, const Tensor& y) const {
  const DType wide = runtime_->has_float64() ? DType::kFloat64 : DType::kFloat32;
  const auto pieces_of = [](const Tensor& x) { return (x.numel() + LIST_PIECE - 1) / LIST_PIECE; };
  std::int64_t pieces = 0;
  for (const Tensor& x : xs) pieces += pieces_of(x);
  const Tensor partial = Tensor::empty({pieces}, wide, y.device());
  Index first = 0;
  for (std::size_t i = 0; i < xs.size();) {
    // As many as a launch takes, of one dtype.
    const DType dtype = xs[i].dtype();
    List list{};
    std::array<Tensor, LIST_TENSORS> tensors;
    std::size_t count = 0;
    for (; i < xs.size() && count < LIST_TENSORS && xs[i].dtype() == dtype; ++i, ++count) {
      tensors[count] = xs[i];
      list.sizes[count] = xs[i].numel();
      list.first_piece[count + 1] = list.first_piece[count] + pieces_of(xs[i]);
    }
    const Index now = list.first_piece[count];
    std::fill(list.first_piece + count, list.first_piece + LIST_TENSORS + 1, now);
    std::apply(
        [&](const auto&... x) {
          launch(Kernel::list_pieces, dtype, now, list, Int32{squares},
                 now == 0 ? partial : partial.rows(first, first + now), x...);
        },
        tensors);
    first += now;
  }
  launch(Kernel::list_total, squares ? DType::kFloat64 : wide, 1, Index{pieces}, Int32{squares},
         partial, y);
}

void GpuBackend::sum_squares(const std::vector<Tensor>& xs, const Tensor& sum) const {
  sum_list(true, xs, sum);
}

void GpuBackend::all_finite(const std::vector<Tensor>& xs, const Tensor& finite) const {
  sum_list(false, xs, finite);
}

}  // namespace fovea::gpu
