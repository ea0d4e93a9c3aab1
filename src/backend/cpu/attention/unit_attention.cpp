// Softmax attention inside units of tokens. A unit's heads are copied out of the projections row by
// row, wherever its tokens lie, into the compute type; scores of a block of queries stay in the
// cache, and start from the bias and the mask, to which the product is added. The backward pass
// computes the maps again from the saved log-sum-exp. Pieces sum the gradients of bias and padding
// over their own units; the sums of the pieces are added in order.
#include "backend/cpu/attention/unit_maps.h"
#include "backend/cpu/cpu_backend.h"

namespace fovea::cpu {
namespace {

template <class S>
class UnitHeads : public UnitMaps<S> {
  using Base = UnitMaps<S>;
  using Base::args_, Base::in_, Base::pieces_, Base::dim_, Base::width_, Base::ld_, Base::rows_;
  using Base::for_blocks, Base::for_units, Base::place_of_lse, Base::starts_size;
  using Base::out_, Base::at, Base::index, Base::list, Base::loops, Base::maps, Base::scores;
  using typename Base::Piece, typename Base::Rows, typename Base::Unit;

 public:
  using C = Compute<S>;

  UnitHeads(ThreadPool& pool, const UnitAttentionArgs& args, const UnitAttentionInputs& in)
      : Base(args, in), pool_(pool) {}

  void forward(const Tensor& out, const Tensor& lse) const {
    for_pieces([&](std::int64_t, const Piece& piece) {
      const std::int64_t members = args_.members;
      Scratch<C> memory(
          starts_size() + members * width_ + ld_ * dim_ + rows_ * (dim_ + ld_ + width_ + 2), in_.q);
      C* starts = memory.allocate(starts_size());
      C* keys = memory.allocate(ld_ * dim_);  // transposed
      C* values = memory.allocate(members * width_);
      C* queries = memory.allocate(rows_ * dim_);
      C* map = memory.allocate(rows_ * ld_);
      C* result = memory.allocate(rows_ * width_);
      C* sums = memory.allocate(rows_);
      C* log_sums = memory.allocate(rows_);
      Rows rows;
      for_units(piece, starts, [&](const Unit& unit, std::int64_t item) {
        list(item, unit, rows);
        list(out, out_, item, unit.seats.query_tokens, rows.out);
        for (std::int64_t head = piece.head; head < piece.head + piece.heads; ++head) {
          C* logs = lse.data<C>() + place_of_lse(item, head, unit);
          std::fill_n(logs, members, C{0});
          loops().take_listed_columns(rows.k.data(), at(args_.k, head), keys, unit.ld, unit.keys(),
                                      dim_);
          loops().take_listed_rows(rows.v.data(), at(args_.v, head), values, unit.keys(), width_);
          for_blocks(unit, [&](std::int64_t first, std::int64_t count) {
            loops().take_listed_rows(rows.q.data() + first, at(args_.q, head), queries, count,
                                     dim_);
            scores(unit, piece, head, first, count, queries, keys, map);
            maps().softmax_rows(map, count, unit.ld, sums, log_sums);
            times({count, width_, unit.keys()}, map, unit.ld, values, result);
            for (std::int64_t r = 0; r < count; ++r) {
              sums[r] = C{1} / sums[r];
              logs[unit.seats.queries[index(first + r)]] = log_sums[r];
            }
            loops().put_listed_rows(sums, result, rows.out.data() + first,
                                    out_.head_offsets[index(head)], count, width_);
          });
        }
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
      Backward state(*this);
      Rows rows;
      C* padding = with_padding ? padding_sums.data<C>() + i * to.padding.numel() : nullptr;
      for_units(piece, state.starts, [&](const Unit& unit, std::int64_t item) {
        if (unit.queries() == 0) return;
        list(item, unit, rows);
        list(upstream.dout, out_, item, unit.seats.query_tokens, rows.dout);
        list(to.q, args_.q, item, unit.seats.query_tokens, rows.dq);
        list(to.k, args_.k, item, unit.seats.key_tokens, rows.dk);
        list(to.v, args_.v, item, unit.seats.key_tokens, rows.dv);
        for (std::int64_t head = piece.head; head < piece.head + piece.heads; ++head) {
          C* bias = to.bias.defined()
                        ? bias_sums.data<C>() + (i * pieces_.heads() + head - piece.head) * square
                        : nullptr;
          head_gradients(unit, piece, item, head, rows, upstream.lse, to, state, bias);
          if (padding != nullptr) add_padding(unit, head, state, padding);
        }
      });
    });
    if (to.bias.defined()) sum_bias(bias_sums, to.bias);
    if (with_padding) sum_padding(padding_sums, to.padding);
  }

 private:
  struct Backward {
    Scratch<C> memory;
    C* starts;
    C* keys;             // (keys, dim)
    C* keys_transposed;  // (dim, ld)
    C* values;           // (width, ld), transposed
    C* key_gradients;    // (keys, dim)
    C* value_gradients;  // (keys, width)
    C* queries;          // (rows, dim)
    C* query_gradients;  // (rows, dim)
    C* dy;               // (rows, width)
    C* map;              // (rows, ld), then the gradient of the scores
    C* dmap;             // (rows, ld)
    C* logs;             // (rows)
    C* dots;             // (rows)

    explicit Backward(const UnitHeads& of)
        : memory(of.starts_size() + of.ld_ * (3 * of.dim_ + 2 * of.width_) +
                     of.rows_ * (2 * of.ld_ + 2 * of.dim_ + of.width_ + 2),
                 of.in_.q),
          starts(memory.allocate(of.starts_size())),
          keys(memory.allocate(of.ld_ * of.dim_)),
          keys_transposed(memory.allocate(of.ld_ * of.dim_)),
          values(memory.allocate(of.ld_ * of.width_)),
          key_gradients(memory.allocate(of.ld_ * of.dim_)),
          value_gradients(memory.allocate(of.ld_ * of.width_)),
          queries(memory.allocate(of.rows_ * of.dim_)),
          query_gradients(memory.allocate(of.rows_ * of.dim_)),
          dy(memory.allocate(of.rows_ * of.width_)),
          map(memory.allocate(of.rows_ * of.ld_)),
          dmap(memory.allocate(of.rows_ * of.ld_)),
          logs(memory.allocate(of.rows_)),
          dots(memory.allocate(of.rows_)) {}
  };

  Tensor zeros(std::int64_t elements) const {
    const Tensor sums = scratch<C>(elements, in_.q);
    std::fill_n(sums.template data<C>(), elements, C{0});
    return sums;
  }

  // The gradients of one head of a unit; those of keys and values also stay in the state.
  void head_gradients(const Unit& unit, const Piece& piece, std::int64_t item, std::int64_t head,
                      const Rows& rows, const Tensor& lse, const UnitAttentionGradients& to,
                      const Backward& state, C* bias) const {
    const std::int64_t keys = unit.keys();
    const auto scale = static_cast<C>(args_.scale);
    const C* logs = lse.data<C>() + place_of_lse(item, head, unit);
    loops().take_listed_rows(rows.k.data(), at(args_.k, head), state.keys, keys, dim_);
    loops().take_listed_columns(rows.k.data(), at(args_.k, head), state.keys_transposed, unit.ld,
                                keys, dim_);
    loops().take_listed_columns(rows.v.data(), at(args_.v, head), state.values, unit.ld, keys,
                                width_);
    for_blocks(unit, [&](std::int64_t first, std::int64_t count) {
      loops().take_listed_rows(rows.q.data() + first, at(args_.q, head), state.queries, count,
                               dim_);
      loops().take_listed_rows(rows.dout.data() + first, at(out_, head), state.dy, count, width_);
      for (std::int64_t r = 0; r < count; ++r)
        state.logs[r] = logs[unit.seats.queries[index(first + r)]];
      scores(unit, piece, head, first, count, state.queries, state.keys_transposed, state.map);
      maps().probability_rows(state.map, count, unit.ld, state.logs);
      if (to.v.defined() || to.padding.defined()) {
        transposed_times({keys, width_, count}, state.map, unit.ld, state.dy, state.value_gradients,
                         {.accumulate = first > 0});
      }
      times({count, unit.ld, width_}, state.dy, width_, state.values, state.dmap);
      maps().row_dots(state.map, unit.ld, state.dmap, unit.ld, count, unit.ld, state.dots);
      maps().score_gradient_rows(nullptr, state.dmap, state.map, count, unit.ld, state.dots);
      if (bias != nullptr) add_bias(unit, first, count, state.map, bias);
      if (to.q.defined()) {
        times({count, dim_, keys}, state.map, unit.ld, state.keys, state.query_gradients,
              {.alpha = scale});
        loops().put_listed_rows(nullptr, state.query_gradients, rows.dq.data() + first,
                                at(args_.q, head), count, dim_);
      }
      if (to.k.defined() || to.padding.defined()) {
        transposed_times({keys, dim_, count}, state.map, unit.ld, state.queries,
                         state.key_gradients, {.alpha = scale, .accumulate = first > 0});
      }
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
