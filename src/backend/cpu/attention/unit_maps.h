// Units of tokens as the attention kernels walk through them: which rows of the projections belong
// to a unit, and the scores of its queries.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "backend/cpu/attention/attention_heads.h"
#include "backend/cpu/attention/map_rows.h"
#include "backend/cpu/attention/right_operand.h"
#include "backend/cpu/attention/unit_seats.h"
#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/pieces.h"

namespace fovea::cpu {

/// S: how the tensors are stored. Scores start from the bias and the mask, to which the product is
/// added; a block has rows_ queries at most.
template <class S>
class UnitMaps {
 public:
  using C = Compute<S>;
  using Piece = UnitPieces::Piece;

  UnitMaps(const UnitAttentionArgs& args, const UnitAttentionInputs& in)
      : args_(args),
        in_(in),
        table_(args, in),
        pieces_(args, in.bias.defined()),
        dim_(args.q.dim),
        width_(args.v.dim),
        ld_(whole_vectors<C>(args.members)),
        rows_(rows_of_block()),
        out_{args.tokens * args.heads * width_, args.heads * width_, {}, width_} {
    for (std::int64_t head = 0; head < args.heads; ++head)
      out_.head_offsets.push_back(head * width_);
    UnitSeats seats;
    for (std::int64_t unit = 0; unit < args.units && !own_starts_; ++unit) {
      table_.seat(unit, seats);
      own_starts_ = has_own_start(seats);
    }
    if (in.bias.defined()) widen_bias();
  }

 protected:
  // A unit and what its scores start from.
  struct Unit {
    std::int64_t number = 0;
    std::int64_t ld = 0;  // of its scores
    UnitSeats seats;
    const C* starts = nullptr;    // of the first head of the piece; null: nothing is added
    std::int64_t next_start = 0;  // from head to head

    std::int64_t queries() const { return std::ssize(seats.queries); }
    std::int64_t keys() const { return std::ssize(seats.keys); }
  };

  // Addresses of the rows of a unit's tokens, those of the first head at their offset.
  struct Rows {
    std::vector<const S*> q, k, v, dout;
    std::vector<S*> out, dq, dk, dv;
  };

  static const auto& loops() { return simd::kernels().of<S>(); }
  static const auto& maps() { return simd::kernels().of<C>(); }
  static std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }
  static std::int64_t at(const HeadLayout& layout, std::int64_t head) {
    return layout.head_offsets[index(head)];
  }

  std::int64_t starts_size() const {
    return own_starts_ ? (in_.bias.defined() ? pieces_.heads() : 1) * args_.members * ld_ : 0;
  }

  // What a piece comes to after a head: another one, of the same rows or of others; null: nothing.
  struct Following {
    const Rows* rows;
    std::int64_t head;
  };

  // body(unit, item, head, rows, Following) for all of a piece. lists(seats, item, rows) makes
  // rows.
  template <class Lists, class Body>
  void for_heads(const Piece& piece, C* starts, const Lists& lists, const Body& body) const {
    Unit unit;
    Rows rows, next_rows;
    UnitSeats seats;  // of the unit of the next pair
    table_.seat(piece.first / args_.batch, seats);
    lists(seats, piece.first % args_.batch, next_rows);
    for (std::int64_t pair = piece.first; pair < piece.end; ++pair) {
      const std::int64_t item = pair % args_.batch, next = pair + 1;
      std::swap(rows, next_rows);
      if (item == 0 || pair == piece.first) enter(pair / args_.batch, seats, piece, starts, unit);
      if (next < piece.end) {
        if (next % args_.batch == 0) table_.seat(next / args_.batch, seats);
        lists(seats, next % args_.batch, next_rows);
      }
      const std::int64_t end = piece.head + piece.heads;
      const Following after{next < piece.end ? &next_rows : nullptr, piece.head};
      for (std::int64_t head = piece.head; head < end; ++head)
        body(unit, item, head, rows, head + 1 < end ? Following{&rows, head + 1} : after);
    }
  }

  std::int64_t blocks(const Unit& unit) const { return divide_up(unit.queries(), rows_); }
  template <class Body>
  void for_blocks(const Unit& unit, const Body& body) const {
    for (std::int64_t first = 0; first < unit.queries(); first += rows_)
      body(first, std::min(rows_, unit.queries() - first));
  }

  // Lists the rows of some tokens of x; `padding` stands for token -1. An undefined tensor has
  // none.
  template <class T>
  void list(const Tensor& x, const HeadLayout& layout, std::int64_t item,
            const std::vector<std::int64_t>& tokens, std::vector<T*>& rows,
            T* padding = nullptr) const {
    rows.clear();
    if (!x.defined()) return;
    S* base = x.data<S>() + item * layout.batch_stride;
    for (const std::int64_t token : tokens)
      rows.push_back(token < 0 ? padding : base + token * layout.token_stride);
  }
  void list(const UnitSeats& seats, std::int64_t item, Rows& rows) const {
    const S* padding = optional<S>(in_.padding);
    list(in_.q, args_.q, item, seats.query_tokens, rows.q);
    list(in_.k, args_.k, item, seats.key_tokens, rows.k, padding);
    list(in_.v, args_.v, item, seats.key_tokens, rows.v, padding);
  }

  // ---- Right operands ----

  // b = rows: (rows, n).
  static RightOperand<C> pack(const std::vector<const S*>& rows, std::int64_t offset,
                              std::int64_t n, C* to) {
    loops().pack_listed_rows(rows.data(), offset, std::ssize(rows), n, to);
    return {to, std::ssize(rows)};
  }
  static RightOperand<C> pack(const C* rows, std::int64_t count, std::int64_t n, C* to) {
    maps().pack_columns(rows, n, 1, count, n, to);
    return {to, count};
  }
  // b = rows transposed: (n, rows), with zeros up to whole_lanes(rows) columns.
  static RightOperand<C> pack_transposed(const std::vector<const S*>& rows, std::int64_t offset,
                                         std::int64_t n, C* to) {
    loops().pack_listed_columns(rows.data(), offset, n, std::ssize(rows), to);
    return {to, n};
  }

  std::int64_t place_of_lse(std::int64_t item, std::int64_t head, const Unit& unit) const {
    return ((item * args_.heads + head) * args_.units + unit.number) * args_.members;
  }

  // The scores of `count` queries from `first` on.
  void scores(const Unit& unit, const Piece& piece, std::int64_t head, std::int64_t first,
              std::int64_t count, const C* queries, const RightOperand<C>& keys_transposed, C* to,
              std::span<const simd::Ahead> ahead) const {
    const C* start = unit.starts == nullptr
                         ? nullptr
                         : unit.starts + (head - piece.head) * unit.next_start + first * unit.ld;
    times_packed({.m = count,
                  .n = whole_lanes<C>(unit.keys()),
                  .k = dim_,
                  .alpha = static_cast<C>(args_.scale),
                  .a = queries,
                  .a_row = dim_,
                  .c = to,
                  .ldc = unit.ld,
                  .bias = start,
                  .bias_row = unit.ld,
                  .ahead = ahead},
                 keys_transposed);
    fill_behind(unit.keys(), kNever<C>, unit, count, to);
  }

  // Fills rows of scores, or of their gradient, from column `last` on.
  static void fill_behind(std::int64_t last, C value, const Unit& unit, std::int64_t count, C* to) {
    for (std::int64_t r = 0; last < unit.ld && r < count; ++r)
      std::fill(to + r * unit.ld + last, to + (r + 1) * unit.ld, value);
  }

 private:
  // Rows of scores in a block, which stays in the second-level cache.
  std::int64_t rows_of_block() const {
    constexpr std::int64_t kLow = 32, kScores = 1 << 15;
    const std::int64_t members = std::max<std::int64_t>(1, args_.members);
    const std::int64_t blocks = divide_up(members, std::max(kLow, kScores / ld_));
    return divide_up(members, blocks);
  }

  bool has_own_start(const UnitSeats& seats) const {
    return seats.masked || (in_.bias.defined() && !seats.full);
  }

  // The bias with whole vectors as rows, for the units that have all members and no mask.
  void widen_bias() {
    const std::int64_t members = args_.members;
    bias_ = scratch<C>(args_.heads * members * ld_, in_.q);
    const C* from = in_.bias.template data<C>();
    C* to = bias_.template data<C>();
    for (std::int64_t row = 0; row < args_.heads * members; ++row, from += members, to += ld_)
      std::fill(std::copy_n(from, members, to), to + ld_, kNever<C>);
  }

  void enter(std::int64_t number, const UnitSeats& seats, const Piece& piece, C* starts,
             Unit& unit) const {
    unit.number = number;
    unit.seats = seats;
    unit.ld = whole_vectors<C>(unit.keys());
    unit.starts = nullptr;
    unit.next_start = 0;
    const bool biased = in_.bias.defined();
    const std::int64_t square = args_.members * args_.members;
    if (has_own_start(unit.seats)) {
      unit.starts = starts;
      unit.next_start = biased ? unit.queries() * unit.ld : 0;
      for (std::int64_t i = 0; i < (biased ? piece.heads : 1); ++i) {
        const C* bias = biased ? in_.bias.template data<C>() + (piece.head + i) * square : nullptr;
        table_.begin_scores(number, unit.seats, bias, unit.ld, starts + i * unit.next_start);
      }
    } else if (biased) {
      unit.next_start = args_.members * ld_;
      unit.starts = bias_.template data<C>() + piece.head * unit.next_start;
    }
  }

 protected:
  const UnitAttentionArgs& args_;
  const UnitAttentionInputs& in_;

 private:
  UnitTable table_;

 protected:
  UnitPieces pieces_;
  std::int64_t dim_, width_, ld_, rows_;
  HeadLayout out_;

 private:
  Tensor bias_;              // (heads, members, ld)
  bool own_starts_ = false;  // of any unit
};

}  // namespace fovea::cpu
