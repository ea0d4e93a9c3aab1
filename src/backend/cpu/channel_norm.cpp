// Batch norm and group norm: statistics over channel planes. A set is what shares a mean: one
// channel of all items (groups = 0) or one group of one item. Sums are taken plane by plane in
// parallel and merged in order.
#include <algorithm>
#include <cmath>

#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/simd/simd.h"
#include "backend/cpu/spatial.h"

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
  std::int64_t set_of(std::int64_t plane) const {
    return groups == 0 ? plane % channels : plane / (channels / groups);
  }
  /// The i-th plane of a set.
  std::int64_t plane_of(std::int64_t set, std::int64_t i) const {
    return groups == 0 ? i * channels + set : set * planes_per_set() + i;
  }
};

template <class T>
T* optional(const Tensor& tensor) {
  return tensor.defined() ? tensor.data<T>() : nullptr;
}

// Sums of dy and of dy (x - centre) over one plane. The eight partial sums let the compiler use
// vectors; their order is fixed.
template <class T>
void gradient_sums(const T* x, const T* dy, T centre, std::int64_t n, double& sum,
                   double& product) {
  constexpr std::int64_t kLanes = 8;
  T sums[kLanes] = {};
  T products[kLanes] = {};
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (std::int64_t j = 0; j < kLanes; ++j) {
      sums[j] += dy[i + j];
      products[j] += dy[i + j] * (x[i + j] - centre);
    }
  }
  for (; i < n; ++i) {
    sums[0] += dy[i];
    products[0] += dy[i] * (x[i] - centre);
  }
  sum = 0;
  product = 0;
  for (std::int64_t j = 0; j < kLanes; ++j) {
    sum += static_cast<double>(sums[j]);
    product += static_cast<double>(products[j]);
  }
}

template <class T>
void write_parameter_gradients(const Planes& planes, const double* sums, const double* products,
                               const T* rstd, T* dweight, T* dbias) {
  for (std::int64_t c = 0; c < planes.channels; ++c) {
    double weight = 0;
    double bias = 0;
    for (std::int64_t item = 0; item < planes.batch; ++item) {
      const std::int64_t plane = item * planes.channels + c;
      weight += products[plane] * static_cast<double>(rstd[planes.set_of(plane)]);
      bias += sums[plane];
    }
    if (dweight != nullptr) dweight[c] = static_cast<T>(weight);
    if (dbias != nullptr) dbias[c] = static_cast<T>(bias);
  }
}

// With h = (x - mean) rstd and g = w dy: dx = rstd (g - mean(g) - h mean(g h)) over the set.
// Writes mean(g) and rstd mean(g h) of every set.
template <class T>
void set_means(const Planes& planes, const double* sums, const double* products, const T* rstd,
               const T* weight, double* mean_g, double* mean_gh) {
  const double n = static_cast<double>(planes.planes_per_set() * planes.size);
  for (std::int64_t set = 0; set < planes.sets(); ++set) {
    double g = 0;
    double gh = 0;
    for (std::int64_t i = 0; i < planes.planes_per_set(); ++i) {
      const std::int64_t plane = planes.plane_of(set, i);
      const double w =
          weight != nullptr ? static_cast<double>(weight[plane % planes.channels]) : 1.0;
      g += w * sums[plane];
      gh += w * products[plane];
    }
    const double scale = static_cast<double>(rstd[set]);
    mean_g[set] = g / n;
    mean_gh[set] = gh * scale * scale / n;
  }
}

}  // namespace

void CpuBackend::channel_norm_stats(std::int64_t groups, double eps, const Tensor& x,
                                    const Tensor& mean, const Tensor& rstd) const {
  const Planes planes(x, groups);
  dispatch_float("channel_norm_stats", x.dtype(), [&]<class T>(T) {
    const auto& kernels = simd::kernels().of<T>();
    const Tensor parts = Tensor::empty({2, planes.count()}, DType::kFloat64, x.device());
    double* means = parts.data<double>();
    double* squares = means + planes.count();
    // Each plane has its own centre, and is still in the cache when its squares are taken.
    parallel(planes.count(), plane_grain(planes.size), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t p = begin; p < end; ++p) {
        const T* plane = x.data<T>() + p * planes.size;
        const T centre = kernels.sum(plane, planes.size) / static_cast<T>(planes.size);
        means[p] = static_cast<double>(centre);
        squares[p] = static_cast<double>(kernels.centred_squares(plane, centre, planes.size));
      }
    });
    // Planes are of equal size: the variance is the mean of theirs plus that of their means.
    const double n = static_cast<double>(planes.planes_per_set());
    for (std::int64_t set = 0; set < planes.sets(); ++set) {
      double centre = 0;
      for (std::int64_t i = 0; i < planes.planes_per_set(); ++i) {
        centre += means[planes.plane_of(set, i)] / n;
      }
      double variance = 0;
      for (std::int64_t i = 0; i < planes.planes_per_set(); ++i) {
        const std::int64_t p = planes.plane_of(set, i);
        const double apart = means[p] - centre;
        variance += (squares[p] / static_cast<double>(planes.size) + apart * apart) / n;
      }
      mean.data<T>()[set] = static_cast<T>(centre);
      rstd.data<T>()[set] = static_cast<T>(1 / std::sqrt(variance + eps));
    }
  });
}

void CpuBackend::channel_norm(std::int64_t groups, const Tensor& x, const Tensor& mean,
                              const Tensor& rstd, const Tensor& weight, const Tensor& bias,
                              const Tensor& y) const {
  const Planes planes(x, groups);
  dispatch_float("channel_norm", x.dtype(), [&]<class T>(T) {
    const T* w = optional<T>(weight);
    const T* b = optional<T>(bias);
    parallel(planes.count(), plane_grain(planes.size), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t p = begin; p < end; ++p) {
        const std::int64_t c = p % planes.channels;
        const std::int64_t set = planes.set_of(p);
        const T centre = mean.data<T>()[set];
        const T scale = rstd.data<T>()[set] * (w != nullptr ? w[c] : T{1});
        const T shift = b != nullptr ? b[c] : T{0};
        const T* from = x.data<T>() + p * planes.size;
        T* to = y.data<T>() + p * planes.size;
        // The mean is subtracted first: folding it into the shift loses digits far from zero.
        for (std::int64_t i = 0; i < planes.size; ++i) to[i] = (from[i] - centre) * scale + shift;
      }
    });
  });
}

void CpuBackend::channel_norm_backward(std::int64_t groups, bool fixed_stats, const Tensor& x,
                                       const Tensor& mean, const Tensor& rstd, const Tensor& weight,
                                       const Tensor& dy, const Tensor& dx, const Tensor& dweight,
                                       const Tensor& dbias) const {
  const Planes planes(x, groups);
  dispatch_float("channel_norm_backward", x.dtype(), [&]<class T>(T) {
    const T* w = optional<T>(weight);
    const T* centres = mean.data<T>();
    const T* scales = rstd.data<T>();
    const Tensor work =
        Tensor::empty({2 * (planes.count() + planes.sets())}, DType::kFloat64, x.device());
    double* sums = work.data<double>();
    double* products = sums + planes.count();
    double* mean_g = products + planes.count();
    double* mean_gh = mean_g + planes.sets();
    const std::int64_t grain = plane_grain(planes.size);
    if (!fixed_stats || dweight.defined() || dbias.defined()) {
      parallel(planes.count(), grain, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t p = begin; p < end; ++p) {
          gradient_sums(x.data<T>() + p * planes.size, dy.data<T>() + p * planes.size,
                        centres[planes.set_of(p)], planes.size, sums[p], products[p]);
        }
      });
      write_parameter_gradients<T>(planes, sums, products, scales, optional<T>(dweight),
                                   optional<T>(dbias));
    }
    if (!dx.defined()) return;
    if (!fixed_stats) set_means<T>(planes, sums, products, scales, w, mean_g, mean_gh);
    parallel(planes.count(), grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t p = begin; p < end; ++p) {
        const std::int64_t set = planes.set_of(p);
        const T scale = scales[set];
        const T by_dy = scale * (w != nullptr ? w[p % planes.channels] : T{1});
        const T* from = x.data<T>() + p * planes.size;
        const T* gradient = dy.data<T>() + p * planes.size;
        T* to = dx.data<T>() + p * planes.size;
        if (fixed_stats) {
          for (std::int64_t i = 0; i < planes.size; ++i) to[i] = by_dy * gradient[i];
          continue;
        }
        const T centre = centres[set];
        const T by_x = -scale * static_cast<T>(mean_gh[set]);
        const T constant = -scale * static_cast<T>(mean_g[set]);
        for (std::int64_t i = 0; i < planes.size; ++i) {
          to[i] = by_dy * gradient[i] + by_x * (from[i] - centre) + constant;
        }
      }
    });
  });
}

}  // namespace fovea::cpu
