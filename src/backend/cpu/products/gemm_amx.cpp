#include "backend/cpu/products/gemm_amx.h"

#include <algorithm>
#include <atomic>

#include "backend/cpu/simd/amx.h"
#include "backend/cpu/simd/simd.h"

namespace fovea::cpu {
namespace {

using simd::kPanel;

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// Bytes of the inner axis in one row or column of the packed operands: a panel of either and the
// sums then stay in the second-level cache.
constexpr std::int64_t kDepthBytes = 3072;
// The packed operands of a weight gradient, whose inner axis is long, stay there in each wave if
// they are not larger than this; but waves have at least kLeastDepth of the inner axis.
constexpr std::int64_t kPackedBytes = 1 << 20;
constexpr std::int64_t kLeastDepth = 128;
// Packed rows and columns that meet in the cache before others are read.
constexpr std::int64_t kRowPanels = 4;
constexpr std::int64_t kColumnPanels = 8;
// Pieces that are enough for many threads.
constexpr std::int64_t kManyPieces = 16;

std::int64_t parts_of(DType dtype) { return dtype == DType::kBFloat16 ? 1 : 3; }

// How a product is cut; nothing here depends on the number of threads. The inner axis is cut into
// waves. In each wave all of b is packed first, then pieces of c are computed. Where c has many
// rows, a piece is some whole rows and packs its rows of a itself, to have them in its cache;
// elsewhere all of a is packed first too.
struct Plan {
  std::int64_t waves, steps;            // steps of kPanel in a wave
  std::int64_t row_panels, panels;      // of a and of b
  std::int64_t rows, row_pieces;        // panels of a in a piece
  std::int64_t columns, column_pieces;  // panels of b in a piece
  bool packs_rows;

  Plan(const GemmArgs& args, DType operands, DType result) {
    std::int64_t most = kDepthBytes / (2 * parts_of(operands));
    // (Sums in bfloat16 would be rounded between two waves.)
    if (args.trans_a && !args.trans_b && result == DType::kFloat32) {
      const std::int64_t step = simd::amx_panel_size(
          ceil_div(args.m, kPanel) + ceil_div(args.n, kPanel), parts_of(operands));
      most = std::clamp(kPackedBytes / (2 * step) * kPanel, kLeastDepth, most);
    }
    waves = ceil_div(args.k, most);
    steps = ceil_div(ceil_div(args.k, waves), kPanel);
    waves = ceil_div(args.k, steps * kPanel);
    row_panels = ceil_div(args.m, kPanel);
    panels = ceil_div(args.n, kPanel);
    rows = kRowPanels;
    packs_rows = ceil_div(row_panels, rows) < kManyPieces;
    columns = packs_rows ? std::min(panels, kColumnPanels) : panels;
    column_pieces = ceil_div(panels, columns);
    while (rows > 1 && ceil_div(row_panels, rows) * column_pieces < kManyPieces) rows /= 2;
    row_pieces = ceil_div(row_panels, rows);
  }
};

template <class S, class C>
class Product {
 public:
  Product(const GemmArgs& args, const Tensor& a, const Tensor& b, const Tensor& bias,
          const Tensor& c)
      : args_(args),
        plan_(args, a.dtype(), c.dtype()),
        table_(*simd::amx()),
        kernels_(table_.of<S>()),
        panel_(simd::amx_panel_size(plan_.steps, kernels_.parts)),
        a_(a.data<S>()),
        b_(b.data<S>()),
        bias_(bias.defined() ? bias.data<float>() : nullptr),
        c_(c.data<C>()),
        packed_(memory(plan_.panels, b)),
        packed_rows_(plan_.packs_rows ? memory(plan_.row_panels, a) : Tensor()),
        past_caches_(goes_past_caches()) {}

  // False if an operand holds a number that cannot be packed.
  bool run(ThreadPool& pool) const {
    // Panels that are packed at a time.
    constexpr std::int64_t kGroup = 4;
    const std::int64_t columns = ceil_div(plan_.panels, kGroup);
    const std::int64_t rows = plan_.packs_rows ? ceil_div(plan_.row_panels, kGroup) : 0;
    for (std::int64_t wave = 0; wave < plan_.waves; ++wave) {
      pool.run(columns + rows, [&](std::int64_t i) {
        if (i < columns) {
          const std::int64_t first = i * kGroup;
          pack(false, {b_, args_.ldb, args_.n, args_.trans_b}, wave, first,
               std::min(plan_.panels, first + kGroup), packed_.data<BFloat16>() + first * panel_);
        } else {
          const std::int64_t first = (i - columns) * kGroup;
          pack_rows(wave, first, std::min(plan_.row_panels, first + kGroup),
                    packed_rows_.data<BFloat16>() + first * panel_);
        }
      });
      if (refused_) return false;
      pool.run(plan_.row_pieces * plan_.column_pieces, [&](std::int64_t i) {
        multiply(wave, i / plan_.column_pieces, i % plan_.column_pieces);
      });
      if (refused_) return false;
    }
    return true;
  }

 private:
  Tensor memory(std::int64_t panels, const Tensor& like) const {
    return Tensor::empty({panels * panel_}, DType::kBFloat16, like.device());
  }
  std::int64_t start(std::int64_t wave) const { return wave * plan_.steps * kPanel; }
  std::int64_t depth(std::int64_t wave) const {
    return std::min(plan_.steps * kPanel, args_.k - start(wave));
  }

  bool goes_past_caches() const {
    constexpr auto kBytes = static_cast<std::int64_t>(sizeof(C));
    const std::int64_t row = args_.ldc * kBytes;
    const std::int64_t read = args_.m * args_.k * static_cast<std::int64_t>(sizeof(S));
    return plan_.waves == 1 &&
           simd::goes_past_caches(read + args_.m * row, c_, row, kPanel * kBytes);
  }

  // a or b: `size` rows or columns of the result, lines of memory being `ld` apart.
  struct Operand {
    const S* x;
    std::int64_t ld, size;
    bool lines_along_inner;

    const S* at(std::int64_t outer, std::int64_t inner) const {
      return x + (lines_along_inner ? outer * ld + inner : inner * ld + outer);
    }
  };

  // Rows of bfloat16 may be read where they are, if they fill tiles.
  bool in_place(std::int64_t panel) const {
    const std::int64_t rows = std::min(kPanel, args_.m - panel * kPanel);
    return std::is_same_v<S, BFloat16> && !args_.trans_a && args_.k % kPanel == 0 && rows % 16 == 0;
  }
  simd::AmxRows rows_of(std::int64_t wave, std::int64_t panel, const BFloat16* packed) const {
    if constexpr (std::is_same_v<S, BFloat16>) {
      if (in_place(panel)) {
        return {a_ + panel * kPanel * args_.lda + start(wave), args_.lda, 16 * args_.lda, kPanel};
      }
    }
    return {.x = packed, .step = simd::amx_panel_size(1, kernels_.parts)};
  }

  // Packs panels [panel, end). Where the inner axis lies across the lines of memory, all panels
  // take their parts of a line in turn, since these lie next to each other.
  void pack(bool left, const Operand& of, std::int64_t wave, std::int64_t panel, std::int64_t end,
            BFloat16* to) const {
    const std::int64_t at_once = of.lines_along_inner ? plan_.steps : 1;
    for (std::int64_t step = 0; step < plan_.steps; step += at_once) {
      const std::int64_t inner = step * kPanel;
      BFloat16* part = to + simd::amx_panel_size(step, kernels_.parts);
      for (std::int64_t i = panel; i < end; ++i, part += panel_) {
        if (left && in_place(i)) continue;
        const std::int64_t outer = i * kPanel;
        const simd::AmxPanel<S> at{.x = of.at(outer, start(wave) + inner),
                                   .ld = of.ld,
                                   .inner_contiguous = of.lines_along_inner,
                                   .outer = std::min(kPanel, of.size - outer),
                                   .inner = depth(wave) - inner};
        if (!kernels_.pack(left, at, at_once, part)) refused_ = true;
      }
    }
  }
  void pack_rows(std::int64_t wave, std::int64_t panel, std::int64_t end, BFloat16* to) const {
    pack(true, {a_, args_.lda, args_.m, !args_.trans_a}, wave, panel, end, to);
  }

  void multiply(std::int64_t wave, std::int64_t row_piece, std::int64_t column_piece) const {
    const std::int64_t first = row_piece * plan_.rows;
    const std::int64_t last = std::min(plan_.row_panels, first + plan_.rows);
    Tensor own;
    const BFloat16* rows = nullptr;
    if (plan_.packs_rows) {
      rows = packed_rows_.data<BFloat16>() + first * panel_;
    } else {
      own = memory(last - first, packed_);
      pack_rows(wave, first, last, own.data<BFloat16>());
      rows = own.data<BFloat16>();
    }
    if (refused_) return;
    table_.begin();
    const std::int64_t end = std::min(plan_.panels, (column_piece + 1) * plan_.columns);
    for (std::int64_t j = column_piece * plan_.columns; j < end; j += kColumnPanels) {
      for (std::int64_t i = first; i < last; ++i) {
        for (std::int64_t at = j; at < std::min(end, j + kColumnPanels); ++at)
          block(wave, i, at, rows_of(wave, i, rows + (i - first) * panel_));
      }
    }
    table_.end();
  }

  void block(std::int64_t wave, std::int64_t row_panel, std::int64_t panel,
             const simd::AmxRows& left) const {
    alignas(64) float sums[kPanel * kPanel];
    const std::int64_t row = row_panel * kPanel;
    const std::int64_t column = panel * kPanel;
    const std::int64_t rows = std::min(kPanel, args_.m - row);
    const std::int64_t columns = std::min(kPanel, args_.n - column);
    kernels_.multiply(left, packed_.data<BFloat16>() + panel * panel_,
                      ceil_div(depth(wave), kPanel), rows <= 16, columns <= 16, sums);
    const simd::AmxResult<C> result{
        .c = c_ + row * args_.ldc + column,
        .ldc = args_.ldc,
        .rows = rows,
        .columns = columns,
        .bias = bias_ != nullptr && wave == 0 ? bias_ + column : nullptr,
        .accumulate = wave > 0,
        .past_caches = past_caches_ && columns == kPanel};
    if constexpr (std::is_same_v<C, float>) {
      table_.finish_f32(sums, result);
    } else {
      table_.finish_bf16(sums, result);
    }
  }

  const GemmArgs& args_;
  Plan plan_;
  const simd::AmxTable& table_;
  const simd::AmxKernels<S>& kernels_;
  std::int64_t panel_;  // elements of a packed panel
  const S* a_;
  const S* b_;
  const float* bias_;
  C* c_;
  Tensor packed_, packed_rows_;  // b and a for the present wave
  bool past_caches_;
  mutable std::atomic<bool> refused_{false};
};

}  // namespace

bool amx_is_fast(const GemmArgs& args, DType operands, DType result) {
  if (simd::amx() == nullptr || operands == DType::kFloat64) return false;
  if (args.batch != 1) return false;
  // Packing b must pay off, and panels must not be mostly empty.
  constexpr std::int64_t kRows = 128, kColumns = 16, kDepth = 32;
  if (args.m < kRows || args.n < kColumns || args.k < kDepth) return false;
  // Sums in bfloat16 would be rounded between two waves.
  return result == DType::kFloat32 || Plan(args, operands, result).waves == 1;
}

bool multiply_amx(ThreadPool& pool, const GemmArgs& args, const Tensor& a, const Tensor& b,
                  const Tensor& bias, const Tensor& c) {
  if (a.dtype() == DType::kFloat32) return Product<float, float>(args, a, b, bias, c).run(pool);
  if (c.dtype() == DType::kFloat32) return Product<BFloat16, float>(args, a, b, bias, c).run(pool);
  return Product<BFloat16, BFloat16>(args, a, b, bias, c).run(pool);
}

}  // namespace fovea::cpu
