// Dropout and the update of Adam; part of kernels_impl.h.
#pragma once

#include "backend/cpu/simd/batch_impl.h"
#include "backend/cpu/simd/simd.h"

namespace fovea::cpu::simd {
namespace {

// Sixteen blocks at a time in plain arrays, which the compiler turns into vector code.
constexpr int kBlocks = 16;

inline void philox_words(std::uint64_t key, std::uint64_t first_block, std::uint32_t* words) {
  std::uint32_t c0[kBlocks], c1[kBlocks], c2[kBlocks], c3[kBlocks];
  for (int i = 0; i < kBlocks; ++i) {
    const std::uint64_t counter = first_block + static_cast<std::uint64_t>(i);
    c0[i] = static_cast<std::uint32_t>(counter);
    c1[i] = static_cast<std::uint32_t>(counter >> 32);
    c2[i] = 0;
    c3[i] = 0;
  }
  std::uint32_t k0 = static_cast<std::uint32_t>(key);
  std::uint32_t k1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < kBlocks; ++i) {
      const std::uint64_t p0 = std::uint64_t{0xD2511F53u} * c0[i];
      const std::uint64_t p1 = std::uint64_t{0xCD9E8D57u} * c2[i];
      c0[i] = static_cast<std::uint32_t>(p1 >> 32) ^ c1[i] ^ k0;
      c2[i] = static_cast<std::uint32_t>(p0 >> 32) ^ c3[i] ^ k1;
      c1[i] = static_cast<std::uint32_t>(p1);
      c3[i] = static_cast<std::uint32_t>(p0);
    }
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  for (int i = 0; i < kBlocks; ++i) {
    words[4 * i] = c0[i];
    words[4 * i + 1] = c1[i];
    words[4 * i + 2] = c2[i];
    words[4 * i + 3] = c3[i];
  }
}

template <class S>
void dropout(std::uint64_t key, std::uint64_t first, Compute<S> p, Compute<S> scale, const S* x,
             S* y, std::int64_t n) {
  using T = Compute<S>;
  constexpr std::int64_t kWords = 4 * kBlocks;
  std::uint32_t words[kWords];
  std::int64_t done = 0;
  while (done < n) {
    const std::uint64_t element = first + static_cast<std::uint64_t>(done);
    const auto skip = static_cast<std::int64_t>(element % 4);
    philox_words(key, element / 4, words);
    const std::int64_t count = n - done < kWords - skip ? n - done : kWords - skip;
    for (std::int64_t i = 0; i < count; ++i) {
      const T u = static_cast<T>(static_cast<float>(words[skip + i] >> 8) * 0x1.0p-24f);
      if constexpr (sizeof(S) == sizeof(BFloat16)) {
        y[done + i] = narrow(u < p ? T{0} : widen(x[done + i]) * scale);
      } else {
        y[done + i] = u < p ? T{0} : x[done + i] * scale;
      }
    }
    done += count;
  }
}

// dgsa 6.4.
template <class T>
void adam(const AdamArgs& args, T scale, double correction1, double correction2, const T* g, T* p,
          T* m, T* v, std::int64_t n) {
  using B = Batch<T>;
  const T b1 = T(args.beta1);
  const T b2 = T(args.beta2);
  const T rest1 = T(1 - args.beta1);
  const T rest2 = T(1 - args.beta2);
  const T kept = T(args.kept());
  const T in_gradient = T(args.in_gradient());
  const T rate = T(args.lr / correction1);
  const T root2 = T(1 / __builtin_sqrt(correction2));
  const T eps = T(args.eps);
  const auto update = [=](B gi, B& pi, B& mi, B& vi) {
    gi = gi * scale + in_gradient * pi;
    mi = b1 * mi + rest1 * gi;
    vi = b2 * vi + rest2 * gi * gi;
    pi = pi * kept - rate * mi / (xsimd::sqrt(vi) * root2 + eps);
  };
  std::int64_t i = 0;
  for (; i + kLanes<T> <= n; i += kLanes<T>) {
    B pi = B::load_unaligned(p + i);
    B mi = B::load_unaligned(m + i);
    B vi = B::load_unaligned(v + i);
    update(B::load_unaligned(g + i), pi, mi, vi);
    pi.store_unaligned(p + i);
    mi.store_unaligned(m + i);
    vi.store_unaligned(v + i);
  }
  if (i < n) {
    B pi = load_part(p + i, n - i);
    B mi = load_part(m + i, n - i);
    B vi = load_part(v + i, n - i);
    update(load_part(g + i, n - i), pi, mi, vi);
    store_part(pi, p + i, n - i);
    store_part(mi, m + i, n - i);
    store_part(vi, v + i, n - i);
  }
}

}  // namespace
}  // namespace fovea::cpu::simd
