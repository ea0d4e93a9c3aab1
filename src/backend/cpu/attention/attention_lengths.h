// Padding costs nothing: where the mask of an item hides only its last keys, as behind the end of a
// text, attention runs as if the item had fewer keys and no mask. Any other mask is applied to the
// scores.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <vector>

#include "backend/cpu/attention/attention_heads.h"

namespace fovea::cpu {

// Number of allowed keys of an item if they are its first ones; -1 otherwise, and without any key.
inline std::int64_t leading_keys(const std::uint8_t* mask, std::int64_t keys) {
  const std::uint8_t* end = std::find(mask, mask + keys, std::uint8_t{0});
  const bool leading = end != mask && std::find_if(end, mask + keys, [](std::uint8_t allowed) {
                                        return allowed != 0;
                                      }) == mask + keys;
  return leading ? end - mask : -1;
}

/// The problems of one attention call, one for each number of keys. P is built from (const
/// AttentionArgs&, mask) and keeps the reference.
template <class P>
class Problems {
 public:
  Problems(const AttentionArgs& args, const Tensor& mask) : keys_(args.keys) {
    args_.push_back(args);
    if (!mask.defined()) {
      problems_.emplace_back(args_.back(), mask);
      return;
    }
    for (std::int64_t item = 0; item < args.batch; ++item) {
      // (A causal mask is aligned with the last key, so no key may be cut off.)
      const std::int64_t keys =
          args.causal ? -1 : leading_keys(mask.data<std::uint8_t>() + item * args.keys, args.keys);
      if (keys < 0) {
        problems_.emplace_back(args_.front(), mask);
        continue;
      }
      args_.push_back(args);
      args_.back().keys = keys;
      problems_.emplace_back(args_.back(), Tensor());
    }
  }
  Problems(const Problems&) = delete;
  Problems& operator=(const Problems&) = delete;

  const P& of_item(std::int64_t item) const {
    return problems_.size() == 1 ? problems_.front() : problems_[static_cast<std::size_t>(item)];
  }

  /// Clears the gradients of the keys that of_item(at.item) leaves out.
  template <class S>
  void clear_cut(Pair at, const Tensor& dk, const Tensor& dv) const {
    const AttentionArgs& args = of_item(at.item).args();
    if (args.keys == keys_ || args.add) return;  // added to: they are zero already
    if (dv.defined()) clear<S>(dv, args.v, at, args.keys);
    if (!dk.defined()) return;
    clear<S>(dk, args.k, at, args.keys);
    if (!args.k2.head_offsets.empty()) clear<S>(dk, args.k2, at, args.keys);
  }

 private:
  template <class S>
  void clear(const Tensor& gradient, const HeadLayout& layout, Pair at, std::int64_t first) const {
    S* row = start_of<S>(gradient, layout, at) + first * layout.token_stride;
    for (std::int64_t key = first; key < keys_; ++key, row += layout.token_stride)
      std::fill_n(row, layout.dim, S{});
  }

  std::int64_t keys_;
  std::deque<AttentionArgs> args_;  // a deque, since problems keep references
  std::vector<P> problems_;
};

}  // namespace fovea::cpu
