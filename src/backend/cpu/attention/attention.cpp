// Softmax attention with one map a head, or two maps over one value stream, without ever storing a
// map: a block of scores is turned into weights by the largest score so far, and what was summed
// before is scaled down where a larger one comes (Dao et al. 2022, "FlashAttention"). bfloat16 is
// widened while operands are packed; tile registers, where there are any, multiply it.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "backend/cpu/attention/attention_blocks.h"
#include "backend/cpu/attention/attention_lengths.h"
#include "backend/cpu/cpu_backend.h"

namespace fovea::cpu {
namespace {

// Queries of a piece, for which keys are packed once; whole blocks.
constexpr std::int64_t kPieceQueries = 384;

template <class S>
class Forward : public AttentionBlocks<S> {
  using Base = AttentionBlocks<S>;
  using Base::args_, Base::streams_, Base::kernels_;
  using Base::place, Base::row, Base::reach, Base::key_block, Base::key_blocks, Base::maps;
  using Base::two_maps, Base::coefficients, Base::product, Base::scores;

 public:
  using C = Compute<S>;

  Forward(const AttentionArgs& args, const Tensor& mask)
      : Base(args, mask), rows_(block_queries(args, false)) {}

  // Of an item's head.
  std::int64_t pieces() const { return divide_up(args_.queries, kPieceQueries); }

  // `next`: what the thread mostly comes to next, if anything.
  void run(Pair at, std::int64_t piece, std::optional<Pair> next, const AttentionInputs& in,
           const S* const* c, const AttentionResults& to) const {
    const Span queries{piece * kPieceQueries,
                       std::min(kPieceQueries, args_.queries - piece * kPieceQueries)};
    const State state(*this, queries.count, in.q);
    // Of a block of keys.
    const std::int64_t products =
        divide_up(queries.count, rows_) * (joins() ? maps() + 1 : 2 * maps());
    if (next.has_value() && pieces() == 1 && key_blocks() == 1)
      announce(*next, products, in, to, state);
    for (const Stream& stream : streams_) {
      load_rows<S>(in.q, stream.q, at, queries.first, queries.count, state.queries[stream.index]);
      std::fill_n(state.tops[stream.index], queries.count, kNever<C>);
      std::fill_n(state.sums[stream.index], queries.count, C{0});
    }
    // Keys that the last query sees, but the first block even if there are none.
    const std::int64_t seen = reach(queries.end() - 1);
    for (std::int64_t i = 0; i < key_blocks(); ++i) {
      const Span keys = key_block(i);
      if (i > 0 && keys.first >= seen) break;
      if (i + 1 < key_blocks()) announce_keys(at, key_block(i + 1), products, in, state);
      add_keys(at, queries, keys, i, in, c, state);
    }
    finish(at, queries, c, to, state);
  }

 private:
  struct State;

  void announce(Pair at, std::int64_t products, const AttentionInputs& in,
                const AttentionResults& to, const State& state) const {
    state.next = NextHead(products);
    for (const Stream& stream : streams_) {
      state.next.template add<S>(in.q, stream.q, at, 0, args_.queries);
      state.next.template add<S>(in.k, stream.k, at, 0, args_.keys);
    }
    state.next.template add<S>(in.v, args_.v, at, 0, args_.keys);
    state.next.add(to.out.template data<S>() + place(at, 0) * args_.v.dim,
                   args_.heads * args_.v.dim, args_.queries, args_.v.dim);
  }

  void announce_keys(Pair at, const Span& keys, std::int64_t products, const AttentionInputs& in,
                     const State& state) const {
    state.next = NextHead(products);
    for (const Stream& stream : streams_)
      state.next.template add<S>(in.k, stream.k, at, keys.first, keys.count);
    state.next.template add<S>(in.v, args_.v, at, keys.first, keys.count);
  }

  // Scratch of one piece.
  struct State {
    Scratch<C> scratch;
    C* queries[2] = {};  // (queries, dim)
    C* tops[2] = {};     // (queries): the largest score so far
    C* sums[2] = {};     // (queries): of the weights by it
    C* results[2] = {};  // (queries, width), of one map each, or both in the first
    C* keys[2] = {};     // of a block, packed
    C* values;
    C* map[2] = {};  // (block's queries, whole_vectors(keys))
    C* factors;      // (block's queries)
    mutable NextHead next;
    C* scales[2] = {};

    State(const Forward& of, std::int64_t queries_count, const Tensor& like)
        : scratch(of.state_size(queries_count), like),
          values(scratch.allocate(RightOperand<C>::size(of.most_keys(), of.args_.v.dim))),
          factors(scratch.allocate(of.rows_)) {
      for (std::size_t i = 0; i < of.streams_.size(); ++i) {
        queries[i] = scratch.allocate(queries_count * of.args_.q.dim);
        tops[i] = scratch.allocate(queries_count);
        sums[i] = scratch.allocate(queries_count);
        results[i] = scratch.allocate(queries_count * of.args_.v.dim);
        keys[i] = scratch.allocate(RightOperand<C>::size(of.args_.q.dim, of.most_keys()));
        map[i] = scratch.allocate(of.rows_ * whole_vectors<C>(of.most_keys()));
        scales[i] = scratch.allocate(of.rows_);
      }
    }
  };

  std::int64_t most_keys() const { return std::min(args_.keys, kBlockKeys); }
  std::int64_t state_size(std::int64_t queries) const {
    const std::int64_t dim = args_.q.dim;
    const std::int64_t width = args_.v.dim;
    return RightOperand<C>::size(most_keys(), width) + rows_ +
           maps() * (queries * (dim + width + 2) + RightOperand<C>::size(dim, most_keys()) +
                     rows_ * (whole_vectors<C>(most_keys()) + 1));
  }

  // Two maps are joined before they meet the values where all keys are one block.
  bool joins() const { return two_maps() && key_blocks() == 1; }

  void add_keys(Pair at, const Span& queries, const Span& keys, std::int64_t index,
                const AttentionInputs& in, const S* const* c, const State& state) const {
    const std::int64_t width = args_.v.dim;
    const RightOperand<C> values = this->pack_rows_of(in.v, args_.v, at, keys, state.values);
    RightOperand<C> packed[2];
    for (const Stream& stream : streams_)
      packed[stream.index] =
          this->pack_transposed(in.k, stream.k, at, keys, state.keys[stream.index]);
    for (std::int64_t first = 0; first < queries.count; first += rows_) {
      const Span rows{queries.first + first, std::min(rows_, queries.count - first)};
      const Span seen = this->seen_of(keys, rows);
      if (index > 0 && seen.count == 0) continue;
      const std::int64_t ld = whole_vectors<C>(seen.count);
      const auto add = [&](const C* map, C* results) {
        product({.m = rows.count,
                 .n = width,
                 .k = seen.count,
                 .a = map,
                 .a_row = ld,
                 .c = results + first * width,
                 .accumulate = index > 0,
                 .ahead = state.next.take()},
                values);
      };
      for (const Stream& stream : streams_) {
        const std::size_t s = stream.index;
        scores(state.queries[s] + first * args_.q.dim, packed[s], at.item, rows, seen, state.map[s],
               state.next.take());
        kernels_.softmax_step(state.map[s], rows.count, ld, state.tops[s] + first,
                              state.sums[s] + first, state.factors);
        if (joins()) continue;
        for (std::int64_t r = 0; index > 0 && r < rows.count; ++r) {
          if (state.factors[r] != C{1})
            kernels_.scale_rows(state.factors + r, state.results[s] + (first + r) * width, 1,
                                width);
        }
        add(state.map[s], state.results[s]);
      }
      if (!joins()) continue;
      for (const Stream& stream : streams_) {
        const std::size_t s = stream.index;
        coefficients(c[s], at, rows, state.scales[s]);
        for (std::int64_t r = 0; r < rows.count; ++r)
          state.scales[s][r] /= divisor(state, s, first + r);
      }
      kernels_.combine_rows(state.scales[0], state.map[0], state.scales[1], state.map[1],
                            state.map[0], rows.count, ld);
      add(state.map[0], state.results[0]);
    }
  }

  // The sum of a query's weights, or 1 where nothing is allowed.
  static C divisor(const State& state, std::size_t s, std::int64_t query) {
    const C sum = state.sums[s][query];
    return sum == C{0} ? C{1} : sum;
  }

  void finish(Pair at, const Span& queries, const S* const* c, const AttentionResults& to,
              const State& state) const {
    const std::int64_t width = args_.v.dim;
    for (std::int64_t first = 0; first < queries.count; first += rows_) {
      const Span rows{queries.first + first, std::min(rows_, queries.count - first)};
      for (const Stream& stream : streams_) {
        if (joins()) break;
        const std::size_t s = stream.index;
        C* results = state.results[s] + first * width;
        for (std::int64_t r = 0; r < rows.count; ++r)
          state.scales[s][r] = C{1} / divisor(state, s, first + r);
        kernels_.scale_rows(state.scales[s], results, rows.count, width);
        if (!two_maps()) continue;
        if (to.map_results.defined())
          put(results, at, rows,
              to.map_results.template data<S>() + static_cast<std::int64_t>(s) * to.out.numel());
        coefficients(c[s], at, rows, state.scales[s]);
        kernels_.scale_rows(state.scales[s], results, rows.count, width);
        if (s > 0)
          kernels_.axpy(C{1}, results, state.results[0] + first * width, rows.count * width);
      }
      put(state.results[0] + first * width, at, rows, to.out.template data<S>());
    }
    for (const Stream& stream : streams_)
      kernels_.log_sums(state.tops[stream.index], state.sums[stream.index],
                        to.lse.template data<C>() + row(stream.index, at, queries.first),
                        queries.count);
  }

  // Results of a block of queries, (rows, width), to their places.
  void put(const C* results, Pair at, const Span& rows, S* to) const {
    const std::int64_t width = args_.v.dim;
    simd::kernels().of<S>().put_rows(C{1}, results, false, to + place(at, rows.first) * width,
                                     args_.heads * width, rows.count, width);
  }

  std::int64_t rows_;  // queries of a block
};

}  // namespace

bool CpuBackend::keeps_map_results(const AttentionArgs& args) const {
  return args.two_maps() && args.is_long();
}

void CpuBackend::attention(const AttentionArgs& args, const AttentionInputs& in,
                           const AttentionResults& to) const {
  if (args.batch == 0 || args.queries == 0) return;
  dispatch_stored("attention", in.q.dtype(), [&]<class S>(S) {
    const Problems<Forward<S>> problems(args, in.mask);
    const S* const c[2] = {optional<S>(in.c1), optional<S>(in.c2)};
    const std::int64_t pieces = problems.of_item(0).pieces();
    const std::int64_t count = args.batch * args.heads * pieces;
    const auto pair_of = [&](std::int64_t i) {
      return Pair{i / pieces / args.heads, i / pieces % args.heads};
    };
    pool_.run(count, [&](std::int64_t i) {
      // Threads take turns, so that this is what a thread mostly comes to next.
      const std::int64_t later = i + pool_.threads();
      const std::optional<Pair> next = later < count ? std::optional(pair_of(later)) : std::nullopt;
      problems.of_item(pair_of(i).item).run(pair_of(i), i % pieces, next, in, c, to);
    });
  });
}

}  // namespace fovea::cpu
