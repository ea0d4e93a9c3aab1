// Matrix products: tiles whose size does not depend on the thread count, each multiplied in one
// thread by the fastest kernel for it: tile registers for large ones where the processor has them,
// oneDNN where it has kernels for the processor, OpenBLAS elsewhere and for float64, our own for
// small products.
#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/pieces.h"
#include "backend/cpu/products/blas.h"
#include "backend/cpu/products/gemm_amx.h"
#include "backend/cpu/products/onednn.h"
#include "backend/cpu/simd/simd.h"

namespace fovea::cpu {
namespace {

constexpr std::int64_t kTileRows = 256;
constexpr std::int64_t kTileColumns = 256;
// Where there are fewer tiles, they are cut along the columns too.
constexpr std::int64_t kEnoughTiles = 4;
// Multiply-adds below which a call of a library costs more than it saves.
constexpr std::int64_t kSmall = 1 << 17;

// Weight gradients: a is stored transposed, and the inner axis is the rows of a batch.
bool sums_over_rows(const GemmArgs& args) { return args.trans_a && !args.trans_b; }

// Part of c: rows [row, row + m), columns [column, column + n).
struct Tile {
  std::int64_t row, column, m, n;
};

// A and C: how a and b, and c, are stored; bfloat16 is summed in float.
template <class A, class C = A>
struct Operands {
  const A* a;
  const A* b;
  const Compute<C>* bias;
  C* c;
};

// c = bias, or 0 without one.
template <class T>
void start(const GemmArgs& args, const Tile& tile, const T* bias, T* c) {
  for (std::int64_t r = 0; r < tile.m; ++r, c += args.ldc) {
    if (bias != nullptr) {
      std::copy_n(bias + tile.column, tile.n, c);
    } else {
      std::fill_n(c, tile.n, T{0});
    }
  }
}

template <class T>
void multiply_small(const GemmArgs& args, const Tile& tile, const Operands<T>& at,
                    bool accumulate) {
  simd::kernels().of<T>().product({.m = tile.m,
                                   .n = tile.n,
                                   .k = args.k,
                                   .a = at.a,
                                   .a_row = args.trans_a ? 1 : args.lda,
                                   .a_column = args.trans_a ? args.lda : 1,
                                   .b = at.b,
                                   .b_row = args.trans_b ? 1 : args.ldb,
                                   .b_column = args.trans_b ? args.ldb : 1,
                                   .c = at.c,
                                   .ldc = args.ldc,
                                   .accumulate = accumulate});
}

// oneDNN generates code for every shape, so sizes that vary from batch to batch come in few values:
// the largest power of two up to `most` that still fits.
std::int64_t stretch(std::int64_t left, std::int64_t most) {
  while (most > left) most /= 2;
  return most;
}

template <class A, class C>
void multiply_onednn(const GemmArgs& args, const Tile& tile, const Operands<A, C>& at) {
  onednn::Gemm shape{.operands = kDTypeOf<A>,
                     .result = kDTypeOf<C>,
                     .trans_a = args.trans_a,
                     .trans_b = args.trans_b,
                     .n = tile.n,
                     .lda = args.lda,
                     .ldb = args.ldb,
                     .ldc = args.ldc};
  // The inner axis of a weight gradient is the rows of the batch; c must be float32 to add to.
  const std::int64_t depth = sums_over_rows(args) && kDTypeOf<C> != DType::kBFloat16 ? 1024 : 0;
  for (std::int64_t row = 0; row < tile.m; row += shape.m) {
    shape.m = stretch(tile.m - row, kTileRows);
    for (std::int64_t first = 0; first < args.k; first += shape.k) {
      shape.k = depth == 0 ? args.k : stretch(args.k - first, depth);
      shape.accumulate = first > 0;
      const float* bias = first == 0 && at.bias != nullptr ? at.bias + tile.column : nullptr;
      shape.has_bias = bias != nullptr;
      onednn::gemm(shape, at.a + (args.trans_a ? first * args.lda + row : row * args.lda + first),
                   at.b + (args.trans_b ? first : first * args.ldb), bias, at.c + row * args.ldc);
    }
  }
}

template <class T>
void multiply(const GemmArgs& args, const Tile& tile, const Operands<T>& at) {
  const bool small = tile.m * tile.n * args.k < kSmall;
  if constexpr (std::is_same_v<T, float>) {
    if (!small && onednn::available()) return multiply_onednn(args, tile, at);
  }
  // With an empty inner axis no kernel would write anything.
  const bool accumulate = at.bias != nullptr || args.k == 0;
  if (accumulate) start(args, tile, at.bias, at.c);
  if (small) return multiply_small(args, tile, at, accumulate);
  blas_gemm<T>(args.trans_a, args.trans_b, tile.m, tile.n, args.k, at.a, args.lda, at.b, args.ldb,
               accumulate, at.c, args.ldc);
}

// How the products of a batch are cut; columns too where there are few rows to share out.
struct Cut {
  std::int64_t tile_m, tile_n, rows, columns, group;

  explicit Cut(const GemmArgs& args) {
    tile_m = std::min(args.m, kTileRows);
    tile_n = args.n;
    for (const std::int64_t narrower : {kTileColumns, kTileColumns / 2}) {
      const std::int64_t tiles =
          args.batch * ((args.m + tile_m - 1) / tile_m) * ((args.n + tile_n - 1) / tile_n);
      if (tiles < kEnoughTiles) tile_n = std::min(args.n, narrower);
    }
    rows = (args.m + tile_m - 1) / tile_m;
    columns = (args.n + tile_n - 1) / tile_n;
    // A piece is a group of small products.
    const std::int64_t macs = std::max<std::int64_t>(1, tile_m * tile_n * args.k);
    group = std::max<std::int64_t>(1, (1 << 20) / macs);
  }
};

// Calls body(item, tile, its operands) for all tiles of all items.
template <class A, class C, class Body>
void for_tiles(ThreadPool& pool, const GemmArgs& args, const Operands<A, C>& whole,
               const Body& body) {
  const Cut cut(args);
  const std::int64_t tiles = cut.rows * cut.columns;
  const std::int64_t total = args.batch * tiles;
  pool.run((total + cut.group - 1) / cut.group, [&](std::int64_t piece) {
    for (std::int64_t i = piece * cut.group; i < std::min(total, (piece + 1) * cut.group); ++i) {
      const std::int64_t item = i / tiles;
      const std::int64_t row = i % tiles / cut.columns * cut.tile_m;
      const std::int64_t column = i % cut.columns * cut.tile_n;
      const Tile tile{row, column, std::min(cut.tile_m, args.m - row),
                      std::min(cut.tile_n, args.n - column)};
      body(item, tile,
           Operands<A, C>{
               whole.a + item * args.stride_a + (args.trans_a ? row : row * args.lda),
               whole.b + item * args.stride_b + (args.trans_b ? column * args.ldb : column),
               whole.bias, whole.c + item * args.stride_c + row * args.ldc + column});
    }
  });
}

// The inner axis of a weight gradient is long and its tiles are few: it is cut into parts of this
// depth where that gives large products more pieces.
std::int64_t part_depth(const GemmArgs& args, const Tensor& bias) {
  if (!sums_over_rows(args) || args.batch != 1 || args.ldc != args.n || bias.defined())
    return args.k;
  constexpr std::int64_t kLeastWork = 1 << 25, kLeastDepth = 2048, kRound = 1024;
  const std::int64_t size = args.m * args.n;
  const std::int64_t pieces =
      piece_count(size * args.k, {.few = kEnoughTiles, .least = kLeastWork});
  const std::int64_t parts = std::min(
      {pieces / divide_up(args.m, kTileRows), kPartialElements / size, args.k / kLeastDepth});
  return pieces == kEnoughTiles || parts < 2 ? args.k
                                             : divide_up(divide_up(args.k, parts), kRound) * kRound;
}

// Calls body(args of the part, tile, its operands) for all tiles of all parts, and adds up the
// parts in order.
template <class A, class C, class Body>
void for_parts(ThreadPool& pool, const GemmArgs& args, std::int64_t depth,
               const Operands<A, C>& whole, const Tensor& c, const Body& body) {
  GemmArgs parts = args;
  parts.batch = divide_up(args.k, depth);
  parts.k = depth;
  parts.stride_a = depth * args.lda;
  parts.stride_b = depth * args.ldb;
  parts.stride_c = args.m * args.n;
  const Tensor sums = scratch<C>(parts.batch * parts.stride_c, c);
  for_tiles(pool, parts, Operands<A, C>{whole.a, whole.b, nullptr, sums.template data<C>()},
            [&](std::int64_t i, const Tile& tile, const Operands<A, C>& at) {
              GemmArgs part = parts;
              part.k = std::min(depth, args.k - i * depth);
              body(part, tile, at);
            });
  sum_parts(pool, sums.template data<C>(), parts.batch, parts.stride_c, whole.c);
}

Tensor widened(const CpuBackend& backend, const Tensor& x) {
  if (!x.defined() || x.dtype() != DType::kBFloat16) return x;
  const Tensor wide = Tensor::empty(x.shape(), DType::kFloat32, x.device());
  backend.cast(x, wide);
  return wide;
}

}  // namespace

void CpuBackend::gemm(const GemmArgs& args, const Tensor& a, const Tensor& b, const Tensor& bias,
                      const Tensor& c) const {
  if (args.m == 0 || args.n == 0 || args.batch == 0) return;
  // Where an operand holds a number that cannot be split for tile registers, another kernel begins
  // again.
  if (amx_is_fast(args, a.dtype(), c.dtype()) && multiply_amx(pool_, args, a, b, bias, c)) return;
  if (a.dtype() == DType::kBFloat16) return gemm_bfloat16(args, a, b, bias, c);
  dispatch_float("gemm", c.dtype(), [&]<class T>(T) {
    const Operands<T> whole{a.data<T>(), b.data<T>(), bias.defined() ? bias.data<T>() : nullptr,
                            c.data<T>()};
    if (const std::int64_t depth = part_depth(args, bias); depth < args.k) {
      return for_parts(pool_, args, depth, whole, c,
                       [](const GemmArgs& part, const Tile& tile, const Operands<T>& at) {
                         multiply<T>(part, tile, at);
                       });
    }
    for_tiles(pool_, args, whole, [&](std::int64_t, const Tile& tile, const Operands<T>& at) {
      multiply<T>(args, tile, at);
    });
  });
}

void CpuBackend::gemm_bfloat16(const GemmArgs& args, const Tensor& a, const Tensor& b,
                               const Tensor& bias, const Tensor& c) const {
  if (!onednn::available() || args.k == 0) {
    const Tensor wide =
        c.dtype() == DType::kFloat32 ? c : Tensor::empty(c.shape(), DType::kFloat32, c.device());
    const bool rounds = !wide.same_storage(c);
    // What lies between the rows of c must not change.
    if (rounds && c.numel() != args.batch * args.m * args.n) cast(c, wide);
    gemm(args, widened(*this, a), widened(*this, b), bias, wide);
    if (rounds) cast(wide, c);
    return;
  }
  const auto run = [&]<class C>(C) {
    const Operands<BFloat16, C> whole{a.data<BFloat16>(), b.data<BFloat16>(),
                                      bias.defined() ? bias.data<float>() : nullptr, c.data<C>()};
    if constexpr (std::is_same_v<C, float>) {
      if (const std::int64_t depth = part_depth(args, bias); depth < args.k)
        return for_parts(pool_, args, depth, whole, c, multiply_onednn<BFloat16, float>);
    }
    for_tiles(pool_, args, whole,
              [&](std::int64_t, const Tile& tile, const Operands<BFloat16, C>& at) {
                multiply_onednn(args, tile, at);
              });
  };
  if (c.dtype() == DType::kBFloat16) {
    run(BFloat16{});
  } else {
    run(float{});
  }
}

}  // namespace fovea::cpu
