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
      : Base(pool, args, in), sums_(sums) {
    if (!known) sum_keys();
    count_keys();
    if (has_columns()) joined_ = of_heads(this->matrix_size());
    if (by_magnitude()) levels_ = of_heads(width_);
    if (has_columns() || by_magnitude()) this->for_heads([&](Pair at) { join(at); });
  }

  void forward(const Tensor& out) const {
    this->for_rows(args_.queries, [&](std::int64_t, const Stretch& stretch) {
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
  // Whether the columns of S have factors of their own: lambda, or beta where it is given.
  bool has_columns() const { return args_.two_maps() || in_.beta.defined(); }
  Tensor of_heads(std::int64_t size) const {
    return scratch<C>(args_.batch * args_.heads * size, in_.q);
  }

  C* products(Pair at) const { return this->of_head(sums_.products, this->matrix_size(), at); }
  C* key_sums(Pair at) const { return this->of_head(sums_.keys, depth_, at); }
  // The matrix that features are multiplied by, and a factor: [S1; -lambda S2] of a head, or S; by
  // magnitude c S, or c beta S.
  C* joined(Pair at) const {
    return has_columns() ? this->of_head(joined_, this->matrix_size(), at) : products(at);
  }
  C factor(Pair at) const { return by_magnitude() && !has_columns() ? scale(at) : C{1}; }
  C scale(Pair at) const { return this->scale_of(keys_[static_cast<std::size_t>(at.item)]); }
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
    times({rows, width_, depth_}, b.u, depth_, joined(at), b.y, {.alpha = factor(at)});
    if (by_magnitude())
      this->loops().magnitude_rows(b.m.beta, b.m.gamma, levels(at), 0, b.y, rows, width_);
    this->hide_queries(at.item, first, rows, width_, b.y);
  }

  // Where the sums over an item's keys of a head are added up: S, s and u.
  struct KeySums {
    C *products, *keys, *values;
  };

  // An item that is one stretch adds to the results themselves.
  void sum_keys() const {
    if (this->is_one_stretch(args_.keys)) {
      this->for_stretches(args_.keys, [&](std::int64_t, const Stretch& stretch) {
        const auto of_head = [&](std::int64_t head) { return results_of({stretch.item, head}); };
        for (std::int64_t head = 0; head < args_.heads; ++head) {
          const KeySums to = of_head(head);
          std::fill_n(to.products, this->matrix_size(), C{0});
          std::fill_n(to.keys, depth_, C{0});
          if (by_magnitude()) std::fill_n(to.values, width_, C{0});
        }
        add_keys(stretch, of_head);
      });
      return;
    }
    const auto sums_of = [&](const Tensor& sums, Pair at) {
      return KeySums{this->matrix_of(sums, at), this->row_sums(sums, at),
                     this->value_sums(sums, at)};
    };
    const Tensor total =
        this->sum_stretches(args_.keys, [&](const Stretch& stretch, const Tensor& sums) {
          add_keys(stretch, [&](std::int64_t head) { return sums_of(sums, {0, head}); });
        });
    this->for_heads([&](Pair at) {
      const KeySums from = sums_of(total, at), to = results_of(at);
      std::copy_n(from.products, this->matrix_size(), to.products);
      std::copy_n(from.keys, depth_, to.keys);
      if (by_magnitude()) std::copy_n(from.values, width_, to.values);
    });
  }

  KeySums results_of(Pair at) const {
    return {products(at), key_sums(at),
            by_magnitude() ? this->of_head(sums_.values, width_, at) : nullptr};
  }

  // sums_of(head): KeySums
  template <class SumsOf>
  void add_keys(const Stretch& stretch, const SumsOf& sums_of) const {
    Scratch<C> memory(kRows * (2 * depth_ + width_), in_.q);
    C* k = memory.allocate(kRows * depth_);
    C* room = memory.allocate(kRows * depth_);
    C* v = memory.allocate(kRows * width_);
    this->for_blocks(stretch, [&](std::int64_t first, std::int64_t rows, std::int64_t next) {
      this->near_keys(stretch.item, first + rows, next);
      for (std::int64_t head = 0; head < args_.heads; ++head) {
        const Pair at{stretch.item, head};
        const KeySums to = sums_of(head);
        this->key_features(at, first, rows, k, to.keys);
        this->values(at, first, rows, v);
        if (by_magnitude()) this->loops().sum_rows(nullptr, v, rows, width_, to.values);
        const C* turned = this->rotates() ? this->rotated(false, first, rows, k, room) : k;
        this->add_outer(turned, v, rows, to.products);
      }
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
    if (has_columns()) {
      const C* s = products(at);
      C* to = joined(at);
      const C* lambda = parameter_of(in_.lambda, at, width_);
      const C* beta = parameter_of(in_.beta, at, width_);
      const C c = by_magnitude() ? scale(at) : C{1};
      for (std::int64_t row = 0; row < depth_; ++row, s += width_, to += width_) {
        const bool second = args_.two_maps() && row >= dim_;
        for (std::int64_t i = 0; i < width_; ++i)
          to[i] = s[i] * (second ? -lambda[i] : beta != nullptr ? c * beta[i] : c);
      }
    }
    if (!by_magnitude()) return;
    const C* gamma = parameter_of(in_.gamma, at, width_);
    const C* values = this->of_head(sums_.values, width_, at);
    for (std::int64_t i = 0; i < width_; ++i)
      levels(at)[i] = gamma ? gamma[i] * values[i] : values[i];
  }

  // ---- Backward ----

  // Writes the gradients of queries, residual and gates; returns those of `joined`, s, `levels` and
  // the weight.
  Tensor query_gradients(const Tensor& dout, const LinearAttentionGradients& to) const {
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
          if (by_magnitude()) {
            magnitude_gradients(at, first, rows, b, sums);
          } else {
            divided_gradients(at, first, rows, b, sums);
          }
          if (to.q.defined()) this->put_maps(b.dq, to.q, q_, at, first, rows);
        }
      });
    });
  }

  // u and q are both divided by the denominators.
  void divided_gradients(Pair at, std::int64_t first, std::int64_t rows, const Rows& b,
                         const Tensor& sums) const {
    const Pair in_part{0, at.head};
    this->add_outer(b.u, b.dy, rows, this->matrix_of(sums, in_part));
    times_transposed({rows, depth_, width_}, b.dy, joined(at), b.du);
    if (this->rotates()) this->rotated(true, first, rows, b.du, b.dq);
    for (std::int64_t map = 0; map < maps_; ++map) {
      this->loops().query_gradient_rows(
          args_.feature_map, key_sums(at) + map * dim_, b.divisors + map * kRows, b.q + map * dim_,
          b.dq + map * dim_, depth_, rows, dim_, this->row_sums(sums, in_part) + map * dim_);
    }
  }

  // mala 3.2, with u and f M, `factor` and `joined`: dP = beta dy, dM += f u^T dP, du = f dP M^T,
  // dbeta = dy . P = f dy M^T . u, dgamma = -dy . gamma u.
  void magnitude_gradients(Pair at, std::int64_t first, std::int64_t rows, const Rows& b,
                           const Tensor& sums) const {
    const Pair in_part{0, at.head};
    const auto& loops = this->loops();
    times_transposed({rows, depth_, width_}, b.dy, joined(at), b.du, {.alpha = factor(at)});
    loops.row_dots(b.du, depth_, b.u, depth_, rows, depth_, b.dbeta);
    loops.row_dots(b.dy, width_, levels(at), 0, rows, width_, b.dgamma);
    for (std::int64_t r = 0; r < rows; ++r) {
      b.dgamma[r] = -b.dgamma[r];
      b.m.gamma[r] = -b.m.gamma[r];
    }
    this->weigh_backward(rows, b.m, b.dbeta, b.dgamma, b.dz);
    const C c = scale(at);
    for (std::int64_t r = 0; r < rows; ++r) b.dz[r] *= c;
    loops.sum_rows(b.m.gamma, b.dy, rows, width_, this->value_sums(sums, in_part));
    if (args_.magnitude.beta) {
      loops.scale_rows(b.m.beta, b.dy, rows, width_);
      loops.scale_rows(b.m.beta, b.du, rows, depth_);
    }
    this->add_outer(b.u, b.dy, rows, this->matrix_of(sums, in_part), factor(at));
    if (this->rotates()) this->rotated(true, first, rows, b.du, b.dq);
    loops.magnitude_gradient_rows(args_.feature_map, key_sums(at), 0, b.dz, b.q, b.dq, rows, depth_,
                                  this->row_sums(sums, in_part));
  }

  // Turns the gradient of `joined` into that of S, and writes that of lambda.
  void part_lambda(const Tensor& sums, const Tensor& dlambda) const {
    this->pool_.run(args_.heads, [&](std::int64_t head) {
      const C* lambda = in_.lambda.template data<C>() + head * width_;
      C* gradient = start_gradient(dlambda, head);
      const std::int64_t half = this->matrix_size() / 2;
      for (std::int64_t item = 0; item < args_.batch; ++item) {
        const Pair at{item, head};
        part(lambda, C{-1}, products(at) + half, dim_, this->matrix_of(sums, at) + half, gradient);
      }
    });
  }

  // The same by magnitude, for the gradients of `joined` and `levels`.
  void part_magnitude(const Tensor& sums, const LinearAttentionGradients& to) const {
    if (!in_.beta.defined() && !in_.gamma.defined()) return;
    this->pool_.run(args_.heads, [&](std::int64_t head) {
      C* dbeta = start_gradient(to.beta, head);
      C* dgamma = start_gradient(to.gamma, head);
      for (std::int64_t item = 0; item < args_.batch; ++item) {
        const Pair at{item, head};
        if (const C* beta = parameter_of(in_.beta, at, width_))
          part(beta, scale(at), products(at), depth_, this->matrix_of(sums, at), dbeta);
        if (const C* gamma = parameter_of(in_.gamma, at, width_))
          part(gamma, C{1}, this->of_head(sums_.values, width_, at), 1, this->value_sums(sums, at),
               dgamma);
      }
    });
  }

  C* start_gradient(const Tensor& x, std::int64_t head) const {
    if (!x.defined()) return nullptr;
    return std::fill_n(x.template data<C>() + head * width_, width_, C{0}) - width_;
  }

  // Turns d, the gradient of factor * parameter * x, into that of x; adds that of the parameter.
  void part(const C* parameter, C factor, const C* x, std::int64_t rows, C* d, C* gradient) const {
    for (std::int64_t row = 0; row < rows; ++row, x += width_, d += width_) {
      for (std::int64_t i = 0; gradient != nullptr && i < width_; ++i)
        gradient[i] += factor * d[i] * x[i];
      for (std::int64_t i = 0; i < width_; ++i) d[i] *= factor * parameter[i];
    }
  }

  void key_gradients(const Tensor& sums, const LinearAttentionGradients& to) const {
    this->for_rows(args_.keys, [&](std::int64_t, const Stretch& stretch) {
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
          times_transposed({rows, depth_, width_}, v, this->matrix_of(sums, at), du);
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
