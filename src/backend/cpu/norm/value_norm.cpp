// Layer attention over a running sum of maps, plane by plane: a plane, its convolution and all
// gradients stay in the first-level cache, and memory is read as seldom as the batch statistics
// allow: twice forward and twice backward. The convolution is computed again in each pass, which is
// cheaper than keeping it. kcla 2.9, Eq. 8-11.
#include <algorithm>

#include "backend/cpu/channel_planes.h"
#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/pieces.h"
#include "backend/cpu/products/compute_plane.h"

namespace fovea::cpu {
namespace {

// Planes in the compute type that one thread works in.
template <class S>
struct Buffers : RoomyPlanes<Compute<S>> {
  static constexpr std::int64_t kCount = 7;
  Buffers(std::int64_t size, const Tensor& like) : RoomyPlanes<Compute<S>>(kCount, size, like) {}
  static void reserve_all(const ThreadPool& pool, std::int64_t size, const Tensor& like) {
    RoomyPlanes<Compute<S>>::reserve_all(pool, kCount, size, like);
  }
};

// The tensors of one call as planes.
template <class S>
struct Layer {
  using C = Compute<S>;
  Planes planes;
  std::int64_t height, width;
  const S* u;
  const C *kernel, *scale, *keep;
  bool relu;

  explicit Layer(const ValueNorm& args)
      : planes(args.u, 0),
        height(args.u.size(2)),
        width(args.u.size(3)),
        u(args.u.data<S>()),
        kernel(args.kernel.data<C>()),
        scale(args.scale.data<C>()),
        keep(optional<C>(args.keep)),
        relu(args.relu) {}

  std::int64_t at(std::int64_t plane) const { return plane * planes.size; }
  C kept(std::int64_t plane) const { return keep == nullptr ? C{1} : keep[plane]; }

  const C* kernel_of(std::int64_t plane) const { return kernel + 9 * (plane % planes.channels); }

  /// v of a plane, or of its gradient, from a copy with the room around it that conv3x3 reads.
  void convolve(std::int64_t plane, const C* copy, bool reversed, C* v) const {
    C scaled[9];
    for (int tap = 0; tap < 9; ++tap) scaled[tap] = scale[plane] * kernel_of(plane)[tap];
    kernels().conv3x3(copy, height, width, scaled, reversed, v);
  }
  void value(std::int64_t plane, C* copy, C* v) const {
    simd::kernels().of<S>().widen(u + at(plane), copy, planes.size);
    convolve(plane, copy, false, v);
  }
  static const simd::Kernels<C>& kernels() { return simd::kernels().of<C>(); }
};

// y = scale x + residual.
template <class S>
void scaled_plane(std::int64_t size, const S* x, Compute<S> scale, const S* residual, S* y,
                  bool past_caches = false) {
  const Compute<S> zero{0};
  simd::NormPlanes<S> plane{
      .count = 1, .size = size, .x = x, .mean = &zero, .scale = &scale, .shift = &zero};
  plane.residual = residual;
  plane.past_caches = past_caches;
  simd::kernels().of<S>().plane_normalise(plane, y);
}

// True if planes of a result are better written past the caches, as they are computed. Two maps are
// read for it.
template <class S>
bool goes_past_caches(const Tensor& result, std::int64_t size) {
  if (!std::is_same_v<S, Compute<S>>) return false;
  const std::int64_t bytes = size * std::int64_t{sizeof(S)};
  return simd::goes_past_caches(3 * result.bytes(), result.data<S>(), bytes, bytes);
}

// The first backward pass: sums of dy times keep, behind the ReLU.
template <class S>
void gradient_sums(ThreadPool& pool, const Layer<S>& layer, const PlaneNumbers<Compute<S>>& numbers,
                   const S* dy, const Tensor& like, const GradientSums& sums) {
  using C = Compute<S>;
  const std::int64_t size = layer.planes.size;
  for_planes(pool, layer.planes, [&](std::int64_t first, std::int64_t count, std::int64_t channel) {
    const Buffers<S> buffers(size, like);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t p = first + i;
      if (i + 1 < count) {
        bring_near<Access::kRead>(layer.u + layer.at(p + 1), size);
        bring_near<Access::kRead>(dy + layer.at(p + 1), size);
      }
      layer.value(p, buffers[0], buffers[1]);
      simd::NormPlanes<C> v = numbers.planes_at(buffers[1], channel + i, 1, size);
      v.relu = layer.relu;
      layer.kernels().plane_gradient_sums(v, widened(dy + layer.at(p), size, buffers[2]), nullptr,
                                          sums.sums + p, sums.products + p);
      sums.sums[p] *= static_cast<double>(layer.kept(p));
      sums.products[p] *= static_cast<double>(layer.kept(p));
    }
  });
}

// The second backward pass over one plane.
template <class S>
class PlaneGradient {
  using C = Compute<S>;

 public:
  PlaneGradient(const Layer<S>& layer, const PlaneNumbers<C>& numbers, const C* slope,
                const Tensor& w, const Tensor& x, const Tensor& dy, bool add_x, C* kernels,
                const ValueNormGradients& to)
      : layer_(layer),
        numbers_(numbers),
        slope_(slope),
        w_(w.data<C>()),
        x_(x.data<S>()),
        dy_(dy.data<S>()),
        du_(to.u.data<S>()),
        dx_(optional<S>(to.x)),
        dw_(optional<C>(to.w)),
        dscale_(to.scale.data<C>()),
        dkernels_(kernels),
        adds_(to.adds),
        add_x_(add_x) {}

  void bring_near_all(std::int64_t p) const {
    const std::int64_t size = layer_.planes.size;
    const std::int64_t at = layer_.at(p);
    bring_near<Access::kRead>(layer_.u + at, size);
    bring_near<Access::kRead>(dy_ + at, size);
    bring_near<Access::kRead>(x_ + at, size);
    bring_near<Access::kWrite>(du_ + at, size);
  }
  void operator()(std::int64_t p, std::int64_t channel, const Buffers<S>& buffers) const {
    const std::int64_t size = layer_.planes.size;
    const std::int64_t at = layer_.at(p);
    layer_.value(p, buffers[0], buffers[1]);
    const C* dy = widened(dy_ + at, size, buffers[2]);
    before_norm(p, channel, buffers[1], dy, buffers[3]);
    kernel_gradients(p, buffers[0], buffers[3]);
    C* du = buffers[1];  // v is no longer needed
    layer_.convolve(p, buffers[3], true, du);
    if (adds_) layer_.kernels().axpy(C{1}, widened(du_ + at, size, buffers[4]), du, size);
    simd::kernels().of<S>().narrow(du, du_ + at, size);
    if (dw_ != nullptr) {
      dw_[p] = layer_.kernels().dot(widened(x_ + at, size, buffers[5]), du, size);
    }
    if (dx_ == nullptr) return;
    C* dx = room_for(dx_ + at, buffers[6]);
    scaled_plane<C>(size, du, w_[p], add_x_ ? dy : nullptr, dx);
    narrowed(dx, size, dx_ + at);
  }

 private:
  // Gradient of v. `keep` scales dy, and so everything but the slopes, whose sums include it.
  void before_norm(std::int64_t p, std::int64_t channel, const C* v, const C* dy, C* dv) const {
    simd::NormPlanes<C> plane = numbers_.planes_at(v, channel, 1, layer_.planes.size);
    const C scale = *plane.scale * layer_.kept(p);
    const C shift = *plane.shift * layer_.kept(p);
    plane.scale = &scale;
    plane.shift = &shift;
    plane.relu = layer_.relu;
    layer_.kernels().plane_gradient(plane, dy, slope_ + channel,
                                    slope_ + layer_.planes.distinct() + channel, dv);
  }

  // The gradient of the scale, and the plane's share of that of the kernel.
  void kernel_gradients(std::int64_t p, const C* u, const C* dv) const {
    double sums[9] = {};
    layer_.kernels().conv3x3_sums(u, dv, layer_.height, layer_.width, sums);
    double scale = 0;
    for (int tap = 0; tap < 9; ++tap) {
      scale += sums[tap] * static_cast<double>(layer_.kernel_of(p)[tap]);
      dkernels_[9 * p + tap] = static_cast<C>(sums[tap] * static_cast<double>(layer_.scale[p]));
    }
    dscale_[p] = static_cast<C>(scale);
  }

  const Layer<S>& layer_;
  const PlaneNumbers<C>& numbers_;
  const C *slope_, *w_;
  const S *x_, *dy_;
  S *du_, *dx_;
  C *dw_, *dscale_, *dkernels_;
  bool adds_, add_x_;
};

}  // namespace

void CpuBackend::running_value(const RunningValueArgs& sum, const ValueNorm& args) const {
  const auto& [eps, before, w, x] = sum;
  dispatch_stored("running_value", x.dtype(), [&]<class S>(S) {
    using C = Compute<S>;
    const Layer<S> layer(args);
    const std::int64_t size = layer.planes.size;
    const PlaneMoments moments(layer.planes, x.device());
    const S* from = x.data<S>();
    const S* base = optional<S>(before);
    const C* weight = w.data<C>();
    S* to = args.u.data<S>();
    const bool past_caches = goes_past_caches<S>(args.u, size);
    const auto add_plane = [&](std::int64_t p, S* result, bool past) {
      const std::int64_t at = layer.at(p);
      scaled_plane<S>(size, from + at, weight[p], base == nullptr ? nullptr : base + at, result,
                      past);
    };
    Buffers<S>::reserve_all(pool_, size, x);
    for_planes(pool_, layer.planes, [&](std::int64_t first, std::int64_t count, std::int64_t) {
      const Buffers<S> buffers(size, x);
      for (std::int64_t p = first; p < first + count; ++p) {
        const std::int64_t at = layer.at(p);
        if (args.fixed_stats) {
          add_plane(p, to + at, past_caches);
          continue;
        }
        if (p + 1 < first + count) {
          const std::int64_t next = layer.at(p + 1);
          bring_near<Access::kRead>(from + next, size);
          if (base != nullptr) bring_near<Access::kRead>(base + next, size);
          if (!past_caches) bring_near<Access::kWrite>(to + next, size);
        }
        if (past_caches) {  // after the convolution's copy is made
          if constexpr (std::is_same_v<S, C>) {
            add_plane(p, buffers[0], false);
            simd::kernels().of<S>().stream_rows(buffers[0], to + at, size, 1, size);
          }
        } else {
          add_plane(p, to + at, false);
          simd::kernels().of<S>().widen(to + at, buffers[0], size);
        }
        layer.convolve(p, buffers[0], false, buffers[1]);
        layer.kernels().plane_moments(buffers[1], 1, size, moments.means + p, moments.squares + p);
      }
    });
    if (!args.fixed_stats) {
      write_statistics<C>(layer.planes, moments, eps, args.norm.mean, args.norm.rstd);
    }
  });
}

void CpuBackend::value_norm(const ValueNorm& args, const Tensor& x, const Tensor& y) const {
  dispatch_stored("value_norm", y.dtype(), [&]<class S>(S) {
    using C = Compute<S>;
    const Layer<S> layer(args);
    const std::int64_t size = layer.planes.size;
    const PlaneNumbers<C> numbers(layer.planes, args.norm);
    const S* base = args.add_x ? x.data<S>() : nullptr;
    S* result = y.data<S>();
    const bool past_caches = goes_past_caches<S>(y, size);
    Buffers<S>::reserve_all(pool_, size, y);
    const auto plane = [&](std::int64_t p, std::int64_t channel, const Buffers<S>& buffers) {
      layer.value(p, buffers[0], buffers[1]);
      simd::NormPlanes<C> v = numbers.planes_at(buffers[1], channel, 1, size);
      v.relu = layer.relu;
      layer.kernels().plane_normalise(v, buffers[2]);
      S* to = result + layer.at(p);
      C* sum = room_for(to, buffers[4]);
      scaled_plane<C>(size, buffers[2], layer.kept(p),
                      base == nullptr ? nullptr : widened(base + layer.at(p), size, buffers[3]),
                      sum, past_caches);
      narrowed(sum, size, to);
    };
    for_planes(pool_, layer.planes,
               [&](std::int64_t first, std::int64_t count, std::int64_t channel) {
                 const Buffers<S> buffers(size, y);
                 for (std::int64_t i = 0; i < count; ++i) {
                   if (i + 1 < count) {
                     const std::int64_t next = layer.at(first + i + 1);
                     bring_near<Access::kRead>(layer.u + next, size);
                     if (base != nullptr) bring_near<Access::kRead>(base + next, size);
                     if (!past_caches) bring_near<Access::kWrite>(result + next, size);
                   }
                   plane(first + i, channel + i, buffers);
                 }
               });
  });
}

void CpuBackend::value_norm_backward(const ValueNormBackwardArgs& call) const {
  const auto& [args, w, x, dy, to] = call;
  dispatch_stored("value_norm_backward", dy.dtype(), [&]<class S>(S) {
    using C = Compute<S>;
    const Layer<S> layer(args);
    const Planes& planes = layer.planes;
    const PlaneNumbers<C> numbers(planes, args.norm);
    const GradientSums sums(planes, dy.device());
    Buffers<S>::reserve_all(pool_, planes.size, dy);
    const Tensor slope = Tensor::empty({2, planes.distinct()}, kDTypeOf<C>, dy.device());
    const C* rstd = args.norm.rstd.data<C>();
    if (!args.fixed_stats || to.weight.defined() || to.bias.defined()) {
      gradient_sums<S>(pool_, layer, numbers, dy.data<S>(), dy, sums);
      write_parameter_gradients<C>(planes, sums, rstd, optional<C>(to.weight),
                                   optional<C>(to.bias));
    }
    if (args.fixed_stats) {
      fill(slope, 0);
    } else {
      write_slopes<C>(planes, sums, rstd, optional<C>(args.norm.weight), slope);
    }
    const Tensor kernels = scratch<C>(9 * planes.count(), dy);
    const PlaneGradient<S> gradient(layer, numbers, slope.data<C>(), w, x, dy, args.add_x,
                                    kernels.data<C>(), to);
    for_planes(pool_, planes, [&](std::int64_t first, std::int64_t count, std::int64_t channel) {
      const Buffers<S> buffers(planes.size, dy);
      for (std::int64_t i = 0; i < count; ++i) {
        if (i + 1 < count) gradient.bring_near_all(first + i + 1);
        gradient(first + i, channel + i, buffers);
      }
    });
    sum_parts(pool_, kernels.data<C>(), planes.batch, 9 * planes.channels, to.kernel.data<C>());
  });
}

}  // namespace fovea::cpu
