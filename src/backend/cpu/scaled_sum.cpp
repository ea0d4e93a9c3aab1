// Running sums of maps, plane by plane: w x + u is what the loops of norms compute with mean and
// shift 0, and the gradient of w is what they compute for the scale.
#include "backend/cpu/channel_planes.h"
#include "backend/cpu/pieces.h"
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

// f(first, part) for every piece of planes from `first` on: x with mean, scale and shift 0.
template <class S, class F>
void for_parts(ThreadPool& pool, const Planes& planes, const Tensor& x, F f) {
  const Tensor zero = zeros<Compute<S>>(planes, x);
  const auto* const zeros = zero.data<Compute<S>>();
  for_planes(pool, planes, [&](std::int64_t first, std::int64_t count, std::int64_t) {
    f(first, simd::NormPlanes<S>{.count = count,
                                 .size = planes.size,
                                 .x = x.data<S>() + first * planes.size,
                                 .mean = zeros,
                                 .scale = zeros,
                                 .shift = zeros});
  });
}

}  // namespace

void CpuBackend::scaled_sum(const Tensor& u, const Tensor& w, const Tensor& x,
                            const Tensor& y) const {
  const Planes planes(x, 0);
  dispatch_stored("scaled_sum", x.dtype(), [&]<class S>(S) {
    for_parts<S>(pool_, planes, x, [&](std::int64_t first, simd::NormPlanes<S> part) {
      const std::int64_t at = first * planes.size;
      part.scale = w.data<Compute<S>>() + first;
      if (u.defined()) part.residual = u.data<S>() + at;
      simd::kernels().of<S>().plane_normalise(part, y.data<S>() + at);
    });
  });
}

void CpuBackend::scaled_sum_backward(const Tensor& x, const Tensor& dy, const Tensor& dw) const {
  const Planes planes(x, 0);
  dispatch_stored("scaled_sum_backward", x.dtype(), [&]<class S>(S) {
    const GradientSums sums(planes, x.device());
    for_parts<S>(pool_, planes, x, [&](std::int64_t first, const simd::NormPlanes<S>& part) {
      // (Without a ReLU the scale is not read.)
      simd::kernels().of<S>().plane_gradient_sums(part, dy.data<S>() + first * planes.size, nullptr,
                                                  sums.sums + first, sums.products + first);
    });
    for (std::int64_t p = 0; p < planes.count(); ++p)
      dw.data<Compute<S>>()[p] = static_cast<Compute<S>>(sums.products[p]);
  });
}

}  // namespace fovea::cpu
