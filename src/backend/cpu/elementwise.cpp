// Maps of one, two and three operands.
#include <cmath>

#include "backend/broadcast.h"
#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/simd/simd.h"

namespace fovea::cpu {
namespace {

constexpr std::int64_t kGrain = 1 << 14;

template <class T>
bool compare(BinaryOp op, T a, T b) {
  switch (op) {
    case BinaryOp::kEqual:
      return a == b;
    case BinaryOp::kNotEqual:
      return a != b;
    case BinaryOp::kLess:
      return a < b;
    case BinaryOp::kLessEqual:
      return a <= b;
    case BinaryOp::kGreater:
      return a > b;
    default:
      return a >= b;
  }
}

bool is_comparison(BinaryOp op) { return op >= BinaryOp::kEqual; }

// Calls body(row index, first element of the row, elements) in pieces; a single long row is cut.
template <class Body>
void for_rows(ThreadPool& pool, std::int64_t rows, std::int64_t row, const Body& body) {
  if (rows == 1) {
    pool.run((row + kGrain - 1) / kGrain, [&](std::int64_t piece) {
      const std::int64_t begin = piece * kGrain;
      body(std::int64_t{0}, begin, std::min(kGrain, row - begin));
    });
    return;
  }
  const std::int64_t group = std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(1, row));
  pool.run((rows + group - 1) / group, [&](std::int64_t piece) {
    const std::int64_t end = std::min(rows, (piece + 1) * group);
    for (std::int64_t i = piece * group; i < end; ++i) body(i, std::int64_t{0}, row);
  });
}

}  // namespace

void CpuBackend::unary(UnaryOp op, UnaryParams params, const Tensor& x, const Tensor& y) const {
  dispatch_stored("unary", x.dtype(), [&]<class T>(T) {
    const T* from = x.data<T>();
    if (op == UnaryOp::kIsFinite) {
      std::uint8_t* to = y.data<std::uint8_t>();
      parallel(x.numel(), kGrain, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i)
          to[i] = std::isfinite(static_cast<Compute<T>>(from[i])) ? 1 : 0;
      });
      return;
    }
    T* to = y.data<T>();
    const auto& kernels = simd::kernels().of<T>();
    parallel(x.numel(), kGrain, [&](std::int64_t begin, std::int64_t end) {
      kernels.unary(op, params.a, params.b, from + begin, to + begin, end - begin);
    });
  });
}

void CpuBackend::unary_backward(const UnaryBackwardArgs& args) const {
  const auto& [op, params, x, y, dy, dx] = args;
  dispatch_stored("unary_backward", x.dtype(), [&]<class T>(T) {
    const T* px = x.data<T>();
    const T* py = y.data<T>();
    const T* pdy = dy.data<T>();
    T* pdx = dx.data<T>();
    const auto& kernels = simd::kernels().of<T>();
    parallel(x.numel(), kGrain, [&](std::int64_t begin, std::int64_t end) {
      kernels.unary_backward(op, params.a, params.b, px + begin, py + begin, pdy + begin,
                             pdx + begin, end - begin);
    });
  });
}

void CpuBackend::binary(BinaryOp op, const Tensor& a, const Tensor& b, const Tensor& y) const {
  if (y.numel() == 0) return;
  const Broadcast<2> walk(y.shape(), {a.shape(), b.shape()});
  const std::int64_t step_a = walk.row_step(0);
  const std::int64_t step_b = walk.row_step(1);
  if (is_comparison(op)) {
    std::uint8_t* to = y.data<std::uint8_t>();
    dispatch_any("comparison", a.dtype(), [&]<class T>(T) {
      const T* pa = a.data<T>();
      const T* pb = b.data<T>();
      for_rows(pool_, walk.rows(), walk.row(),
               [&](std::int64_t r, std::int64_t first, std::int64_t n) {
                 const T* ra = pa + walk.offset(0, r) + first * step_a;
                 const T* rb = pb + walk.offset(1, r) + first * step_b;
                 std::uint8_t* row = to + r * walk.row() + first;
                 for (std::int64_t i = 0; i < n; ++i) {
                   row[i] = compare(op, static_cast<Compute<T>>(ra[i * step_a]),
                                    static_cast<Compute<T>>(rb[i * step_b]));
                 }
               });
    });
    return;
  }
  dispatch_stored("binary", y.dtype(), [&]<class T>(T) {
    const T* pa = a.data<T>();
    const T* pb = b.data<T>();
    T* to = y.data<T>();
    const auto& kernels = simd::kernels().of<T>();
    for_rows(pool_, walk.rows(), walk.row(),
             [&](std::int64_t r, std::int64_t first, std::int64_t n) {
               kernels.binary(op, pa + walk.offset(0, r) + first * step_a, step_a,
                              pb + walk.offset(1, r) + first * step_b, step_b,
                              to + r * walk.row() + first, n);
             });
  });
}

void CpuBackend::where(const Tensor& condition, const Tensor& a, const Tensor& b,
                       const Tensor& y) const {
  if (y.numel() == 0) return;
  const Broadcast<3> walk(y.shape(), {condition.shape(), a.shape(), b.shape()});
  const std::uint8_t* pc = condition.data<std::uint8_t>();
  dispatch_any("where", y.dtype(), [&]<class T>(T) {
    const T* pa = a.data<T>();
    const T* pb = b.data<T>();
    T* to = y.data<T>();
    for_rows(
        pool_, walk.rows(), walk.row(), [&](std::int64_t r, std::int64_t first, std::int64_t n) {
          const std::uint8_t* rc = pc + walk.offset(0, r) + first * walk.row_step(0);
          const T* ra = pa + walk.offset(1, r) + first * walk.row_step(1);
          const T* rb = pb + walk.offset(2, r) + first * walk.row_step(2);
          T* row = to + r * walk.row() + first;
          for (std::int64_t i = 0; i < n; ++i) {
            row[i] = rc[i * walk.row_step(0)] ? ra[i * walk.row_step(1)] : rb[i * walk.row_step(2)];
          }
        });
  });
}

void CpuBackend::axpy(double alpha, const Tensor& x, const Tensor& y) const {
  dispatch_stored("axpy", x.dtype(), [&]<class T>(T) {
    const T* from = x.data<T>();
    T* to = y.data<T>();
    const auto& kernels = simd::kernels().of<T>();
    parallel(x.numel(), kGrain, [&](std::int64_t begin, std::int64_t end) {
      kernels.axpy(static_cast<Compute<T>>(alpha), from + begin, to + begin, end - begin);
    });
  });
}

void CpuBackend::gated(const GatedArgs& args, const Tensor& x, const Tensor& other,
                       const Tensor& y) const {
  if (y.numel() == 0) return;
  const std::int64_t h = y.shape().back();
  dispatch_stored("gated", x.dtype(), [&]<class T>(T) {
    const T* from = x.data<T>();
    T* to = y.data<T>();
    const auto& kernels = simd::kernels().of<T>();
    if (other.defined()) {
      const T* by = other.data<T>();
      return parallel(y.numel(), kGrain, [&](std::int64_t begin, std::int64_t end) {
        kernels.gated(args.op, from + begin, by + begin, to + begin, end - begin);
      });
    }
    for_rows(pool_, y.numel() / h, h, [&](std::int64_t r, std::int64_t first, std::int64_t n) {
      const T* left = from + 2 * r * h + first;
      kernels.gated(args.op, args.gate_last ? left + h : left, args.gate_last ? left : left + h,
                    to + r * h + first, n);
    });
  });
}

void CpuBackend::gated_backward(const GatedArgs& args, const Tensor& x, const Tensor& other,
                                const Tensor& dy, const Tensor& dx, const Tensor& dother) const {
  if (dy.numel() == 0) return;
  const std::int64_t h = dy.shape().back();
  dispatch_stored("gated_backward", x.dtype(), [&]<class T>(T) {
    const T* from = x.data<T>();
    const T* pdy = dy.data<T>();
    T* to = dx.data<T>();
    const auto& kernels = simd::kernels().of<T>();
    if (other.defined()) {
      const T* by = other.data<T>();
      T* to_by = dother.data<T>();
      return parallel(dy.numel(), kGrain, [&](std::int64_t begin, std::int64_t end) {
        kernels.gated_backward(args.op, from + begin, by + begin, pdy + begin, to + begin,
                               to_by + begin, end - begin);
      });
    }
    for_rows(pool_, dy.numel() / h, h, [&](std::int64_t r, std::int64_t first, std::int64_t n) {
      const std::int64_t act = 2 * r * h + first + (args.gate_last ? h : 0);
      const std::int64_t rest = 2 * r * h + first + (args.gate_last ? 0 : h);
      kernels.gated_backward(args.op, from + act, from + rest, pdy + r * h + first, to + act,
                             to + rest, n);
    });
  });
}

}  // namespace fovea::cpu
