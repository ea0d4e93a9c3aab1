// Depthwise convolution of tokens, channels last; part of kernels_impl.h. Vectors run
// over the channels; a few tokens at once share what is loaded of the weight, or of its gradient.
#pragma once

#include "backend/cpu/simd/batch_impl.h"
#include "backend/cpu/simd/fetching_impl.h"
#include "backend/cpu/simd/simd.h"

namespace fovea::cpu::simd {
namespace {

constexpr int kTokensAtOnce = 4;

// Taps [begin, end) of a row of the kernel that lie inside the grid.
struct Taps {
  std::int64_t begin, end;
};

// A vector of `lanes` channels: whole (kFull), or the last few channels.
template <bool kFull>
struct Lanes {
  std::int64_t count;

  template <class S>
  Batch<S> load(const S* from) const {
    if constexpr (kFull) {
      return simd::load(from);
    } else {
      return load_part(from, count);
    }
  }
  template <class S>
  void store(const Batch<S>& batch, S* to) const {
    if constexpr (kFull) {
      simd::store(batch, to);
    } else {
      store_part(batch, to, count);
    }
  }
};

// Calls visit(number of tokens as a type, first token, taps) for all tokens of a row; only tokens
// far enough from its ends are computed together.
template <class S, class Visit>
inline void for_tokens(const TokenRows<S>& r, Visit visit) {
  const std::int64_t pad = r.kernel_w / 2;
  const std::int64_t groups = r.tokens / kTokensAtOnce + 1;
  Fetching reads(r.reads, groups), writes(r.writes, groups);
  for (std::int64_t token = 0; token < r.tokens;) {
    reads.go_on();
    writes.go_on();
    if (token >= pad && token + kTokensAtOnce + pad <= r.tokens) {
      visit.template operator()<kTokensAtOnce>(token, Taps{0, r.kernel_w});
      token += kTokensAtOnce;
    } else {
      const std::int64_t room = r.tokens + pad - token;
      visit.template operator()<1>(
          token, Taps{token < pad ? pad - token : 0, room < r.kernel_w ? room : r.kernel_w});
      ++token;
    }
  }
}

// Calls visit(lanes, first channel) over all channels.
template <class S, class Visit>
inline void for_channels(std::int64_t channels, Visit visit) {
  std::int64_t c = 0;
  for (; c + kLanes<S> <= channels; c += kLanes<S>) visit(Lanes<true>{kLanes<S>}, c);
  if (c < channels) visit(Lanes<false>{channels - c}, c);
}

// Calls visit(tap, its element of the first token, `channel` on) for the taps inside the grid.
template <class S, class Visit>
inline void for_taps(const TokenRows<S>& r, std::int64_t token, const Taps& taps,
                     std::int64_t channel, Visit visit) {
  const std::int64_t pad = r.kernel_w / 2;
  for (std::int64_t h = 0; h < r.kernel_h; ++h) {
    if (r.rows[h] == nullptr) continue;
    for (std::int64_t w = taps.begin; w < taps.end; ++w)
      visit(h * r.kernel_w + w, r.rows[h] + (token + w - pad) * r.channels + channel);
  }
}

template <class S>
void token_row(const TokenRows<S>& r, const Compute<S>* weight, const Compute<S>* bias, S* y) {
  using C = Compute<S>;
  for_tokens(r, [&]<int kTokens>(std::int64_t token, const Taps& taps) {
    for_channels<S>(r.channels, [&](const auto lanes, std::int64_t c) {
      const Batch<S> start = bias != nullptr ? lanes.template load<C>(bias + c) : Batch<S>(C{0});
      Batch<S> sums[kTokens];
      for (int i = 0; i < kTokens; ++i) sums[i] = start;
      for_taps(r, token, taps, c, [&](std::int64_t tap, const S* x) {
        const Batch<S> w = lanes.template load<C>(weight + tap * r.channels + c);
        for (int i = 0; i < kTokens; ++i)
          sums[i] = xsimd::fma(w, lanes.template load<S>(x + i * r.channels), sums[i]);
      });
      for (int i = 0; i < kTokens; ++i)
        lanes.template store<S>(sums[i], y + (token + i) * r.channels + c);
    });
  });
}

template <class S>
void token_row_sums(const TokenRows<S>& r, const S* dy, Compute<S>* sums) {
  using C = Compute<S>;
  C* bias = sums + r.kernel_h * r.kernel_w * r.channels;
  for_tokens(r, [&]<int kTokens>(std::int64_t token, const Taps& taps) {
    for_channels<S>(r.channels, [&](const auto lanes, std::int64_t c) {
      Batch<S> gradient[kTokens];
      Batch<S> sum = lanes.template load<C>(bias + c);
      for (int i = 0; i < kTokens; ++i) {
        gradient[i] = lanes.template load<S>(dy + (token + i) * r.channels + c);
        sum += gradient[i];
      }
      lanes.template store<C>(sum, bias + c);
      for_taps(r, token, taps, c, [&](std::int64_t tap, const S* x) {
        C* to = sums + tap * r.channels + c;
        Batch<S> of_tap = lanes.template load<C>(to);
        for (int i = 0; i < kTokens; ++i)
          of_tap = xsimd::fma(gradient[i], lanes.template load<S>(x + i * r.channels), of_tap);
        lanes.template store<C>(of_tap, to);
      });
    });
  });
}

}  // namespace
}  // namespace fovea::cpu::simd
