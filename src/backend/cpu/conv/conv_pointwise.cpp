// Per item, with x (c_in, pixels) and y (c_out, pixels) as they lie in memory:
//   forward           y = W x
//   backward, data    dx = W^T dy
//   backward, weight  dW = sum over items of dy x^T, in chunks of items
#include "backend/cpu/conv/conv_pointwise.h"

#include <algorithm>

#include "backend/cpu/conv/conv_source.h"
#include "backend/cpu/pieces.h"

namespace fovea::cpu {
namespace {

// How the products of all items and groups are cut: pixels, so that their part of the right operand
// stays in the second-level cache, and rows of the result where there are few pieces otherwise.
struct Cut {
  std::int64_t width, columns, rows, blocks;

  Cut(const ConvGeometry& g, std::int64_t m, std::int64_t k) {
    constexpr std::int64_t kCacheElements = 1 << 18;
    constexpr std::int64_t kLeastRows = 64, kLeastPixels = 256;
    const std::int64_t pixels = g.out_size();
    const std::int64_t most = std::clamp<std::int64_t>(kCacheElements / k, 256, 4096);
    columns = divide_up(pixels, most);
    const std::int64_t wanted = conv_pieces(g);
    if (wanted > kFewConvPieces) {
      columns = std::max(columns, std::min(wanted / (g.batch * g.groups), pixels / kLeastPixels));
    }
    width = divide_up(divide_up(pixels, columns), 16) * 16;
    columns = divide_up(pixels, width);
    const std::int64_t pieces = g.batch * g.groups * columns;
    blocks = std::clamp<std::int64_t>(kFewConvPieces / pieces, 1, divide_up(m, kLeastRows));
    rows = divide_up(m, blocks);
  }
};

// A product reads all planes side by side, which the processor does not prefetch where planes lie
// on different pages. Reading one after another first brings them to the cache.
template <class T>
void fetch_planes(const T* from, std::int64_t planes, std::int64_t n, std::int64_t distance) {
  constexpr std::int64_t kPage = 4096 / sizeof(T);
  constexpr std::int64_t kLine = 64 / sizeof(T);
  if (distance < kPage) return;
  for (std::int64_t p = 0; p < planes; ++p) {
    for (std::int64_t i = 0; i < n; i += kLine)
      static_cast<void>(*static_cast<const volatile T*>(from + p * distance + i));
  }
}

// to (m, pixels) = op(W) from (k, pixels) (+ bias) for every item and group.
template <class T>
void products(ThreadPool& pool, const ConvGeometry& g, std::int64_t m, std::int64_t k,
              const Matrix<T>& weight, const ConvSource<T>& from, const Compute<T>* bias,
              const Tensor& to) {
  const Cut cut(g, m, k);
  const std::int64_t pixels = g.out_size();
  if (from.made()) {
    for (const std::int64_t n : {cut.width, pixels - (cut.columns - 1) * cut.width})
      reserve<T>(pool, k * std::min(n, pixels), to);
  }
  pool.run(g.batch * g.groups * cut.columns * cut.blocks, [&](std::int64_t piece) {
    const std::int64_t first = piece % cut.blocks * cut.rows;
    if (first >= m) return;
    const std::int64_t rows = std::min(cut.rows, m - first);
    const std::int64_t begin = piece / cut.blocks % cut.columns * cut.width;
    const std::int64_t n = std::min(cut.width, pixels - begin);
    const std::int64_t plane = piece / cut.blocks / cut.columns;  // item groups + group
    const std::int64_t group = plane % g.groups;
    const T* w = weight.data + group * m * k + first * (weight.transposed ? 1 : weight.ld);
    T* y = to.data<T>() + (plane * m + first) * pixels + begin;
    for (std::int64_t r = 0; bias != nullptr && r < rows; ++r)
      std::fill_n(y + r * pixels, n, static_cast<T>(bias[group * m + first + r]));
    const Tensor memory = from.made() ? scratch<T>(k * n, to) : Tensor();
    const Matrix<T> x = from.part(plane / g.groups, group * k, k, begin, n,
                                  from.made() ? memory.data<T>() : nullptr);
    if (!from.made()) fetch_planes(x.data, k, n, x.ld);
    multiply<T>(g.bits, rows, n, k, {w, weight.ld, weight.transposed}, x, bias != nullptr, y,
                pixels);
  });
}

// The weight as x and y are stored.
template <class T>
Tensor stored_weight(const Tensor& weight) {
  if constexpr (std::is_same_v<T, Compute<T>>) {
    return weight;
  } else {
    const Tensor stored = scratch<T>(weight.numel(), weight);
    simd::kernels().of<T>().narrow(weight.data<Compute<T>>(), stored.data<T>(), weight.numel());
    return stored;
  }
}

}  // namespace

bool is_large_pointwise(const ConvGeometry& g) { return g.pointwise() && g.out_size() >= 16; }

template <class T>
void pointwise_forward(ThreadPool& pool, const ConvGeometry& g, const Tensor& x,
                       const Tensor& weight, const Compute<T>* bias, const Tensor& y) {
  const Tensor w = stored_weight<T>(weight);
  products<T>(pool, g, g.c_out, g.c_in, {w.data<T>(), g.c_in}, ConvSource<T>({.x = x}), bias, y);
}

template <class T>
void pointwise_backward_data(ThreadPool& pool, const ConvGeometry& g, const Tensor& weight,
                             const Tensor& dy, const Tensor& dx) {
  const Tensor w = stored_weight<T>(weight);
  products<T>(pool, g, g.c_in, g.c_out, {w.data<T>(), g.c_in, true}, ConvSource<T>({.x = dy}),
              nullptr, dx);
}

// A piece is a chunk of the items, a group, and a block of output channels where chunks are few.
template <class T>
void pointwise_backward_weight(ThreadPool& pool, const ConvGeometry& g, const NormedMap& x,
                               const Tensor& dy, const Tensor& dweight) {
  using C = Compute<T>;
  const std::int64_t size = dweight.numel();
  const std::int64_t pixels = g.out_size();
  const ConvSource<T> source(x);
  const std::int64_t most = conv_pieces(g, size);
  const Chunks cut(g.batch, size, most);
  // Each block makes an x that is not in memory again.
  const std::int64_t pieces = source.made() ? kFewConvPieces : most;
  const std::int64_t blocks =
      std::clamp<std::int64_t>(pieces / (cut.chunks * g.groups), 1, divide_up(g.c_out, 32));
  const std::int64_t block = divide_up(g.c_out, blocks);
  const Tensor parts = cut.chunks == 1 ? dweight : scratch<C>(cut.chunks * size, dweight);
  if (source.made()) reserve<T>(pool, g.c_in * pixels, dweight);
  pool.run(cut.chunks * g.groups * blocks, [&](std::int64_t piece) {
    const std::int64_t first = piece % blocks * block;
    if (first >= g.c_out) return;
    const std::int64_t group = piece / blocks % g.groups;
    const std::int64_t part = piece / blocks / g.groups;
    C* to = parts.data<C>() + part * size + (group * g.c_out + first) * g.c_in;
    const Tensor memory = source.made() ? scratch<T>(g.c_in * pixels, dweight) : Tensor();
    const std::int64_t begin = part * cut.chunk;
    for (std::int64_t i = begin; i < std::min(g.batch, begin + cut.chunk); ++i) {
      const std::int64_t plane = i * g.groups + group;
      const std::int64_t rows = std::min(block, g.c_out - first);
      const T* left = dy.data<T>() + (plane * g.c_out + first) * pixels;
      Matrix<T> right = source.part(i, group * g.c_in, g.c_in, 0, pixels,
                                    source.made() ? memory.data<T>() : nullptr);
      right.transposed = true;
      multiply<T, C>(g.bits, rows, g.c_in, pixels, {left, pixels}, right, i > begin, to, g.c_in);
    }
  });
  if (cut.chunks > 1) sum_parts(pool, parts.data<C>(), cut.chunks, size, dweight.data<C>());
}

#define FOVEA_INSTANTIATE(T)                                                                     \
  template void pointwise_forward<T>(ThreadPool&, const ConvGeometry&, const Tensor&,            \
                                     const Tensor&, const Compute<T>*, const Tensor&);           \
  template void pointwise_backward_data<T>(ThreadPool&, const ConvGeometry&, const Tensor&,      \
                                           const Tensor&, const Tensor&);                        \
  template void pointwise_backward_weight<T>(ThreadPool&, const ConvGeometry&, const NormedMap&, \
                                             const Tensor&, const Tensor&);
FOVEA_INSTANTIATE(float)
FOVEA_INSTANTIATE(double)
FOVEA_INSTANTIATE(BFloat16)
#undef FOVEA_INSTANTIATE

}  // namespace fovea::cpu
