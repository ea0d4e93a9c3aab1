#include "backend/cpu/gemm_amx.h"

#include <algorithm>

#include "backend/cpu/simd/amx.h"

namespace fovea::cpu {
namespace {

using simd::kPanel;

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// Bytes of the inner axis in one row or column of the packed operands: a panel of either and the
// sums then stay in the second-level cache.
constexpr std::int64_t kDepthBytes = 3072;
// Columns of b that the packed rows of a piece meet before the next ones are read.
constexpr std::int64_t kColumnPanels = 8;

std::int64_t parts_of(DType dtype) { return dtype == DType::kBFloat16 ? 1 : 3; }

// How a product is cut; nothing here depends on the number of threads. The inner axis comes in
// waves: all of b is packed for one, then pieces of rows of a are packed and multiplied with it.
struct Plan {
  std::int64_t waves, steps;            // steps of kPanel in a wave
  std::int64_t panels;                  // of b
  std::int64_t rows, pieces;            // rows in a piece
  std::int64_t columns, column_pieces;  // panels of b in a piece

  Plan(const GemmArgs& args, DType operands) {
    const std::int64_t most = kDepthBytes / (2 * parts_of(operands));
    waves = ceil_div(args.k, most);
    steps = ceil_div(ceil_div(args.k, waves), kPanel);
    waves = ceil_div(args.k, steps * kPanel);
    panels = ceil_div(args.n, kPanel);
    rows = std::clamp<std::int64_t>(ceil_div(ceil_div(args.m, 8), kPanel) * kPanel, kPanel, 128);
    pieces = ceil_div(args.m, rows);
    // Few rows are packed again by every piece of columns.
    columns = pieces >= 8 ? panels : std::min(panels, kColumnPanels);
    column_pieces = ceil_div(panels, columns);
  }
};

template <class S, class C>
class Product {
 public:
  Product(const GemmArgs& args, const Tensor& a, const Tensor& b, const Tensor& bias,
          const Tensor& c)
      : args_(args),
        plan_(args, a.dtype()),
        table_(*simd::amx()),
        kernels_(table_.of<S>()),
        panel_(simd::amx_panel_size(plan_.steps, kernels_.parts)),
        a_(a.data<S>()),
        b_(b.data<S>()),
        bias_(bias.defined() ? bias.data<float>() : nullptr),
        c_(c.data<C>()),
        packed_(Tensor::empty({plan_.panels * panel_}, DType::kBFloat16, a.device())) {}

  void run(ThreadPool& pool) const {
    for (std::int64_t wave = 0; wave < plan_.waves; ++wave) {
      constexpr std::int64_t kPanels = 4;
      pool.run(ceil_div(plan_.panels, kPanels), [&](std::int64_t i) {
        const std::int64_t end = std::min(plan_.panels, (i + 1) * kPanels);
        for (std::int64_t panel = i * kPanels; panel < end; ++panel) pack_columns(wave, panel);
      });
      pool.run(plan_.pieces * plan_.column_pieces, [&](std::int64_t i) {
        multiply(wave, i / plan_.column_pieces, i % plan_.column_pieces);
      });
    }
  }

 private:
  std::int64_t first(std::int64_t wave) const { return wave * plan_.steps * kPanel; }
  std::int64_t depth(std::int64_t wave) const {
    return std::min(plan_.steps * kPanel, args_.k - first(wave));
  }

  void pack_columns(std::int64_t wave, std::int64_t panel) const {
    const std::int64_t column = panel * kPanel;
    const S* x =
        b_ + (args_.trans_b ? column * args_.ldb + first(wave) : first(wave) * args_.ldb + column);
    kernels_.pack(false,
                  {.x = x,
                   .ld = args_.ldb,
                   .inner_contiguous = args_.trans_b,
                   .outer = std::min(kPanel, args_.n - column),
                   .inner = depth(wave)},
                  plan_.steps, packed_.data<BFloat16>() + panel * panel_);
  }

  void pack_rows(std::int64_t wave, std::int64_t row, std::int64_t count, BFloat16* to) const {
    const S* x =
        a_ + (args_.trans_a ? first(wave) * args_.lda + row : row * args_.lda + first(wave));
    kernels_.pack(true,
                  {.x = x,
                   .ld = args_.lda,
                   .inner_contiguous = !args_.trans_a,
                   .outer = count,
                   .inner = depth(wave)},
                  plan_.steps, to);
  }

  void multiply(std::int64_t wave, std::int64_t piece, std::int64_t column_piece) const {
    const std::int64_t row = piece * plan_.rows;
    const std::int64_t rows = std::min(plan_.rows, args_.m - row);
    const std::int64_t panels = ceil_div(rows, kPanel);
    const Tensor memory = Tensor::empty({panels * panel_}, DType::kBFloat16, packed_.device());
    BFloat16* left = memory.data<BFloat16>();
    for (std::int64_t i = 0; i < panels; ++i) {
      pack_rows(wave, row + i * kPanel, std::min(kPanel, rows - i * kPanel), left + i * panel_);
    }
    table_.begin();
    const std::int64_t end = std::min(plan_.panels, (column_piece + 1) * plan_.columns);
    for (std::int64_t j = column_piece * plan_.columns; j < end; j += kColumnPanels) {
      for (std::int64_t i = 0; i < panels; ++i) {
        for (std::int64_t at = j; at < std::min(end, j + kColumnPanels); ++at)
          block(wave, row + i * kPanel, at, left + i * panel_);
      }
    }
    table_.end();
  }

  void block(std::int64_t wave, std::int64_t row, std::int64_t panel, const BFloat16* left) const {
    alignas(64) float sums[kPanel * kPanel];
    const std::int64_t column = panel * kPanel;
    const std::int64_t rows = std::min(kPanel, args_.m - row);
    const std::int64_t columns = std::min(kPanel, args_.n - column);
    kernels_.multiply(left, packed_.data<BFloat16>() + panel * panel_, plan_.steps, rows <= 16,
                      columns <= 16, sums);
    const simd::AmxResult<C> result{
        .c = c_ + row * args_.ldc + column,
        .ldc = args_.ldc,
        .rows = rows,
        .columns = columns,
        .bias = bias_ != nullptr && wave == 0 ? bias_ + column : nullptr,
        .accumulate = args_.beta == 1 || wave > 0};
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
  Tensor packed_;  // b for the present wave
};

}  // namespace

bool amx_is_fast(const GemmArgs& args, DType operands, DType result) {
  if (simd::amx() == nullptr || operands == DType::kFloat64) return false;
  if (args.batch != 1 || args.alpha != 1) return false;
  if (args.beta != 0 && args.beta != 1) return false;
  // Packing b must pay, and the last rows and columns of a panel not be most of it.
  constexpr std::int64_t kRows = 128, kColumns = 16, kDepth = 32;
  if (args.m < kRows || args.n < kColumns || args.k < kDepth) return false;
  // Sums in bfloat16 would be rounded between two waves.
  return result == DType::kFloat32 || Plan(args, operands).waves == 1;
}

void multiply_amx(ThreadPool& pool, const GemmArgs& args, const Tensor& a, const Tensor& b,
                  const Tensor& bias, const Tensor& c) {
  if (a.dtype() == DType::kFloat32) {
    Product<float, float>(args, a, b, bias, c).run(pool);
  } else if (c.dtype() == DType::kFloat32) {
    Product<BFloat16, float>(args, a, b, bias, c).run(pool);
  } else {
    Product<BFloat16, BFloat16>(args, a, b, bias, c).run(pool);
  }
}

}  // namespace fovea::cpu
