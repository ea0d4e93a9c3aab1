// Counter-based random numbers (Philox 4x32-10; Salmon et al., "Parallel random numbers: as easy as
// 1, 2, 3", SC 2011). A stream is a key; draw i of a stream is a pure function of key and i, so
// nothing depends on call order, on the number of workers or on the clock.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <vector>

namespace fovea {

/// One block of four 32-bit words. Inline: kernels call it per four elements.
inline std::array<std::uint32_t, 4> philox_block(std::uint64_t key, std::uint64_t counter) {
  std::uint32_t c0 = static_cast<std::uint32_t>(counter);
  std::uint32_t c1 = static_cast<std::uint32_t>(counter >> 32);
  std::uint32_t c2 = 0;
  std::uint32_t c3 = 0;
  std::uint32_t k0 = static_cast<std::uint32_t>(key);
  std::uint32_t k1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{0xD2511F53u} * c0;
    const std::uint64_t p1 = std::uint64_t{0xCD9E8D57u} * c2;
    c0 = static_cast<std::uint32_t>(p1 >> 32) ^ c1 ^ k0;
    c2 = static_cast<std::uint32_t>(p0 >> 32) ^ c3 ^ k1;
    c1 = static_cast<std::uint32_t>(p1);
    c3 = static_cast<std::uint32_t>(p0);
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return {c0, c1, c2, c3};
}

/// Uniform in [0, 1) with 24 random bits, exact in float32.
inline float to_uniform(std::uint32_t word) { return static_cast<float>(word >> 8) * 0x1.0p-24f; }

/// A named stream. Values: uniform in [0, 1), standard normal, or integers below a bound.
class RandomStream {
 public:
  RandomStream() = default;
  explicit RandomStream(std::uint64_t seed) : key_(mix(seed, 0x466f766561ull)) {}

  /// An independent stream for a use ("dropout", "shuffle"), an epoch, a step, a sample, ...
  RandomStream fork(std::string_view name) const;
  RandomStream fork(std::uint64_t index) const;

  std::uint64_t key() const { return key_; }
  std::uint32_t word(std::uint64_t i) const { return philox_block(key_, i / 4)[i % 4]; }
  float uniform(std::uint64_t i) const { return to_uniform(word(i)); }
  /// Box-Muller on words 2i and 2i + 1.
  double normal(std::uint64_t i) const;
  /// Integer in [0, bound), bound >= 1.
  std::int64_t below(std::int64_t bound, std::uint64_t i) const;
  /// Fisher-Yates over 0..n-1.
  std::vector<std::int64_t> permutation(std::int64_t n) const;

 private:
  static std::uint64_t mix(std::uint64_t a, std::uint64_t b);
  std::uint64_t key_ = 0;
};

}  // namespace fovea
