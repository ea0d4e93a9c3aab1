#include "backend/cpu/products/gemm_packed.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "backend/cpu/pieces.h"
#include "backend/cpu/simd/simd.h"

namespace fovea::cpu {
namespace {

using simd::kPackedColumns;
using simd::kPackedRows;
using simd::kPanelDepth;

// One operand stays packed in the second-level cache while the other passes by in small groups,
// which are fetched while the group before them is multiplied. Most rows of a that stay, and most
// columns of b that stay for one thread alone:
template <class T>
constexpr std::int64_t kStayingRows = sizeof(T) == 4 ? 264 : 120;
constexpr std::int64_t kStayingColumns = 512;
// Rows of a that pass by at a time.
constexpr std::int64_t kPassingRows = 48;
// Below so many multiply-adds, or with fewer rows, packing a costs more than it saves.
constexpr std::int64_t kSmallWork = 1 << 17, kFewRows = 24;

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

// Where element (row, term) of op(a), and (term, column) of op(b), is.
template <class S>
const S* a_at(const GemmArgs& args, const S* a, std::int64_t row, std::int64_t term) {
  return args.trans_a ? a + term * args.lda + row : a + row * args.lda + term;
}
template <class S>
const S* b_at(const GemmArgs& args, const S* b, std::int64_t term, std::int64_t column) {
  return args.trans_b ? b + column * args.ldb + term : b + term * args.ldb + column;
}

template <class S, class T>
void pack_rows(const GemmArgs& args, const S* from, std::int64_t rows, std::int64_t depth, T* to) {
  simd::kernels().of<S>().pack_rows(from, args.trans_a ? 1 : args.lda, args.trans_a ? args.lda : 1,
                                    rows, depth, to);
}
template <class S, class T>
void pack_columns(const GemmArgs& args, const S* from, std::int64_t depth, std::int64_t columns,
                  T* to) {
  simd::kernels().of<S>().pack_columns(from, args.trans_b ? 1 : args.ldb,
                                       args.trans_b ? args.ldb : 1, depth, columns, to);
}

// A matrix (rows, columns) of which rows are ld elements apart in memory, or columns if transposed.
template <class S>
simd::Ahead ahead_of(const S* x, bool transposed, std::int64_t rows, std::int64_t columns,
                     std::int64_t ld) {
  constexpr std::int64_t kBytes = sizeof(S);
  if (transposed) std::swap(rows, columns);
  return {.x = x, .rows = rows, .bytes = columns * kBytes, .apart = ld * kBytes};
}

// Where sums of T go: c itself, or memory of their own if c is stored in fewer bits and takes in
// more than one sum.
template <class C>
struct Sums {
  using T = Compute<C>;

  Sums(const GemmArgs& args, C* c) : args_(args), c_(c) {
    if constexpr (!std::is_same_v<C, T>) {
      if (args.k > kPanelDepth) wide_ = kept_memory<T>(Part::kSums, args.m * args.n);
    }
  }
  // p.c and p.ldc are those of element (row, column).
  void multiply(simd::Product<T> p, std::int64_t row, std::int64_t column) const {
    if constexpr (!std::is_same_v<C, T>) {
      if (wide_ == nullptr) {
        return simd::kernels().of<C>().packed_product({.m = p.m,
                                                       .n = p.n,
                                                       .k = p.k,
                                                       .alpha = p.alpha,
                                                       .a = p.a,
                                                       .a_row = p.a_row,
                                                       .b = p.b,
                                                       .b_row = p.b_row,
                                                       .c = c_ + row * args_.ldc + column,
                                                       .ldc = args_.ldc,
                                                       .bias = p.bias,
                                                       .ahead = p.ahead});
      }
      p.c = wide_ + row * args_.n + column;
      p.ldc = args_.n;
    } else {
      p.c = c_ + row * args_.ldc + column;
      p.ldc = args_.ldc;
    }
    simd::kernels().of<T>().packed_product(p);
  }
  void store() const {
    if (wide_ != nullptr)
      simd::kernels().of<C>().put_rows(T{1}, wide_, false, c_, args_.ldc, args_.m, args_.n);
  }

 private:
  const GemmArgs& args_;
  C* c_;
  T* wide_ = nullptr;  // (m, n)
};

// Calls body(first term, number of terms), once without any term.
template <class Body>
void for_stretches(std::int64_t k, const Body& body) {
  std::int64_t first = 0;
  do {
    body(first, std::min(kPanelDepth, k - first));
    first += kPanelDepth;
  } while (first < k);
}

// What to fetch during one product.
struct Fetched {
  std::array<simd::Ahead, 2> parts;
  std::size_t count = 0;

  void add(const simd::Ahead& part) {
    if (part.rows > 0 && part.bytes > 0) parts[count++] = part;
  }
  std::span<const simd::Ahead> all() const { return {parts.data(), count}; }
};

// The columns of b stay. `columns(first, depth)`: packed, terms [first, first + depth).
// `packs_columns`: it packs them from at.b at each call.
template <class S, class C, class Columns>
void pass_rows(const GemmArgs& args, const Operands<S, C>& at, bool accumulate, bool packs_columns,
               const Columns& columns) {
  using T = Compute<C>;
  const Sums<C> sums(args, at.c);
  for_stretches(args.k, [&](std::int64_t first, std::int64_t depth) {
    const T* b = columns(first, depth);
    for (std::int64_t row = 0; row < args.m; row += kPassingRows) {
      const std::int64_t rows = std::min(kPassingRows, args.m - row);
      T* packed = packed_rows<T>(rows, depth);
      pack_rows(args, a_at(args, at.a, row, first), rows, depth, packed);
      if (at.a_sums != nullptr)
        simd::kernels().of<T>().sum_packed_rows(packed, rows, depth, first > 0, at.a_sums + row);
      // The next rows, or the first ones with their next terms.
      const bool ends = row + rows == args.m;
      const std::int64_t next = ends ? 0 : row + rows;
      const std::int64_t term = ends ? first + depth : first;
      Fetched ahead;
      ahead.add(ahead_of(a_at(args, at.a, next, term), args.trans_a,
                         std::min(kPassingRows, args.m - next),
                         std::min(kPanelDepth, args.k - term), args.lda));
      if (packs_columns) {  // a share of their next terms
        const std::int64_t share = divide_up(kPanelDepth, divide_up(args.m, kPassingRows));
        const std::int64_t begin = first + depth + row / kPassingRows * share;
        ahead.add(ahead_of(b_at(args, at.b, begin, 0), args.trans_b,
                           std::min(share, args.k - begin), args.n, args.ldb));
      }
      sums.multiply({.m = rows,
                     .n = args.n,
                     .k = depth,
                     .a = packed,
                     .b = b,
                     .b_row = depth,
                     .accumulate = accumulate || first > 0,
                     .bias = at.bias,
                     .ahead = ahead.all()},
                    row, 0);
    }
  });
  sums.store();
}

// The rows of a stay, and columns of b pass by.
template <class S, class C>
void pass_columns(const GemmArgs& args, const Operands<S, C>& at, bool accumulate) {
  using T = Compute<C>;
  const std::int64_t width = 2 * simd::kernels().lanes<T>();
  const Sums<C> sums(args, at.c);
  for_stretches(args.k, [&](std::int64_t first, std::int64_t depth) {
    T* a = packed_rows<T>(args.m, depth);
    T* b = kept_memory<T>(Part::kColumns, width * depth);
    pack_rows(args, a_at(args, at.a, 0, first), args.m, depth, a);
    if (at.a_sums != nullptr)
      simd::kernels().of<T>().sum_packed_rows(a, args.m, depth, first > 0, at.a_sums);
    for (std::int64_t column = 0; column < args.n; column += width) {
      const std::int64_t columns = std::min(width, args.n - column);
      pack_columns(args, b_at(args, at.b, first, column), depth, columns, b);
      const bool ends = column + columns == args.n;
      const std::int64_t next = ends ? 0 : column + columns;
      const std::int64_t term = ends ? first + depth : first;
      Fetched ahead;
      ahead.add(ahead_of(b_at(args, at.b, term, next), args.trans_b,
                         std::min(kPanelDepth, args.k - term), std::min(width, args.n - next),
                         args.ldb));
      const std::int64_t share = divide_up(kPanelDepth, divide_up(args.n, width));
      const std::int64_t begin = first + depth + column / width * share;
      ahead.add(ahead_of(a_at(args, at.a, 0, begin), args.trans_a, args.m,
                         std::min(share, args.k - begin), args.lda));
      sums.multiply({.m = args.m,
                     .n = columns,
                     .k = depth,
                     .a = a,
                     .b = b,
                     .b_row = depth,
                     .accumulate = accumulate || first > 0,
                     .bias = at.bias == nullptr ? nullptr : at.bias + column,
                     .ahead = ahead.all()},
                    0, column);
    }
  });
  sums.store();
}

}  // namespace

template <class S, class C>
void multiply_packed(const GemmArgs& args, const Operands<S, C>& at, bool accumulate) {
  using T = Compute<C>;
  if constexpr (std::is_same_v<S, T> && std::is_same_v<C, T>) {
    if (at.a_sums == nullptr && (args.m < kFewRows || args.m * args.n * args.k < kSmallWork)) {
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
  if (args.m <= kStayingRows<T> && args.m <= args.n) return pass_columns(args, at, accumulate);
  for (std::int64_t column = 0; column < args.n; column += kStayingColumns) {
    GemmArgs part = args;
    part.n = std::min(kStayingColumns, args.n - column);
    const Operands<S, C> here{at.a, b_at(args, at.b, 0, column),
                              at.bias == nullptr ? nullptr : at.bias + column, at.c + column,
                              column == 0 ? at.a_sums : nullptr};
    pass_rows(part, here, accumulate, true,
              [&](std::int64_t first, std::int64_t depth) -> const T* {
                T* to = kept_memory<T>(Part::kColumns, round_up(part.n, kPackedColumns) * depth);
                pack_columns(args, b_at(args, here.b, first, 0), depth, part.n, to);
                return to;
              });
  }
}

bool has_many_rows(const GemmArgs& args) {
  return args.batch == 1 && args.k > 0 && args.m >= 2 * kStayingRows<float>;
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
    pack_columns(args, b_at(args, at.b, first, column), depth, std::min(kGroup, args.n - column),
                 packed + first * padded + column * depth);
  });
  const std::int64_t threads = pool.threads();
  const std::int64_t blocks = round_up(divide_up(args.m, kStayingRows<T>), threads);
  const std::int64_t rows = round_up(divide_up(args.m, blocks), kPackedRows);
  pool.run(divide_up(args.m, rows), [&](std::int64_t piece) {
    const std::int64_t row = piece * rows;
    GemmArgs part = args;
    part.m = std::min(rows, args.m - row);
    pass_rows(part, Operands<S, C>{a_at(args, at.a, row, 0), at.b, at.bias, at.c + row * args.ldc},
              false, false, [&](std::int64_t first, std::int64_t) -> const T* {
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
