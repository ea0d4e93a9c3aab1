// Depthwise convolution of tokens, channels last, row by row of the grid. A grid of three axes is
// one of two whose kernel has rows in several planes. A piece is a few rows of one item; the rows
// under the kernel are packed, in the type that is summed in, and stay in the cache. Backward reads
// x and dy once for all gradients.
#include <algorithm>
#include <utility>
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
  std::int64_t width, panels;        // channels of a panel, panels of a token
  std::int64_t rows = 1, bands = 1;  // rows of a band, bands of an item
  std::int64_t tokens = 1;           // of a part of a row

  // C: the type that is summed in.
  template <class C>
  Geometry(C, bool with_residual, const Tensor& x, const Tensor& weight)
      : residual(with_residual),
        batch(x.size(0)),
        d(x.rank() == 5 ? x.size(1) : 1),
        h(x.size(-3)),
        w(x.size(-2)),
        channels(x.size(-1)),
        kernel_d(x.rank() == 5 ? weight.size(2) : 1),
        kernel_h(weight.size(-2)),
        kernel_w(weight.size(-1)),
        width(2 * simd::kernels().lanes<C>()),
        panels(divide_up(channels, width)) {
    // Rows around a band are read twice, so bands should not be thin.
    constexpr std::int64_t kBandElements = 1 << 17;
    rows = std::clamp<std::int64_t>(kBandElements / std::max<std::int64_t>(1, w * channels), 1,
                                    std::max<std::int64_t>(1, all_rows()));
    bands = divide_up(all_rows(), rows);
    // Packed rows stay in the second-level cache.
    constexpr std::int64_t kPackedElements = 1 << 16, kFewTokens = 16;
    const std::int64_t most =
        kPackedElements / std::max<std::int64_t>(1, kernel_rows() * panels * width) - 2 * pad();
    const std::int64_t parts = divide_up(w, std::max(most, kFewTokens));
    tokens = divide_up(w, std::max<std::int64_t>(1, parts));
  }
  std::int64_t all_rows() const { return d * h; }
  std::int64_t kernel_rows() const { return kernel_d * kernel_h; }
  std::int64_t taps() const { return kernel_rows() * kernel_w; }
  std::int64_t pad() const { return kernel_w / 2; }
  std::int64_t row_size() const { return w * channels; }
  std::int64_t item_size() const { return all_rows() * row_size(); }
  // Of the weight and the bias, in panels.
  std::int64_t weight_size() const { return panels * (taps() + 1) * width; }
  std::int64_t place_of(std::int64_t tap, std::int64_t channel) const {
    return (channel / width * (taps() + 1) + tap) * width + channel % width;
  }
  std::int64_t packed_row_size() const { return panels * (tokens + 2 * pad()) * width; }
};

// The rows of one item under the kernel, packed; each row of the kernel's planes has a place for
// each of its rows, where what was packed for the row before may still be.
template <class S>
class Rows {
 public:
  using C = Compute<S>;

  Rows(const Geometry& g, const Tensor& like)
      : g_(g),
        memory_(scratch<C>(g.kernel_rows() * g.packed_row_size(), like)),
        held_(static_cast<std::size_t>(g.kernel_rows())),
        rows_(held_.size()) {}

  /// Tokens [first, first + count) of the rows of x.
  void enter(const S* x, std::int64_t first, std::int64_t count) {
    x_ = x;
    first_ = first;
    count_ = count;
    std::fill(held_.begin(), held_.end(), kNothing);
  }

  /// For results of row `row`. `to`: the item whose rows are written meanwhile, or null.
  simd::TokenRows<C> around(std::int64_t row, const S* to = nullptr) {
    for (std::int64_t i = 0; i < g_.kernel_rows(); ++i) {
      const std::int64_t plane = row / g_.h + i / g_.kernel_h - g_.kernel_d / 2;
      const std::int64_t at = row % g_.h + i % g_.kernel_h - g_.kernel_h / 2;
      const bool inside = plane >= 0 && plane < g_.d && at >= 0 && at < g_.h;
      rows_[static_cast<std::size_t>(i)] =
          inside ? packed(i / g_.kernel_h, plane * g_.h + at) : nullptr;
    }
    // Of x the next row needs one more, that of the kernel's last.
    const std::int64_t next = row + 1;
    const std::int64_t plane = next / g_.h + g_.kernel_d / 2, at = next % g_.h + g_.kernel_h / 2;
    const bool more = plane < g_.d && at < g_.h;
    return {.rows = rows_.data(),
            .tokens = count_,
            .places = places(),
            .channels = g_.channels,
            .kernel_h = g_.kernel_rows(),
            .kernel_w = g_.kernel_w,
            .reads = more ? ahead(x_, plane * g_.h + at) : simd::Ahead{},
            .writes = to != nullptr && next < g_.all_rows() ? ahead(to, next) : simd::Ahead{}};
  }
  /// The row in the middle of what is around.
  const C* middle() const { return rows_[rows_.size() / 2]; }

 private:
  static constexpr std::int64_t kNothing = -1;

  std::int64_t places() const { return count_ + 2 * g_.pad(); }

  const C* packed(std::int64_t of_plane, std::int64_t row) {
    const std::int64_t place = of_plane * g_.kernel_h + row % g_.h % g_.kernel_h;
    C* to = memory_.template data<C>() + place * g_.packed_row_size();
    std::int64_t& held = held_[static_cast<std::size_t>(place)];
    if (std::exchange(held, row) != row)
      simd::kernels().of<S>().pack_tokens(x_ + row * g_.row_size(), first_ - g_.pad(), places(),
                                          g_.w, g_.channels, to);
    return to;
  }

  simd::Ahead ahead(const S* item, std::int64_t row) const {
    constexpr std::int64_t kBytes = sizeof(S);
    return {.x = item + row * g_.row_size() + first_ * g_.channels,
            .rows = 1,
            .bytes = count_ * g_.channels * kBytes};
  }

  const Geometry& g_;
  Tensor memory_;
  std::vector<std::int64_t> held_;  // which row of x is at a place
  std::vector<const C*> rows_;
  const S* x_ = nullptr;
  std::int64_t first_ = 0, count_ = 0;
};

// Calls body(first token, number of tokens, first row, end) for the parts of a band.
template <class Body>
void for_parts(const Geometry& g, std::int64_t band, const Body& body) {
  for (std::int64_t first = 0; first < g.w; first += g.tokens)
    body(first, std::min(g.tokens, g.w - first), band * g.rows,
         std::min(g.all_rows(), (band + 1) * g.rows));
}

// (c, 1, kernel...) and the bias, which may be missing, in panels of channels; the taps reversed if
// asked. A residual adds 1 to the middle of the kernel.
template <class C>
Tensor in_panels(const Geometry& g, const Tensor& weight, const Tensor& bias, bool reversed) {
  const Tensor result = scratch<C>(g.weight_size(), weight);
  C* to = result.data<C>();
  std::fill_n(to, g.weight_size(), C{0});
  for (std::int64_t c = 0; c < g.channels; ++c) {
    for (std::int64_t tap = 0; tap < g.taps(); ++tap) {
      const C more = g.residual && 2 * tap + 1 == g.taps() ? C{1} : C{0};
      to[g.place_of(reversed ? g.taps() - 1 - tap : tap, c)] =
          weight.data<C>()[c * g.taps() + tap] + more;
    }
    if (bias.defined()) to[g.place_of(g.taps(), c)] = bias.data<C>()[c];
  }
  return result;
}

// From sums in panels to the gradients of weight and bias.
template <class C>
void write_sums(const Geometry& g, const C* sums, const Tensor& dweight, const Tensor& dbias) {
  for (std::int64_t c = 0; c < g.channels; ++c) {
    for (std::int64_t tap = 0; dweight.defined() && tap < g.taps(); ++tap)
      dweight.data<C>()[c * g.taps() + tap] = sums[g.place_of(tap, c)];
    if (dbias.defined()) dbias.data<C>()[c] = sums[g.place_of(g.taps(), c)];
  }
}

}  // namespace

void CpuBackend::token_conv(const TokenConvArgs& args) const {
  const auto& [residual, x, weight, bias, y] = args;
  if (y.numel() == 0) return;
  dispatch_stored("token_conv", x.dtype(), [&]<class S>(S) {
    using C = Compute<S>;
    const Geometry g(C{}, residual, x, weight);
    const Tensor w = in_panels<C>(g, weight, bias, false);
    pool_.run(g.batch * g.bands, [&](std::int64_t piece) {
      Rows<S> rows(g, x);
      const std::int64_t item = piece / g.bands * g.item_size();
      S* to = y.data<S>() + item;
      for_parts(g, piece % g.bands,
                [&](std::int64_t first, std::int64_t count, std::int64_t row, std::int64_t end) {
                  rows.enter(x.data<S>() + item, first, count);
                  for (; row < end; ++row)
                    simd::kernels().of<S>().token_row(rows.around(row, to), w.data<C>(),
                                                      to + row * g.row_size() + first * g.channels);
                });
    });
  });
}

void CpuBackend::token_conv_backward(const TokenConvBackwardArgs& args) const {
  const auto& [residual, x, weight, dy, dx, dweight, dbias] = args;
  const bool sums = dweight.defined() || dbias.defined();
  dispatch_stored("token_conv_backward", dy.dtype(), [&]<class S>(S) {
    using C = Compute<S>;
    const Geometry g(C{}, residual, dy, weight);
    const std::int64_t size = g.weight_size();
    // dx is the convolution of dy with the reversed kernel.
    const Tensor back = in_panels<C>(g, weight, {}, true);
    const std::int64_t macs = 2 * g.batch * g.item_size() * g.taps();
    const Chunks cut(std::max<std::int64_t>(1, g.batch * g.bands), size,
                     piece_count(macs, {.few = 16, .least = 1 << 22}));
    const Tensor parts = scratch<C>((cut.chunks + 1) * size, weight);
    pool_.run(cut.chunks, [&](std::int64_t chunk) {
      Rows<S> of_x(g, dy), of_dy(g, dy);
      C* part = parts.data<C>() + chunk * size;
      std::fill_n(part, size, C{0});
      const std::int64_t last = std::min(g.batch * g.bands, (chunk + 1) * cut.chunk);
      for (std::int64_t band = chunk * cut.chunk; band < last; ++band) {
        const std::int64_t item = band / g.bands * g.item_size();
        for_parts(g, band % g.bands,
                  [&](std::int64_t first, std::int64_t count, std::int64_t row, std::int64_t end) {
                    if (sums) of_x.enter(x.data<S>() + item, first, count);
                    of_dy.enter(dy.data<S>() + item, first, count);
                    for (; row < end; ++row) {
                      S* to = dx.defined() ? dx.data<S>() + item : nullptr;
                      const simd::TokenRows<C> around = of_dy.around(row, to);
                      if (sums)
                        simd::kernels().of<C>().token_row_sums(of_x.around(row), of_dy.middle(),
                                                               part);
                      if (to != nullptr)
                        simd::kernels().of<S>().token_row(
                            around, back.data<C>(), to + row * g.row_size() + first * g.channels);
                    }
                  });
      }
    });
    C* total = parts.data<C>() + cut.chunks * size;
    sum_parts(pool_, parts.data<C>(), cut.chunks, size, total);
    write_sums<C>(g, total, dweight, dbias);
  });
}

}  // namespace fovea::cpu
