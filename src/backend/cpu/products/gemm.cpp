// Matrix products by the fastest kernel for them: tile registers for large ones where the processor
// has them, oneDNN where it has kernels for the processor, our own elsewhere, for float64 and for
// small products. oneDNN gets tiles whose size does not depend on the number of threads.
#include "backend/composed/composed.h"
#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/pieces.h"
#include "backend/cpu/products/gemm_amx.h"
#include "backend/cpu/products/gemm_packed.h"
#include "backend/cpu/products/onednn.h"

namespace fovea::cpu {
namespace {

constexpr std::int64_t kTileRows = 256;
constexpr std::int64_t kTileColumns = 256;
// Of the inner axis of weight gradients.
constexpr std::int64_t kDepth = 1024;
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
  const std::int64_t depth = sums_over_rows(args) && kDTypeOf<C> != DType::kBFloat16 ? kDepth : 0;
  for (std::int64_t row = 0; row < tile.m; row += shape.m) {
    shape.m = stretch(tile.m - row, kTileRows);
    for (std::int64_t first = 0; first < args.k; first += shape.k) {
      shape.k = depth == 0 ? args.k : stretch(args.k - first, depth);
      shape.accumulate = first > 0;
      const float* bias = first == 0 ? at.bias : nullptr;
      shape.has_bias = bias != nullptr;
      onednn::gemm(shape, at.a + (args.trans_a ? first * args.lda + row : row * args.lda + first),
                   at.b + (args.trans_b ? first : first * args.ldb), bias, at.c + row * args.ldc);
    }
  }
}

// How the products of a batch are cut. A piece is a group of small products.
struct Cut {
  std::int64_t tile_m, tile_n, rows, columns, group;

  Cut(const GemmArgs& args, std::int64_t m, std::int64_t n)
      : tile_m(m),
        tile_n(n),
        rows(divide_up(args.m, m)),
        columns(divide_up(args.n, n)),
        group(std::max<std::int64_t>(1, kPieceWork / std::max<std::int64_t>(1, m * n * args.k))) {}

  static constexpr std::int64_t kPieceWork = 1 << 20;
};

// Columns too where there are few rows to share out.
Cut fixed_cut(const GemmArgs& args) {
  const std::int64_t tile_m = std::min(args.m, kTileRows);
  std::int64_t tile_n = args.n;
  for (const std::int64_t narrower : {kTileColumns, kTileColumns / 2}) {
    const std::int64_t tiles = args.batch * divide_up(args.m, tile_m) * divide_up(args.n, tile_n);
    if (tiles < kEnoughTiles) tile_n = std::min(args.n, narrower);
  }
  return {args, tile_m, tile_n};
}

// For multiply_packed, whose bits do not depend on it: two pieces a thread, if they are large
// enough.
Cut cut_for(int threads, const GemmArgs& args) {
  constexpr std::int64_t kLeastSide = 64;
  const std::int64_t wanted =
      std::min<std::int64_t>(2 * threads, args.batch * args.m * args.n * args.k / Cut::kPieceWork);
  std::int64_t m = args.m;
  std::int64_t n = args.n;
  while (args.batch * divide_up(args.m, m) * divide_up(args.n, n) < wanted &&
         std::max(m, n) >= 2 * kLeastSide) {
    std::int64_t& side = m > n ? m : n;
    side = divide_up(side / 2, kLeastSide / 2) * (kLeastSide / 2);
  }
  return {args, m, n};
}

// Calls body(item, tile, its operands) for all tiles of all items.
template <class A, class C, class Body>
void for_tiles(ThreadPool& pool, const GemmArgs& args, const Cut& cut, const Operands<A, C>& whole,
               const Body& body) {
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
               whole.bias == nullptr ? nullptr : whole.bias + column,
               whole.c + item * args.stride_c + row * args.ldc + column,
               whole.a_sums == nullptr || column > 0 ? nullptr
                                                     : whole.a_sums + item * args.m + row});
    }
  });
}

// The inner axis of a weight gradient is long and its tiles are few: it is cut into parts of this
// depth, a multiple of `step`, where that gives large products more pieces.
std::int64_t part_depth(const GemmArgs& args, bool has_bias, std::int64_t step) {
  if (!sums_over_rows(args) || args.batch != 1 || args.ldc != args.n || has_bias) return args.k;
  constexpr std::int64_t kLeastWork = 1 << 25, kLeastDepth = 2048;
  const std::int64_t size = args.m * args.n;
  const std::int64_t pieces =
      piece_count(size * args.k, {.few = kEnoughTiles, .least = kLeastWork});
  const std::int64_t parts = std::min(
      {pieces / divide_up(args.m, kTileRows), kPartialElements / size, args.k / kLeastDepth});
  return pieces == kEnoughTiles || parts < 2 ? args.k
                                             : divide_up(divide_up(args.k, parts), step) * step;
}

// Calls body(args of the part, tile, its operands) for all tiles of all parts, and adds up the
// parts in order.
template <class A, class C, class CutOf, class Body>
void for_parts(ThreadPool& pool, const GemmArgs& args, std::int64_t depth, const CutOf& cut_of,
               const Operands<A, C>& whole, const Tensor& c, const Body& body) {
  GemmArgs parts = args;
  parts.batch = divide_up(args.k, depth);
  parts.k = depth;
  parts.stride_a = depth * args.lda;
  parts.stride_b = depth * args.ldb;
  parts.stride_c = args.m * args.n;
  const Tensor sums = scratch<C>(parts.batch * parts.stride_c, c);
  const Tensor a_sums = scratch<C>(whole.a_sums == nullptr ? 0 : parts.batch * args.m, c);
  for_tiles(pool, parts, cut_of(parts),
            Operands<A, C>{whole.a, whole.b, nullptr, sums.template data<C>(),
                           whole.a_sums == nullptr ? nullptr : a_sums.template data<C>()},
            [&](std::int64_t i, const Tile& tile, const Operands<A, C>& at) {
              GemmArgs part = parts;
              part.k = std::min(depth, args.k - i * depth);
              body(part, tile, at);
            });
  sum_parts(pool, sums.template data<C>(), parts.batch, parts.stride_c, whole.c);
  if (whole.a_sums != nullptr)
    sum_parts(pool, a_sums.template data<C>(), parts.batch, args.m, whole.a_sums);
}

template <class S, class C>
void compute(ThreadPool& pool, bool by_library, const GemmArgs& args, const Operands<S, C>& whole,
             const Tensor& c) {
  const auto cut_of = [&](const GemmArgs& of) {
    return by_library ? fixed_cut(of) : cut_for(pool.threads(), of);
  };
  const auto body = [&](const GemmArgs& of, const Tile& tile, const Operands<S, C>& at) {
    if constexpr (!std::is_same_v<S, double>) {
      if (by_library && (std::is_same_v<S, BFloat16> || tile.m * tile.n * of.k >= kSmall))
        return multiply_onednn(of, tile, at);
    }
    GemmArgs here = of;
    here.m = tile.m;
    here.n = tile.n;
    multiply_packed(here, at);
  };
  if constexpr (std::is_same_v<C, Compute<C>>) {
    if (const std::int64_t depth =
            part_depth(args, whole.bias != nullptr, by_library ? kDepth : simd::kPanelDepth);
        depth < args.k)
      return for_parts(pool, args, depth, cut_of, whole, c, body);
  }
  if (!by_library && !sums_over_rows(args) && has_many_rows(args))
    return multiply_rows(pool, args, whole, c);
  for_tiles(
      pool, args, cut_of(args), whole,
      [&](std::int64_t, const Tile& tile, const Operands<S, C>& at) { body(args, tile, at); });
}

}  // namespace

void CpuBackend::gemm(const GemmArgs& args, const Tensor& a, const Tensor& b, const Tensor& bias,
                      const Tensor& c) const {
  if (args.m == 0 || args.n == 0 || args.batch == 0) return;
  // Where an operand holds a number that cannot be split for tile registers, another kernel begins
  // again.
  if (!batch_invariant_ && amx_is_fast(args, a.dtype(), c.dtype()) &&
      multiply_amx(pool_, args, a, b, bias, c))
    return;
  const bool by_library = !batch_invariant_ && onednn::available() && args.k > 0;
  const auto run_stored = [&]<class S, class C>(S, C) {
    compute(pool_, by_library, args,
            Operands<S, C>{a.data<S>(), b.data<S>(), optional<Compute<C>>(bias), c.data<C>()}, c);
  };
  if (a.dtype() != DType::kBFloat16) {
    dispatch_float("gemm", c.dtype(), [&]<class T>(T) { run_stored(T{}, T{}); });
  } else if (c.dtype() == DType::kBFloat16) {
    run_stored(BFloat16{}, BFloat16{});
  } else {
    run_stored(BFloat16{}, float{});
  }
}

// Sums for the bias are made of dy as it has been packed for the weight.
void CpuBackend::linear_backward_weight(const Tensor& x, const Tensor& dy, const Tensor& dweight,
                                        const Tensor& dbias) const {
  const GemmArgs args = composed::weight_gradient(x, dy);
  const bool packs =
      batch_invariant_ || (!onednn::available() && !amx_is_fast(args, dy.dtype(), dweight.dtype()));
  if (!packs || !dbias.defined() || x.numel() == 0 || dy.numel() == 0)
    return Backend::linear_backward_weight(x, dy, dweight, dbias);
  dispatch_stored("linear_backward_weight", dy.dtype(), [&]<class S>(S) {
    using C = Compute<S>;
    compute(pool_, false, args,
            Operands<S, C>{dy.data<S>(), x.data<S>(), nullptr, dweight.data<C>(), dbias.data<C>()},
            dweight);
  });
}

}  // namespace fovea::cpu
