// Fetches memory while something else is computed; part of kernels_impl.h. All of it at once would
// wait for itself.
#pragma once

#include <cstdint>
#include <span>

#include "backend/cpu/simd/simd.h"

namespace fovea::cpu::simd {
namespace {

// A share of the lines before each tile of a product, or group of tokens. Parts are not empty where
// there are several.
class Fetching {
 public:
  inline Fetching(std::span<const Ahead> ahead, std::int64_t shares) {
    std::int64_t lines = 0;
    for (const Ahead& part : ahead) lines += (part.bytes + kLine - 1) / kLine * part.rows;
    if (lines == 0 || shares <= 0) return;
    share_ = (lines + shares - 1) / shares;
    next_ = ahead.data();
    end_ = next_ + ahead.size();
  }
  inline void go_on() {
    for (std::int64_t i = 0; i < share_ && next_ != end_; ++i) {
      __builtin_prefetch(row() + byte_, 0, 2);  // second level
      byte_ += kLine;
      if (byte_ < next_->bytes) continue;
      byte_ = 0;
      if (++row_ < next_->rows) continue;
      row_ = 0;
      ++next_;
    }
  }

 private:
  inline const char* row() const {
    if (next_->starts == nullptr) return static_cast<const char*>(next_->x) + row_ * next_->apart;
    // (A start may be null, where nothing is to be fetched, and nothing is.)
    return reinterpret_cast<const char*>(reinterpret_cast<std::intptr_t>(next_->starts[row_]) +
                                         next_->offset);
  }

  static constexpr std::int64_t kLine = 64;
  const Ahead *next_ = nullptr, *end_ = nullptr;
  std::int64_t share_ = 0, row_ = 0, byte_ = 0;
};

}  // namespace
}  // namespace fovea::cpu::simd
