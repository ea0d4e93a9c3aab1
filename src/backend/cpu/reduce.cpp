// Reductions over any axes, and whole-tensor checks.
#include <algorithm>
#include <atomic>
#include <limits>
#include <vector>

#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/simd/simd.h"

namespace fovea::cpu {
namespace {

constexpr std::int64_t kGrain = 1 << 14;
// A long reduced axis is cut into pieces of this size; partial results are added in order.
constexpr std::int64_t kChunk = 512;

// One run of neighbouring reduced axes: x viewed as (outer, length, inner) -> (outer, inner).
struct Run {
  std::int64_t outer, length, inner;
};

// y = op(y, x), element by element. bfloat16 is only ever summed; reduce() sees to that.
template <class S>
void fold(ReduceOp op, const S* x, Compute<S>* y, std::int64_t n) {
  using T = Compute<S>;
  const auto& kernels = simd::kernels().of<S>();
  if constexpr (std::is_same_v<S, T>) {
    if (op == ReduceOp::kMax) return kernels.binary(BinaryOp::kMax, y, 1, x, 1, y, n);
    if (op == ReduceOp::kMin) return kernels.binary(BinaryOp::kMin, y, 1, x, 1, y, n);
  }
  if (op == ReduceOp::kSumSquares) {
    for (std::int64_t i = 0; i < n; ++i) y[i] += static_cast<T>(x[i]) * static_cast<T>(x[i]);
  } else {
    kernels.add_wide(T{1}, x, y, n);
  }
}

template <class T>
T start_value(ReduceOp op) {
  if (op == ReduceOp::kMax) return -std::numeric_limits<T>::infinity();
  if (op == ReduceOp::kMin) return std::numeric_limits<T>::infinity();
  return T{0};
}

template <class S>
Compute<S> reduce_contiguous(ReduceOp op, const S* x, std::int64_t n) {
  const auto& kernels = simd::kernels().of<S>();
  if (op == ReduceOp::kSumSquares) return kernels.dot(x, x, n);
  if (op == ReduceOp::kSum || op == ReduceOp::kMean) return kernels.sum(x, n);
  if constexpr (std::is_same_v<S, Compute<S>>) {
    if (n > 0) return kernels.extremum(op == ReduceOp::kMax, x, n);
  }
  return start_value<Compute<S>>(op);
}

// The same over rows of few elements, where calls would cost more than the work inside them.
template <class S>
void fold_narrow(ReduceOp op, const S* x, std::int64_t rows, std::int64_t inner, Compute<S>* y) {
  using T = Compute<S>;
  const auto run = [&](const auto& f) {
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t i = 0; i < inner; ++i) y[i] = f(y[i], static_cast<T>(x[r * inner + i]));
    }
  };
  switch (op) {
    // A NaN on either side fails both comparisons and comes out of the sum.
    case ReduceOp::kMax:
      return run([](T a, T b) { return a >= b ? a : b > a ? b : a + b; });
    case ReduceOp::kMin:
      return run([](T a, T b) { return a <= b ? a : b < a ? b : a + b; });
    case ReduceOp::kSumSquares:
      return run([](T a, T b) { return a + b * b; });
    default:
      return run([](T a, T b) { return a + b; });
  }
}

// Rows of the reduced axis into y (inner elements), [begin, end) of the axis.
template <class S>
void reduce_columns(ReduceOp op, const S* x, std::int64_t begin, std::int64_t end,
                    std::int64_t inner, Compute<S>* y) {
  std::fill_n(y, inner, start_value<Compute<S>>(op));
  if (inner < simd::kSlack) return fold_narrow(op, x + begin * inner, end - begin, inner, y);
  for (std::int64_t r = begin; r < end; ++r) fold(op, x + r * inner, y, inner);
}

template <class S>
void reduce_run(ThreadPool& pool, ReduceOp op, const Run& run, const Device& device, const S* from,
                Compute<S>* to) {
  // Partial results are added up without being squared again.
  const ReduceOp again = op == ReduceOp::kSumSquares ? ReduceOp::kSum : op;
  const std::int64_t chunks = std::max<std::int64_t>(1, (run.length + kChunk - 1) / kChunk);
  if (run.inner == 1) {
    const std::int64_t group =
        std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(1, run.length));
    if (run.outer >= chunks || chunks == 1) {
      pool.run((run.outer + group - 1) / group, [&](std::int64_t piece) {
        for (std::int64_t o = piece * group; o < std::min(run.outer, (piece + 1) * group); ++o) {
          to[o] = reduce_contiguous(op, from + o * run.length, run.length);
        }
      });
      return;
    }
  }
  const Tensor partial =
      Tensor::empty({run.outer, chunks, run.inner}, kDTypeOf<Compute<S>>, device);
  Compute<S>* sums = partial.data<Compute<S>>();
  pool.run(run.outer * chunks, [&](std::int64_t piece) {
    const std::int64_t begin = piece % chunks * kChunk;
    const std::int64_t end = std::min(run.length, begin + kChunk);
    const S* item = from + piece / chunks * run.length * run.inner;
    if (run.inner == 1) {
      sums[piece] = reduce_contiguous(op, item + begin, end - begin);
    } else {
      reduce_columns(op, item, begin, end, run.inner, sums + piece * run.inner);
    }
  });
  for (std::int64_t o = 0; o < run.outer; ++o) {
    reduce_columns(again, sums + o * chunks * run.inner, 0, chunks, run.inner, to + o * run.inner);
  }
}

// The elements of a list of tensors, cut into pieces.
class Pieces {
 public:
  explicit Pieces(const std::vector<Tensor>& xs) : xs_(xs), first_(xs.size() + 1, 0) {
    for (std::size_t i = 0; i < xs.size(); ++i) {
      const std::int64_t pieces = (xs[i].numel() + kGrain - 1) / kGrain;
      first_[i + 1] = first_[i] + static_cast<std::size_t>(pieces);
    }
  }
  std::size_t count() const { return first_.back(); }
  /// The first piece of tensor i; count() for i one behind the last.
  std::size_t first(std::size_t i) const { return first_[i]; }
  /// Calls body(elements, how many, piece).
  template <class Body>
  void run(ThreadPool& pool, const Body& body) const {
    pool.run(static_cast<std::int64_t>(count()), [&](std::int64_t index) {
      const auto piece = static_cast<std::size_t>(index);
      const auto after = std::upper_bound(first_.begin(), first_.end(), piece);
      const auto i = static_cast<std::size_t>(after - first_.begin()) - 1;
      const std::int64_t begin = static_cast<std::int64_t>(piece - first_[i]) * kGrain;
      dispatch_stored("sum", xs_[i].dtype(), [&]<class S>(S) {
        body(xs_[i].data<S>() + begin, std::min(kGrain, xs_[i].numel() - begin), piece);
      });
    });
  }

 private:
  const std::vector<Tensor>& xs_;
  std::vector<std::size_t> first_;
};

}  // namespace

void CpuBackend::reduce(ReduceOp op, const Tensor& x, const Tensor& y) const {
  // Sums read bfloat16 directly; its other reductions are rare and convert it first.
  const bool sums = op == ReduceOp::kSum || op == ReduceOp::kMean;
  if (x.dtype() == DType::kBFloat16 && !sums) {
    const Tensor wide = Tensor::empty(x.shape(), DType::kFloat32, x.device());
    cast(x, wide);
    return reduce(op, wide, y);
  }
  // Partial results, and the result until the end, are kept in the compute type.
  const DType computed = x.dtype() == DType::kBFloat16 ? DType::kFloat32 : x.dtype();
  const Tensor result = y.dtype() == computed ? y : Tensor::empty(y.shape(), computed, y.device());
  Tensor current = x;
  ReduceOp next = op;
  const int rank = x.rank();
  // Runs of reduced axes are folded one after another, from the back.
  for (int last = rank; last > 0;) {
    const Shape shape = current.shape();
    if (y.shape()[last - 1] == shape[last - 1]) {
      --last;
      continue;
    }
    int first = last;
    while (first > 0 && y.shape()[first - 1] != shape[first - 1]) --first;
    const Run run{shape.part(0, first).numel(), shape.part(first, last).numel(),
                  shape.part(last, rank).numel()};
    Shape folded = shape;
    for (int axis = first; axis < last; ++axis) folded[axis] = 1;
    const Tensor to = folded == y.shape() ? result : Tensor::empty(folded, computed, x.device());
    dispatch_stored("reduce", current.dtype(), [&]<class S>(S) {
      reduce_run<S>(pool_, next, run, x.device(), current.data<S>(), to.data<Compute<S>>());
    });
    if (next == ReduceOp::kSumSquares) next = ReduceOp::kSum;
    current = to;
    last = first;
  }
  if (current.same_storage(x)) {
    if (op == ReduceOp::kSumSquares) {
      unary(UnaryOp::kSquare, {}, x, result);
    } else {
      cast(x, result);
    }
  }
  if (op == ReduceOp::kMean && x.numel() > 0 && x.numel() != y.numel()) {
    const double scale = static_cast<double>(y.numel()) / static_cast<double>(x.numel());
    unary(UnaryOp::kAffine, {scale, 0}, result, result);
  }
  if (!result.same_storage(y)) cast(result, y);
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
                   // (A NaN is better than any number, as in PyTorch.)
                   const bool worse = maximum ? row[j] <= row[best] : row[j] >= row[best];
                   if (!worse && row[best] == row[best]) best = j;
                 }
                 y.data<std::int64_t>()[r] = best;
               }
             });
  });
}

void CpuBackend::sum_squares(const std::vector<Tensor>& xs, const Tensor& sum) const {
  const Pieces pieces(xs);
  std::vector<double> partial(static_cast<std::size_t>(pieces.count()));
  pieces.run(pool_, [&]<class S>(const S* x, std::int64_t n, std::size_t piece) {
    double squares = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      const double value = static_cast<double>(x[i]);
      squares += value * value;
    }
    partial[piece] = squares;
  });
  double total = 0;
  for (std::size_t i = 0; i < xs.size(); ++i) {
    double of_one = 0;
    for (std::size_t piece = pieces.first(i); piece < pieces.first(i + 1); ++piece)
      of_one += partial[piece];
    total += of_one;
  }
  *sum.data<double>() = total;
}

void CpuBackend::all_finite(const std::vector<Tensor>& xs, const Tensor& finite) const {
  std::atomic<bool> all{true};
  Pieces(xs).run(pool_, [&]<class S>(const S* x, std::int64_t n, std::size_t) {
    // x - x is 0 for finite x and NaN otherwise, and the sum runs in vectors.
    Compute<S> sum = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      const auto value = static_cast<Compute<S>>(x[i]);
      sum += value - value;
    }
    if (!(sum == Compute<S>{0})) all.store(false, std::memory_order_relaxed);
  });
  *finite.data<std::uint8_t>() = all.load() ? 1 : 0;
}

}  // namespace fovea::cpu
