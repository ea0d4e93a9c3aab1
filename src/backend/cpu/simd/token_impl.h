// Depthwise convolution of tokens, channels last; part of kernels_impl.h. Rows of tokens are packed
// first, a panel of channels after the other: tokens whose channels are a power of two would
// compete for few lines of the cache. Vectors run over the channels; a few tokens at once share
// what is loaded of the weight, or of its gradient, and the taps what is loaded of the tokens.
#pragma once

#include "backend/cpu/simd/batch_impl.h"
#include "backend/cpu/simd/fetching_impl.h"
#include "backend/cpu/simd/simd.h"

namespace fovea::cpu::simd {
namespace {

template <class S>
void pack_tokens(const S* x, std::int64_t first, std::int64_t places, std::int64_t tokens,
                 std::int64_t channels, Compute<S>* to) {
  constexpr std::int64_t kWidth = kPanelColumns<Compute<S>>;
  for (std::int64_t c = 0; c < channels; c += kWidth) {
    const std::int64_t here = channels - c < kWidth ? channels - c : kWidth;
    for (std::int64_t token = first; token < first + places; ++token, to += kWidth) {
      const S* from = x + token * channels + c;
      if (token < 0 || token >= tokens) {
        store(Batch<S>(Compute<S>{0}), to);
        store(Batch<S>(Compute<S>{0}), to + kLanes<S>);
      } else if (here == kWidth) {
        store(load(from), to);
        store(load(from + kLanes<S>), to + kLanes<S>);
      } else {
        for (std::int64_t i = 0; i < kWidth; ++i)
          to[i] = i < here ? value_of(from[i]) : Compute<S>{0};
      }
    }
  }
}

constexpr int kTokensAtOnce = 4;

// Calls visit.operator()<kTokens>(first token) for all tokens of a row, for some of them twice if
// `again`.
template <class Visit>
inline void for_groups(std::int64_t tokens, bool again, Visit visit) {
  constexpr int kMany = kTokensAtOnce;
  std::int64_t token = 0;
  for (; token + kMany <= tokens; token += kMany) visit.template operator()<kMany>(token);
  if (token < tokens && again && tokens >= kMany) {
    visit.template operator()<kMany>(tokens - kMany);
    return;
  }
  for (; token < tokens; ++token) visit.template operator()<1>(token);
}

// Calls visit.operator()<kRun>() with as many neighbouring taps at once as divide a row of the
// kernel and fit in registers.
template <class Visit>
inline void with_run(std::int64_t kernel_w, Visit visit) {
  if (kernel_w % 5 == 0) return visit.template operator()<5>();
  if (kernel_w % 3 == 0) return visit.template operator()<3>();
  visit.template operator()<1>();
}

// Calls visit(first tap, the element of x that it and the first token meet) for all taps in rows of
// the grid, kRun at a time.
template <int kRun, class T, class Visit>
inline void for_runs(const TokenRows<T>& r, std::int64_t panel, std::int64_t token, Visit visit) {
  const std::int64_t start = (panel * r.places + token) * kPanelColumns<T>;
  for (std::int64_t h = 0; h < r.kernel_h; ++h) {
    if (r.rows[h] == nullptr) continue;
    for (std::int64_t w = 0; w < r.kernel_w; w += kRun)
      visit(h * r.kernel_w + w, r.rows[h] + start + w * kPanelColumns<T>);
  }
}

// Calls visit(token, tap, element of x) where tokens of a group and a run of taps meet. All of it
// is unrolled, and nothing indexed by a variable: else sums would go through memory.
template <int kTokens, int kRun, class T, class Visit>
inline __attribute__((always_inline)) void for_elements(const T* x, Visit visit) {
#pragma GCC unroll 8
  for (int place = 0; place < kTokens + kRun - 1; ++place) {
    const Batch<T> element = load(x + place * kPanelColumns<T>);
#pragma GCC unroll 5
    for (int tap = 0; tap < kRun; ++tap) {
      if (place >= tap && place - tap < kTokens) visit(place - tap, tap, element);
    }
  }
}

// Results of some tokens, two vectors of channels at a time; the bias lies behind the weight.
template <int kTokens, int kRun, class S>
inline void token_group(const TokenRows<Compute<S>>& r, std::int64_t panel, std::int64_t token,
                        const Compute<S>* weight, S* y) {
  using T = Compute<S>;
  constexpr std::int64_t kWidth = kPanelColumns<T>;
  const T* bias = weight + r.kernel_h * r.kernel_w * kWidth;
  Batch<T> sums[2][kTokens];
#pragma GCC unroll 4
  for (int i = 0; i < kTokens; ++i) {
    sums[0][i] = load(bias);
    sums[1][i] = load(bias + kLanes<T>);
  }
  for_runs<kRun>(r, panel, token, [&](std::int64_t tap, const T* x) {
#pragma GCC unroll 2
    for (int v = 0; v < 2; ++v) {
      const T* from = weight + tap * kWidth + v * kLanes<T>;
      Batch<T> weights[kRun];
#pragma GCC unroll 5
      for (int w = 0; w < kRun; ++w) weights[w] = load(from + w * kWidth);
      for_elements<kTokens, kRun>(x + v * kLanes<T>, [&](int i, int w, const Batch<T>& element) {
        sums[v][i] = xsimd::fma(weights[w], element, sums[v][i]);
      });
    }
  });
  const std::int64_t left = r.channels - panel * kWidth;
  S* to = y + token * r.channels + panel * kWidth;
#pragma GCC unroll 4
  for (int i = 0; i < kTokens; ++i, to += r.channels) {
#pragma GCC unroll 2
    for (int v = 0; v < 2; ++v) {
      const std::int64_t here = left - v * kLanes<T>;
      if (here >= kLanes<T>) {
        store(sums[v][i], to + v * kLanes<T>);
      } else if (here > 0) {
        store_part<S>(sums[v][i], to + v * kLanes<T>, here);
      }
    }
  }
}

template <class S>
void token_row(const TokenRows<Compute<S>>& r, const Compute<S>* weight, S* y) {
  constexpr std::int64_t kWidth = kPanelColumns<Compute<S>>;
  const std::int64_t panels = (r.channels + kWidth - 1) / kWidth;
  const std::int64_t size = (r.kernel_h * r.kernel_w + 1) * kWidth;
  const std::int64_t groups = panels * (r.tokens / kTokensAtOnce + 1);
  Fetching reads({&r.reads, 1}, groups), writes({&r.writes, 1}, groups);
  with_run(r.kernel_w, [&]<int kRun>() {
    for (std::int64_t panel = 0; panel < panels; ++panel) {
      for_groups(r.tokens, true, [&]<int kTokens>(std::int64_t token) {
        reads.go_on();
        writes.go_on();
        token_group<kTokens, kRun>(r, panel, token, weight + panel * size, y);
      });
    }
  });
}

template <int kTokens, int kRun, class T>
inline void group_sums(const TokenRows<T>& r, std::int64_t panel, std::int64_t token, const T* dy,
                       T* sums) {
  constexpr std::int64_t kWidth = kPanelColumns<T>;
  T* bias = sums + r.kernel_h * r.kernel_w * kWidth;
  Batch<T> gradient[2][kTokens];
#pragma GCC unroll 2
  for (int v = 0; v < 2; ++v) {
    Batch<T> sum = load(bias + v * kLanes<T>);
#pragma GCC unroll 4
    for (int i = 0; i < kTokens; ++i) {
      gradient[v][i] = load(dy + i * kWidth + v * kLanes<T>);
      sum += gradient[v][i];
    }
    store(sum, bias + v * kLanes<T>);
  }
  for_runs<kRun>(r, panel, token, [&](std::int64_t tap, const T* x) {
#pragma GCC unroll 2
    for (int v = 0; v < 2; ++v) {
      T* to = sums + tap * kWidth + v * kLanes<T>;
      Batch<T> of_taps[kRun];
#pragma GCC unroll 5
      for (int w = 0; w < kRun; ++w) of_taps[w] = load(to + w * kWidth);
      for_elements<kTokens, kRun>(x + v * kLanes<T>, [&](int i, int w, const Batch<T>& element) {
        of_taps[w] = xsimd::fma(gradient[v][i], element, of_taps[w]);
      });
#pragma GCC unroll 5
      for (int w = 0; w < kRun; ++w) store(of_taps[w], to + w * kWidth);
    }
  });
}

template <class T>
void token_row_sums(const TokenRows<T>& r, const T* dy, T* sums) {
  constexpr std::int64_t kWidth = kPanelColumns<T>;
  const std::int64_t panels = (r.channels + kWidth - 1) / kWidth;
  const std::int64_t size = (r.kernel_h * r.kernel_w + 1) * kWidth;
  Fetching reads({&r.reads, 1}, panels * (r.tokens / kTokensAtOnce + 1));
  with_run(r.kernel_w, [&]<int kRun>() {
    for (std::int64_t panel = 0; panel < panels; ++panel) {
      const T* of_panel = dy + (panel * r.places + r.kernel_w / 2) * kWidth;
      for_groups(r.tokens, false, [&]<int kTokens>(std::int64_t token) {
        reads.go_on();
        group_sums<kTokens, kRun>(r, panel, token, of_panel + token * kWidth, sums + panel * size);
      });
    }
  });
}

}  // namespace
}  // namespace fovea::cpu::simd
