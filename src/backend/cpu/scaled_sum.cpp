// Running sums of maps, plane by plane: w x + u is what the loops of norms compute with mean and
// shift 0, and the gradient of w is the one that such a norm has for its scale.
#include "backend/cpu/channel_planes.h"
#include "backend/cpu/conv_pieces.h"
#include "backend/cpu/cpu_backend.h"

namespace fovea::cpu {
namespace {

// Means and shifts of the planes of one item.
template <class C>
Tensor zeros(const Planes& planes, const Tensor& like) {
  const Tensor memory = scratch<C>(planes.channels, like);
  std::fill_n(memory.data<C>(), planes.channels, C{0});
  return memory;
}

}  // namespace

void CpuBackend::scaled_sum(const Tensor& u, const Tensor& w, const Tensor& x,
                            const Tensor& y) const {
  const Planes planes(x, 0);
  dispatch_stored("scaled_sum", x.dtype(), [&]<class S>(S) {
    using C = Compute<S>;
    const Tensor zero = zeros<C>(planes, x);
    for_planes(pool_, planes, [&](std::int64_t first, std::int64_t count, std::int64_t) {
      const std::int64_t at = first * planes.size;
      const simd::NormPlanes<S> part{.count = count,
                                     .size = planes.size,
                                     .x = x.data<S>() + at,
                                     .mean = zero.data<C>(),
                                     .scale = w.data<C>() + first,
                                     .shift = zero.data<C>(),
                                     .residual = u.defined() ? u.data<S>() + at : nullptr};
      simd::kernels().of<S>().plane_normalise(part, y.data<S>() + at);
    });
  });
}

void CpuBackend::scaled_sum_backward(const Tensor& x, const Tensor& dy, const Tensor& dw) const {
  const Planes planes(x, 0);
  dispatch_stored("scaled_sum_backward", x.dtype(), [&]<class S>(S) {
    using C = Compute<S>;
    const Tensor zero = zeros<C>(planes, x);
    const GradientSums sums(planes, x.device());
    for_planes(pool_, planes, [&](std::int64_t first, std::int64_t count, std::int64_t) {
      const std::int64_t at = first * planes.size;
      // (Without a ReLU the scale is not read.)
      const simd::NormPlanes<S> part{.count = count,
                                     .size = planes.size,
                                     .x = x.data<S>() + at,
                                     .mean = zero.data<C>(),
                                     .scale = zero.data<C>(),
                                     .shift = zero.data<C>()};
      simd::kernels().of<S>().plane_gradient_sums(part, dy.data<S>() + at, nullptr,
                                                  sums.sums + first, sums.products + first);
    });
    for (std::int64_t p = 0; p < planes.count(); ++p)
      dw.data<C>()[p] = static_cast<C>(sums.products[p]);
  });
}

}  // namespace fovea::cpu
