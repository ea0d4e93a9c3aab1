#include "tensor/random.h"

#include <numbers>
#include <numeric>
#include <utility>

namespace fovea {

// One Philox block as a hash: the key space is far larger than any number of forks we make.
std::uint64_t RandomStream::mix(std::uint64_t a, std::uint64_t b) {
  const auto words = philox_block(a, b);
  return (static_cast<std::uint64_t>(words[0]) << 32) | words[1];
}

RandomStream RandomStream::fork(std::string_view name) const {
  std::uint64_t hash = 14695981039346656037ull;  // FNV-1a
  for (const char c : name) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ull;
  }
  RandomStream result;
  result.key_ = mix(key_ ^ 0x6e616d65ull, hash);
  return result;
}

RandomStream RandomStream::fork(std::uint64_t index) const {
  RandomStream result;
  result.key_ = mix(key_, index);
  return result;
}

double RandomStream::normal(std::uint64_t i) const {
  // 1 - u lies in (0, 1], so the logarithm is finite.
  const double radius = std::sqrt(-2.0 * std::log(1.0 - static_cast<double>(uniform(2 * i))));
  return radius * std::cos(2.0 * std::numbers::pi * static_cast<double>(uniform(2 * i + 1)));
}

std::int64_t RandomStream::below(std::int64_t bound, std::uint64_t i) const {
  const std::uint64_t wide = (static_cast<std::uint64_t>(word(2 * i)) << 32) | word(2 * i + 1);
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::int64_t>((Wide{wide} * static_cast<Wide>(bound)) >> 64);
}

std::vector<std::int64_t> RandomStream::permutation(std::int64_t n) const {
  std::vector<std::int64_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  for (std::int64_t i = n - 1; i > 0; --i) {
    const std::int64_t j = below(i + 1, static_cast<std::uint64_t>(i));
    std::swap(order[static_cast<std::size_t>(i)], order[static_cast<std::size_t>(j)]);
  }
  return order;
}

}  // namespace fovea
