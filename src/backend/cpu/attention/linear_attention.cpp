// Linear attention with one map a head, or two over one value stream. Pieces are stretches of the
// tokens of an item, with all of their heads. The keys come first, and their pieces' sums are added
// up; then the queries, a block of rows at a time. So the rows of a projection are read in the
// order in which they are stored, and only the sums over the keys and a few blocks are in memory.
//
// Two maps share their products: with depth = 2 dim, K = [K1, K2] and u = [Q1 / z1, Q2 / z2],
//   y1 - lambda y2 = u [S1; -lambda S2],   [S1; S2] = K^T v.
#include "backend/cpu/attention/causal_linear_attention.h"
#include "backend/cpu/attention/linear_heads.h"

namespace fovea::cpu {
namespace {

template <class S>
class WholeLinearHeads : LinearHeads<S> {
  using Base = LinearHeads<S>;
  using Base::args_, Base::in_, Base::maps_, Base::dim_, Base::depth_, Base::width_;
  using Base::q_, Base::k_, Base::out_, Base::kRows;
  using typename Base::C;

 public:
  WholeLinearHeads(ThreadPool& pool, const LinearAttentionArgs& args,
                   const LinearAttentionInputs& in, const LinearAttentionSums& sums, bool known)
      : Base(pool, args, in), sums_(sums), joined_(of_heads(this->matrix_size())) {
    if (!known) sum_keys();
    count_keys();
    if (by_magnitude()) levels_ = of_heads(width_);
    this->for_heads([&](Pair at) { join(at); });
  }

  void forward(const Tensor& out) const {
    this->for_stretches(args_.queries, [&](std::int64_t, const Stretch& stretch) {
      const Rows block(*this);
      this->for_blocks(stretch, [&](std::int64_t first, std::int64_t rows, std::int64_t next) {
        this->near_queries(stretch.item, first + rows, next);
        for (std::int64_t head = 0; head < args_.heads; ++head) {
          const Pair at{stretch.item, head};
          weighed_queries(at, first, rows, block);
          results(at, first, rows, block);
          this->kernels().finish_rows(this->finished(at, first, rows), block.y,
                                      this->row_of(out, out_, at, first), out_.token_stride);
        }
      });
    });
  }

  void backward(const Tensor& dout, const LinearAttentionGradients& to) const {
    const Tensor sums = query_gradients(dout, to);
    this->write_weight_gradient(
        args_.batch, [&](std::int64_t item) { return this->weight_sums(sums, item); }, to.weight);
    if (args_.two_maps()) part_lambda(sums, to.lambda);
    if (by_magnitude()) part_magnitude(sums, to);
    if (to.k.defined() || to.v.defined()) key_gradients(sums, to);
  }

 private:
  bool by_magnitude() const { return args_.magnitude.on; }
  Tensor of_heads(std::int64_t size) const {
    return scratch<C>(args_.batch * args_.heads * size, in_.q);
  }

  C* products(Pair at) const { return this->of_head(sums_.products, this->matrix_size(), at); }
  C* key_sums(Pair at) const { return this->of_head(sums_.keys, depth_, at); }
  // The matrix that features are multiplied by: [S1; -lambda S2] of a head, or c beta S by
  // magnitude.
  C* joined(Pair at) const { return this->of_head(joined_, this->matrix_size(), at); }
  // What is subtracted, by magnitude: gamma u.
  C* levels(Pair at) const { return this->of_head(levels_, width_, at); }
  static const C* parameter_of(const Tensor& x, Pair at, std::int64_t width) {
    return x.defined() ? x.template data<C>() + at.head * width : nullptr;
  }

  // A thread's memory for a block of rows.
  struct Rows {
    explicit Rows(const WholeLinearHeads& h)
        : memory(kRows * (4 * h.depth_ + 4 * h.width_ + h.maps_ + 7), h.in_.q),
          q(memory.allocate(kRows * h.depth_)),
          u(h.rotates() ? memory.allocate(kRows * h.depth_) : q),
          du(memory.allocate(kRows * h.depth_)),
          dq(h.rotates() ? memory.allocate(kRows * h.depth_) : du),
          y(memory.allocate(kRows * h.width_)),
          dy(memory.allocate(kRows * h.width_)),
          finish(memory.allocate(2 * kRows * h.width_)),
          divisors(memory.allocate(kRows * h.maps_)),
          m{memory.allocate(kRows), memory.allocate(kRows), memory.allocate(kRows),
            memory.allocate(kRows)},
          dbeta(memory.allocate(kRows)),
          dgamma(memory.allocate(kRows)),
          dz(memory.allocate(kRows)) {}
    Scratch<C> memory;
    C *q, *u, *du, *dq;  // features; and with their positions, or the same
    C *y, *dy, *finish;
    C* divisors;
    Magnitudes<C> m;
    C *dbeta, *dgamma, *dz;
  };

  // ---- Forward ----

  // Features of queries divided by their denominators; by magnitude the features, and beta and
  // gamma.
  void weighed_queries(Pair at, std::int64_t first, std::int64_t rows, const Rows& b) const {
    this->features(in_.q, q_, at, first, rows, b.q);
    if (by_magnitude()) {
      this->loops().row_dots(b.q, depth_, key_sums(at), 0, rows, depth_, b.m.z);
      const C keys = keys_[static_cast<std::size_t>(at.item)];
      const C scale = this->scale_of(keys);
      for (std::int64_t r = 0; r < rows; ++r) {
        b.m.z[r] *= scale;
        b.m.keys[r] = keys;
      }
      this->weigh(rows, b.m);
    } else {
      for (std::int64_t map = 0; map < maps_; ++map) {
        this->loops().divide_rows(key_sums(at) + map * dim_, static_cast<C>(args_.eps),
                                  b.q + map * dim_, depth_, rows, dim_, b.divisors + map * kRows);
      }
    }
    if (this->rotates()) this->rotated(false, first, rows, b.q, b.u);
  }

  void results(Pair at, std::int64_t first, std::int64_t rows, const Rows& b) const {
    times({rows, width_, depth_}, b.u, depth_, joined(at), b.y);
    if (by_magnitude())
      this->loops().magnitude_rows(b.m.beta, b.m.gamma, levels(at), 0, b.y, rows, width_);
    this->hide_queries(at.item, first, rows, width_, b.y);
  }

  // The sums over the keys: S, s and u.
  void sum_keys() const {
    const Tensor total =
        this->sum_stretches(args_.keys, [&](const Stretch& stretch, const Tensor& sums) {
          Scratch<C> memory(kRows * (2 * depth_ + width_), in_.q);
          C* k = memory.allocate(kRows * depth_);
          C* room = memory.allocate(kRows * depth_);
          C* v = memory.allocate(kRows * width_);
          this->for_blocks(stretch, [&](std::int64_t first, std::int64_t rows, std::int64_t next) {
            this->near_keys(stretch.item, first + rows, next);
            for (std::int64_t head = 0; head < args_.heads; ++head) {
              const Pair at{stretch.item, head};
              const Pair in_part{0, head};
              this->key_features(at, first, rows, k, this->row_sums(sums, in_part));
              this->values(at, first, rows, v);
              if (by_magnitude())
                this->loops().sum_rows(nullptr, v, rows, width_, this->value_sums(sums, in_part));
              const C* turned = this->rotates() ? this->rotated(false, first, rows, k, room) : k;
              this->add_outer(turned, v, rows, this->matrix_of(sums, in_part));
            }
          });
        });
    this->for_heads([&](Pair at) {
      std::copy_n(this->matrix_of(total, at), this->matrix_size(), products(at));
      std::copy_n(this->row_sums(total, at), depth_, key_sums(at));
      if (by_magnitude())
        std::copy_n(this->value_sums(total, at), width_, this->of_head(sums_.values, width_, at));
    });
  }

  // The number of keys of every item; 1 for an item without any, so that nothing is divided by 0.
  void count_keys() {
    keys_.assign(static_cast<std::size_t>(args_.batch), static_cast<C>(args_.keys));
    if (!in_.mask.defined()) return;
    const std::uint8_t* mask = in_.mask.template data<std::uint8_t>();
    for (C& keys : keys_) {
      std::int64_t count = 0;
      for (std::int64_t j = 0; j < args_.keys; ++j) count += *mask++ != 0 ? 1 : 0;
      keys = static_cast<C>(std::max<std::int64_t>(1, count));
    }
  }

  void join(Pair at) const {
    C* to = joined(at);
    const std::int64_t size = this->matrix_size();
    std::copy_n(products(at), size, to);
    if (args_.two_maps()) {
      const C* lambda = in_.lambda.template data<C>() + at.head * width_;
      for (std::int64_t i = size / 2; i < size; ++i) to[i] *= -lambda[i % width_];
    }
    if (!by_magnitude()) return;
    const C scale = this->scale_of(keys_[static_cast<std::size_t>(at.item)]);
    const C* beta = parameter_of(in_.beta, at, width_);
    const C* gamma = parameter_of(in_.gamma, at, width_);
    for (std::int64_t i = 0; i < size; ++i) to[i] *= beta ? scale * beta[i % width_] : scale;
    const C* values = this->of_head(sums_.values, width_, at);
    for (std::int64_t i = 0; i < width_; ++i)
      levels(at)[i] = gamma ? gamma[i] * values[i] : values[i];
  }

  // ---- Backward ----

  // Writes the gradients of queries, residual and gates; returns those of `joined`, s, `levels` and
  // the weight.
  Tensor query_gradients(const Tensor& dout, const LinearAttentionGradients& to) const {
    const Tensor turned = transposed([&](Pair at) { return joined(at); });
    return this->sum_stretches(args_.queries, [&](const Stretch& stretch, const Tensor& sums) {
      const Rows b(*this);
      this->for_blocks(stretch, [&](std::int64_t first, std::int64_t rows, std::int64_t next) {
        this->near_queries(stretch.item, first + rows, next);
        this->near(dout, out_, stretch.item, first + rows, next);
        this->near_query_gradients(to, stretch.item, first, first + rows);
        for (std::int64_t head = 0; head < args_.heads; ++head) {
          const Pair at{stretch.item, head};
          weighed_queries(at, first, rows, b);
          if (this->finishes()) results(at, first, rows, b);
          this->finish_backward(at, first, rows, b.y, dout, to, b.dy, b.finish,
                                this->weight_sums(sums, 0));
          this->hide_queries(at.item, first, rows, width_, b.dy);
          const C* by = this->of_head(turned, this->matrix_size(), at);
          if (by_magnitude()) {
            magnitude_gradients(at, first, rows, by, b, sums);
          } else {
            divided_gradients(at, first, rows, by, b, sums);
          }
          if (to.q.defined()) this->put_maps(b.dq, to.q, q_, at, first, rows);
        }
      });
    });
  }

  // `by`: the transpose of `joined`. u and q are both divided by the denominators.
  void divided_gradients(Pair at, std::int64_t first, std::int64_t rows, const C* by, const Rows& b,
                         const Tensor& sums) const {
    const Pair in_part{0, at.head};
    this->add_outer(b.u, b.dy, rows, this->matrix_of(sums, in_part));
    times({rows, depth_, width_}, b.dy, width_, by, b.du);
    if (this->rotates()) this->rotated(true, first, rows, b.du, b.dq);
    for (std::int64_t map = 0; map < maps_; ++map) {
      this->loops().query_gradient_rows(
          args_.feature_map, key_sums(at) + map * dim_, b.divisors + map * kRows, b.q + map * dim_,
          b.dq + map * dim_, depth_, rows, dim_, this->row_sums(sums, in_part) + map * dim_);
    }
  }

  // mala 3.2, with u and M of `joined`: dP = beta dy, dM += u^T dP, du = dP M^T,
  // dbeta = dy . P = dy M^T . u, dgamma = -dy . gamma u.
  void magnitude_gradients(Pair at, std::int64_t first, std::int64_t rows, const C* by,
                           const Rows& b, const Tensor& sums) const {
    const Pair in_part{0, at.head};
    const auto& loops = this->loops();
    const C scale = this->scale_of(keys_[static_cast<std::size_t>(at.item)]);
    times({rows, depth_, width_}, b.dy, width_, by, b.du);
    loops.row_dots(b.du, depth_, b.u, depth_, rows, depth_, b.dbeta);
    loops.row_dots(b.dy, width_, levels(at), 0, rows, width_, b.dgamma);
    for (std::int64_t r = 0; r < rows; ++r) {
      b.dgamma[r] = -b.dgamma[r];
      b.m.gamma[r] = -b.m.gamma[r];
    }
    this->weigh_backward(rows, b.m, b.dbeta, b.dgamma, b.dz);
    for (std::int64_t r = 0; r < rows; ++r) b.dz[r] *= scale;
    loops.sum_rows(b.m.gamma, b.dy, rows, width_, this->value_sums(sums, in_part));
    if (args_.magnitude.beta) {
      loops.scale_rows(b.m.beta, b.dy, rows, width_);
      loops.scale_rows(b.m.beta, b.du, rows, depth_);
    }
    this->add_outer(b.u, b.dy, rows, this->matrix_of(sums, in_part));
    if (this->rotates()) this->rotated(true, first, rows, b.du, b.dq);
    loops.magnitude_gradient_rows(args_.feature_map, key_sums(at), 0, b.dz, b.q, b.dq, rows, depth_,
                                  this->row_sums(sums, in_part));
  }

  // Turns the gradient of `joined` into that of S, and writes that of lambda.
  void part_lambda(const Tensor& sums, const Tensor& dlambda) const {
    for (std::int64_t head = 0; head < args_.heads; ++head) {
      const C* lambda = in_.lambda.template data<C>() + head * width_;
      C* gradient = dlambda.defined() ? dlambda.template data<C>() + head * width_ : nullptr;
      if (gradient != nullptr) std::fill_n(gradient, width_, C{0});
      for (std::int64_t item = 0; item < args_.batch; ++item) {
        const C* s = products({item, head});
        C* ds = this->matrix_of(sums, {item, head});
        for (std::int64_t i = this->matrix_size() / 2; i < this->matrix_size(); ++i) {
          if (gradient != nullptr) gradient[i % width_] -= ds[i] * s[i];
          ds[i] *= -lambda[i % width_];
        }
      }
    }
  }

  // The same by magnitude, for the gradients of `joined` and `levels`.
  void part_magnitude(const Tensor& sums, const LinearAttentionGradients& to) const {
    const auto start = [&](const Tensor& x) {
      if (x.defined()) std::fill_n(x.template data<C>(), args_.heads * width_, C{0});
    };
    start(to.beta);
    start(to.gamma);
    for (std::int64_t i = 0; i < args_.batch * args_.heads; ++i) {
      const Pair at{i / args_.heads, i % args_.heads};
      const C scale = this->scale_of(keys_[static_cast<std::size_t>(at.item)]);
      part(parameter_of(in_.beta, at, width_), scale, products(at), this->matrix_size(),
           this->matrix_of(sums, at), to.beta, at);
      part(parameter_of(in_.gamma, at, width_), C{1}, this->of_head(sums_.values, width_, at),
           width_, this->value_sums(sums, at), to.gamma, at);
    }
  }

  // Turns d, the gradient of scale * parameter * x, into that of x; adds that of the parameter.
  void part(const C* parameter, C scale, const C* x, std::int64_t size, C* d, const Tensor& to,
            Pair at) const {
    C* gradient = to.defined() ? to.template data<C>() + at.head * width_ : nullptr;
    for (std::int64_t i = 0; i < size; ++i) {
      d[i] *= scale;
      if (gradient != nullptr) gradient[i % width_] += d[i] * x[i];
      if (parameter != nullptr) d[i] *= parameter[i % width_];
    }
  }

  void key_gradients(const Tensor& sums, const LinearAttentionGradients& to) const {
    const Tensor turned = transposed([&](Pair at) { return this->matrix_of(sums, at); });
    this->for_stretches(args_.keys, [&](std::int64_t, const Stretch& stretch) {
      Scratch<C> memory(kRows * (4 * depth_ + 2 * width_), in_.q);
      C* k = memory.allocate(kRows * depth_);
      C* u = this->rotates() ? memory.allocate(kRows * depth_) : k;
      C* du = memory.allocate(kRows * depth_);
      C* dk = this->rotates() ? memory.allocate(kRows * depth_) : du;
      C* v = memory.allocate(kRows * width_);
      C* dv = memory.allocate(kRows * width_);
      this->for_blocks(stretch, [&](std::int64_t first, std::int64_t rows, std::int64_t next) {
        this->near_keys(stretch.item, first + rows, next);
        this->near_key_gradients(to, stretch.item, first, first + rows);
        for (std::int64_t head = 0; head < args_.heads; ++head) {
          const Pair at{stretch.item, head};
          this->key_features(at, first, rows, k);
          if (this->rotates()) this->rotated(false, first, rows, k, u);
          if (to.v.defined()) {
            value_gradients(at, rows, u, sums, dv);
            this->hide(at.item, first, rows, width_, dv);
            this->put_gradients(dv, width_, to.v, args_.v, at, first, rows);
          }
          if (!to.k.defined()) continue;
          load_rows<S>(in_.v, args_.v, at, first, rows, v);
          times({rows, depth_, width_}, v, width_, this->of_head(turned, this->matrix_size(), at),
                du);
          if (this->rotates()) this->rotated(true, first, rows, du, dk);
          this->loops().key_gradient_rows(args_.feature_map, this->row_sums(sums, at), 0, k, dk,
                                          rows, depth_);
          this->hide(at.item, first, rows, depth_, dk);
          this->put_maps(dk, to.k, k_, at, first, rows);
        }
      });
    });
  }

  // dv = u dS, by magnitude plus du.
  void value_gradients(Pair at, std::int64_t rows, const C* u, const Tensor& sums, C* dv) const {
    for (std::int64_t r = 0; by_magnitude() && r < rows; ++r)
      std::copy_n(this->value_sums(sums, at), width_, dv + r * width_);
    times({rows, width_, depth_}, u, depth_, this->matrix_of(sums, at), dv,
          {.accumulate = by_magnitude()});
  }

  // The matrices (depth, width) of all heads as (width, depth).
  template <class Matrix>
  Tensor transposed(const Matrix& matrix) const {
    const Tensor turned = of_heads(this->matrix_size());
    this->for_heads([&](Pair at) {
      this->transpose(matrix(at), this->of_head(turned, this->matrix_size(), at));
    });
    return turned;
  }

  const LinearAttentionSums& sums_;
  std::vector<C> keys_;  // number of keys of every item
  Tensor joined_, levels_;
};

}  // namespace

void CpuBackend::linear_attention(const LinearAttentionArgs& args, const LinearAttentionInputs& in,
                                  const Tensor& out, const LinearAttentionSums& sums) const {
  if (args.causal) return causal_linear_attention(pool_, args, in, out, sums);
  dispatch_stored("linear_attention", in.q.dtype(), [&]<class S>(S) {
    WholeLinearHeads<S>(pool_, args, in, sums, false).forward(out);
  });
}

void CpuBackend::linear_attention_backward(const LinearAttentionArgs& args,
                                           const LinearAttentionInputs& in,
                                           const LinearAttentionUpstream& upstream,
                                           const LinearAttentionGradients& to) const {
  if (args.causal) return causal_linear_attention_backward(pool_, args, in, upstream, to);
  dispatch_stored("linear_attention_backward", in.q.dtype(), [&]<class S>(S) {
    WholeLinearHeads<S>(pool_, args, in, upstream.sums, true).backward(upstream.dout, to);
  });
}

}  // namespace fovea::cpu
