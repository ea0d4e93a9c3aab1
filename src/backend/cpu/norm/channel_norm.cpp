// Batch norm and group norm: statistics over channel planes. The planes of a set share a mean: one
// channel of all items (groups = 0) or one group of one item. Sums are taken plane by plane in
// parallel and merged in order. Forward reads x twice, backward x and dy twice.
#include <algorithm>
#include <cmath>

#include "backend/cpu/channel_planes.h"
#include "backend/cpu/cpu_backend.h"

namespace fovea::cpu {
namespace {

// The tensors of a norm by plane; all but x may be null.
template <class S>
struct Operands {
  using C = Compute<S>;
  const Planes& planes;
  const PlaneNumbers<C>& numbers;
  const S *x, *residual, *y;
  bool relu;

  Operands(const Planes& of, const PlaneNumbers<C>& of_planes, const NormedMap& map,
           const Tensor& result)
      : planes(of),
        numbers(of_planes),
        x(map.x.data<S>()),
        residual(optional<S>(map.residual)),
        y(optional<S>(result)),
        relu(map.relu) {}

  simd::NormPlanes<S> at(std::int64_t plane, std::int64_t count, std::int64_t first) const {
    const std::int64_t offset = plane * planes.size;
    simd::NormPlanes<S> part = numbers.planes_at(x + offset, first, count, planes.size);
    part.residual = residual == nullptr ? nullptr : residual + offset;
    part.y = y == nullptr ? nullptr : y + offset;
    part.relu = relu;
    return part;
  }
};

// The two passes over x and dy. The first writes dy behind the ReLU to dz where that is not null.
template <class S>
void gradient_sums(ThreadPool& pool, const Operands<S>& of, const S* dy, S* dz,
                   const GradientSums& to) {
  for_planes(pool, of.planes, [&](std::int64_t plane, std::int64_t count, std::int64_t first) {
    const std::int64_t at = plane * of.planes.size;
    simd::kernels().of<S>().plane_gradient_sums(of.at(plane, count, first), dy + at,
                                                dz == nullptr ? nullptr : dz + at, to.sums + plane,
                                                to.products + plane);
  });
}

template <class S>
void gradient(ThreadPool& pool, const Operands<S>& of, const S* dy, const Tensor& slope, S* dx) {
  const Compute<S>* by_x = slope.data<Compute<S>>();
  const Compute<S>* constant = by_x + of.planes.distinct();
  for_planes(pool, of.planes, [&](std::int64_t plane, std::int64_t count, std::int64_t first) {
    const std::int64_t at = plane * of.planes.size;
    simd::kernels().of<S>().plane_gradient(of.at(plane, count, first), dy + at, by_x + first,
                                           constant + first, dx + at);
  });
}

}  // namespace

void CpuBackend::channel_norm_stats(const ChannelStatsArgs& args) const {
  const auto& [groups, eps, x, mean, rstd] = args;
  const Planes planes(x, groups);
  dispatch_stored("channel_norm_stats", x.dtype(), [&]<class S>(S) {
    const PlaneMoments moments(planes, x.device());
    for_planes(pool_, planes, [&](std::int64_t plane, std::int64_t count, std::int64_t) {
      simd::kernels().of<S>().plane_moments(x.data<S>() + plane * planes.size, count, planes.size,
                                            moments.means + plane, moments.squares + plane);
    });
    write_statistics<Compute<S>>(planes, moments, eps, mean, rstd);
  });
}

void CpuBackend::channel_norm(const NormedMap& map, const Tensor& y) const {
  const Planes planes(map.x, map.groups);
  dispatch_stored("channel_norm", map.x.dtype(), [&]<class S>(S) {
    const PlaneNumbers<Compute<S>> numbers(planes, map.norm);
    const Operands<S> of(planes, numbers, map, Tensor());
    const std::int64_t bytes = planes.size * std::int64_t{sizeof(S)};
    const bool past_caches =
        simd::goes_past_caches(map.x.bytes() + y.bytes(), y.data<S>(), bytes, bytes);
    for_planes(pool_, planes, [&](std::int64_t plane, std::int64_t count, std::int64_t first) {
      simd::NormPlanes<S> part = of.at(plane, count, first);
      part.past_caches = past_caches;
      simd::kernels().of<S>().plane_normalise(part, y.data<S>() + plane * planes.size);
    });
  });
}

void CpuBackend::channel_norm_backward(const ChannelNormBackwardArgs& args) const {
  const auto& [map, y, dy, to] = args;
  const Planes planes(map.x, map.groups);
  const Device& device = dy.device();
  dispatch_stored("channel_norm_backward", dy.dtype(), [&]<class S>(S) {
    using C = Compute<S>;
    const C* rstd = map.norm.rstd.data<C>();
    const PlaneNumbers<C> numbers(planes, map.norm);
    Operands<S> of(planes, numbers, map, y);
    const S* dz = dy.data<S>();
    const GradientSums sums(planes, device);
    const bool parameters = to.weight.defined() || to.bias.defined();
    if (!map.fixed_stats || parameters || to.residual.defined()) {
      gradient_sums<S>(pool_, of, dz, optional<S>(to.residual), sums);
      write_parameter_gradients<C>(planes, sums, rstd, optional<C>(to.weight),
                                   optional<C>(to.bias));
    }
    if (!to.x.defined()) return;
    if (to.residual.defined()) {  // dy behind the ReLU
      dz = to.residual.data<S>();
      of.relu = false;
    }
    Tensor slope = Tensor::empty({2, planes.distinct()}, kDTypeOf<C>, device);
    if (map.fixed_stats) {
      fill(slope, 0);
    } else {
      write_slopes<C>(planes, sums, rstd, optional<C>(map.norm.weight), slope);
    }
    gradient<S>(pool_, of, dz, slope, to.x.data<S>());
  });
}

}  // namespace fovea::cpu
