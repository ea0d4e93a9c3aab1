// Batch norm and group norm: statistics over channel planes. A set is what shares a mean: one
// channel of all items (groups = 0) or one group of one item. Sums are taken plane by plane in
// parallel and merged in order. Forward reads x twice, backward x and dy twice.
#include <algorithm>
#include <cmath>

#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/simd/simd.h"

namespace fovea::cpu {
namespace {

struct Planes {
  std::int64_t batch, channels, size, groups;

  Planes(const Tensor& x, std::int64_t norm_groups)
      : batch(x.shape()[0]), channels(x.shape()[1]), size(1), groups(norm_groups) {
    for (int axis = 2; axis < x.rank(); ++axis) size *= x.shape()[axis];
  }
  std::int64_t count() const { return batch * channels; }
  std::int64_t sets() const { return groups == 0 ? channels : batch * groups; }
  std::int64_t planes_per_set() const { return groups == 0 ? batch : channels / groups; }
  double elements_per_set() const { return static_cast<double>(planes_per_set() * size); }
  std::int64_t set_of(std::int64_t plane) const {
    return groups == 0 ? plane % channels : plane / (channels / groups);
  }
  /// Planes that have numbers of their own: one of each channel, or all.
  std::int64_t distinct() const { return groups == 0 ? channels : count(); }
};

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

// What every plane is moved and scaled by: (x - mean) scale + shift.
template <class C>
class Numbers {
 public:
  Numbers(const Planes& planes, const C* mean, const C* rstd, const C* weight, const C* bias,
          const Device& device)
      : count_(planes.distinct()),
        memory_(Tensor::empty({3 * count_}, kDTypeOf<C>, device)),
        values_(memory_.template data<C>()) {
    for (std::int64_t i = 0; i < count_; ++i) {
      const std::int64_t set = planes.set_of(i);
      const std::int64_t c = i % planes.channels;
      // The mean is subtracted first: folding it into the shift loses digits far from zero.
      values_[i] = mean[set];
      values_[count_ + i] = rstd[set] * (weight != nullptr ? weight[c] : C{1});
      values_[2 * count_ + i] = bias != nullptr ? bias[c] : C{0};
    }
  }
  template <class S>
  simd::NormPlanes<S> of(const S* x, std::int64_t first, std::int64_t count, std::int64_t size,
                         bool relu) const {
    return {count,
            size,
            relu,
            x,
            values_ + first,
            values_ + count_ + first,
            values_ + 2 * count_ + first};
  }

 private:
  std::int64_t count_;
  Tensor memory_;
  C* values_;
};

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
Tensor slopes(const Planes& planes, const Sums& of, const C* rstd, const C* weight,
              const Device& device) {
  const Tensor memory = Tensor::empty({2, planes.sets()}, DType::kFloat64, device);
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
  Tensor result = Tensor::empty({2, count}, kDTypeOf<C>, device);
  C* by_x = result.data<C>();
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t set = planes.set_of(i);
    const double scale = static_cast<double>(rstd[set]) / planes.elements_per_set();
    const double square = static_cast<double>(rstd[set]) * static_cast<double>(rstd[set]);
    by_x[i] = static_cast<C>(-scale * square * mean_gh[set]);
    by_x[count + i] = static_cast<C>(-scale * mean_g[set]);
  }
  return result;
}

// The two passes over x and dy.
template <class S>
struct Backward {
  using C = Compute<S>;
  ThreadPool& pool;
  const Planes& planes;
  const Numbers<C>& numbers;
  const S *x, *y, *dy;  // y may be null
  bool relu;

  // Writes dy behind the ReLU to dz where that is not null.
  void sum(S* dz, const Sums& to) const {
    for_planes(pool, planes, [&](std::int64_t plane, std::int64_t count, std::int64_t first) {
      const std::int64_t at = plane * planes.size;
      simd::kernels().of<S>().plane_gradient_sums(
          numbers.of(x + at, first, count, planes.size, relu), y == nullptr ? nullptr : y + at,
          dy + at, dz == nullptr ? nullptr : dz + at, to.sums + plane, to.products + plane);
    });
  }

  void write(const Tensor& slope, S* dx) const {
    const C* by_x = slope.data<C>();
    const C* constant = by_x + planes.distinct();
    for_planes(pool, planes, [&](std::int64_t plane, std::int64_t count, std::int64_t first) {
      const std::int64_t at = plane * planes.size;
      simd::kernels().of<S>().plane_gradient(numbers.of(x + at, first, count, planes.size, relu),
                                             y == nullptr ? nullptr : y + at, dy + at, by_x + first,
                                             constant + first, dx + at);
    });
  }
};

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

void CpuBackend::channel_norm(const ChannelNormArgs& args, const Tensor& x, const Tensor& mean,
                              const Tensor& rstd, const Tensor& weight, const Tensor& bias,
                              const Tensor& residual, const Tensor& y) const {
  const Planes planes(x, args.groups);
  dispatch_stored("channel_norm", x.dtype(), [&]<class S>(S) {
    using C = Compute<S>;
    const Numbers<C> numbers(planes, mean.data<C>(), rstd.data<C>(), optional<C>(weight),
                             optional<C>(bias), x.device());
    const S* added = optional<S>(residual);
    for_planes(pool_, planes, [&](std::int64_t plane, std::int64_t count, std::int64_t first) {
      const std::int64_t at = plane * planes.size;
      simd::kernels().of<S>().plane_normalise(
          numbers.of(x.data<S>() + at, first, count, planes.size, args.relu),
          added != nullptr ? added + at : nullptr, y.data<S>() + at);
    });
  });
}

void CpuBackend::channel_norm_backward(const ChannelNormArgs& args, const ChannelNormValues& saved,
                                       const Tensor& dy, const ChannelNormGradients& to) const {
  const Planes planes(saved.x, args.groups);
  const Device& device = dy.device();
  dispatch_stored("channel_norm_backward", dy.dtype(), [&]<class S>(S) {
    using C = Compute<S>;
    const C* rstd = saved.rstd.data<C>();
    const C* weight = optional<C>(saved.weight);
    const Numbers<C> numbers(planes, saved.mean.data<C>(), rstd, weight, optional<C>(saved.bias),
                             device);
    Backward<S> passes{pool_,        planes,   numbers, saved.x.data<S>(), optional<S>(saved.y),
                       dy.data<S>(), args.relu};
    const Sums sums(planes, device);
    S* dresidual = optional<S>(to.residual);
    const bool parameters = to.weight.defined() || to.bias.defined();
    if (!args.fixed_stats || parameters || dresidual != nullptr) {
      passes.sum(dresidual, sums);
      write_parameter_gradients<C>(planes, sums, rstd, optional<C>(to.weight),
                                   optional<C>(to.bias));
    }
    if (!to.x.defined()) return;
    if (dresidual != nullptr) {  // the ReLU is behind it
      passes.dy = dresidual;
      passes.y = nullptr;
      passes.relu = false;
    }
    if (args.fixed_stats) {
      const Tensor none = Tensor::empty({2, planes.distinct()}, kDTypeOf<C>, device);
      fill(none, 0);
      passes.write(none, to.x.data<S>());
    } else {
      passes.write(slopes<C>(planes, sums, rstd, weight, device), to.x.data<S>());
    }
  });
}

}  // namespace fovea::cpu
