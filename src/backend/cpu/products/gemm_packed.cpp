#include "backend/cpu/products/gemm_packed.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "backend/cpu/pieces.h"
#include "backend/cpu/simd/simd.h"

namespace fovea::cpu {
namespace {

using simd::kPackedColumns;
using simd::kPackedRows;
using simd::kPanelDepth;

// Packed rows of a that stay in the second-level cache while all columns of b pass.
template <class T>
constexpr std::int64_t kBlockRows = sizeof(T) == 4 ? 252 : 120;
// Columns of b that a thread packs for itself at a time.
constexpr std::int64_t kBlockColumns = 512;
// Below so many multiply-adds, or with fewer rows, packing a costs more than it saves.
constexpr std::int64_t kSmallWork = 1 << 17, kFewRows = 24;

std::int64_t round_up(std::int64_t n, std::int64_t step) { return divide_up(n, step) * step; }

// Memory that stays with the thread, of which a call has each part once.
enum class Part { kRows, kColumns, kSums };
template <class T>
T* kept_memory(Part part, std::int64_t elements) {
  constexpr std::size_t kLine = 64;
  thread_local std::vector<T> kept[3];
  std::vector<T>& memory = kept[static_cast<std::size_t>(part)];
  const auto needed = static_cast<std::size_t>(elements) + kLine / sizeof(T);
  if (memory.size() < needed) memory = std::vector<T>(needed);
  const auto start = reinterpret_cast<std::uintptr_t>(memory.data());
  return reinterpret_cast<T*>((start + kLine - 1) / kLine * kLine);
}

template <class T>
T* packed_rows(std::int64_t rows, std::int64_t depth) {
  return kept_memory<T>(Part::kRows, round_up(rows, kPackedRows) * depth + simd::kSlack);
}

template <class S, class T>
void pack_columns(const GemmArgs& args, const S* b, std::int64_t first, std::int64_t depth,
                  std::int64_t columns, T* to) {
  simd::kernels().of<S>().pack_columns(b + (args.trans_b ? first : first * args.ldb),
                                       args.trans_b ? 1 : args.ldb, args.trans_b ? args.ldb : 1,
                                       depth, columns, to);
}

// `columns(first, depth)`: packed columns of b, terms [first, first + depth).
template <class S, class C, class Columns>
void multiply_columns(const GemmArgs& args, const Operands<S, C>& at, bool accumulate,
                      const Columns& columns) {
  using T = Compute<C>;
  constexpr bool kNarrows = !std::is_same_v<C, T>;
  T* c;
  std::int64_t ldc = args.ldc;
  if constexpr (kNarrows) {
    c = kept_memory<T>(Part::kSums, args.m * args.n);
    ldc = args.n;
  } else {
    c = at.c;
  }
  std::int64_t first = 0;
  do {  // once without any term
    const std::int64_t depth = std::min(kPanelDepth, args.k - first);
    const T* b = columns(first, depth);
    for (std::int64_t row = 0; row < args.m; row += kBlockRows<T>) {
      const std::int64_t rows = std::min(kBlockRows<T>, args.m - row);
      T* packed = packed_rows<T>(rows, depth);
      simd::kernels().of<S>().pack_rows(
          at.a + (args.trans_a ? first * args.lda + row : row * args.lda + first),
          args.trans_a ? 1 : args.lda, args.trans_a ? args.lda : 1, rows, depth, packed);
      simd::kernels().of<T>().packed_product({.m = rows,
                                              .n = args.n,
                                              .k = depth,
                                              .a = packed,
                                              .b = b,
                                              .b_row = depth,
                                              .c = c + row * ldc,
                                              .ldc = ldc,
                                              .accumulate = accumulate || first > 0,
                                              .bias = at.bias});
    }
    first += kPanelDepth;
  } while (first < args.k);
  if constexpr (kNarrows)
    simd::kernels().of<C>().put_rows(T{1}, c, false, at.c, args.ldc, args.m, args.n);
}

}  // namespace

template <class S, class C>
void multiply_packed(const GemmArgs& args, const Operands<S, C>& at, bool accumulate) {
  using T = Compute<C>;
  if constexpr (std::is_same_v<S, T> && std::is_same_v<C, T>) {
    if (args.m < kFewRows || args.m * args.n * args.k < kSmallWork) {
      return simd::kernels().of<T>().product({.m = args.m,
                                              .n = args.n,
                                              .k = args.k,
                                              .a = at.a,
                                              .a_row = args.trans_a ? 1 : args.lda,
                                              .a_column = args.trans_a ? args.lda : 1,
                                              .b = at.b,
                                              .b_row = args.trans_b ? 1 : args.ldb,
                                              .b_column = args.trans_b ? args.ldb : 1,
                                              .c = at.c,
                                              .ldc = args.ldc,
                                              .accumulate = accumulate,
                                              .bias = at.bias});
    }
  }
  for (std::int64_t column = 0; column < args.n; column += kBlockColumns) {
    GemmArgs part = args;
    part.n = std::min(kBlockColumns, args.n - column);
    const Operands<S, C> here{at.a, at.b + (args.trans_b ? column * args.ldb : column),
                              at.bias == nullptr ? nullptr : at.bias + column, at.c + column};
    multiply_columns(
        part, here, accumulate, [&](std::int64_t first, std::int64_t depth) -> const T* {
          T* to = kept_memory<T>(Part::kColumns, round_up(part.n, kPackedColumns) * depth);
          pack_columns(args, here.b, first, depth, part.n, to);
          return to;
        });
  }
}

bool has_many_rows(const GemmArgs& args) {
  return args.batch == 1 && args.k > 0 && args.m >= 2 * kBlockRows<float>;
}

template <class S, class C>
void multiply_rows(ThreadPool& pool, const GemmArgs& args, const Operands<S, C>& at,
                   const Tensor& like) {
  using T = Compute<C>;
  const std::int64_t padded = round_up(args.n, kPackedColumns);
  const Tensor memory = scratch<T>(padded * args.k, like);
  T* packed = memory.data<T>();
  const std::int64_t stretches = divide_up(args.k, kPanelDepth);
  constexpr std::int64_t kGroup = 4 * kPackedColumns;
  const std::int64_t groups = divide_up(args.n, kGroup);
  pool.run(stretches * groups, [&](std::int64_t piece) {
    const std::int64_t first = piece / groups * kPanelDepth;
    const std::int64_t depth = std::min(kPanelDepth, args.k - first);
    const std::int64_t column = piece % groups * kGroup;
    pack_columns(args, at.b + (args.trans_b ? column * args.ldb : column), first, depth,
                 std::min(kGroup, args.n - column), packed + first * padded + column * depth);
  });
  const std::int64_t threads = pool.threads();
  const std::int64_t blocks = round_up(divide_up(args.m, kBlockRows<T>), threads);
  const std::int64_t rows = round_up(divide_up(args.m, blocks), kPackedRows);
  pool.run(divide_up(args.m, rows), [&](std::int64_t piece) {
    const std::int64_t row = piece * rows;
    GemmArgs part = args;
    part.m = std::min(rows, args.m - row);
    multiply_columns(part,
                     Operands<S, C>{at.a + (args.trans_a ? row : row * args.lda), at.b, at.bias,
                                    at.c + row * args.ldc},
                     false, [&](std::int64_t first, std::int64_t) -> const T* {
                       return packed + first * padded;
                     });
  });
}

#define FOVEA_INSTANTIATE(S, C)                                                \
  template void multiply_packed(const GemmArgs&, const Operands<S, C>&, bool); \
  template void multiply_rows(ThreadPool&, const GemmArgs&, const Operands<S, C>&, const Tensor&);
FOVEA_INSTANTIATE(float, float)
FOVEA_INSTANTIATE(double, double)
FOVEA_INSTANTIATE(BFloat16, float)
FOVEA_INSTANTIATE(BFloat16, BFloat16)
#undef FOVEA_INSTANTIATE

}  // namespace fovea::cpu
