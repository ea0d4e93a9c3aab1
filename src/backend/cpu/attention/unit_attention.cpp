// Softmax attention inside units of tokens. A unit's heads are copied out of the projections row by
// row, wherever its tokens lie, into the compute type; scores of a block of queries stay in the
// cache, and start from the bias and the mask, to which the product is added. The backward pass
// computes the maps again from the saved log-sum-exp. Pieces sum the gradients of bias and padding
// over their own units; the sums of the pieces are added in order.
#include "backend/cpu/attention/next_head.h"
#include "backend/cpu/attention/right_operand.h"
#include "backend/cpu/attention/unit_maps.h"
#include "backend/cpu/cpu_backend.h"

namespace fovea::cpu {
namespace {

template <class S>
class UnitHeads : public UnitMaps<S> {
  using Base = UnitMaps<S>;
  using Base::args_, Base::in_, Base::pieces_, Base::dim_, Base::width_, Base::ld_, Base::rows_;
  using Base::blocks, Base::pack, Base::pack_transposed;
  using Base::for_blocks, Base::for_heads, Base::place_of_lse, Base::starts_size;
  using Base::out_, Base::at, Base::index, Base::list, Base::loops, Base::maps, Base::scores;
  using typename Base::Following, typename Base::Piece, typename Base::Rows, typename Base::Unit;

 public:
  using C = Compute<S>;

  UnitHeads(ThreadPool& pool, const UnitAttentionArgs& args, const UnitAttentionInputs& in)
      : Base(args, in), pool_(pool) {}

  void forward(const Tensor& out, const Tensor& lse) const {
    for_pieces([&](std::int64_t, const Piece& piece) {
      const auto lists = [&](const UnitSeats& seats, std::int64_t item, Rows& rows) {
        list(seats, item, rows);
        list(out, out_, item, seats.query_tokens, rows.out);
      };
      const Forward state(*this);
      for_heads(piece, state.starts, lists,
                [&](const Unit& unit, std::int64_t item, std::int64_t head, const Rows& rows,
                    const Following& after) {
                  NextHead next(2 * blocks(unit));
                  if (after.rows != nullptr) {
                    add_inputs(after, next);
                    next.add_listed(after.rows->out, at(out_, after.head), width_);
                  }
                  attend(unit, piece, head, rows, state, next,
                         lse.data<C>() + place_of_lse(item, head, unit));
                });
    });
  }

  void backward(const AttentionUpstream& upstream, const UnitAttentionGradients& to) const {
    const std::int64_t square = args_.members * ld_;
    const bool with_padding = to.padding.defined();
    const Tensor bias_sums =
        zeros(to.bias.defined() ? pieces_.count() * pieces_.heads() * square : 0);
    const Tensor padding_sums = zeros(with_padding ? pieces_.count() * to.padding.numel() : 0);
    for_pieces([&](std::int64_t i, const Piece& piece) {
      const auto lists = [&](const UnitSeats& seats, std::int64_t item, Rows& rows) {
        list(seats, item, rows);
        list(upstream.dout, out_, item, seats.query_tokens, rows.dout);
        list(to.q, args_.q, item, seats.query_tokens, rows.dq);
        list(to.k, args_.k, item, seats.key_tokens, rows.dk);
        list(to.v, args_.v, item, seats.key_tokens, rows.dv);
      };
      Backward state(*this);
      C* bias = to.bias.defined() ? bias_sums.data<C>() + i * pieces_.heads() * square : nullptr;
      C* padding = with_padding ? padding_sums.data<C>() + i * to.padding.numel() : nullptr;
      for_heads(piece, state.starts, lists,
                [&](const Unit& unit, std::int64_t item, std::int64_t head, const Rows& rows,
                    const Following& after) {
                  if (unit.queries() == 0) return;
                  state.next = NextHead(after.rows != nullptr ? 5 * blocks(unit) : 0);
                  if (after.rows != nullptr) add_gradients(after, state.next);
                  head_gradients(unit, piece, head, rows,
                                 upstream.lse.data<C>() + place_of_lse(item, head, unit), to, state,
                                 bias == nullptr ? nullptr : bias + (head - piece.head) * square);
                  if (padding != nullptr) add_padding(unit, head, state, padding);
                });
    });
    if (to.bias.defined()) sum_bias(bias_sums, to.bias);
    if (with_padding) sum_padding(padding_sums, to.padding);
  }

 private:
  struct Forward {
    Scratch<C> memory;
    C* starts;
    C* keys;     // transposed and packed
    C* values;   // packed
    C* queries;  // (rows, dim)
    C* map;      // (rows, ld)
    C* results;  // (rows, width)
    C* sums;     // (rows)
    C* logs;     // (rows)

    explicit Forward(const UnitHeads& of)
        : Forward(of, RightOperand<C>::size(of.dim_, of.args_.members),
                  RightOperand<C>::size(of.args_.members, of.width_)) {}

   private:
    Forward(const UnitHeads& of, std::int64_t keys_size, std::int64_t values_size)
        : memory(of.starts_size() + keys_size + values_size +
                     of.rows_ * (of.dim_ + of.ld_ + of.width_ + 2),
                 of.in_.q),
          starts(memory.allocate(of.starts_size())),
          keys(memory.allocate(keys_size)),
          values(memory.allocate(values_size)),
          queries(memory.allocate(of.rows_ * of.dim_)),
          map(memory.allocate(of.rows_ * of.ld_)),
          results(memory.allocate(of.rows_ * of.width_)),
          sums(memory.allocate(of.rows_)),
          logs(memory.allocate(of.rows_)) {}
  };

  struct Backward {
    Scratch<C> memory;
    C* starts;
    C* keys;             // packed
    C* keys_transposed;  // packed
    C* values;           // transposed and packed
    C* key_gradients;    // (keys, dim)
    C* value_gradients;  // (keys, width)
    C* queries;          // (rows, dim)
    C* packed_queries;
    C* query_gradients;  // (rows, dim)
    C* dy;               // (rows, width)
    C* packed_dy;
    C* map;   // (rows, ld), then the gradient of the scores
    C* dmap;  // (rows, ld)
    C* logs;  // (rows)
    C* dots;  // (rows)
    NextHead next;

    explicit Backward(const UnitHeads& of)
        : Backward(of, of.args_.members, of.rows_, of.dim_, of.width_) {}

   private:
    static constexpr auto size = RightOperand<C>::size;

    Backward(const UnitHeads& of, std::int64_t members, std::int64_t rows, std::int64_t dim,
             std::int64_t width)
        : memory(of.starts_size() + size(members, dim) + size(dim, members) + size(width, members) +
                     members * (dim + width) + size(rows, dim) + size(rows, width) +
                     rows * (2 * of.ld_ + 2 * dim + width + 2),
                 of.in_.q),
          starts(memory.allocate(of.starts_size())),
          keys(memory.allocate(size(members, dim))),
          keys_transposed(memory.allocate(size(dim, members))),
          values(memory.allocate(size(width, members))),
          key_gradients(memory.allocate(members * dim)),
          value_gradients(memory.allocate(members * width)),
          queries(memory.allocate(rows * dim)),
          packed_queries(memory.allocate(size(rows, dim))),
          query_gradients(memory.allocate(rows * dim)),
          dy(memory.allocate(rows * width)),
          packed_dy(memory.allocate(size(rows, width))),
          map(memory.allocate(rows * of.ld_)),
          dmap(memory.allocate(rows * of.ld_)),
          logs(memory.allocate(rows)),
          dots(memory.allocate(rows)) {}
  };

  void add_inputs(const Following& after, NextHead& next) const {
    next.add_listed(after.rows->k, at(args_.k, after.head), dim_);
    next.add_listed(after.rows->v, at(args_.v, after.head), width_);
    next.add_listed(after.rows->q, at(args_.q, after.head), dim_);
  }
  void add_gradients(const Following& after, NextHead& next) const {
    add_inputs(after, next);
    next.add_listed(after.rows->dout, at(out_, after.head), width_);
    next.add_listed(after.rows->dq, at(args_.q, after.head), dim_);
    next.add_listed(after.rows->dk, at(args_.k, after.head), dim_);
    next.add_listed(after.rows->dv, at(args_.v, after.head), width_);
  }

  // Results of one head of a unit; log-sum-exps of all members, 0 of those that are no queries.
  void attend(const Unit& unit, const Piece& piece, std::int64_t head, const Rows& rows,
              const Forward& state, NextHead& next, C* lse) const {
    std::fill_n(lse, args_.members, C{0});
    const RightOperand<C> keys = pack_transposed(rows.k, at(args_.k, head), dim_, state.keys);
    const RightOperand<C> values = pack(rows.v, at(args_.v, head), width_, state.values);
    for_blocks(unit, [&](std::int64_t first, std::int64_t count) {
      loops().take_listed_rows(rows.q.data() + first, at(args_.q, head), state.queries, count,
                               dim_);
      scores(unit, piece, head, first, count, state.queries, keys, state.map, next.take());
      maps().softmax_rows(state.map, count, unit.ld, state.sums, state.logs);
      times_packed({.m = count,
                    .n = width_,
                    .k = unit.keys(),
                    .a = state.map,
                    .a_row = unit.ld,
                    .c = state.results,
                    .ahead = next.take()},
                   values);
      for (std::int64_t r = 0; r < count; ++r) {
        state.sums[r] = C{1} / state.sums[r];
        lse[unit.seats.queries[index(first + r)]] = state.logs[r];
      }
      loops().put_listed_rows(state.sums, state.results, rows.out.data() + first, at(out_, head),
                              count, width_);
    });
  }

  Tensor zeros(std::int64_t elements) const {
    const Tensor sums = scratch<C>(elements, in_.q);
    std::fill_n(sums.template data<C>(), elements, C{0});
    return sums;
  }

  // The gradients of one head of a unit; those of keys and values also stay in the state.
  void head_gradients(const Unit& unit, const Piece& piece, std::int64_t head, const Rows& rows,
                      const C* lse, const UnitAttentionGradients& to, Backward& state,
                      C* bias) const {
    const std::int64_t keys = unit.keys();
    const auto scale = static_cast<C>(args_.scale);
    const RightOperand<C> packed_keys = pack(rows.k, at(args_.k, head), dim_, state.keys);
    const RightOperand<C> keys_transposed =
        pack_transposed(rows.k, at(args_.k, head), dim_, state.keys_transposed);
    const RightOperand<C> values = pack_transposed(rows.v, at(args_.v, head), width_, state.values);
    for_blocks(unit, [&](std::int64_t first, std::int64_t count) {
      loops().take_listed_rows(rows.q.data() + first, at(args_.q, head), state.queries, count,
                               dim_);
      loops().take_listed_rows(rows.dout.data() + first, at(out_, head), state.dy, count, width_);
      for (std::int64_t r = 0; r < count; ++r)
        state.logs[r] = lse[unit.seats.queries[index(first + r)]];
      scores(unit, piece, head, first, count, state.queries, keys_transposed, state.map,
             state.next.take());
      maps().probability_rows(state.map, count, unit.ld, state.logs);
      // Gradients of keys or values: left^T right, or added to that of earlier queries.
      const auto add_keys = [&](C alpha, const RightOperand<C>& right, std::int64_t n, C* sums) {
        times_packed({.m = keys,
                      .n = n,
                      .k = count,
                      .alpha = alpha,
                      .a = state.map,
                      .a_row = 1,
                      .a_column = unit.ld,
                      .c = sums,
                      .accumulate = first > 0,
                      .ahead = state.next.take()},
                     right);
      };
      if (to.v.defined() || to.padding.defined())
        add_keys(C{1}, pack(state.dy, count, width_, state.packed_dy), width_,
                 state.value_gradients);
      upstream_of_map(unit, count, values, state);
      maps().row_dots(state.map, unit.ld, state.dmap, unit.ld, count, unit.ld, state.dots);
      maps().score_gradient_rows(nullptr, state.dmap, state.map, count, unit.ld, state.dots);
      if (bias != nullptr) add_bias(unit, first, count, state.map, bias);
      if (to.q.defined()) {
        times_packed({.m = count,
                      .n = dim_,
                      .k = keys,
                      .alpha = scale,
                      .a = state.map,
                      .a_row = unit.ld,
                      .c = state.query_gradients,
                      .ahead = state.next.take()},
                     packed_keys);
        loops().put_listed_rows(nullptr, state.query_gradients, rows.dq.data() + first,
                                at(args_.q, head), count, dim_);
      }
      if (to.k.defined() || to.padding.defined())
        add_keys(scale, pack(state.queries, count, dim_, state.packed_queries), dim_,
                 state.key_gradients);
    });
    if (to.k.defined()) {
      loops().put_listed_rows(nullptr, state.key_gradients, rows.dk.data(), at(args_.k, head), keys,
                              dim_);
    }
    if (to.v.defined()) {
      loops().put_listed_rows(nullptr, state.value_gradients, rows.dv.data(), at(args_.v, head),
                              keys, width_);
    }
  }

  // The gradient of the map, (count, ld), zeros behind the last key.
  void upstream_of_map(const Unit& unit, std::int64_t count, const RightOperand<C>& values,
                       Backward& state) const {
    const std::int64_t n = whole_lanes<C>(unit.keys());
    times_packed({.m = count,
                  .n = n,
                  .k = width_,
                  .a = state.dy,
                  .a_row = width_,
                  .c = state.dmap,
                  .ldc = unit.ld,
                  .ahead = state.next.take()},
                 values);
    Base::fill_behind(n, C{0}, unit, count, state.dmap);
  }

  // Adds the gradient of the scores of some queries, (count, ld), to that of the bias (members,
  // ld).
  void add_bias(const Unit& unit, std::int64_t first, std::int64_t count, const C* from,
                C* to) const {
    if (unit.seats.full) {  // places are members
      maps().axpy(C{1}, from, to + first * ld_, count * ld_);
      return;
    }
    for (std::int64_t r = 0; r < count; ++r) {
      C* row = to + unit.seats.queries[index(first + r)] * ld_;
      for (std::int64_t j = 0; j < unit.keys(); ++j)
        row[unit.seats.keys[index(j)]] += from[r * unit.ld + j];
    }
  }

  void add_padding(const Unit& unit, std::int64_t head, const Backward& state, C* to) const {
    for (std::int64_t j = 0; j < unit.keys(); ++j) {
      if (unit.seats.key_tokens[index(j)] >= 0) continue;
      maps().axpy(C{1}, state.key_gradients + j * dim_, to + at(args_.k, head), dim_);
      maps().axpy(C{1}, state.value_gradients + j * width_, to + at(args_.v, head), width_);
    }
  }

  void sum_bias(const Tensor& sums, const Tensor& to) const {
    const std::int64_t members = args_.members;
    pool_.run(args_.heads, [&](std::int64_t head) {
      C* gradient = to.data<C>() + head * members * members;
      std::fill_n(gradient, members * members, C{0});
      for (std::int64_t stretch = 0; stretch < pieces_.stretches(); ++stretch) {
        const std::int64_t place =
            pieces_.index_of(stretch, head) * pieces_.heads() + head % pieces_.heads();
        const C* from = sums.data<C>() + place * members * ld_;
        for (std::int64_t r = 0; r < members; ++r)
          maps().axpy(C{1}, from + r * ld_, gradient + r * members, members);
      }
    });
  }

  void sum_padding(const Tensor& sums, const Tensor& to) const {
    const std::int64_t n = to.numel();
    const Tensor total = zeros(n);
    for (std::int64_t i = 0; i < pieces_.count(); ++i)
      maps().axpy(C{1}, sums.data<C>() + i * n, total.data<C>(), n);
    loops().narrow(total.data<C>(), to.data<S>(), n);
  }

  template <class Body>
  void for_pieces(const Body& body) const {
    pool_.run(pieces_.count(), [&](std::int64_t i) { body(i, pieces_[i]); });
  }

  ThreadPool& pool_;
};

}  // namespace

void CpuBackend::unit_attention(const UnitAttentionArgs& args, const UnitAttentionInputs& in,
                                const Tensor& out, const Tensor& lse) const {
  dispatch_stored("unit_attention", in.q.dtype(),
                  [&]<class S>(S) { UnitHeads<S>(pool_, args, in).forward(out, lse); });
}

void CpuBackend::unit_attention_backward(const UnitAttentionArgs& args,
                                         const UnitAttentionInputs& in,
                                         const AttentionUpstream& upstream,
                                         const UnitAttentionGradients& to) const {
  dispatch_stored("unit_attention_backward", in.q.dtype(),
                  [&]<class S>(S) { UnitHeads<S>(pool_, args, in).backward(upstream, to); });
}

}  // namespace fovea::cpu
