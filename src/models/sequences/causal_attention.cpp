#include "models/sequences/causal_attention.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "attention/mala.h"
#include "attention/rotary.h"
#include "autograd/mode.h"
#include "ops/shape.h"

namespace fovea::models {

std::int64_t AttentionState::bytes() const {
  std::int64_t bytes = 0;
  for (const Tensor& x : {keys, values, sums.sums.products, sums.sums.keys, sums.sums.values}) {
    if (x.defined()) bytes += x.numel() * static_cast<std::int64_t>(size_of(x.dtype()));
  }
  return bytes;
}

CausalAttention::CausalAttention(const nn::Build& build, std::int64_t dim,
                                 const CausalAttentionOptions& o)
    : num_heads_((attention::check_heads("causal attention", dim, o.num_heads, 1), o.num_heads)),
      head_dim_(dim / o.num_heads),
      rope_base_(o.rope_base),
      q_proj_(child<nn::Linear>("q_proj", build, dim, dim, false)),
      k_proj_(child<nn::Linear>("k_proj", build, dim, dim, false)),
      v_proj_(child<nn::Linear>("v_proj", build, dim, dim, false)),
      o_proj_(child<nn::Linear>("o_proj", build, dim, dim, false)) {
  FOVEA_CHECK(
      !rope_base_ || head_dim_ % 2 == 0, ConfigError,
      fmt::format("model.attention.rope_base: heads of {} channels are no pairs", head_dim_));
}

Tensor CausalAttention::operator()(const Tensor& x, const Pass& pass) {
  const auto scope = enter();
  const auto heads = [&](nn::Linear& projection) {
    return ops::heads(projection(x), num_heads_, head_dim_, 0, head_dim_);
  };
  const Heads all{heads(q_proj_), heads(k_proj_), heads(v_proj_)};
  return o_proj_(pass.state == nullptr ? whole(all, pass) : next(all, pass));
}

}  // namespace fovea::models

namespace {

using namespace fovea;
using models::AttentionState;
using models::CausalAttention;
using models::CausalAttentionOptions;

constexpr double kRopeBase = attention::Rotary::kBase;

bool wants_map(const CausalAttention::Pass& pass) {
  return pass.probe != nullptr && pass.probe->wants_maps();
}

// Keys and values of all tokens are kept, and every query looks at them again.
class CausalSoftmax final : public CausalAttention {
 public:
  CausalSoftmax(const nn::Build& build, std::int64_t dim, const CausalAttentionOptions& o)
      : CausalAttention(build, dim, o) {}
  std::string type() const override { return "CausalSoftmax"; }

 protected:
  Tensor whole(const Heads& heads, const Pass& pass) override {
    const auto [q, k, v] = turned(heads, pass);
    if (wants_map(pass)) {
      const autograd::NoGrad no_grad;
      pass.probe->record("attn", ops::attention_map(q, k, options()));
    }
    return ops::attention(q, k, v, options());
  }

  Tensor next(const Heads& heads, const Pass& pass) override {
    auto [q, k, v] = turned(heads, pass);
    AttentionState& state = *pass.state;
    const auto behind = [](Tensor& kept, const Tensor& x) {
      kept = kept.defined() ? ops::concat({kept, x}, 1) : x;
      return kept;
    };
    k.x = behind(state.keys, k.x);
    v.x = behind(state.values, v.x);
    // (The last query sees the last key.)
    return ops::attention(q, k, v, options());
  }

 private:
  ops::AttentionOptions options() const {
    return {.scale = 1 / std::sqrt(static_cast<double>(head_dim())), .causal = true};
  }
  static Heads turned(Heads heads, const Pass& pass) {
    if (!pass.rotary.cos.defined()) return heads;
    heads.q.x = ops::rotate(heads.q.x, pass.rotary);
    heads.k.x = ops::rotate(heads.k.x, pass.rotary);
    return heads;
  }
};

struct CausalLinearOptions : CausalAttentionOptions {
  FeatureMap kernel = FeatureMap::kEluPlusOne;
  double eps = 1e-6;
};

class CausalLinear final : public CausalAttention {
 public:
  CausalLinear(const nn::Build& build, std::int64_t dim, const CausalLinearOptions& o)
      : CausalAttention(build, dim, o), o_(o) {}
  std::string type() const override { return "CausalLinear"; }

 protected:
  Tensor whole(const Heads& heads, const Pass& pass) override {
    const auto& [q, k, v] = heads;
    if (wants_map(pass)) {
      const autograd::NoGrad no_grad;
      pass.probe->record("attn", ops::linear_attention_map(q, k, options(pass)));
    }
    return ops::linear_attention(q, k, v, options(pass));
  }
  Tensor next(const Heads& heads, const Pass& pass) override {
    return ops::recurrent_linear_attention(heads.q, heads.k, heads.v, options(pass),
                                           pass.state->sums);
  }

 private:
  ops::LinearAttentionOptions options(const Pass& pass) const {
    return {.feature_map = o_.kernel, .eps = o_.eps, .causal = true, .rotary = pass.rotary};
  }
  CausalLinearOptions o_;
};

struct CausalMalaOptions : CausalAttentionOptions, attention::MalaOptions {};

class CausalMala final : public CausalAttention {
 public:
  CausalMala(const nn::Build& build, std::int64_t dim, const CausalMalaOptions& o)
      : CausalAttention(build, dim, o),
        mala_(child<attention::Mala>("", build, o, o.num_heads, head_dim())) {
    const auto learned = attention::MalaCoefficient::kLearnable;
    FOVEA_CHECK(o.beta != learned && o.gamma != learned, ConfigError,
                "model.attention: beta or gamma is learnable; causal attention has them by "
                "formula, or not at all");
    FOVEA_CHECK(
        !o.exp_max, ConfigError,
        "model.attention.exp_max: is given; causal attention knows no limit, expected null");
  }
  std::string type() const override { return "CausalMala"; }

 protected:
  Tensor whole(const Heads& heads, const Pass& pass) override {
    return mala_({heads.q, heads.k, heads.v}, context(pass), pass.rotary);
  }
  Tensor next(const Heads& heads, const Pass& pass) override {
    return ops::recurrent_magnitude_attention(
        heads.q, heads.k, heads.v, mala_.options(context(pass), pass.rotary), pass.state->sums);
  }

 private:
  static attention::Context context(const Pass& pass) {
    attention::Context context;
    context.causal = true;
    context.probe = pass.probe;
    return context;
  }
  attention::Mala& mala_;
};

template <class Options>
schema::Fields<Options> causal_fields(std::optional<double> rope_base) {
  Options defaults;
  defaults.rope_base = rope_base;
  return schema::Fields<Options>(defaults)
      .add("num_heads", &Options::num_heads, schema::at_least(1),
           "number of heads; must divide embed_dim")
      .add("rope_base", &Options::rope_base, schema::greater_than(1),
           "rotary positions of queries and keys with this base (10000), of the linear forms on "
           "their features; null = none");
}

template <class Class, class Options>
models::CausalAttentionEntry causal_entry(std::string name, std::string help,
                                          const schema::Fields<Options>& fields) {
  const auto shared = std::make_shared<const schema::Fields<Options>>(fields);
  return {{std::move(name), std::move(help), shared},
          [shared](const nn::Build& build, const schema::Component& component, std::int64_t dim) {
            return std::make_unique<Class>(build, dim, shared->parse(component));
          }};
}

}  // namespace

namespace fovea::models {

const schema::Registry<CausalAttentionEntry>& causal_attentions() {
  static const schema::Registry<CausalAttentionEntry> all = {
      causal_entry<CausalSoftmax>("softmax", "softmax attention, whose cache grows by every token",
                                  causal_fields<CausalAttentionOptions>(kRopeBase)),
      causal_entry<CausalLinear>(
          "linear", "linear attention, without positions as it is published (mala 3.8)",
          causal_fields<CausalLinearOptions>(std::nullopt)
              .add_enum("kernel", &CausalLinearOptions::kernel,
                        {{"elu1", FeatureMap::kEluPlusOne},
                         {"relu", FeatureMap::kRelu},
                         {"exp", FeatureMap::kExp}},
                        "phi of queries and keys: elu(x) + 1, max(x, 0) or exp(x)")
              .add("eps", &CausalLinearOptions::eps, schema::greater_than(0),
                   "added to the denominators")),
      causal_entry<CausalMala>(
          "mala", "magnitude-aware linear attention (mala 3.4)",
          causal_fields<CausalMalaOptions>(kRopeBase).include(attention::mala_fields()))};
  return all;
}

}  // namespace fovea::models
