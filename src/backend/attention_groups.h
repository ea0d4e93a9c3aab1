// Which heads add to the same gradients. Heads may share channels, wholly or in part, within q, k
// or v and, where these are one tensor, between them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "backend/backend.h"

namespace fovea {

/// The heads of an attention call in groups: gradients of different groups never overlap, so groups
/// may run in parallel. Heads of one group take turns, lowest first.
class HeadGroups {
 public:
  HeadGroups(const AttentionArgs& args, const Tensor& dq, const Tensor& dk, const Tensor& dv) {
    std::vector<std::size_t> lowest;  // the first head of the group of every head
    const auto heads = static_cast<std::size_t>(args.heads);
    for (std::size_t head = 0; head < heads; ++head) lowest.push_back(head);
    if (args.add) {  // else every channel belongs to one head
      std::vector<std::vector<Span>> spans(heads);
      for (std::size_t head = 0; head < heads; ++head) {
        add(dq, {&args.q, &args.q2}, head, spans[head]);
        add(dk, {&args.k, &args.k2}, head, spans[head]);
        add(dv, {&args.v}, head, spans[head]);
        for (std::size_t before = 0; before < head; ++before) {
          if (lowest[before] != lowest[head] && meet(spans[before], spans[head]))
            join(lowest, before, head);
        }
      }
    }
    for (std::size_t first = 0; first < heads; ++first) {
      std::vector<std::int64_t> group;
      for (std::size_t head = first; head < heads; ++head) {
        if (lowest[head] == first) group.push_back(static_cast<std::int64_t>(head));
      }
      if (!group.empty()) groups_.push_back(std::move(group));
    }
  }

  std::int64_t count() const { return static_cast<std::int64_t>(groups_.size()); }
  const std::vector<std::int64_t>& operator[](std::int64_t i) const {
    return groups_[static_cast<std::size_t>(i)];
  }

 private:
  // Channels [begin, end) of every token of a gradient.
  struct Span {
    Buffer gradient;
    std::int64_t begin, end;
  };

  static void add(const Tensor& gradient, std::initializer_list<const HeadLayout*> layouts,
                  std::size_t head, std::vector<Span>& to) {
    if (!gradient.defined()) return;
    for (const HeadLayout* layout : layouts) {
      if (layout->head_offsets.empty()) continue;  // no second stream
      const std::int64_t begin = layout->head_offsets[head];
      to.push_back({gradient.buffer(), begin, begin + layout->dim});
    }
  }

  static bool meet(const std::vector<Span>& a, const std::vector<Span>& b) {
    return std::any_of(a.begin(), a.end(), [&](const Span& x) {
      return std::any_of(b.begin(), b.end(), [&](const Span& y) {
        return x.gradient == y.gradient && x.begin < y.end && y.begin < x.end;
      });
    });
  }

  static void join(std::vector<std::size_t>& lowest, std::size_t a, std::size_t b) {
    const auto [keep, lose] = std::minmax({lowest[a], lowest[b]});
    std::replace(lowest.begin(), lowest.end(), lose, keep);
  }

  std::vector<std::vector<std::int64_t>> groups_;
};

}  // namespace fovea
