// Batch norm and group norm: statistics over channel planes. A set is what shares a mean: one
// channel of all items (groups = 0) or one group of one item. Sums are taken plane by plane in
// parallel and merged in order. Forward reads x twice, backward x and dy twice.
#include <algorithm>
#include <cmath>

#include "backend/cpu/channel_planes.h"
#include "backend/cpu/cpu_backend.h"

namespace fovea::cpu {
namespace {

// Calls body(first plane, planes, first of their numbers) so that all planes are visited; the
// planes of one call belong to one item.
template <class Body>
void for_planes(ThreadPool& pool, const Planes& planes, const Body& body) {
  constexpr std::int64_t kPieceElements = 1 << 15;
  const std::int64_t block =
      std::clamp<std::int64_t>(kPieceElements / planes.size, 1, planes.channels);
  const std::int64_t blocks = (planes.channels + block - 1) / block;
  const std::int64_t items =
      blocks > 1 ? 1 : std::max<std::int64_t>(1, kPieceElements / (planes.channels * planes.size));
  const std::int64_t pieces = (planes.batch + items - 1) / items;
  pool.run(pieces * blocks, [&](std::int64_t piece) {
    const std::int64_t channel = piece % blocks * block;
    const std::int64_t count = std::min(block, planes.channels - channel);
    const std::int64_t first = piece / blocks * items;
    for (std::int64_t i = first; i < std::min(planes.batch, first + items); ++i) {
      const std::int64_t plane = i * planes.channels + channel;
      body(plane, count, planes.groups == 0 ? channel : plane);
    }
  });
}

template <class T>
T* optional(const Tensor& tensor) {
  return tensor.defined() ? tensor.data<T>() : nullptr;
}

// Sums of dz and of dz (x - mean) over every plane.
struct Sums {
  Tensor memory;
  double *sums, *products;
  Sums(const Planes& planes, const Device& device)
      : memory(Tensor::empty({2, planes.count()}, DType::kFloat64, device)),
        sums(memory.data<double>()),
        products(sums + planes.count()) {}
};

template <class C>
void write_parameter_gradients(const Planes& planes, const Sums& of, const C* rstd, C* dweight,
                               C* dbias) {
  for (std::int64_t c = 0; c < planes.channels; ++c) {
    double weight = 0;
    double bias = 0;
    for (std::int64_t plane = c; plane < planes.count(); plane += planes.channels) {
      weight += of.products[plane] * static_cast<double>(rstd[planes.set_of(plane)]);
      bias += of.sums[plane];
    }
    if (dweight != nullptr) dweight[c] = static_cast<C>(weight);
    if (dbias != nullptr) dbias[c] = static_cast<C>(bias);
  }
}

// With h = (x - mean) rstd and g = w dz: dx = rstd (g - mean(g) - h mean(g h)) over the set, which
// is scale dz + by_x (x - mean) + constant. by_x and constant of all distinct planes.
template <class C>
void write_slopes(const Planes& planes, const Sums& of, const C* rstd, const C* weight,
                  const Tensor& slope) {
  const Tensor memory = Tensor::empty({2, planes.sets()}, DType::kFloat64, slope.device());
  double* mean_g = memory.data<double>();
  double* mean_gh = mean_g + planes.sets();
  std::fill_n(mean_g, 2 * planes.sets(), 0.0);
  for (std::int64_t plane = 0; plane < planes.count(); ++plane) {
    const std::int64_t set = planes.set_of(plane);
    const double w = weight != nullptr ? static_cast<double>(weight[plane % planes.channels]) : 1.0;
    mean_g[set] += w * of.sums[plane];
    mean_gh[set] += w * of.products[plane];
  }
  const std::int64_t count = planes.distinct();
  C* by_x = slope.data<C>();
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t set = planes.set_of(i);
    const double scale = static_cast<double>(rstd[set]) / planes.elements_per_set();
    const double square = static_cast<double>(rstd[set]) * static_cast<double>(rstd[set]);
    by_x[i] = static_cast<C>(-scale * square * mean_gh[set]);
    by_x[count + i] = static_cast<C>(-scale * mean_g[set]);
  }
}

// The tensors of a norm by plane; all but x may be null.
template <class S>
struct Operands {
  using C = Compute<S>;
  const Planes& planes;
  const PlaneNumbers<C>& numbers;
  const S *x, *residual, *y;
  bool relu;

  simd::NormPlanes<S> at(std::int64_t plane, std::int64_t count, std::int64_t first) const {
    const std::int64_t offset = plane * planes.size;
    simd::NormPlanes<S> part = numbers.of(x + offset, first, count, planes.size);
    part.residual = residual == nullptr ? nullptr : residual + offset;
    part.y = y == nullptr ? nullptr : y + offset;
    part.relu = relu;
    return part;
  }
};

// The two passes over x and dy. The first writes dy behind the ReLU to dz where that is not null.
template <class S>
void gradient_sums(ThreadPool& pool, const Operands<S>& of, const S* dy, S* dz, const Sums& to) {
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

void CpuBackend::channel_norm_stats(std::int64_t groups, double eps, const Tensor& x,
                                    const Tensor& mean, const Tensor& rstd) const {
  const Planes planes(x, groups);
  dispatch_stored("channel_norm_stats", x.dtype(), [&]<class S>(S) {
    using C = Compute<S>;
    const std::int64_t sets = planes.sets();
    const Tensor parts = Tensor::empty({2 * (planes.count() + sets)}, DType::kFloat64, x.device());
    double* means = parts.data<double>();
    double* squares = means + planes.count();
    double* centres = squares + planes.count();
    double* variances = centres + sets;
    for_planes(pool_, planes, [&](std::int64_t plane, std::int64_t count, std::int64_t) {
      simd::kernels().of<S>().plane_moments(x.data<S>() + plane * planes.size, count, planes.size,
                                            means + plane, squares + plane);
    });
    // Planes are of equal size: the variance is the mean of theirs plus that of their means.
    std::fill_n(centres, 2 * sets, 0.0);
    for (std::int64_t p = 0; p < planes.count(); ++p) centres[planes.set_of(p)] += means[p];
    const double n = static_cast<double>(planes.planes_per_set());
    for (std::int64_t set = 0; set < sets; ++set) centres[set] /= n;
    for (std::int64_t p = 0; p < planes.count(); ++p) {
      const std::int64_t set = planes.set_of(p);
      const double apart = means[p] - centres[set];
      variances[set] += squares[p] / static_cast<double>(planes.size) + apart * apart;
    }
    for (std::int64_t set = 0; set < sets; ++set) {
      mean.data<C>()[set] = static_cast<C>(centres[set]);
      rstd.data<C>()[set] = static_cast<C>(1 / std::sqrt(variances[set] / n + eps));
    }
  });
}

void CpuBackend::channel_norm(const ChannelNormArgs& args, const Tensor& x, const ChannelNorm& norm,
                              const Tensor& residual, const Tensor& y) const {
  const Planes planes(x, args.groups);
  dispatch_stored("channel_norm", x.dtype(), [&]<class S>(S) {
    const PlaneNumbers<Compute<S>> numbers(planes, norm);
    const Operands<S> of{planes, numbers, x.data<S>(), optional<S>(residual), nullptr, args.relu};
    for_planes(pool_, planes, [&](std::int64_t plane, std::int64_t count, std::int64_t first) {
      simd::kernels().of<S>().plane_normalise(of.at(plane, count, first),
                                              y.data<S>() + plane * planes.size);
    });
  });
}

void CpuBackend::channel_norm_backward(const ChannelNormArgs& args, const Tensor& x,
                                       const ChannelNorm& norm, const Tensor& residual,
                                       const Tensor& y, const Tensor& dy,
                                       const ChannelNormGradients& to) const {
  const Planes planes(x, args.groups);
  const Device& device = dy.device();
  dispatch_stored("channel_norm_backward", dy.dtype(), [&]<class S>(S) {
    using C = Compute<S>;
    const C* rstd = norm.rstd.data<C>();
    const PlaneNumbers<C> numbers(planes, norm);
    Operands<S> of{planes, numbers, x.data<S>(), optional<S>(residual), optional<S>(y), args.relu};
    const S* dz = dy.data<S>();
    const Sums sums(planes, device);
    const bool parameters = to.weight.defined() || to.bias.defined();
    if (!args.fixed_stats || parameters || to.residual.defined()) {
      gradient_sums<S>(pool_, of, dz, optional<S>(to.residual), sums);
      write_parameter_gradients<C>(planes, sums, rstd, optional<C>(to.weight),
                                   optional<C>(to.bias));
    }
    if (!to.x.defined()) return;
    if (to.residual.defined()) {  // the ReLU is behind it
      dz = to.residual.data<S>();
      of.relu = false;
    }
    Tensor slope = Tensor::empty({2, planes.distinct()}, kDTypeOf<C>, device);
    if (args.fixed_stats) {
      fill(slope, 0);
    } else {
      write_slopes<C>(planes, sums, rstd, optional<C>(norm.weight), slope);
    }
    gradient<S>(pool_, of, dz, slope, to.x.data<S>());
  });
}

}  // namespace fovea::cpu
