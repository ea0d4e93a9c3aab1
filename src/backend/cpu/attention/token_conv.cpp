// Depthwise convolution of tokens, channels last, row by row of the grid. A grid of three axes is
// one of two whose kernel has rows in several planes. A piece is a few rows of one item; backward
// reads x and dy once for all gradients.
#include <algorithm>
#include <vector>

#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/pieces.h"
#include "backend/cpu/simd/simd.h"

namespace fovea::cpu {
namespace {

// The sizes, and how rows are shared out.
struct Geometry {
  bool residual;
  std::int64_t batch, d, h, w, channels, kernel_d, kernel_h, kernel_w;
  std::int64_t rows = 1, bands = 1;  // rows of a band, bands of an item

  Geometry(bool with_residual, const Tensor& x, const Tensor& weight)
      : residual(with_residual),
        batch(x.size(0)),
        d(x.rank() == 5 ? x.size(1) : 1),
        h(x.size(-3)),
        w(x.size(-2)),
        channels(x.size(-1)),
        kernel_d(x.rank() == 5 ? weight.size(2) : 1),
        kernel_h(weight.size(-2)),
        kernel_w(weight.size(-1)) {
    // Rows around a band are read twice, so bands should not be thin.
    constexpr std::int64_t kBandElements = 1 << 17;
    rows = std::clamp<std::int64_t>(kBandElements / std::max<std::int64_t>(1, w * channels), 1,
                                    all_rows());
    bands = divide_up(all_rows(), rows);
  }
  std::int64_t all_rows() const { return d * h; }
  std::int64_t kernel_rows() const { return kernel_d * kernel_h; }
  std::int64_t taps() const { return kernel_rows() * kernel_w; }
  std::int64_t row_size() const { return w * channels; }
  std::int64_t item_size() const { return all_rows() * row_size(); }
};

// The rows of one item under the kernel.
template <class S>
class Rows {
 public:
  explicit Rows(const Geometry& g) : g_(g), rows_(static_cast<std::size_t>(g.kernel_rows())) {}
  /// For results of row `row`; x is the whole item. `to`: the item whose rows are written
  /// meanwhile, or null.
  simd::TokenRows<S> around(const S* x, std::int64_t row, const S* to = nullptr) {
    for (std::int64_t i = 0; i < g_.kernel_rows(); ++i) {
      const std::int64_t plane = row / g_.h + i / g_.kernel_h - g_.kernel_d / 2;
      const std::int64_t at = row % g_.h + i % g_.kernel_h - g_.kernel_h / 2;
      const bool inside = plane >= 0 && plane < g_.d && at >= 0 && at < g_.h;
      rows_[static_cast<std::size_t>(i)] =
          inside ? x + (plane * g_.h + at) * g_.row_size() : nullptr;
    }
    // Of x the next row needs one more, that of the kernel's last.
    const std::int64_t next = row + 1;
    const std::int64_t plane = next / g_.h + g_.kernel_d / 2, at = next % g_.h + g_.kernel_h / 2;
    const bool more = plane < g_.d && at < g_.h;
    return {.rows = rows_.data(),
            .tokens = g_.w,
            .channels = g_.channels,
            .kernel_h = g_.kernel_rows(),
            .kernel_w = g_.kernel_w,
            .reads = more ? ahead(x, plane * g_.h + at) : simd::Ahead{},
            .writes = to != nullptr && next < g_.all_rows() ? ahead(to, next) : simd::Ahead{}};
  }

 private:
  simd::Ahead ahead(const S* item, std::int64_t row) const {
    constexpr std::int64_t kBytes = sizeof(S);
    return {.x = item + row * g_.row_size(), .rows = 1, .bytes = g_.row_size() * kBytes};
  }

  const Geometry& g_;
  std::vector<const S*> rows_;
};

// (c, 1, kernel...) with the channels last, and the taps reversed if asked. A residual adds 1 to
// the middle of the kernel.
template <class C>
Tensor channels_last(const Geometry& g, const Tensor& weight, bool reversed) {
  const Tensor result = scratch<C>(g.taps() * g.channels, weight);
  for (std::int64_t c = 0; c < g.channels; ++c) {
    for (std::int64_t tap = 0; tap < g.taps(); ++tap) {
      const std::int64_t to = reversed ? g.taps() - 1 - tap : tap;
      const C more = g.residual && 2 * tap + 1 == g.taps() ? C{1} : C{0};
      result.data<C>()[to * g.channels + c] = weight.data<C>()[c * g.taps() + tap] + more;
    }
  }
  return result;
}

// From sums (taps + 1, channels) to the gradients of weight and bias.
template <class C>
void write_sums(const Geometry& g, const C* sums, const Tensor& dweight, const Tensor& dbias) {
  for (std::int64_t c = 0; dweight.defined() && c < g.channels; ++c) {
    for (std::int64_t tap = 0; tap < g.taps(); ++tap)
      dweight.data<C>()[c * g.taps() + tap] = sums[tap * g.channels + c];
  }
  if (dbias.defined()) std::copy_n(sums + g.taps() * g.channels, g.channels, dbias.data<C>());
}

}  // namespace

void CpuBackend::token_conv(const TokenConvArgs& args) const {
  const auto& [residual, x, weight, bias, y] = args;
  if (y.numel() == 0) return;
  const Geometry g(residual, x, weight);
  dispatch_stored("token_conv", x.dtype(), [&]<class S>(S) {
    using C = Compute<S>;
    const Tensor w = channels_last<C>(g, weight, false);
    const C* pbias = bias.defined() ? bias.data<C>() : nullptr;
    pool_.run(g.batch * g.bands, [&](std::int64_t piece) {
      Rows<S> rows(g);
      const std::int64_t item = piece / g.bands * g.item_size();
      const std::int64_t first = piece % g.bands * g.rows;
      for (std::int64_t row = first; row < std::min(g.all_rows(), first + g.rows); ++row) {
        S* to = y.data<S>() + item;
        simd::kernels().of<S>().token_row(rows.around(x.data<S>() + item, row, to), w.data<C>(),
                                          pbias, to + row * g.row_size());
      }
    });
  });
}

void CpuBackend::token_conv_backward(const TokenConvBackwardArgs& args) const {
  const auto& [residual, x, weight, dy, dx, dweight, dbias] = args;
  const Geometry g(residual, dy, weight);
  const bool sums = dweight.defined() || dbias.defined();
  dispatch_stored("token_conv_backward", dy.dtype(), [&]<class S>(S) {
    using C = Compute<S>;
    const auto& kernels = simd::kernels().of<S>();
    const std::int64_t size = (g.taps() + 1) * g.channels;
    // dx is the convolution of dy with the reversed kernel.
    const Tensor back = channels_last<C>(g, weight, true);
    const std::int64_t macs = 2 * g.batch * g.item_size() * g.taps();
    const Chunks cut(std::max<std::int64_t>(1, g.batch * g.bands), size,
                     piece_count(macs, {.few = 16, .least = 1 << 22}));
    const Tensor parts = scratch<C>((cut.chunks + 1) * size, weight);
    pool_.run(cut.chunks, [&](std::int64_t chunk) {
      Rows<S> rows(g);
      C* part = parts.data<C>() + chunk * size;
      std::fill_n(part, size, C{0});
      const std::int64_t end = std::min(g.batch * g.bands, (chunk + 1) * cut.chunk);
      for (std::int64_t band = chunk * cut.chunk; band < end; ++band) {
        const std::int64_t item = band / g.bands * g.item_size();
        const std::int64_t first = band % g.bands * g.rows;
        const S* from = dy.data<S>() + item;
        for (std::int64_t row = first; row < std::min(g.all_rows(), first + g.rows); ++row) {
          const std::int64_t at = row * g.row_size();
          if (sums) kernels.token_row_sums(rows.around(x.data<S>() + item, row), from + at, part);
          if (dx.defined()) {
            S* to = dx.data<S>() + item;
            kernels.token_row(rows.around(from, row, to), back.data<C>(), nullptr, to + at);
          }
        }
      }
    });
    C* total = parts.data<C>() + cut.chunks * size;
    sum_parts(pool_, parts.data<C>(), cut.chunks, size, total);
    write_sums<C>(g, total, dweight, dbias);
  });
}

}  // namespace fovea::cpu
