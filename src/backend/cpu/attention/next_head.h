// Rows that attention's kernels will read and write next, fetched while a head is computed. Rows of
// a head are far apart in memory: a core that asks for them one after the other waits for each.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "backend/cpu/attention/attention_heads.h"
#include "backend/cpu/simd/simd.h"

namespace fovea::cpu {

/// Parts of the next head, or of this one's next block, of which each product until then fetches a
/// share.
class NextHead {
 public:
  /// `products`: how many will come. Without any, or where there are more, none is fetched.
  explicit NextHead(std::int64_t products = 0) : products_(static_cast<std::size_t>(products)) {}

  template <class S>
  void add(const Tensor& x, const HeadLayout& layout, Pair at, std::int64_t first,
           std::int64_t rows) {
    if (x.defined())
      add(start_of<S>(x, layout, at) + first * layout.token_stride, layout.token_stride, rows,
          layout.dim);
  }
  /// Rows of n elements, ld apart.
  template <class S>
  void add(const S* x, std::int64_t ld, std::int64_t rows, std::int64_t n) {
    if (rows == 0) return;
    constexpr std::int64_t kBytes = sizeof(S);
    parts_.at(count_++) = {.x = x, .rows = rows, .bytes = n * kBytes, .apart = ld * kBytes};
  }
  /// Rows of n elements by their addresses, `offset` elements behind each.
  template <class S>
  void add_listed(const std::vector<S*>& starts, std::int64_t offset, std::int64_t n) {
    if (starts.empty()) return;
    constexpr std::int64_t kBytes = sizeof(S);
    parts_.at(count_++) = {.rows = std::ssize(starts),
                           .bytes = n * kBytes,
                           .starts = reinterpret_cast<const void* const*>(starts.data()),
                           .offset = offset * kBytes};
  }

  std::span<const simd::Ahead> take() {
    if (products_ == 0) return {};
    const std::size_t share = (count_ - taken_ + products_ - 1) / products_;
    --products_;
    return std::span(parts_).subspan(std::exchange(taken_, taken_ + share), share);
  }

 private:
  // Queries and keys of two maps, values and results, or all gradients of these.
  static constexpr std::size_t kParts = 12;
  std::array<simd::Ahead, kParts> parts_;
  std::size_t products_, count_ = 0, taken_ = 0;
};

}  // namespace fovea::cpu
