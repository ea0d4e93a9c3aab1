// Max and average pooling, plane by plane.
#include <cmath>
#include <limits>

#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/simd/simd.h"
#include "backend/spatial.h"

namespace fovea::cpu {
namespace {

// Inputs [begin, end) of one output along one axis, and the size of the window with those of its
// places that lie in the padding.
struct Window {
  std::int64_t begin, end, places;
  std::int64_t size() const { return end - begin; }
};

struct PoolGeometry {
  Axes in{}, out{}, kernel{}, stride{}, padding{};
  bool adaptive = false;
  std::int64_t planes = 0;

  PoolGeometry(const PoolArgs& args, const Shape& x, const Shape& y)
      : in(spatial_axes(x)), out(spatial_axes(y)), adaptive(args.adaptive), planes(x[0] * x[1]) {
    if (adaptive) return;
    kernel = three_axes(args.kernel, 1);
    stride = three_axes(args.stride, 1);
    padding = three_axes(args.padding, 0);
  }

  Window window(std::size_t axis, std::int64_t o) const {
    if (adaptive) {
      const std::int64_t begin = o * in[axis] / out[axis];
      const std::int64_t end = ((o + 1) * in[axis] + out[axis] - 1) / out[axis];
      return {begin, end, end - begin};
    }
    const std::int64_t first = o * stride[axis] - padding[axis];
    return {std::max<std::int64_t>(0, first), std::min(in[axis], first + kernel[axis]),
            kernel[axis]};
  }
};

// Calls visit(output position, d, h, w) with the windows of every output of a plane.
template <class Visit>
void for_windows(const PoolGeometry& g, const Visit& visit) {
  std::int64_t position = 0;
  for (std::int64_t d = 0; d < g.out[0]; ++d) {
    const Window wd = g.window(0, d);
    for (std::int64_t h = 0; h < g.out[1]; ++h) {
      const Window wh = g.window(1, h);
      for (std::int64_t w = 0; w < g.out[2]; ++w) visit(position++, wd, wh, g.window(2, w));
    }
  }
}

// Calls row(first index, elements) for the rows of a window inside its plane, for all of them at
// once where they are whole.
template <class Row>
void for_rows(const PoolGeometry& g, const Window& d, const Window& h, const Window& w,
              const Row& row) {
  if (w.size() == g.in[2] && d.size() == 1) {
    row((d.begin * g.in[1] + h.begin) * g.in[2], h.size() * w.size());
    return;
  }
  for (std::int64_t i = d.begin; i < d.end; ++i) {
    for (std::int64_t j = h.begin; j < h.end; ++j) {
      row((i * g.in[1] + j) * g.in[2] + w.begin, w.size());
    }
  }
}

// The first maximum wins; a NaN wins over everything, so that it is not lost.
template <class S>
void max_plane(const PoolGeometry& g, const S* x, S* y, std::int64_t* argmax) {
  using C = Compute<S>;
  for_windows(g, [&](std::int64_t o, const Window& d, const Window& h, const Window& w) {
    C best = -std::numeric_limits<C>::infinity();
    std::int64_t at = (d.begin * g.in[1] + h.begin) * g.in[2] + w.begin;
    for_rows(g, d, h, w, [&](std::int64_t first, std::int64_t n) {
      for (std::int64_t i = first; i < first + n; ++i) {
        const auto value = static_cast<C>(x[i]);
        if (value > best || std::isnan(value)) {
          best = value;
          at = i;
        }
      }
    });
    y[o] = static_cast<S>(best);
    if (argmax != nullptr) argmax[o] = at;
  });
}

double divisor(bool count_include_pad, const Window& d, const Window& h, const Window& w) {
  return static_cast<double>(count_include_pad ? d.places * h.places * w.places
                                               : d.size() * h.size() * w.size());
}

// Sums in vectors, then in float64; short rows, as of small windows, in float64 from the start.
template <class S>
double row_sum(const S* x, std::int64_t n) {
  constexpr std::int64_t kStretch = 1 << 12;
  double sum = 0;
  if (n < simd::kSlack) {
    for (std::int64_t i = 0; i < n; ++i) sum += static_cast<double>(x[i]);
    return sum;
  }
  for (std::int64_t i = 0; i < n; i += kStretch) {
    sum += static_cast<double>(simd::kernels().of<S>().sum(x + i, std::min(kStretch, n - i)));
  }
  return sum;
}

template <class S>
void average_plane(const PoolGeometry& g, bool count_include_pad, const S* x, S* y) {
  for_windows(g, [&](std::int64_t o, const Window& d, const Window& h, const Window& w) {
    double sum = 0;
    for_rows(g, d, h, w, [&](std::int64_t first, std::int64_t n) { sum += row_sum(x + first, n); });
    y[o] = static_cast<S>(static_cast<Compute<S>>(sum / divisor(count_include_pad, d, h, w)));
  });
}

// Gradients of one plane; overlapping windows add up in the compute type.
template <class S>
void max_plane_backward(const PoolGeometry& g, const S* dy, const std::int64_t* argmax,
                        Compute<S>* dx) {
  const std::int64_t out = product(g.out);
  for (std::int64_t o = 0; o < out; ++o) dx[argmax[o]] += static_cast<Compute<S>>(dy[o]);
}

template <class S>
void average_plane_backward(const PoolGeometry& g, bool count_include_pad, const S* dy,
                            Compute<S>* dx) {
  for_windows(g, [&](std::int64_t o, const Window& d, const Window& h, const Window& w) {
    const auto share =
        static_cast<Compute<S>>(static_cast<double>(dy[o]) / divisor(count_include_pad, d, h, w));
    for_rows(g, d, h, w, [&](std::int64_t first, std::int64_t n) {
      for (std::int64_t i = first; i < first + n; ++i) dx[i] += share;
    });
  });
}

}  // namespace

void CpuBackend::pool(const PoolArgs& args, const Tensor& x, const Tensor& y,
                      const Tensor& argmax) const {
  const PoolGeometry g(args, x.shape(), y.shape());
  const std::int64_t in = product(g.in);
  const std::int64_t out = product(g.out);
  dispatch_stored("pool", x.dtype(), [&]<class S>(S) {
    parallel(g.planes, plane_grain(in), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t p = begin; p < end; ++p) {
        const S* from = x.data<S>() + p * in;
        S* to = y.data<S>() + p * out;
        if (args.kind == PoolKind::kMax) {
          max_plane(g, from, to,
                    argmax.defined() ? argmax.data<std::int64_t>() + p * out : nullptr);
        } else {
          average_plane(g, args.count_include_pad, from, to);
        }
      }
    });
  });
}

// Windows may overlap, but only inside their own plane.
void CpuBackend::pool_backward(const PoolArgs& args, const Tensor& dy, const Tensor& argmax,
                               const Tensor& dx) const {
  const PoolGeometry g(args, dx.shape(), dy.shape());
  const std::int64_t in = product(g.in);
  const std::int64_t out = product(g.out);
  dispatch_stored("pool_backward", dx.dtype(), [&]<class S>(S) {
    using C = Compute<S>;
    parallel(g.planes, plane_grain(in), [&](std::int64_t begin, std::int64_t end) {
      constexpr bool kDirect = std::is_same_v<S, C>;
      const Tensor memory = kDirect ? Tensor() : Tensor::empty({in}, kDTypeOf<C>, dx.device());
      for (std::int64_t p = begin; p < end; ++p) {
        const S* from = dy.data<S>() + p * out;
        S* to = dx.data<S>() + p * in;
        C* sums = nullptr;
        if constexpr (kDirect) {
          sums = to;
        } else {
          sums = memory.data<C>();
        }
        std::fill_n(sums, in, C{0});
        if (args.kind == PoolKind::kMax) {
          max_plane_backward<S>(g, from, argmax.data<std::int64_t>() + p * out, sums);
        } else {
          average_plane_backward<S>(g, args.count_include_pad, from, sums);
        }
        if constexpr (!kDirect) simd::kernels().of<S>().narrow(sums, to, in);
      }
    });
  });
}

}  // namespace fovea::cpu
