// Reductions over any axes, and whole-tensor checks.
#include <cmath>
#include <limits>

#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/simd/simd.h"

namespace fovea::cpu {
namespace {

constexpr std::int64_t kGrain = 1 << 14;
// A long reduced axis is cut here; partial results are added in order.
constexpr std::int64_t kChunk = 512;

// One run of neighbouring reduced axes: x viewed as (outer, length, inner) -> (outer, inner).
struct Run {
  std::int64_t outer, length, inner;
};

template <class T>
void fold(ReduceOp op, const simd::Kernels<T>& kernels, const T* x, T* y, std::int64_t n) {
  switch (op) {
    case ReduceOp::kMax:
      kernels.binary(BinaryOp::kMax, y, 1, x, 1, y, n);
      break;
    case ReduceOp::kMin:
      kernels.binary(BinaryOp::kMin, y, 1, x, 1, y, n);
      break;
    case ReduceOp::kSumSquares:
      for (std::int64_t i = 0; i < n; ++i) y[i] += x[i] * x[i];
      break;
    default:
      kernels.axpy(T{1}, x, y, n);
  }
}

template <class T>
T start_value(ReduceOp op) {
  if (op == ReduceOp::kMax) return -std::numeric_limits<T>::infinity();
  if (op == ReduceOp::kMin) return std::numeric_limits<T>::infinity();
  return T{0};
}

template <class T>
T reduce_contiguous(ReduceOp op, const simd::Kernels<T>& kernels, const T* x, std::int64_t n) {
  if (op == ReduceOp::kSumSquares) return kernels.dot(x, x, n);
  if (op == ReduceOp::kSum || op == ReduceOp::kMean) return kernels.sum(x, n);
  T best = start_value<T>(op);
  for (std::int64_t i = 0; i < n; ++i) fold<T>(op, kernels, x + i, &best, 1);
  return best;
}

// Rows of the reduced axis into y (inner elements), [begin, end) of the axis.
template <class T>
void reduce_columns(ReduceOp op, const simd::Kernels<T>& kernels, const T* x, std::int64_t begin,
                    std::int64_t end, std::int64_t inner, T* y) {
  std::fill_n(y, inner, start_value<T>(op));
  for (std::int64_t r = begin; r < end; ++r) fold(op, kernels, x + r * inner, y, inner);
}

template <class T>
void reduce_run(ThreadPool& pool, ReduceOp op, const Run& run, const Tensor& x, const T* from,
                T* to) {
  const auto& kernels = simd::kernels().of<T>();
  // What is added up from partial results is not squared again.
  const ReduceOp again = op == ReduceOp::kSumSquares ? ReduceOp::kSum : op;
  const std::int64_t chunks = std::max<std::int64_t>(1, (run.length + kChunk - 1) / kChunk);
  if (run.inner == 1) {
    const std::int64_t group =
        std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(1, run.length));
    if (run.outer >= chunks || chunks == 1) {
      pool.run((run.outer + group - 1) / group, [&](std::int64_t piece) {
        for (std::int64_t o = piece * group; o < std::min(run.outer, (piece + 1) * group); ++o) {
          to[o] = reduce_contiguous<T>(op, kernels, from + o * run.length, run.length);
        }
      });
      return;
    }
  }
  const Tensor partial = Tensor::empty({run.outer, chunks, run.inner}, x.dtype(), x.device());
  T* sums = partial.data<T>();
  pool.run(run.outer * chunks, [&](std::int64_t piece) {
    const std::int64_t begin = piece % chunks * kChunk;
    const std::int64_t end = std::min(run.length, begin + kChunk);
    const T* item = from + piece / chunks * run.length * run.inner;
    if (run.inner == 1) {
      sums[piece] = reduce_contiguous<T>(op, kernels, item + begin, end - begin);
    } else {
      reduce_columns<T>(op, kernels, item, begin, end, run.inner, sums + piece * run.inner);
    }
  });
  for (std::int64_t o = 0; o < run.outer; ++o) {
    reduce_columns<T>(again, kernels, sums + o * chunks * run.inner, 0, chunks, run.inner,
                      to + o * run.inner);
  }
}

}  // namespace

void CpuBackend::reduce(ReduceOp op, const Tensor& x, const Tensor& y) const {
  dispatch_float("reduce", x.dtype(), [&]<class T>(T) {
    // Runs of reduced axes are folded one after another, from the back.
    Shape shape = x.shape();
    Tensor current = x;
    ReduceOp next = op;
    const int rank = shape.rank();
    bool reduced = false;
    for (int last = rank; last > 0;) {
      if (y.shape()[last - 1] == shape[last - 1]) {
        --last;
        continue;
      }
      int first = last;
      while (first > 0 && y.shape()[first - 1] != shape[first - 1]) --first;
      const Run run{shape.part(0, first).numel(), shape.part(first, last).numel(),
                    shape.part(last, rank).numel()};
      for (int axis = first; axis < last; ++axis) shape[axis] = 1;
      const Tensor result = shape == y.shape() ? y : Tensor::empty(shape, x.dtype(), x.device());
      reduce_run<T>(pool_, next, run, x, current.data<T>(), result.data<T>());
      if (next == ReduceOp::kSumSquares) next = ReduceOp::kSum;
      current = result;
      reduced = true;
      last = first;
    }
    if (!reduced) {
      if (op == ReduceOp::kSumSquares) {
        unary(UnaryOp::kSquare, {}, x, y);
      } else {
        cast(x, y);
      }
    }
    if (op == ReduceOp::kMean && y.numel() > 0 && x.numel() != y.numel()) {
      const double scale = static_cast<double>(y.numel()) / static_cast<double>(x.numel());
      unary(UnaryOp::kAffine, {scale, 0}, y, y);
    }
  });
}

void CpuBackend::arg_reduce(bool maximum, const Tensor& x, const Tensor& y) const {
  const std::int64_t n = x.shape().back();
  dispatch_float("arg_reduce", x.dtype(), [&]<class T>(T) {
    parallel(y.numel(), std::max<std::int64_t>(1, kGrain / n),
             [&](std::int64_t begin, std::int64_t end) {
               for (std::int64_t r = begin; r < end; ++r) {
                 const T* row = x.data<T>() + r * n;
                 std::int64_t best = 0;
                 for (std::int64_t j = 1; j < n; ++j) {
                   if (maximum ? row[j] > row[best] : row[j] < row[best]) best = j;
                 }
                 y.data<std::int64_t>()[r] = best;
               }
             });
  });
}

double CpuBackend::sum_squares(const Tensor& x) const {
  return dispatch_float("sum_squares", x.dtype(), [&]<class T>(T) {
    const std::int64_t pieces = (x.numel() + kGrain - 1) / kGrain;
    std::vector<double> partial(static_cast<std::size_t>(pieces));
    pool_.run(pieces, [&](std::int64_t piece) {
      double sum = 0;
      for (std::int64_t i = piece * kGrain; i < std::min(x.numel(), (piece + 1) * kGrain); ++i) {
        const double value = static_cast<double>(x.data<T>()[i]);
        sum += value * value;
      }
      partial[static_cast<std::size_t>(piece)] = sum;
    });
    double total = 0;
    for (const double sum : partial) total += sum;
    return total;
  });
}

bool CpuBackend::all_finite(const Tensor& x) const {
  return dispatch_float("all_finite", x.dtype(), [&]<class T>(T) {
    std::atomic<bool> finite{true};
    const T* values = x.data<T>();
    parallel(x.numel(), kGrain, [&](std::int64_t begin, std::int64_t end) {
      // x - x is 0 for finite x and NaN otherwise; a sum of zeros is quick.
      T sum = 0;
      for (std::int64_t i = begin; i < end; ++i) sum += values[i] - values[i];
      if (!(sum == T{0})) finite.store(false, std::memory_order_relaxed);
    });
    return finite.load();
  });
}

}  // namespace fovea::cpu
