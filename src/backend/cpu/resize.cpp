// Nearest and (bi-, tri-)linear resizing, plane by plane. Linear interpolation is separable: the
// source rows are stretched first, and an output row is a blend of two or four of them; backward
// goes the other way round. So all loops run over whole rows, in vectors.
// Planes of bfloat16 are widened first and the result is rounded once.
#include <cmath>
#include <vector>

#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/products/compute_plane.h"
#include "backend/cpu/simd/simd.h"
#include "backend/spatial.h"

namespace fovea::cpu {
namespace {

// What an output index reads along one axis: low with weight 1 - fraction, high with fraction.
struct Source {
  std::int64_t low = 0, high = 0;
  double fraction = 0;
};

Source linear_source(std::int64_t o, std::int64_t in, std::int64_t out, bool align_corners) {
  double place = 0;
  if (align_corners) {
    place = out > 1 ? static_cast<double>(o * (in - 1)) / static_cast<double>(out - 1) : 0.0;
  } else {
    place = (static_cast<double>(o) + 0.5) * static_cast<double>(in) / static_cast<double>(out);
    place = std::max(0.0, place - 0.5);
  }
  Source source;
  source.low = std::min(static_cast<std::int64_t>(place), in - 1);
  source.high = std::min(source.low + 1, in - 1);
  source.fraction = place - static_cast<double>(source.low);
  return source;
}

class Resampling {
 public:
  Resampling(const ResizeArgs& args, const Shape& x, const Shape& y)
      : in(spatial_axes(x)), out(spatial_axes(y)), planes(x[0] * x[1]) {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      for (std::int64_t o = 0; o < out[axis]; ++o) {
        if (args.mode == ResizeMode::kLinear) {
          sources_[axis].push_back(linear_source(o, in[axis], out[axis], args.align_corners));
        } else {
          const std::int64_t i = o * in[axis] / out[axis];
          sources_[axis].push_back({i, i, 0.0});
        }
      }
    }
  }
  const Source& source(std::size_t axis, std::int64_t o) const {
    return sources_[axis][static_cast<std::size_t>(o)];
  }

  std::int64_t source_rows() const { return in[0] * in[1]; }

  Axes in, out;
  std::int64_t planes;

 private:
  std::array<std::vector<Source>, 3> sources_;
};

// Calls visit(output row, source row, weight) for the source rows with weight of every output row.
template <class Visit>
void for_row_pairs(const Resampling& r, const Visit& visit) {
  for (std::int64_t d = 0; d < r.out[0]; ++d) {
    const Source& sd = r.source(0, d);
    for (std::int64_t h = 0; h < r.out[1]; ++h) {
      const Source& sh = r.source(1, h);
      for (const auto& [plane, by_plane] :
           {std::pair{sd.low, 1 - sd.fraction}, std::pair{sd.high, sd.fraction}}) {
        for (const auto& [i, by_row] :
             {std::pair{sh.low, 1 - sh.fraction}, std::pair{sh.high, sh.fraction}}) {
          const double weight = by_plane * by_row;
          if (weight != 0) visit(d * r.out[1] + h, plane * r.in[1] + i, weight);
        }
      }
    }
  }
}

template <class T>
void nearest_plane(const Resampling& r, const T* x, T* y) {
  for (std::int64_t d = 0; d < r.out[0]; ++d) {
    for (std::int64_t h = 0; h < r.out[1]; ++h) {
      const T* from = x + (r.source(0, d).low * r.in[1] + r.source(1, h).low) * r.in[2];
      for (std::int64_t w = 0; w < r.out[2]; ++w) *y++ = from[r.source(2, w).low];
    }
  }
}

// stretched: source rows as wide as output rows.
template <class T>
void linear_plane(const Resampling& r, const T* x, T* stretched, T* y) {
  const std::int64_t width = r.out[2];
  for (std::int64_t row = 0; row < r.source_rows(); ++row) {
    const T* from = x + row * r.in[2];
    for (std::int64_t w = 0; w < width; ++w) {
      const Source& s = r.source(2, w);
      stretched[row * width + w] =
          from[s.low] * static_cast<T>(1 - s.fraction) + from[s.high] * static_cast<T>(s.fraction);
    }
  }
  const auto& loops = simd::kernels().of<T>();
  std::int64_t begun = -1;
  for_row_pairs(r, [&](std::int64_t line, std::int64_t source, double weight) {
    const T* from = stretched + source * width;
    T* to = y + line * width;
    if (line == begun) {
      loops.axpy(static_cast<T>(weight), from, to, width);
    } else {
      loops.unary(UnaryOp::kAffine, weight, 0, from, to, width);
    }
    begun = line;
  });
}

template <class T>
void nearest_plane_backward(const Resampling& r, const T* dy, T* dx) {
  for (std::int64_t d = 0; d < r.out[0]; ++d) {
    for (std::int64_t h = 0; h < r.out[1]; ++h) {
      T* to = dx + (r.source(0, d).low * r.in[1] + r.source(1, h).low) * r.in[2];
      for (std::int64_t w = 0; w < r.out[2]; ++w) to[r.source(2, w).low] += *dy++;
    }
  }
}

// dx begins as zeros.
template <class T>
void linear_plane_backward(const Resampling& r, const T* dy, T* stretched, T* dx) {
  const std::int64_t width = r.out[2];
  std::fill_n(stretched, r.source_rows() * width, T{0});
  for_row_pairs(r, [&](std::int64_t line, std::int64_t source, double weight) {
    simd::kernels().of<T>().axpy(static_cast<T>(weight), dy + line * width,
                                 stretched + source * width, width);
  });
  for (std::int64_t row = 0; row < r.source_rows(); ++row) {
    T* to = dx + row * r.in[2];
    for (std::int64_t w = 0; w < width; ++w) {
      const Source& s = r.source(2, w);
      const T gradient = stretched[row * width + w];
      to[s.low] += gradient * static_cast<T>(1 - s.fraction);
      to[s.high] += gradient * static_cast<T>(s.fraction);
    }
  }
}

// A thread's memory: the stretched rows of a plane, and where planes are not computed in place one
// of x and one of y.
template <class S>
struct Memory {
  using C = Compute<S>;
  Tensor all;
  C *stretched, *source, *result;
  Memory(const Resampling& r, const Device& device)
      : all(Tensor::empty({r.source_rows() * r.out[2] + copy_size<S>(product(r.in)) +
                           copy_size<S>(product(r.out))},
                          kDTypeOf<C>, device)),
        stretched(all.template data<C>()),
        source(stretched + r.source_rows() * r.out[2]),
        result(source + copy_size<S>(product(r.in))) {}
};

}  // namespace

void CpuBackend::resize(const ResizeArgs& args, const Tensor& x, const Tensor& y) const {
  const Resampling r(args, x.shape(), y.shape());
  const std::int64_t in = product(r.in);
  const std::int64_t out = product(r.out);
  dispatch_stored("resize", x.dtype(), [&]<class S>(S) {
    using C = Compute<S>;
    parallel(r.planes, plane_grain(out), [&](std::int64_t begin, std::int64_t end) {
      const Memory<S> memory(r, x.device());
      for (std::int64_t p = begin; p < end; ++p) {
        const C* from = widened(x.data<S>() + p * in, in, memory.source);
        C* to = room_for(y.data<S>() + p * out, memory.result);
        if (args.mode == ResizeMode::kNearest) {
          nearest_plane(r, from, to);
        } else {
          linear_plane(r, from, memory.stretched, to);
        }
        narrowed(to, out, y.data<S>() + p * out);
      }
    });
  });
}

void CpuBackend::resize_backward(const ResizeArgs& args, const Tensor& dy, const Tensor& dx) const {
  const Resampling r(args, dx.shape(), dy.shape());
  const std::int64_t in = product(r.in);
  const std::int64_t out = product(r.out);
  dispatch_stored("resize_backward", dx.dtype(), [&]<class S>(S) {
    using C = Compute<S>;
    parallel(r.planes, plane_grain(out), [&](std::int64_t begin, std::int64_t end) {
      const Memory<S> memory(r, dx.device());
      for (std::int64_t p = begin; p < end; ++p) {
        const C* from = widened(dy.data<S>() + p * out, out, memory.result);
        C* to = room_for(dx.data<S>() + p * in, memory.source);
        std::fill_n(to, in, C{0});
        if (args.mode == ResizeMode::kNearest) {
          nearest_plane_backward(r, from, to);
        } else {
          linear_plane_backward(r, from, memory.stretched, to);
        }
        narrowed(to, in, dx.data<S>() + p * in);
      }
    });
  });
}

}  // namespace fovea::cpu
