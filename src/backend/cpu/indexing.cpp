// Lookups by integer tensors, and their reverse. Indices may repeat, so the pieces of the reverse
// are columns, which cannot collide, and not entries.
#include <algorithm>

#include "backend/cpu/cpu_backend.h"

namespace fovea::cpu {
namespace {

constexpr std::int64_t kGrain = 1 << 14;

std::int64_t grain_of(std::int64_t elements) {
  return std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(1, elements));
}

// x (outer, length, inner) indexed along the middle axis by index (outer, entries, inner).
struct Lookup {
  std::int64_t outer, length, entries, inner;

  Lookup(int axis, const Shape& x, const Shape& index)
      : outer(index.part(0, axis).numel()),
        length(x[axis]),
        entries(index[axis]),
        inner(index.part(axis + 1, index.rank()).numel()) {}
};

}  // namespace

void CpuBackend::gather_rows(const Tensor& table, const Tensor& index, const Tensor& y) const {
  if (y.numel() == 0) return;
  const std::int64_t dim = y.numel() / index.numel();
  const std::int64_t* at = index.data<std::int64_t>();
  dispatch_any("gather_rows", table.dtype(), [&]<class T>(T) {
    parallel(index.numel(), grain_of(dim), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        std::copy_n(table.data<T>() + at[i] * dim, dim, y.data<T>() + i * dim);
      }
    });
  });
}

void CpuBackend::scatter_add_rows(const Tensor& x, const Tensor& index, const Tensor& table) const {
  if (x.numel() == 0) return;
  constexpr std::int64_t kColumns = 32;
  const std::int64_t dim = x.numel() / index.numel();
  const std::int64_t* at = index.data<std::int64_t>();
  dispatch_float("scatter_add_rows", x.dtype(), [&]<class T>(T) {
    parallel(dim, kColumns, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = 0; i < index.numel(); ++i) {
        const T* from = x.data<T>() + i * dim;
        T* to = table.data<T>() + at[i] * dim;
        for (std::int64_t j = begin; j < end; ++j) to[j] += from[j];
      }
    });
  });
}

void CpuBackend::gather(int axis, const Tensor& x, const Tensor& index, const Tensor& y) const {
  const Lookup lookup(axis, x.shape(), index.shape());
  const std::int64_t* at = index.data<std::int64_t>();
  dispatch_any("gather", x.dtype(), [&]<class T>(T) {
    const T* from = x.data<T>();
    T* to = y.data<T>();
    parallel(lookup.outer * lookup.entries, grain_of(lookup.inner),
             [&](std::int64_t begin, std::int64_t end) {
               for (std::int64_t row = begin; row < end; ++row) {
                 const T* item = from + row / lookup.entries * lookup.length * lookup.inner;
                 for (std::int64_t j = 0; j < lookup.inner; ++j) {
                   const std::int64_t i = row * lookup.inner + j;
                   to[i] = item[at[i] * lookup.inner + j];
                 }
               }
             });
  });
}

void CpuBackend::scatter_add(int axis, const Tensor& x, const Tensor& index,
                             const Tensor& y) const {
  const Lookup lookup(axis, y.shape(), index.shape());
  const std::int64_t* at = index.data<std::int64_t>();
  dispatch_float("scatter_add", x.dtype(), [&]<class T>(T) {
    const T* from = x.data<T>();
    T* to = y.data<T>();
    // Piece: one (outer, inner) column of the lookup, or several.
    parallel(lookup.outer * lookup.inner, grain_of(lookup.entries),
             [&](std::int64_t begin, std::int64_t end) {
               for (std::int64_t column = begin; column < end; ++column) {
                 const std::int64_t o = column / lookup.inner;
                 const std::int64_t j = column % lookup.inner;
                 T* item = to + o * lookup.length * lookup.inner + j;
                 for (std::int64_t e = 0; e < lookup.entries; ++e) {
                   const std::int64_t i = (o * lookup.entries + e) * lookup.inner + j;
                   item[at[i] * lookup.inner] += from[i];
                 }
               }
             });
  });
}

}  // namespace fovea::cpu
