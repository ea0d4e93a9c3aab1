// Fetches memory while something else is computed; part of kernels_impl.h. All of it at once would
// wait for itself.
#pragma once

#include "backend/cpu/simd/simd.h"

namespace fovea::cpu::simd {
namespace {

// A share of the lines before each tile of a product, or group of tokens.
class Fetching {
 public:
  inline Fetching(const Ahead& ahead, std::int64_t shares) : ahead_(ahead), left_(ahead.rows) {
    const std::int64_t lines = (ahead.bytes + kLine - 1) / kLine * ahead.rows;
    share_ = shares > 0 ? (lines + shares - 1) / shares : 0;
  }
  inline void go_on() {
    for (std::int64_t i = 0; i < share_ && left_ > 0; ++i) {
      __builtin_prefetch(static_cast<const char*>(ahead_.x) + byte_, 0, 2);  // second level
      byte_ += kLine;
      if (byte_ < ahead_.bytes) continue;
      byte_ = 0;
      ahead_.x = static_cast<const char*>(ahead_.x) + ahead_.apart;
      --left_;
    }
  }

 private:
  static constexpr std::int64_t kLine = 64;
  Ahead ahead_;
  std::int64_t left_, share_, byte_ = 0;
};

}  // namespace
}  // namespace fovea::cpu::simd
