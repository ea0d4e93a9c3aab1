// The chunked form of causal linear attention (mala 3.4): a block of rows sees the sums over all
// keys before it, and the keys of its own block by a small matrix with zeros above the diagonal.
// The sums at the start of every stretch are computed first, so stretches do not wait for each
// other. Backward goes through the queries in this order, and through the keys in the reverse order
// with sums over the queries behind. A short context is a few blocks, so products with the empty
// sums at its ends, and those that nobody behind or before reads, are left out, as are the zeros of
// the small matrices.
#include "backend/cpu/attention/causal_linear_attention.h"

#include "backend/cpu/attention/linear_heads.h"
#include "backend/cpu/cpu_backend.h"

namespace fovea::cpu {
namespace {

using simd::Omitted;

template <class S>
class CausalLinearHeads : LinearHeads<S> {
  using Base = LinearHeads<S>;
  using Base::args_, Base::in_, Base::dim_, Base::depth_, Base::width_;
  using Base::q_, Base::k_, Base::out_, Base::kRows, Base::pool_;
  using typename Base::C;

 public:
  CausalLinearHeads(ThreadPool& pool, const LinearAttentionArgs& args,
                    const LinearAttentionInputs& in)
      : Base(pool, args, in), stretches_(divide_up(args.keys, this->stretch_length(args.keys))) {}

  void forward(const Tensor& out, const LinearAttentionSums& sums) const {
    if (args_.keys == 0) return nothing(sums);
    const Tensor states = states_before();
    this->for_stretches(args_.queries, [&](std::int64_t piece, const Stretch& stretch) {
      const Rows b(*this);
      const auto bring = [&](std::int64_t first, std::int64_t rows, std::int64_t next) {
        this->near_queries(stretch.item, first + rows, next);
        this->near_keys(stretch.item, first + rows, next);
      };
      for_blocks_of(stretch, bring, [&](Pair at, std::int64_t first, std::int64_t rows) {
        const State state = state_of(states, piece, at.head);
        prepare(at, first, rows, state, b);
        results(first, rows, state, b);
        this->kernels().finish_rows(this->finished(at, first, rows), b.y,
                                    this->row_of(out, out_, at, first), out_.token_stride);
        advance(rows, b, state);
      });
    });
    // By now the state of each stretch has the sums at its end.
    this->for_heads([&](Pair at) {
      const State state = state_of(states, (at.item + 1) * stretches_ - 1, at.head);
      std::copy_n(state.products, this->matrix_size(),
                  this->of_head(sums.products, this->matrix_size(), at));
      std::copy_n(state.keys, depth_, this->of_head(sums.keys, depth_, at));
      if (sums.values.defined())
        std::copy_n(state.values, width_, this->of_head(sums.values, width_, at));
    });
  }

  void backward(const Tensor& dout, const LinearAttentionGradients& to) const {
    const std::int64_t rows = args_.batch * args_.heads * args_.queries;
    const Kept kept{scratch<C>(3 * rows, in_.q),
                    this->finishes() ? scratch<C>(rows * width_, in_.q) : Tensor()};
    const Tensor sums = query_gradients(dout, kept, to);
    this->write_weight_gradient(
        args_.batch * stretches_,
        [&](std::int64_t piece) { return this->weight_sums(sums, piece); }, to.weight);
    if (to.k.defined() || to.v.defined()) key_gradients(dout, sums, kept, to);
  }

 private:
  // Sums of a head over the tokens so far, or behind.
  struct State {
    C *products, *keys, *values;
  };
  State state_of(const Tensor& states, std::int64_t piece, std::int64_t head) const {
    const Pair at{piece, head};
    return {this->matrix_of(states, at), this->row_sums(states, at), this->value_sums(states, at)};
  }

  // What the backward pass through the keys needs of the queries: for each row the factor of its
  // products, the gradient of its sum, and -gamma; and dy where that is not the upstream gradient.
  struct Kept {
    Tensor rows, dy;
  };

  // A thread's memory for a block of rows.
  struct Rows {
    explicit Rows(const CausalLinearHeads& h)
        : memory(kRows * (7 * h.depth_ + 6 * h.width_ + 2 * kRows + 9), h.in_.q),
          q(memory.allocate(kRows * h.depth_)),
          u(h.rotates() ? memory.allocate(kRows * h.depth_) : q),
          k(memory.allocate(kRows * h.depth_)),
          kr(h.rotates() ? memory.allocate(kRows * h.depth_) : k),
          key_sums(memory.allocate(kRows * h.depth_)),
          du(memory.allocate(kRows * h.depth_)),
          dq(h.rotates() ? memory.allocate(kRows * h.depth_) : du),
          v(memory.allocate(kRows * h.width_)),
          value_sums(memory.allocate(kRows * h.width_)),
          y(memory.allocate(kRows * h.width_)),
          dy(memory.allocate(kRows * h.width_)),
          finish(memory.allocate(2 * kRows * h.width_)),
          scores(memory.allocate(kRows * kRows)),
          dscores(memory.allocate(kRows * kRows)),
          m{memory.allocate(kRows), memory.allocate(kRows), memory.allocate(kRows),
            memory.allocate(kRows)},
          factors(memory.allocate(kRows)),
          scales(memory.allocate(kRows)),
          dbeta(memory.allocate(kRows)),
          dgamma(memory.allocate(kRows)),
          dz(memory.allocate(kRows)) {}
    Scratch<C> memory;
    C *q, *u, *k, *kr, *key_sums, *du, *dq;
    C *v, *value_sums, *y, *dy, *finish;
    C *scores, *dscores;
    Magnitudes<C> m;
    C *factors, *scales;  // of products: beta c or one over z, and c
    C *dbeta, *dgamma, *dz;
  };

  bool by_magnitude() const { return args_.magnitude.on; }

  static void nothing(const LinearAttentionSums& sums) {
    for (const Tensor& x : {sums.products, sums.keys, sums.values}) {
      if (x.defined()) std::fill_n(x.template data<C>(), x.numel(), C{0});
    }
  }

  // Calls bring(first row, rows, end of the rows after these) for each block and then
  // body(head, first row, rows) for each of its heads, from the first block to the last.
  template <class Bring, class Body>
  void for_blocks_of(const Stretch& stretch, const Bring& bring, const Body& body) const {
    this->for_blocks(stretch, [&](std::int64_t first, std::int64_t rows, std::int64_t next) {
      bring(first, rows, next);
      for (std::int64_t head = 0; head < args_.heads; ++head)
        body(Pair{stretch.item, head}, first, rows);
    });
  }

  // ---- States ----

  // Sums over the tokens before each stretch.
  Tensor states_before() const {
    const Tensor parts =
        this->stretch_sums(args_.keys, [&](const Stretch& stretch, const Tensor& sums) {
          if (stretch.end == args_.keys) return;  // before no other
          const Rows b(*this);
          const auto bring = [&](std::int64_t first, std::int64_t rows, std::int64_t next) {
            this->near_keys(stretch.item, first + rows, next);
          };
          for_blocks_of(stretch, bring, [&](Pair at, std::int64_t first, std::int64_t rows) {
            const State state = state_of(sums, 0, at.head);
            load_keys(at, first, rows, b);
            add_sums(rows, b.k, b.v, state);
            this->add_outer(b.kr, b.v, rows, state.products);
          });
        });
    exclusive(parts, false);
    return parts;
  }

  void add_sums(std::int64_t rows, const C* k, const C* v, const State& state) const {
    this->loops().sum_rows(nullptr, k, rows, depth_, state.keys);
    this->loops().sum_rows(nullptr, v, rows, width_, state.values);
  }

  // Replaces each part by the sum of the item's parts before it, or behind it.
  void exclusive(const Tensor& parts, bool behind) const {
    const std::int64_t size = this->sums_size();
    pool_.run(args_.batch, [&](std::int64_t item) {
      std::vector<C> total(static_cast<std::size_t>(size), C{0});
      std::vector<C> part(static_cast<std::size_t>(size));
      for (std::int64_t i = 0; i < stretches_; ++i) {
        C* at = parts.template data<C>() +
                (item * stretches_ + (behind ? stretches_ - 1 - i : i)) * size;
        std::copy_n(at, size, part.data());
        std::copy_n(total.data(), size, at);
        this->add(part.data(), total.data(), size);
      }
    });
  }

  // Adds the block to the sums before the next.
  void advance(std::int64_t rows, const Rows& b, const State& state) const {
    this->add_outer(b.kr, b.v, rows, state.products);
    std::copy_n(b.key_sums + (rows - 1) * depth_, depth_, state.keys);
    std::copy_n(b.value_sums + (rows - 1) * width_, width_, state.values);
  }

  // ---- Forward ----

  void load_keys(Pair at, std::int64_t first, std::int64_t rows, const Rows& b) const {
    this->features(in_.k, k_, at, first, rows, b.k);
    load_rows<S>(in_.v, args_.v, at, first, rows, b.v);
    if (this->rotates()) this->rotated(false, first, rows, b.k, b.kr);
  }

  // scores (rows, rows) = left right^T, zeros above the diagonal.
  static void triangle(const C* left, const C* right, std::int64_t rows, std::int64_t n,
                       C* scores) {
    times_transposed({rows, rows, n}, left, right, scores, {.omitted = Omitted::kResultsAbove});
    for (std::int64_t r = 0; r < rows; ++r)
      std::fill(scores + r * rows + r + 1, scores + (r + 1) * rows, C{0});
  }

  // Everything of a block but its results.
  void prepare(Pair at, std::int64_t first, std::int64_t rows, const State& state,
               const Rows& b) const {
    this->features(in_.q, q_, at, first, rows, b.q);
    load_keys(at, first, rows, b);
    this->loops().running_rows(false, state.keys, nullptr, b.k, rows, depth_, b.key_sums);
    this->loops().running_rows(false, state.values, nullptr, b.v, rows, width_, b.value_sums);
    this->loops().row_dots(b.q, depth_, b.key_sums, depth_, rows, depth_, b.m.z);
    if (this->rotates()) this->rotated(false, first, rows, b.q, b.u);
    for (std::int64_t r = 0; r < rows; ++r) {
      b.m.keys[r] = static_cast<C>(first + r + 1);
      b.scales[r] = by_magnitude() ? this->scale_of(b.m.keys[r]) : C{1};
      b.m.z[r] *= b.scales[r];
    }
    if (by_magnitude()) this->weigh(rows, b.m);
    for (std::int64_t r = 0; r < rows; ++r) {
      b.factors[r] =
          by_magnitude() ? b.m.beta[r] * b.scales[r] : 1 / (b.m.z[r] + static_cast<C>(args_.eps));
    }
  }

  // y, from the sums before the block and its own scores.
  void results(std::int64_t first, std::int64_t rows, const State& state, const Rows& b) const {
    triangle(b.u, b.kr, rows, depth_, b.scores);
    times({rows, width_, rows}, b.scores, rows, b.v, b.y, {.omitted = Omitted::kTermsAbove});
    if (first > 0)
      times({rows, width_, depth_}, b.u, depth_, state.products, b.y, {.accumulate = true});
    if (by_magnitude()) {
      this->loops().magnitude_rows(b.factors, b.m.gamma, b.value_sums, width_, b.y, rows, width_);
    } else {
      this->loops().scale_rows(b.factors, b.y, rows, width_);
    }
  }

  // ---- Backward ----

  C* kept_rows(const Kept& kept, Pair at, std::int64_t first) const {
    return this->of_head(kept.rows, 3 * args_.queries, at) + 3 * first;
  }
  C* kept_dy(const Kept& kept, Pair at, std::int64_t first) const {
    return this->of_head(kept.dy, width_ * args_.queries, at) + width_ * first;
  }

  // Writes the gradients of queries, residual and gates; returns what each stretch adds to those of
  // the sums and of the weight.
  Tensor query_gradients(const Tensor& dout, const Kept& kept,
                         const LinearAttentionGradients& to) const {
    const Tensor states = states_before();
    return this->stretch_sums(args_.queries, [&](const Stretch& stretch, const Tensor& sums) {
      const std::int64_t piece =
          stretch.item * stretches_ + stretch.first / this->stretch_length(args_.queries);
      const Rows b(*this);
      const auto bring = [&](std::int64_t first, std::int64_t rows, std::int64_t next) {
        this->near_queries(stretch.item, first + rows, next);
        this->near_keys(stretch.item, first + rows, next);
        this->near(dout, out_, stretch.item, first + rows, next);
        this->near_query_gradients(to, stretch.item, first, first + rows);
      };
      for_blocks_of(stretch, bring, [&](Pair at, std::int64_t first, std::int64_t rows) {
        const State state = state_of(states, piece, at.head);
        prepare(at, first, rows, state, b);
        if (this->finishes()) results(first, rows, state, b);
        this->finish_backward(at, first, rows, b.y, dout, to, b.dy, b.finish,
                              this->weight_sums(sums, 0));
        if (kept.dy.defined()) std::copy_n(b.dy, rows * width_, kept_dy(kept, at, first));
        const State behind = state_of(sums, 0, at.head);
        query_block(first, rows, state, b, stretch.first > 0 ? &behind : nullptr);
        for (std::int64_t r = 0; r < rows; ++r) {
          C* row = kept_rows(kept, at, first + r);
          row[0] = b.factors[r];
          row[1] = b.dz[r];
          row[2] = b.m.gamma[r];
        }
        if (to.q.defined()) this->put_maps(b.dq, to.q, q_, at, first, rows);
        if (first + rows < stretch.end) advance(rows, b, state);
      });
    });
  }

  // mala 3.4, with du = dy M^T before its factor; adds u^T dP, dz q and -gamma dy to `sums`, unless
  // no keys are before them.
  void query_block(std::int64_t first, std::int64_t rows, const State& state, const Rows& b,
                   const State* sums) const {
    const auto& loops = this->loops();
    triangle(b.dy, b.v, rows, width_, b.dscores);
    times({rows, depth_, rows}, b.dscores, rows, b.kr, b.du, {.omitted = Omitted::kTermsAbove});
    if (first > 0)
      times_transposed({rows, depth_, width_}, b.dy, state.products, b.du, {.accumulate = true});
    loops.row_dots(b.du, depth_, b.u, depth_, rows, depth_, b.dbeta);
    loops.row_dots(b.dy, width_, b.value_sums, width_, rows, width_, b.dgamma);
    for (std::int64_t r = 0; r < rows; ++r) {
      b.dbeta[r] *= b.scales[r];
      b.dgamma[r] = -b.dgamma[r];
      b.m.gamma[r] = by_magnitude() ? -b.m.gamma[r] : C{0};
    }
    gradients_of_sums(rows, b);
    loops.scale_rows(b.factors, b.du, rows, depth_);
    if (sums != nullptr) {
      loops.sum_rows(b.m.gamma, b.dy, rows, width_, sums->values);
      loops.scale_rows(b.factors, b.dy, rows, width_);
      this->add_outer(b.u, b.dy, rows, sums->products);
      loops.sum_rows(b.dz, b.q, rows, depth_, sums->keys);
    }
    if (this->rotates()) this->rotated(true, first, rows, b.du, b.dq);
    loops.magnitude_gradient_rows(args_.feature_map, b.key_sums, depth_, b.dz, b.q, b.dq, rows,
                                  depth_, nullptr);
  }

  // dz, the gradient of the sums before they are scaled.
  void gradients_of_sums(std::int64_t rows, const Rows& b) const {
    if (by_magnitude()) {
      this->weigh_backward(rows, b.m, b.dbeta, b.dgamma, b.dz);
    } else {
      for (std::int64_t r = 0; r < rows; ++r) b.dz[r] = -b.dbeta[r] * b.factors[r] * b.factors[r];
    }
    for (std::int64_t r = 0; r < rows; ++r) b.dz[r] *= b.scales[r];
  }

  // `sums`: what query_gradients() returned.
  void key_gradients(const Tensor& dout, const Tensor& sums, const Kept& kept,
                     const LinearAttentionGradients& to) const {
    exclusive(sums, true);
    this->for_stretches(args_.keys, [&](std::int64_t piece, const Stretch& stretch) {
      const Rows b(*this);
      const std::int64_t blocks = divide_up(stretch.end - stretch.first, kRows);
      for (std::int64_t block = blocks - 1; block >= 0; --block) {
        const std::int64_t first = stretch.first + block * kRows;
        const std::int64_t rows = std::min(kRows, stretch.end - first);
        const std::int64_t next = std::max(stretch.first, first - kRows);
        this->near(in_.q, q_, stretch.item, next, first);
        this->near_keys(stretch.item, next, first);
        if (!kept.dy.defined()) this->near(dout, out_, stretch.item, next, first);
        this->near_key_gradients(to, stretch.item, first, first + rows);
        for (std::int64_t head = 0; head < args_.heads; ++head) {
          const Pair at{stretch.item, head};
          load_block(at, first, rows, dout, kept, b);
          key_block(first, rows, state_of(sums, piece, head), b);
          if (to.v.defined()) store_rows<S>(b.y, args_.add, to.v, args_.v, at, first, rows);
          if (to.k.defined()) this->put_maps(b.dq, to.k, k_, at, first, rows);
        }
      }
    });
  }

  // Features, values, and what was kept of the queries.
  void load_block(Pair at, std::int64_t first, std::int64_t rows, const Tensor& dout,
                  const Kept& kept, const Rows& b) const {
    this->features(in_.q, q_, at, first, rows, b.q);
    if (this->rotates()) this->rotated(false, first, rows, b.q, b.u);
    load_keys(at, first, rows, b);
    if (kept.dy.defined()) {
      std::copy_n(kept_dy(kept, at, first), rows * width_, b.dy);
    } else {
      load_rows<S>(dout, out_, at, first, rows, b.dy);
    }
    for (std::int64_t r = 0; r < rows; ++r) {
      const C* row = kept_rows(kept, at, first + r);
      b.factors[r] = row[0];
      b.dz[r] = row[1];
      b.m.gamma[r] = row[2];
    }
  }

  // mala 3.4: dv in y, dk in dq. `behind`: sums over the queries behind the block, to which those
  // of the block are added.
  void key_block(std::int64_t first, std::int64_t rows, const State& behind, const Rows& b) const {
    const auto& loops = this->loops();
    triangle(b.u, b.kr, rows, depth_, b.scores);
    loops.running_rows(true, behind.values, b.m.gamma, b.dy, rows, width_, b.y);  // -gamma dy
    std::copy_n(b.y, width_, behind.values);
    loops.scale_rows(b.factors, b.dy, rows, width_);  // to dP
    triangle(b.dy, b.v, rows, width_, b.dscores);
    transposed_times({rows, width_, rows}, b.scores, rows, b.dy, b.y,
                     {.accumulate = true, .omitted = Omitted::kTermsBelow});
    transposed_times({rows, depth_, rows}, b.dscores, rows, b.u, b.du,
                     {.omitted = Omitted::kTermsBelow});
    if (first + rows < args_.keys) {
      times({rows, width_, depth_}, b.kr, depth_, behind.products, b.y, {.accumulate = true});
      times_transposed({rows, depth_, width_}, b.v, behind.products, b.du, {.accumulate = true});
    }
    if (first > 0) this->add_outer(b.u, b.dy, rows, behind.products);
    if (this->rotates()) this->rotated(true, first, rows, b.du, b.dq);
    loops.running_rows(true, behind.keys, b.dz, b.q, rows, depth_, b.key_sums);
    std::copy_n(b.key_sums, depth_, behind.keys);
    loops.key_gradient_rows(args_.feature_map, b.key_sums, depth_, b.k, b.dq, rows, depth_);
  }

  std::int64_t stretches_;  // of an item
};

}  // namespace

void causal_linear_attention(ThreadPool& pool, const LinearAttentionArgs& args,
                             const LinearAttentionInputs& in, const Tensor& out,
                             const LinearAttentionSums& sums) {
  dispatch_stored("linear_attention", in.q.dtype(),
                  [&]<class S>(S) { CausalLinearHeads<S>(pool, args, in).forward(out, sums); });
}

void causal_linear_attention_backward(ThreadPool& pool, const LinearAttentionArgs& args,
                                      const LinearAttentionInputs& in,
                                      const LinearAttentionUpstream& upstream,
                                      const LinearAttentionGradients& to) {
  dispatch_stored("linear_attention_backward", in.q.dtype(), [&]<class S>(S) {
    CausalLinearHeads<S>(pool, args, in).backward(upstream.dout, to);
  });
}

}  // namespace fovea::cpu
