// Which tokens take part in a unit, and how units are divided into pieces.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "backend/backend.h"
#include "backend/cpu/pieces.h"

namespace fovea::cpu {

/// The members of one unit that take part: places in the unit, and the tokens there. Keys may be
/// padding, whose token is -1; queries are not.
struct UnitSeats {
  std::vector<std::int64_t> queries, keys;
  std::vector<std::int64_t> query_tokens, key_tokens;
  bool full = true;     // no member is padding
  bool masked = false;  // keys are of more than one region
};

/// Masked padding is left out. So are the queries of any padding, whose results are not used.
class UnitTable {
 public:
  UnitTable(const UnitAttentionArgs& args, const UnitAttentionInputs& in)
      : args_(args),
        tokens_(in.table.data<std::int64_t>()),
        regions_(in.regions.defined() ? in.regions.data<std::int64_t>() : nullptr) {}

  void seat(std::int64_t unit, UnitSeats& to) const {
    for (auto* list : {&to.queries, &to.keys, &to.query_tokens, &to.key_tokens}) list->clear();
    to.masked = false;
    const std::int64_t* regions = regions_of(unit);
    for (std::int64_t place = 0; place < args_.members; ++place) {
      const std::int64_t token = tokens_[unit * args_.members + place];
      if (token >= 0) {
        to.queries.push_back(place);
        to.query_tokens.push_back(token);
      }
      if (token < 0 && !args_.padding_attends) continue;
      to.keys.push_back(place);
      to.key_tokens.push_back(token);
      if (regions != nullptr && regions[place] != regions[to.keys.front()]) to.masked = true;
    }
    to.full = std::ssize(to.queries) == args_.members;
  }

  /// What is added to the scores of one head before the softmax, (queries, ld) of a unit: bias
  /// (members, members) or null, and the mask between regions; -infinity behind the last key.
  template <class C>
  void begin_scores(std::int64_t unit, const UnitSeats& seats, const C* bias, std::int64_t ld,
                    C* to) const {
    const auto across = static_cast<C>(args_.region_mask);
    const std::int64_t* regions = regions_of(unit);
    for (const std::int64_t query : seats.queries) {
      C* row = to;
      for (const std::int64_t key : seats.keys) {
        C score = bias == nullptr ? C{0} : bias[query * args_.members + key];
        if (regions != nullptr && regions[query] != regions[key]) score += across;
        *row++ = score;
      }
      to += ld;
      std::fill(row, to, -std::numeric_limits<C>::infinity());
    }
  }

 private:
  const std::int64_t* regions_of(std::int64_t unit) const {
    return regions_ == nullptr ? nullptr : regions_ + unit * args_.members;
  }

  const UnitAttentionArgs& args_;
  const std::int64_t* tokens_;
  const std::int64_t* regions_;
};

/// Pieces are stretches of (unit, item) pairs, with the items of a unit next to each other and all
/// of their heads, or some of the heads where there are few pairs.
class UnitPieces {
 public:
  struct Piece {
    std::int64_t first, end;   // pairs: unit * batch + item
    std::int64_t head, heads;  // the first one, and how many
  };

  /// `bias`: each piece sums a gradient of the bias.
  UnitPieces(const UnitAttentionArgs& args, bool bias) : args_(args) {
    pairs_ = args.units * args.batch;
    if (pairs_ == 0 || args.heads == 0) return;
    const std::int64_t square = args.members * args.members;
    const std::int64_t macs = pairs_ * args.heads * square * (args.q.dim + args.v.dim);
    const std::int64_t most =
        piece_count(macs, {.few = 32, .least = 1 << 21, .size = bias ? args.heads * square : 0});
    stretch_ = divide_up(pairs_, most);
    stretches_ = divide_up(pairs_, stretch_);
    group_ = divide_up(args.heads, divide_up(most, stretches_));
    groups_ = divide_up(args.heads, group_);
  }

  std::int64_t count() const { return stretches_ * groups_; }
  std::int64_t heads() const { return group_; }  // of a piece, at most
  Piece operator[](std::int64_t i) const {
    const std::int64_t first = i / groups_ * stretch_;
    const std::int64_t head = i % groups_ * group_;
    return {first, std::min(first + stretch_, pairs_), head, std::min(group_, args_.heads - head)};
  }
  std::int64_t stretches() const { return stretches_; }
  /// The piece of a stretch that has a head.
  std::int64_t index_of(std::int64_t stretch, std::int64_t head) const {
    return stretch * groups_ + head / group_;
  }

 private:
  const UnitAttentionArgs& args_;
  std::int64_t pairs_ = 0, stretch_ = 1, stretches_ = 0, group_ = 1, groups_ = 0;
};

}  // namespace fovea::cpu
