// Softmax attention with one map a head, or two maps over one value stream. Scores are computed for
// a block of queries and all keys that it sees, so memory grows with the number of keys, not with
// its square, and what lies above the diagonal of a causal map is left out; the backward pass
// computes the maps again from the saved log-sum-exp. Heads are first copied out of the projections
// into the compute type: the rest runs on small contiguous matrices, and bfloat16 needs no code of
// its own. (Tile registers, where there are any, multiply bfloat16: queries, keys, values and
// upstream gradients exactly, maps and gradients of scores rounded.)
#include "backend/attention_groups.h"
#include "backend/cpu/attention/attention_heads.h"
#include "backend/cpu/attention/attention_lengths.h"
#include "backend/cpu/attention/attention_maps.h"
#include "backend/cpu/cpu_backend.h"

namespace fovea::cpu {
namespace {

template <class S>
class Problem : public AttentionMaps<S> {
  using Base = AttentionMaps<S>;
  using Base::args_, Base::rows_, Base::ld_, Base::streams_, Base::kernels_;
  using Base::block, Base::reach, Base::pair, Base::place, Base::row;
  using Base::coefficients, Base::product, Base::scores;

 public:
  using C = Compute<S>;
  using Base::Base;

  // A piece is a group of blocks of queries, so that a long row of keys is read in once for many.
  std::int64_t groups() const { return (args_.queries + group() - 1) / group(); }

  void forward(std::int64_t piece, const AttentionInputs& in, const S* const* c, S* out,
               C* lse) const {
    const Pair at = pair(piece / groups());
    const std::int64_t begin = piece % groups() * group();
    const std::int64_t end = std::min(args_.queries, begin + group());
    const std::int64_t seen = reach(end - 1);
    const std::int64_t ld = whole_vectors(seen);
    const std::int64_t dim = args_.q.dim;
    const std::int64_t width = args_.v.dim;
    const auto maps = static_cast<std::int64_t>(streams_.size());
    Scratch<C> scratch(seen * width + maps * ld * dim + rows_ * (maps * ld + dim + width + 4),
                       in.q);
    C* values = scratch.allocate(seen * width);
    load_rows<S>(in.v, args_.v, at, 0, seen, values);
    C* keys = scratch.allocate(maps * ld * dim);  // transposed
    for (const Stream& stream : streams_)
      load_transposed<S>(in.k, stream.k, at, seen, ld, keys + stream.index * ld * dim);
    C* queries = scratch.allocate(rows_ * dim);
    C* sums[2] = {scratch.allocate(rows_), scratch.allocate(rows_)};
    C* scales[2] = {scratch.allocate(rows_), scratch.allocate(rows_)};
    C* map = scratch.allocate(maps * rows_ * ld);
    C* result = scratch.allocate(rows_ * width);
    for (std::int64_t first = begin; first < end; first += rows_) {
      const QueryBlock now = block(first, end);
      const std::int64_t rows = now.rows;
      for (const Stream& stream : streams_) {
        load_rows<S>(in.q, stream.q, at, first, rows, queries);
        C* here = map + stream.index * rows_ * ld;
        scores(queries, keys + stream.index * ld * dim, ld, at.item, now, here);
        kernels_.softmax_rows(here, rows, now.ld, sums[stream.index], lse + row(stream, at, first));
      }
      if (maps == 2) {
        for (int i = 0; i < 2; ++i) {
          coefficients(c[i], at, first, rows, scales[i]);
          for (std::int64_t r = 0; r < rows; ++r) scales[i][r] /= sums[i][r];
        }
        kernels_.combine_rows(scales[0], map, scales[1], map + rows_ * ld, map, rows, now.ld);
        std::fill_n(sums[0], rows, C{1});
      }
      product({.m = rows,
               .n = width,
               .k = now.keys,
               .a = map,
               .a_row = now.ld,
               .b = values,
               .b_row = width,
               .c = result});
      for (std::int64_t r = 0; r < rows; ++r) {
        simd::kernels().of<S>().put_rows(C{1} / sums[0][r], result + r * width, false,
                                         out + place(at, first + r) * width, width, 1, width);
      }
    }
  }

  // Gradients of one head of one item. A = sum_i c_i P_i, dS_i = c_i P_i (dA - sum_j P_i dA), and
  // that sum is the gradient of c_i. dgsa 2.2 (backward).
  void backward(Pair at, const AttentionInputs& in, const S* const* c,
                const AttentionUpstream& upstream, const AttentionGradients& to,
                S* const* dc) const {
    Backward state(*this, in.q);
    load_keys(at, in.k, in.v, state);
    for (std::int64_t first = 0; first < args_.queries; first += rows_) {
      const QueryBlock now = block(first, args_.queries);
      load_block(at, now, in.q, upstream, c, state);
      if (to.v.defined()) add_value_gradients(now, state);
      product({.m = now.rows,
               .n = now.ld,
               .k = args_.v.dim,
               .a = state.dy,
               .a_row = args_.v.dim,
               .b = state.values,
               .b_row = ld_,
               .c = state.dfused});
      for (const Stream& stream : streams_) {
        score_gradients(at, stream, now, dc, state);
        if (to.q.defined()) {
          C* gradients = state.query_gradients;
          product({.m = now.rows,
                   .n = args_.q.dim,
                   .k = now.keys,
                   .alpha = static_cast<C>(args_.scale),
                   .a = state.map[stream.index],
                   .a_row = now.ld,
                   .b = state.keys[stream.index],
                   .b_row = args_.q.dim,
                   .c = gradients});
          store_rows<S>(gradients, args_.add, to.q, stream.q, at, first, now.rows);
        }
        if (!to.k.defined()) continue;
        product({.m = now.keys,
                 .n = args_.q.dim,
                 .k = now.rows,
                 .alpha = static_cast<C>(args_.scale),
                 .a = state.map[stream.index],
                 .a_row = 1,
                 .a_column = now.ld,
                 .b = state.queries[stream.index],
                 .b_row = args_.q.dim,
                 .c = state.key_gradients[stream.index],
                 .accumulate = true});
      }
    }
    for (const Stream& stream : streams_) {
      if (to.k.defined())
        store_rows<S>(state.key_gradients[stream.index], args_.add, to.k, stream.k, at, 0,
                      args_.keys);
    }
    if (to.v.defined())
      store_rows<S>(state.value_gradients, args_.add, to.v, args_.v, at, 0, args_.keys);
  }

 private:
  // Scratch of backward(): all keys and values of a head, and a block of queries.
  struct Backward {
    Scratch<C> scratch;
    C* keys[2] = {};             // (keys, dim)
    C* keys_transposed[2] = {};  // (dim, ld)
    C* key_gradients[2] = {};    // (keys, dim)
    C* values;                   // (width, ld), transposed
    C* value_gradients;          // (keys, width)
    C* queries[2] = {};          // (rows, dim)
    C* query_gradients;          // (rows, dim)
    C* dy;                       // (rows, width)
    C* map[2] = {};              // (rows, ld), then the gradient of the scores
    C* c[2] = {};                // (rows)
    C* dots;                     // (rows)
    C* fused;                    // (rows, ld)
    C* dfused;                   // (rows, ld)

    Backward(const Problem& of, const Tensor& like)
        : scratch(of.backward_size(), like),
          values(scratch.allocate(of.ld_ * of.args_.v.dim)),
          value_gradients(scratch.allocate(of.args_.keys * of.args_.v.dim)),
          query_gradients(scratch.allocate(of.rows_ * of.args_.q.dim)),
          dy(scratch.allocate(of.rows_ * of.args_.v.dim)),
          dots(scratch.allocate(of.rows_)),
          fused(scratch.allocate(of.rows_ * of.ld_)),
          dfused(scratch.allocate(of.rows_ * of.ld_)) {
      for (std::size_t i = 0; i < of.streams_.size(); ++i) {
        for (C** part : {keys, keys_transposed, key_gradients})
          part[i] = scratch.allocate(of.ld_ * of.args_.q.dim);
        queries[i] = scratch.allocate(of.rows_ * of.args_.q.dim);
        c[i] = scratch.allocate(of.rows_);
        map[i] = scratch.allocate(of.rows_ * of.ld_);
      }
    }
  };

  std::int64_t backward_size() const {
    const auto maps = static_cast<std::int64_t>(streams_.size());
    const std::int64_t dim = args_.q.dim;
    const std::int64_t width = args_.v.dim;
    return ld_ * (3 * maps * dim + 2 * width) +
           rows_ * ((maps + 2) * ld_ + (maps + 1) * dim + width + maps + 1);
  }

  void load_keys(Pair at, const Tensor& k, const Tensor& v, const Backward& to) const {
    for (const Stream& stream : streams_) {
      const auto i = static_cast<std::size_t>(stream.index);
      load_rows<S>(k, stream.k, at, 0, args_.keys, to.keys[i]);
      load_transposed<S>(k, stream.k, at, args_.keys, ld_, to.keys_transposed[i]);
      std::fill_n(to.key_gradients[i], args_.keys * args_.q.dim, C{0});
    }
    load_transposed<S>(v, args_.v, at, args_.keys, ld_, to.values);
    std::fill_n(to.value_gradients, args_.keys * args_.v.dim, C{0});
  }

  // Queries, upstream gradients and maps of one block.
  void load_block(Pair at, const QueryBlock& now, const Tensor& q,
                  const AttentionUpstream& upstream, const S* const* c, const Backward& to) const {
    const std::int64_t width = args_.v.dim;
    const C* lse = upstream.lse.data<C>();
    simd::kernels().of<S>().take_rows(upstream.dout.data<S>() + place(at, now.first) * width,
                                      args_.heads * width, to.dy, now.rows, width);
    for (const Stream& stream : streams_) {
      const std::int64_t i = stream.index;
      load_rows<S>(q, stream.q, at, now.first, now.rows, to.queries[i]);
      scores(to.queries[i], to.keys_transposed[i], ld_, at.item, now, to.map[i]);
      if (streams_.size() == 2) coefficients(c[i], at, now.first, now.rows, to.c[i]);
      kernels_.probability_rows(to.map[i], now.rows, now.ld, lse + row(stream, at, now.first));
    }
  }

  void add_value_gradients(const QueryBlock& now, const Backward& state) const {
    const C* fused = state.map[0];
    if (streams_.size() == 2) {
      kernels_.combine_rows(state.c[0], state.map[0], state.c[1], state.map[1], state.fused,
                            now.rows, now.ld);
      fused = state.fused;
    }
    product({.m = now.keys,
             .n = args_.v.dim,
             .k = now.rows,
             .a = fused,
             .a_row = 1,
             .a_column = now.ld,
             .b = state.dy,
             .b_row = args_.v.dim,
             .c = state.value_gradients,
             .accumulate = true});
  }

  // Turns the map of a stream into the gradient of its scores.
  void score_gradients(Pair at, const Stream& stream, const QueryBlock& now, S* const* dc,
                       const Backward& state) const {
    const std::int64_t i = stream.index;
    kernels_.score_gradient_rows(streams_.size() == 2 ? state.c[i] : nullptr, state.dfused,
                                 state.map[i], now.rows, now.ld, state.dots);
    if (dc == nullptr || dc[i] == nullptr) return;
    for (std::int64_t r = 0; r < now.rows; ++r)
      dc[i][place(at, now.first + r)] = static_cast<S>(state.dots[r]);
  }

  std::int64_t group() const {
    constexpr std::int64_t kQueries = 256;
    return (kQueries + rows_ - 1) / rows_ * rows_;
  }
};

// Calls body(pair) for all heads of all items; heads that add to the same gradients take turns.
template <class Body>
void for_pairs(ThreadPool& pool, const AttentionArgs& args, const HeadGroups& groups,
               const Body& body) {
  pool.run(args.batch * groups.count(), [&](std::int64_t i) {
    for (const std::int64_t head : groups[i % groups.count()]) body(Pair{i / groups.count(), head});
  });
}

// Forward over all items, each with the problem for its number of keys.
template <class S, class Body>
void run_forward(ThreadPool& pool, const Problems<Problem<S>>& problems, const AttentionArgs& args,
                 const Body& body) {
  std::vector<std::int64_t> first(static_cast<std::size_t>(args.batch) + 1, 0);  // piece of an item
  for (std::int64_t item = 0; item < args.batch; ++item) {
    const auto i = static_cast<std::size_t>(item);
    first[i + 1] = first[i] + args.heads * problems.of_item(item).groups();
  }
  pool.run(first.back(), [&](std::int64_t piece) {
    const auto after = std::upper_bound(first.begin(), first.end(), piece);
    const std::int64_t item = after - first.begin() - 1;
    const Problem<S>& problem = problems.of_item(item);
    const std::int64_t offset = item * args.heads * problem.groups();
    body(problem, offset + piece - first[static_cast<std::size_t>(item)]);
  });
}

}  // namespace

void CpuBackend::attention(const AttentionArgs& args, const AttentionInputs& in, const Tensor& out,
                           const Tensor& lse) const {
  dispatch_stored("attention", in.q.dtype(), [&]<class S>(S) {
    const Problems<Problem<S>> problems(args, in.mask);
    const S* const c[2] = {optional<S>(in.c1), optional<S>(in.c2)};
    run_forward<S>(pool_, problems, args, [&](const Problem<S>& problem, std::int64_t piece) {
      problem.forward(piece, in, c, out.data<S>(), lse.data<Compute<S>>());
    });
  });
}

void CpuBackend::attention_backward(const AttentionArgs& args, const AttentionInputs& in,
                                    const AttentionUpstream& upstream,
                                    const AttentionGradients& to) const {
  dispatch_stored("attention_backward", in.q.dtype(), [&]<class S>(S) {
    const Problems<Problem<S>> problems(args, in.mask);
    const S* const c[2] = {optional<S>(in.c1), optional<S>(in.c2)};
    S* const dc[2] = {optional<S>(to.c1), optional<S>(to.c2)};
    for_pairs(pool_, args, HeadGroups(args, to.q, to.k, to.v), [&](Pair at) {
      problems.of_item(at.item).backward(at, in, c, upstream, to, dc);
      problems.template clear_cut<S>(at, to.k, to.v);
    });
  });
}

}  // namespace fovea::cpu
