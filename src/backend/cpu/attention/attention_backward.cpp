// Gradients of softmax attention. A piece of work is a block of keys of a head, with all queries
// that see it: A = sum_i c_i P_i, dS_i = c_i P_i (dA - sum_j P_i dA), and that sum is the gradient
// of c_i (dgsa 2.2, backward). The gradients of its keys and values are its own. To the gradients
// of the queries all pieces of a head add, each block of queries in the order of the keys, so that
// bits do not depend on threads.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "backend/attention_groups.h"
#include "backend/cpu/attention/attention_blocks.h"
#include "backend/cpu/attention/attention_lengths.h"
#include "backend/cpu/cpu_backend.h"

namespace fovea::cpu {
namespace {

// Which block of keys may add to the gradients of each block of queries of a head.
class Turns {
 public:
  explicit Turns(std::int64_t blocks) : next_(static_cast<std::size_t>(blocks)) {}
  // Pieces are begun in the order of the keys, so whoever is waited for runs.
  void wait(std::int64_t block, std::int64_t turn) const {
    const std::atomic<std::int64_t>& next = next_[static_cast<std::size_t>(block)];
    while (next.load(std::memory_order_acquire) != turn && !given_up_) std::this_thread::yield();
  }
  void pass_on(std::int64_t block) {
    next_[static_cast<std::size_t>(block)].fetch_add(1, std::memory_order_release);
  }
  // A piece has ended by an exception: nobody waits for it, and there will be no result.
  void give_up() { given_up_ = true; }

 private:
  std::vector<std::atomic<std::int64_t>> next_;
  std::atomic<bool> given_up_ = false;
};

// What the pieces of a head share.
template <class C>
struct Shared {
  explicit Shared(std::int64_t blocks) : turns(blocks) {}
  Turns turns;
  C* query_gradients[2] = {};  // (queries, dim) in the compute type, or null: the tensor itself
  C* dots[2] = {};             // (queries), or null: of one block of keys, or of map_results
};

template <class S>
class Backward : public AttentionBlocks<S> {
  using Base = AttentionBlocks<S>;
  using Base::args_, Base::streams_, Base::kernels_;
  using Base::place, Base::row, Base::reach, Base::key_block, Base::maps;
  using Base::two_maps, Base::coefficients, Base::product, Base::scores;

 public:
  using C = Compute<S>;
  using Base::key_blocks;

  Backward(const AttentionArgs& args, const Tensor& mask)
      : Base(args, mask), rows_(block_queries(args, true)) {}

  // Of all pieces of a call.
  struct Call {
    const AttentionInputs& in;
    const S* const* c;
    const AttentionUpstream& upstream;
    const AttentionGradients& to;
    S* const* dc;
  };

  std::int64_t query_blocks() const { return divide_up(args_.queries, rows_); }
  // Blocks of queries that share the packed keys of find_dots.
  std::int64_t groups_of_dots() const { return divide_up(query_blocks(), kGroup); }
  // Sums over all keys have to be known before the first block of them.
  bool needs_dots(const Call& call) const {
    return key_blocks() > 1 && !call.upstream.map_results.defined();
  }

  // `next`: as of the forward pass.
  void run(Pair at, std::int64_t piece, std::optional<Pair> next, const Call& call,
           Shared<C>& shared) const {
    const Span keys = key_block(piece);
    const State state(*this, call.in.q);
    if (next.has_value() && key_blocks() == 1) announce(*next, call, state);
    for (const Stream& stream : streams_) {
      const std::size_t s = stream.index;
      state.keys_transposed[s] =
          this->pack_transposed(call.in.k, stream.k, at, keys, state.keys_transposed[s].data);
      state.keys[s] = this->pack_rows_of(call.in.k, stream.k, at, keys, state.keys[s].data);
      std::fill_n(state.key_gradients[s], keys.count * args_.q.dim, C{0});
    }
    state.values = this->pack_transposed(call.in.v, args_.v, at, keys, state.values.data);
    std::fill_n(state.value_gradients, keys.count * args_.v.dim, C{0});
    for (std::int64_t block = 0; block < query_blocks(); ++block) {
      const Span rows = query_block(block);
      // (The first piece has something for every block, if only zeros.)
      const Span seen = this->seen_of(keys, rows);
      if (piece > 0 && seen.count == 0) continue;
      if (key_blocks() > 1)
        announce_rows(at, query_block((block + 1) % query_blocks()), call, state);
      add_block(at, rows, seen, piece, call, shared, state);
    }
    for (const Stream& stream : streams_) {
      if (call.to.k.defined())
        store_rows<S>(state.key_gradients[stream.index], args_.add, call.to.k, stream.k, at,
                      keys.first, keys.count);
    }
    if (call.to.v.defined())
      store_rows<S>(state.value_gradients, args_.add, call.to.v, args_.v, at, keys.first,
                    keys.count);
  }

  // The sums of a group of queries over all keys.
  void find_dots(Pair at, std::int64_t group, const Call& call, const Shared<C>& shared) const {
    const State state(*this, call.in.q);
    const std::int64_t begin = group * kGroup;
    const std::int64_t end = std::min(query_blocks(), begin + kGroup);
    const std::int64_t last = query_block(end - 1).end();
    for (const Stream& stream : streams_)
      std::fill(shared.dots[stream.index] + query_block(begin).first,
                shared.dots[stream.index] + last, C{0});
    for (std::int64_t i = 0; i < key_blocks(); ++i) {
      const Span keys = key_block(i);
      if (keys.first >= reach(last - 1)) break;
      const RightOperand<C> values =
          this->pack_transposed(call.in.v, args_.v, at, keys, state.values.data);
      RightOperand<C> packed[2];
      for (const Stream& stream : streams_)
        packed[stream.index] = this->pack_transposed(call.in.k, stream.k, at, keys,
                                                     state.keys_transposed[stream.index].data);
      for (std::int64_t block = begin; block < end; ++block) {
        const Span rows = query_block(block);
        const Span seen = this->seen_of(keys, rows);
        if (seen.count == 0) continue;
        const std::int64_t ld = whole_vectors<C>(seen.count);
        load_block(at, rows, call, state);
        upstream_of_map(rows, seen, values, state);
        for (const Stream& stream : streams_) {
          const std::size_t s = stream.index;
          probabilities(stream, at, rows, seen, call, packed[s], state);
          kernels_.row_dots(state.map[s], ld, state.dfused, ld, rows.count, ld, state.dots[s]);
          kernels_.axpy(C{1}, state.dots[s], shared.dots[s] + rows.first, rows.count);
        }
      }
    }
  }

 private:
  static constexpr std::int64_t kGroup = 8;
  struct State;

  void announce(Pair at, const Call& call, const State& state) const {
    state.next = NextHead(query_blocks() * (2 + 3 * maps()));
    const auto add_streams = [&](const Tensor& queries, const Tensor& keys) {
      for (const Stream& stream : streams_) {
        state.next.template add<S>(queries, stream.q, at, 0, args_.queries);
        state.next.template add<S>(keys, stream.k, at, 0, args_.keys);
      }
    };
    add_streams(call.in.q, call.in.k);
    state.next.template add<S>(call.in.v, args_.v, at, 0, args_.keys);
    const std::int64_t width = args_.v.dim;
    state.next.add(call.upstream.dout.template data<S>() + place(at, 0) * width,
                   args_.heads * width, args_.queries, width);
    add_streams(call.to.q, call.to.k);
    state.next.template add<S>(call.to.v, args_.v, at, 0, args_.keys);
  }

  // Each block of keys reads all queries again.
  void announce_rows(Pair at, const Span& rows, const Call& call, const State& state) const {
    state.next = NextHead(2 + 3 * maps());
    const std::int64_t width = args_.v.dim;
    const auto add_rows = [&](const S* x) {
      state.next.add(x + place(at, rows.first) * width, args_.heads * width, rows.count, width);
    };
    add_rows(call.upstream.dout.template data<S>());
    for (const Stream& stream : streams_) {
      state.next.template add<S>(call.in.q, stream.q, at, rows.first, rows.count);
      if (call.upstream.map_results.defined())
        add_rows(call.upstream.map_results.template data<S>() +
                 static_cast<std::int64_t>(stream.index) * call.upstream.dout.numel());
    }
  }

  // Scratch of one piece.
  struct State {
    Scratch<C> scratch;
    // Of the block of keys.
    mutable RightOperand<C> keys[2], keys_transposed[2], values;
    C* key_gradients[2] = {};  // (keys, dim)
    C* value_gradients;        // (keys, width)
    // Of a block of queries.
    C* queries[2] = {};           // (rows, dim)
    C* packed_queries;            // the same as a right operand
    C* query_gradients;           // (rows, dim)
    C* dy;                        // (rows, width)
    C* packed_dy;                 // the same as a right operand
    C* out;                       // (rows, width)
    C* map[2] = {};               // (rows, whole_vectors(keys)), then the gradient of the scores
    C* fused;                     // (rows, whole_vectors(keys))
    C* dfused;                    // the same
    C *c[2] = {}, *dots[2] = {};  // (rows)
    mutable NextHead next;

    State(const Backward& of, const Tensor& like) : scratch(of.state_size(), like) {
      const std::int64_t dim = of.args_.q.dim;
      const std::int64_t width = of.args_.v.dim;
      const std::int64_t keys_count = of.most_keys();
      const std::int64_t rows = of.most_rows();
      const std::int64_t ld = whole_vectors<C>(keys_count);
      for (std::size_t i = 0; i < of.streams_.size(); ++i) {
        keys[i].data = scratch.allocate(RightOperand<C>::size(keys_count, dim));
        keys_transposed[i].data = scratch.allocate(RightOperand<C>::size(dim, keys_count));
        key_gradients[i] = scratch.allocate(keys_count * dim);
        queries[i] = scratch.allocate(rows * dim);
        map[i] = scratch.allocate(rows * ld);
        c[i] = scratch.allocate(rows);
        dots[i] = scratch.allocate(rows);
      }
      values.data = scratch.allocate(RightOperand<C>::size(width, keys_count));
      value_gradients = scratch.allocate(keys_count * width);
      packed_queries = scratch.allocate(RightOperand<C>::size(rows, dim));
      query_gradients = scratch.allocate(rows * dim);
      dy = scratch.allocate(rows * width);
      packed_dy = scratch.allocate(RightOperand<C>::size(rows, width));
      out = scratch.allocate(rows * width);
      fused = scratch.allocate(rows * ld);
      dfused = scratch.allocate(rows * ld);
    }
  };

  std::int64_t most_keys() const { return std::min(args_.keys, kBlockKeys); }
  std::int64_t most_rows() const { return std::min(args_.queries, rows_); }
  std::int64_t state_size() const {
    const std::int64_t dim = args_.q.dim;
    const std::int64_t width = args_.v.dim;
    const std::int64_t keys = most_keys();
    const std::int64_t rows = most_rows();
    const std::int64_t ld = whole_vectors<C>(keys);
    return maps() * (RightOperand<C>::size(keys, dim) + RightOperand<C>::size(dim, keys) +
                     keys * dim + rows * (dim + ld + 2)) +
           RightOperand<C>::size(width, keys) + keys * width + RightOperand<C>::size(rows, dim) +
           RightOperand<C>::size(rows, width) + rows * (dim + 2 * width + 2 * ld);
  }

  Span query_block(std::int64_t i) const {
    const std::int64_t first = i * rows_;
    return {first, std::min(rows_, args_.queries - first)};
  }

  void load_block(Pair at, const Span& rows, const Call& call, const State& state) const {
    const std::int64_t width = args_.v.dim;
    simd::kernels().of<S>().take_rows(
        call.upstream.dout.template data<S>() + place(at, rows.first) * width, args_.heads * width,
        state.dy, rows.count, width);
    for (const Stream& stream : streams_)
      load_rows<S>(call.in.q, stream.q, at, rows.first, rows.count, state.queries[stream.index]);
  }

  // dA, (rows, whole_vectors(keys)), zeros behind the last key.
  void upstream_of_map(const Span& rows, const Span& keys, const RightOperand<C>& values,
                       const State& state) const {
    const std::int64_t ld = whole_vectors<C>(keys.count);
    const std::int64_t n = whole_lanes<C>(keys.count);
    product({.m = rows.count,
             .n = n,
             .k = args_.v.dim,
             .a = state.dy,
             .a_row = args_.v.dim,
             .c = state.dfused,
             .ldc = ld,
             .ahead = state.next.take()},
            values);
    for (std::int64_t r = 0; n < ld && r < rows.count; ++r)
      std::fill(state.dfused + r * ld + n, state.dfused + (r + 1) * ld, C{0});
  }

  void probabilities(const Stream& stream, Pair at, const Span& rows, const Span& keys,
                     const Call& call, const RightOperand<C>& keys_transposed,
                     const State& state) const {
    const std::size_t s = stream.index;
    scores(state.queries[s], keys_transposed, at.item, rows, keys, state.map[s], state.next.take());
    const C* lse = call.upstream.lse.template data<C>() + row(s, at, rows.first);
    kernels_.probability_rows(state.map[s], rows.count, whole_vectors<C>(keys.count), lse);
  }

  void add_block(Pair at, const Span& rows, const Span& keys, std::int64_t piece, const Call& call,
                 Shared<C>& shared, const State& state) const {
    const std::int64_t ld = whole_vectors<C>(keys.count);
    load_block(at, rows, call, state);
    for (const Stream& stream : streams_) {
      const std::size_t s = stream.index;
      if (two_maps()) coefficients(call.c[s], at, rows, state.c[s]);
      probabilities(stream, at, rows, keys, call, state.keys_transposed[s], state);
    }
    if (call.to.v.defined()) add_value_gradients(rows, keys, state);
    upstream_of_map(rows, keys, state.values, state);
    for (const Stream& stream : streams_) {
      const std::size_t s = stream.index;
      const C* dots = dots_of(stream, at, rows, ld, call, shared, state);
      if (piece == 0) write_dots(s, at, rows, dots, call);
      kernels_.score_gradient_rows(two_maps() ? state.c[s] : nullptr, state.dfused, state.map[s],
                                   rows.count, ld, dots);
      if (call.to.k.defined()) add_key_gradients(s, rows, keys, state);
    }
    if (!call.to.q.defined()) return;
    const std::int64_t block = rows.first / rows_;
    shared.turns.wait(block, piece);
    for (const Stream& stream : streams_)
      add_query_gradients(stream, at, rows, keys, piece, call, shared, state);
    shared.turns.pass_on(block);
  }

  // sum over keys of P dA, which is dy . (P v).
  const C* dots_of(const Stream& stream, Pair at, const Span& rows, std::int64_t ld,
                   const Call& call, const Shared<C>& shared, const State& state) const {
    const std::size_t s = stream.index;
    if (shared.dots[s] != nullptr) return shared.dots[s] + rows.first;
    if (key_blocks() == 1) {
      kernels_.row_dots(state.map[s], ld, state.dfused, ld, rows.count, ld, state.dots[s]);
    } else {
      const std::int64_t width = args_.v.dim;
      simd::kernels().of<S>().take_rows(
          call.upstream.map_results.template data<S>() +
              static_cast<std::int64_t>(s) * call.upstream.dout.numel() +
              place(at, rows.first) * width,
          args_.heads * width, state.out, rows.count, width);
      kernels_.row_dots(state.dy, width, state.out, width, rows.count, width, state.dots[s]);
    }
    return state.dots[s];
  }

  void write_dots(std::size_t s, Pair at, const Span& rows, const C* dots, const Call& call) const {
    if (call.dc[s] == nullptr) return;
    for (std::int64_t r = 0; r < rows.count; ++r)
      call.dc[s][place(at, rows.first + r)] = static_cast<S>(dots[r]);
  }

  void add_value_gradients(const Span& rows, const Span& keys, const State& state) const {
    const std::int64_t ld = whole_vectors<C>(keys.count);
    const std::int64_t width = args_.v.dim;
    const C* fused = state.map[0];
    if (two_maps()) {
      kernels_.combine_rows(state.c[0], state.map[0], state.c[1], state.map[1], state.fused,
                            rows.count, ld);
      fused = state.fused;
    }
    product({.m = keys.count,
             .n = width,
             .k = rows.count,
             .a = fused,
             .a_row = 1,
             .a_column = ld,
             .c = state.value_gradients,
             .accumulate = true,
             .ahead = state.next.take()},
            this->pack(state.dy, width, rows.count, width, state.packed_dy));
  }

  void add_key_gradients(std::size_t s, const Span& rows, const Span& keys,
                         const State& state) const {
    const std::int64_t dim = args_.q.dim;
    product({.m = keys.count,
             .n = dim,
             .k = rows.count,
             .alpha = static_cast<C>(args_.scale),
             .a = state.map[s],
             .a_row = 1,
             .a_column = whole_vectors<C>(keys.count),
             .c = state.key_gradients[s],
             .accumulate = true,
             .ahead = state.next.take()},
            this->pack(state.queries[s], dim, rows.count, dim, state.packed_queries));
  }

  void add_query_gradients(const Stream& stream, Pair at, const Span& rows, const Span& keys,
                           std::int64_t piece, const Call& call, const Shared<C>& shared,
                           const State& state) const {
    const std::size_t s = stream.index;
    const std::int64_t dim = args_.q.dim;
    C* sums = shared.query_gradients[s] == nullptr ? state.query_gradients
                                                   : shared.query_gradients[s] + rows.first * dim;
    product({.m = rows.count,
             .n = dim,
             .k = keys.count,
             .alpha = static_cast<C>(args_.scale),
             .a = state.map[s],
             .a_row = whole_vectors<C>(keys.count),
             .c = sums,
             .accumulate = piece > 0,
             .ahead = state.next.take()},
            state.keys[s]);
    // The last piece that adds to these rows.
    const std::int64_t last =
        std::max<std::int64_t>(0, divide_up(reach(rows.end() - 1), kBlockKeys) - 1);
    if (piece == last)
      store_rows<S>(sums, args_.add, call.to.q, stream.q, at, rows.first, rows.count);
  }

  std::int64_t rows_;  // queries of a block
};

// Heads whose gradients do not overlap: all of their pieces run side by side, unless gradients of
// one head may overlap.
template <class S>
void run_heads(ThreadPool& pool, const Problems<Backward<S>>& problems, const AttentionArgs& args,
               const typename Backward<S>::Call& call, std::span<const Pair> pairs) {
  using C = Compute<S>;
  struct Piece {
    std::size_t head;
    std::int64_t number;
  };
  std::vector<Piece> pieces, groups;
  std::vector<std::unique_ptr<Shared<C>>> shared;
  const std::size_t maps = args.two_maps() ? 2 : 1;
  std::int64_t size = 0;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const Backward<S>& problem = problems.of_item(pairs[i].item);
    shared.push_back(std::make_unique<Shared<C>>(problem.query_blocks()));
    for (std::int64_t n = 0; n < problem.key_blocks(); ++n) pieces.push_back({i, n});
    if (problem.key_blocks() > 1)
      size += static_cast<std::int64_t>(maps) * args.queries * (args.q.dim + 1);
    for (std::int64_t n = 0; problem.needs_dots(call) && n < problem.groups_of_dots(); ++n)
      groups.push_back({i, n});
  }
  const Tensor memory = scratch<C>(size, call.in.q);
  C* next = memory.data<C>();
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const Backward<S>& problem = problems.of_item(pairs[i].item);
    if (problem.key_blocks() == 1) continue;
    for (std::size_t s = 0; s < maps; ++s) {
      shared[i]->query_gradients[s] = std::exchange(next, next + args.queries * args.q.dim);
      if (problem.needs_dots(call)) shared[i]->dots[s] = std::exchange(next, next + args.queries);
    }
  }
  pool.run(std::ssize(groups), [&](std::int64_t n) {
    const Piece& at = groups[static_cast<std::size_t>(n)];
    problems.of_item(pairs[at.head].item)
        .find_dots(pairs[at.head], at.number, call, *shared[at.head]);
  });
  const auto run = [&](const Piece& piece) {
    try {
      const std::size_t later = piece.head + static_cast<std::size_t>(pool.threads());
      const std::optional<Pair> later_pair =
          later < pairs.size() ? std::optional(pairs[later]) : std::nullopt;
      problems.of_item(pairs[piece.head].item)
          .run(pairs[piece.head], piece.number, later_pair, call, *shared[piece.head]);
    } catch (...) {
      shared[piece.head]->turns.give_up();
      throw;
    }
  };
  if (!args.add) {
    return pool.run(std::ssize(pieces),
                    [&](std::int64_t n) { run(pieces[static_cast<std::size_t>(n)]); });
  }
  pool.run(std::ssize(pairs), [&](std::int64_t i) {
    for (const Piece& piece : pieces)
      if (piece.head == static_cast<std::size_t>(i)) run(piece);
  });
}

// Heads that add to the same gradients take turns, lowest first.
template <class S>
void run_backward(ThreadPool& pool, const Problems<Backward<S>>& problems,
                  const AttentionArgs& args, const typename Backward<S>::Call& call) {
  const HeadGroups groups(args, call.to.q, call.to.k, call.to.v);
  // Of heads at a time that share memory, which so stays small.
  constexpr std::int64_t kPieces = 64;
  std::int64_t most = 0;
  for (std::int64_t i = 0; i < groups.count(); ++i)
    most = std::max<std::int64_t>(most, std::ssize(groups[i]));
  for (std::int64_t turn = 0; turn < most; ++turn) {
    std::vector<Pair> pairs;
    for (std::int64_t item = 0; item < args.batch; ++item) {
      for (std::int64_t i = 0; i < groups.count(); ++i) {
        if (turn < std::ssize(groups[i]))
          pairs.push_back({item, groups[i][static_cast<std::size_t>(turn)]});
      }
    }
    for (std::size_t begin = 0, end = 0; begin < pairs.size(); begin = end) {
      for (std::int64_t pieces = 0; end < pairs.size() && pieces < kPieces; ++end) {
        const std::int64_t blocks = problems.of_item(pairs[end].item).key_blocks();
        pieces += blocks > 1 ? blocks : 0;
      }
      run_heads(pool, problems, args, call, std::span(pairs).subspan(begin, end - begin));
    }
  }
}

}  // namespace

void CpuBackend::attention_backward(const AttentionArgs& args, const AttentionInputs& in,
                                    const AttentionUpstream& upstream,
                                    const AttentionGradients& to) const {
  if (args.batch == 0) return;
  dispatch_stored("attention_backward", in.q.dtype(), [&]<class S>(S) {
    const Problems<Backward<S>> problems(args, in.mask);
    const S* const c[2] = {optional<S>(in.c1), optional<S>(in.c2)};
    S* const dc[2] = {optional<S>(to.c1), optional<S>(to.c2)};
    run_backward<S>(pool_, problems, args, {in, c, upstream, to, dc});
    pool_.run(args.batch * args.heads, [&](std::int64_t i) {
      problems.template clear_cut<S>({i / args.heads, i % args.heads}, to.k, to.v);
    });
  });
}

}  // namespace fovea::cpu
