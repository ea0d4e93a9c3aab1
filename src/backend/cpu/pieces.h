// How kernels divide their work: numbers of pieces, which depend on sizes alone, scratch memory,
// the product of matrices inside a piece, and sums of the pieces' results.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "backend/cpu/simd/simd.h"
#include "backend/cpu/thread_pool.h"
#include "tensor/tensor.h"

namespace fovea::cpu {

inline std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
inline std::int64_t round_up(std::int64_t n, std::int64_t step) {
  return divide_up(n, step) * step;
}

/// Elements that the partial sums of a kernel have together, so that scratch memory stays small.
inline constexpr std::int64_t kPartialElements = 1 << 21;

struct PieceRule {
  std::int64_t few;       // pieces of small problems
  std::int64_t least;     // work of a piece from which there are more
  std::int64_t size = 0;  // elements of a piece's partial sums
};

/// In how many pieces a kernel with so much `work` is cut: `few`, doubled as often as every piece
/// keeps its least work and the partial sums fit; up to 128, a core each.
std::int64_t piece_count(std::int64_t work, const PieceRule& rule);

template <class T>
Tensor scratch(std::int64_t elements, const Tensor& like) {
  return Tensor::empty({elements}, kDTypeOf<T>, like.device());
}

/// Allocates scratch<T>(elements, like) once for every thread and frees it, so that what is
/// allocated does not depend on how pieces happen to overlap.
template <class T>
void reserve(const ThreadPool& pool, std::int64_t elements, const Tensor& like) {
  std::vector<Tensor> all;
  for (int i = 0; i < pool.threads(); ++i) all.push_back(scratch<T>(elements, like));
}

/// One thread's memory for `count` planes of `size` elements, with the room around each that
/// conv3x3 of simd.h reads.
template <class T>
class RoomyPlanes {
 public:
  RoomyPlanes(std::int64_t count, std::int64_t size, const Tensor& like)
      : stride_(size + 2 * simd::kSlack), memory_(scratch<T>(count * stride_, like)) {
    for (std::int64_t i = 0; i < count; ++i) {
      std::fill_n((*this)[i] - simd::kSlack, simd::kSlack, T{0});
      std::fill_n((*this)[i] + size, simd::kSlack, T{0});
    }
  }
  static void reserve_all(const ThreadPool& pool, std::int64_t count, std::int64_t size,
                          const Tensor& like) {
    reserve<T>(pool, count * (size + 2 * simd::kSlack), like);
  }
  T* operator[](std::int64_t i) const {
    return memory_.template data<T>() + i * stride_ + simd::kSlack;
  }

 private:
  std::int64_t stride_;
  Tensor memory_;
};

/// Prefetches n elements, for loops that compute so long on one plane that the processor does not
/// predict which plane comes next.
enum class Access { kRead, kWrite };
template <Access kAccess, class T>
void bring_near(const T* x, std::int64_t n) {
  constexpr auto kLine = static_cast<std::int64_t>(64 / sizeof(T));
  for (std::int64_t i = 0; i < n; i += kLine) {
    __builtin_prefetch(x + i, kAccess == Access::kWrite ? 1 : 0, 2);
  }
}

/// A row-major matrix; ld is the distance between its rows as stored.
template <class T>
struct Matrix {
  const T* data;
  std::int64_t ld;
  bool transposed = false;
};

/// Whether an element of a product may have other bits where there are other rows or columns beside
/// its own: libraries choose their loops by sizes.
enum class Bits { kOfSizes, kOfElement };

/// True where multiply() of T is a library's.
template <class T>
bool by_library(Bits bits);

/// c (m, n) = a b, or c += a b, in the calling thread by the fastest kernel there is. Matrices of
/// bfloat16 have a product in either type; to one in bfloat16 nothing is added.
template <class T, class C = T>
void multiply(Bits bits, std::int64_t m, std::int64_t n, std::int64_t k, const Matrix<T>& a,
              const Matrix<T>& b, bool accumulate, C* c, std::int64_t ldc);

/// How the items of a batch are divided for the gradient of a weight: each chunk has a partial sum.
/// `units` are items or calls, `size` the elements of the weight; there are `most` chunks at most.
struct Chunks {
  std::int64_t chunk, chunks;
  Chunks(std::int64_t units, std::int64_t size, std::int64_t most);
};

/// to = sum of the `count` arrays of `size` elements in `parts`, in order; 0 without any.
template <class T>
void sum_parts(ThreadPool& pool, const T* parts, std::int64_t count, std::int64_t size, T* to);

}  // namespace fovea::cpu
