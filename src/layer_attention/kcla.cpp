// Key-correlated layer attention: keys of all layers point nearly the same way, so that the
// weighted sum over layers is one running map. kcla 2.9, Eq. 7-11.

#include "layer_attention/kcla.h"

#include <fmt/format.h>

#include <cmath>

#include "base/error.h"
#include "nn/init.h"
#include "ops/elementwise.h"
#include "ops/linear.h"
#include "ops/reduce.h"
#include "ops/running_value.h"
#include "ops/scaled_sum.h"
#include "ops/shape.h"

namespace fovea::layer_attention {

std::vector<float> log_uniform(double p, std::int64_t heads) {
  const auto low = static_cast<float>(std::log(p));
  const float step = heads > 1 ? -2 * low / static_cast<float>(heads - 1) : 0;
  std::vector<float> values;
  for (std::int64_t i = 0; i < heads; ++i) {
    values.push_back(std::exp(low + step * static_cast<float>(i)));
  }
  return values;
}

KclaOptions resolved(KclaOptions o, Family family) {
  const bool segmentation = family == Family::kSegmentation;
  if (!o.head_dim) o.head_dim = o.head_dim_for(family);
  if (!o.z_eps) o.z_eps = segmentation ? 0 : 1e-3;
  if (!o.temperature_order) {
    o.temperature_order = segmentation ? TemperatureOrder::kPaper : TemperatureOrder::kCode;
  }
  if (!o.phi) o.phi = !segmentation;
  if (!o.relu_after_bn) o.relu_after_bn = !segmentation;
  if (!o.transition) {
    o.transition = segmentation ? Transition::kConvBnSharedKey : Transition::kConvBn;
  }
  if (!o.reset_inside_stage) o.reset_inside_stage = segmentation;
  if (!o.reinit_index && family == Family::kImageNet) o.reinit_index = 11;
  return o;
}

Tensor key_norms(const Tensor& k) {
  // Below the bound the gradient is 0, so that a key of zero gives no NaN.
  const Tensor squares = ops::clamp(ops::sum(ops::square(k), {2, 3}), 1e-24, 1e30);
  return ops::sqrt(squares);
}

namespace {

// The mean of a map in the compute type, which weights of maps have.
Tensor summary(const Tensor& map) { return ops::cast(pooled(map), compute_dtype(map.dtype())); }

Tensor scaled(const Tensor& map, const Tensor& z) {
  return ops::scaled_sum({}, per_channel(z, map.size(1)), map);
}

// The same without counting multiply-adds, as in the paper (kcla section 7, figure 6).
Tensor times(const Tensor& map, const Tensor& z) {
  const Tensor factor = per_channel(z, map.size(1));
  return ops::mul(map, ops::reshape(factor, {map.size(0), map.size(1), 1, 1}));
}

Tensor averaged(const KclaState& state) { return times(state.u, ops::reciprocal(state.z)); }

}  // namespace

Algorithm1::Algorithm1(const nn::Build& build, std::int64_t num_heads, std::int64_t head_dim,
                       std::int64_t channels)
    : conv_(child<nn::Conv2d>("conv", build, head_dim, channels / num_heads, ops::Sizes{1},
                              ops::ConvOptions{.stride = {2}}, false)),
      f_k_(child<ChannelConv>("f_k", build, channel_kernel(channels), KernelInit::kXavier)) {}

KclaState Algorithm1::operator()(const KclaState& state, std::int64_t next_heads) {
  const auto scope = enter();
  const std::int64_t b = state.z.size(0), heads = state.z.size(1);
  const std::int64_t h = state.u.size(2), w = state.u.size(3);
  const Tensor mean = ops::reshape(averaged(state), {b * heads, state.u.size(1) / heads, h, w});
  const Tensor narrow = conv_(mean);
  const std::int64_t channels = heads * narrow.size(1);
  const Tensor map = ops::reshape(narrow, {b, channels, narrow.size(2), narrow.size(3)});
  const Tensor k = ops::reshape(f_k_(summary(map)), {b, next_heads, 1, channels / next_heads});
  const Tensor z = ops::exp(key_norms(k));
  return {scaled(map, z), z};
}

namespace {

const Info kKcla{.title = "Key-correlated layer attention",
                 .source = "kcla 2.9, Eq. 7-11",
                 .names = {{{.stage = "stages", .core = "kcla"},
                            {.blocks = "layers", .beside = true},
                            {.blocks = "layers", .beside = true}}}};

class Kcla final : public LayerAttention {
 public:
  Kcla(const Slot& slot, const KclaOptions& options)
      : o_(resolved(options, slot.family)),
        slot_(slot),
        num_heads_(heads_of("kcla", slot.channels, *o_.head_dim)),
        q_(child<ChannelConv>("Wq", slot.build, channel_kernel(slot.channels), init())),
        k_(child<ChannelConv>("Wk", slot.build, channel_kernel(slot.channels), init())),
        v_(parameter("Wv.weight",
                     nn::init_conv_weight(slot.build.at("Wv.weight"), {slot.channels, 1, 3, 3}))),
        bn_(child<nn::BatchNorm2d>("bn_attention", slot.build, slot.channels)) {
    if (o_.head_attention && *o_.phi) {
      phi_ = parameter("head_att.weight",
                       init_xavier(slot.build.at("head_att.weight"), num_heads_, num_heads_));
    }
    norm_d_ = parameter("norm_d", temperatures());
    norm_d_.set_requires_grad(false);
    if (opens()) add_transition();
  }
  std::string type() const override { return "KCLA"; }
  Join join() const override {
    return {.norm = false, .adds = o_.value_cache == ValueCache::kRaw, .drop_path = o_.drop_path};
  }

 protected:
  Tensor forward(const Layer& in, State& carried, attention::Probe* probe) override {
    const bool forgets = slot_.layer == 0 ? !o_.cross_stage : *o_.reset_inside_stage && !opens();
    auto& state = carried.get<KclaState>(forgets);
    if (opens() && state.u.defined()) cross(state, in.x);
    const Tensor y = summary(in.x);
    const Tensor k = k_(y);
    const Tensor norms = key_norms(split(k));  // (b, heads)
    const Tensor g = o_.head_attention ? gate(q_(y), k, norms) : Tensor();
    const Tensor w = weights(norms);
    if (probe != nullptr) record(*probe, norms, g, w, state);
    state.z = state.z.defined() ? ops::add(state.z, w) : w;
    Tensor scale = ops::reciprocal(ops::add(state.z, *o_.z_eps));
    if (g.defined()) scale = ops::mul(g, scale);
    return o_.value_cache == ValueCache::kRaw ? attended(in, state, w, scale)
                                              : attended_transformed(in, state, w, scale);
  }

 private:
  KernelInit init() const {
    return slot_.family == Family::kSegmentation ? KernelInit::kTorch : KernelInit::kXavier;
  }
  // Whether this layer converts the state that it is given.
  bool opens() const { return slot_.layer == 0 || slot_.layer == o_.reinit_index; }

  Tensor split(const Tensor& y) const {
    return ops::reshape(y, {y.size(0), num_heads_, 1, slot_.channels / num_heads_});
  }

  Tensor temperatures() const {
    const auto sequence = log_uniform(o_.p, num_heads_);
    std::vector<float> inverse;
    for (const float value : sequence) inverse.push_back(o_.same_temperature ? 1 : 1 / value);
    const Tensor values = Tensor::from(inverse, {1, num_heads_, 1, 1, 1}, slot_.build.device);
    return ops::cast(values, slot_.build.dtype);
  }

  // The weight of a layer: exp(|K| / D), or |K| / D. kcla Eq. 7.
  Tensor weights(const Tensor& norms) const {
    const Tensor d = ops::reshape(norm_d_, {1, num_heads_});
    Tensor exponent =
        *o_.temperature_order == TemperatureOrder::kCode ? ops::div(norms, d) : ops::mul(norms, d);
    if (o_.sqrt_head_dim) {
      exponent = ops::mul(exponent, 1 / std::sqrt(static_cast<double>(*o_.head_dim)));
    }
    if (!o_.use_exp) return exponent;
    return ops::exp(o_.clamp ? ops::clamp(exponent, -1e30, *o_.clamp) : exponent);
  }

  // Adds the layer to the running sum and returns act(BN(g f_V of the average)); scale is the
  // factor of a whole head, g / z. kcla Eq. 8-9, 11.
  Tensor attended(const Layer& in, KclaState& state, const Tensor& w, const Tensor& scale) {
    const ops::RunningValue result = ops::running_value(
        bn_.next_batch(), {*o_.relu_after_bn, in.add, in.keep}, state.u,
        per_channel(w, slot_.channels), in.x, v_, per_channel(scale, slot_.channels));
    state.u = result.sum;
    return result.y;
  }

  // The same, where every layer transforms its own map (ablation d).
  Tensor attended_transformed(const Layer& in, KclaState& state, const Tensor& w,
                              const Tensor& scale) {
    const Tensor added = ops::conv(in.x, v_, {}, {.padding = {1}, .groups = slot_.channels});
    state.u = ops::scaled_sum(state.u, per_channel(w, slot_.channels), added);
    const Tensor gated = times(state.u, scale);
    return *o_.relu_after_bn ? bn_.with_relu(gated) : bn_(gated);
  }

  // g = sigmoid(Phi(Q . K / |K|)): (b, heads). kcla Eq. 10.
  Tensor gate(const Tensor& q, const Tensor& k, const Tensor& norms) const {
    const Tensor products = ops::matmul(split(q), split(k), false, true);
    const Tensor along = ops::div(ops::reshape(products, norms.shape()), norms);
    return ops::sigmoid(phi_.defined() ? ops::linear(along, phi_) : along);
  }

  // Shares of the layers in the running average are the map of this attention. A sum that comes
  // from the stage before, or from before `reinit_index`, counts as one layer, the first, and is
  // recorded as "carried".
  static void record(attention::Probe& probe, const Tensor& norms, const Tensor& g, const Tensor& w,
                     KclaState& state) {
    probe.record("key_norm", norms);
    if (g.defined()) probe.record("gate", g);
    if (state.weights.empty() && state.z.defined()) {
      probe.record("carried", state.z);
      state.weights.push_back(state.z);
    }
    state.weights.push_back(w);
    std::vector<Tensor> layers;
    for (const Tensor& of : state.weights)
      layers.push_back(ops::reshape(of, {of.size(0), of.size(1), 1, 1}));
    const Tensor all = ops::concat(layers, 3);
    probe.record("attn", ops::div(all, ops::sum(all, {3}, true)));
  }

  // The state enters the stage as an additional layer. kcla 2.9, cross-stage transition.
  void cross(KclaState& state, const Tensor& x) {
    if (algorithm_ != nullptr) {
      state = (*algorithm_)(state, num_heads_);
      return;
    }
    Tensor map = averaged(state);
    const bool shared_key = *o_.transition == Transition::kConvBnSharedKey;
    const bool fits = map.size(1) == slot_.channels && map.size(2) == x.size(2);
    if (shared_key || !fits) map = (*adjust_)(map);
    map = (*adjust_bn_)(map);
    const Tensor k = shared_key ? k_(summary(map)) : (*adjust_k_)(summary(map));
    state.z = weights(key_norms(split(k)));
    state.u = scaled(map, state.z);
    state.weights.clear();
  }

  void add_transition() {
    const bool from_stage = slot_.layer == 0 && slot_.previous_channels > 0;
    const std::int64_t before = from_stage ? slot_.previous_channels : slot_.channels / 2;
    FOVEA_CHECK(before % num_heads_ == 0, ConfigError,
                fmt::format("kcla: the stage before has {} channels, which the {} heads of this "
                            "stage do not divide; choose another head_dim",
                            before, num_heads_));
    const nn::Build& build = slot_.build;
    const auto conv = [&](const char* name, std::int64_t stride, bool bias) {
      const ops::ConvOptions options{.stride = {stride}, .groups = num_heads_};
      return &child<nn::Conv2d>(name, build, before, slot_.channels, ops::Sizes{1}, options, bias);
    };
    switch (*o_.transition) {
      case Transition::kConvBn:
        adjust_ = conv("adjust_channel", 2, false);
        adjust_k_ = &child<ChannelConv>("u_Wk", build, channel_kernel(slot_.channels), init());
        adjust_bn_ = &child<nn::BatchNorm2d>("u_bn", build, slot_.channels);
        break;
      case Transition::kConvBnSharedKey:
        adjust_ = conv("adjust_channel.0", slot_.stride, true);
        adjust_bn_ = &child<nn::BatchNorm2d>("adjust_channel.1", build, slot_.channels);
        break;
      case Transition::kAlgorithm1:
        algorithm_ = &child<Algorithm1>("transition", build, before / *o_.head_dim, *o_.head_dim,
                                        slot_.channels);
    }
  }

  KclaOptions o_;
  Slot slot_;
  std::int64_t num_heads_;
  ChannelConv& q_;
  ChannelConv& k_;
  Tensor v_;  // (c, 1, 3, 3)
  nn::BatchNorm2d& bn_;
  Tensor phi_;     // (heads, heads)
  Tensor norm_d_;  // (1, heads, 1, 1, 1)
  // Parameters of layers that open a stage.
  nn::Conv2d* adjust_ = nullptr;
  nn::BatchNorm2d* adjust_bn_ = nullptr;
  ChannelConv* adjust_k_ = nullptr;
  Algorithm1* algorithm_ = nullptr;
};

schema::Fields<KclaOptions> fields() {
  using O = KclaOptions;
  using schema::at_least;
  return schema::Fields<O>{}
      .include(head_fields(O{}))
      .add("p", &O::p, schema::greater_than(0),
           "temperatures of the heads lie evenly by logarithm between p and 1 / p")
      .add("clamp", &O::clamp, "largest exponent of a layer's weight; null = none")
      .add("z_eps", &O::z_eps, at_least(0),
           "added to the sum of weights; null = 0.001, for segmentation 0")
      .add_enum(
          "temperature_order", &O::temperature_order,
          {{"code", TemperatureOrder::kCode}, {"paper", TemperatureOrder::kPaper}},
          "which head is sharpest: the last one (public code), or the first one; null = code, "
          "for segmentation paper")
      .add("sqrt_head_dim", &O::sqrt_head_dim, "temperatures times sqrt(head_dim), as in the text")
      .add("same_temperature", &O::same_temperature, "temperature 1 for all heads (ablation a)")
      .add("use_exp", &O::use_exp,
           "weights are exponentials of the keys' norms (false: ablation b)")
      .add("head_attention", &O::head_attention, "gates of the heads (false: ablation c)")
      .add("phi", &O::phi, "the gates are mixed by a matrix; null = true, for segmentation false")
      .add_enum("value_cache", &O::value_cache,
                {{"raw", ValueCache::kRaw}, {"transformed", ValueCache::kTransformed}},
                "what is summed: maps, transformed afterwards, or maps that their own layer has "
                "transformed (ablation d)")
      .add("cross_stage", &O::cross_stage, "stages hand their state over (false: ablation f)")
      .add_enum("transition", &O::transition,
                {{"conv_bn", Transition::kConvBn},
                 {"conv_bn_shared_key", Transition::kConvBnSharedKey},
                 {"algorithm1", Transition::kAlgorithm1}},
                "how the state is converted; null = conv_bn, for segmentation conv_bn_shared_key")
      .add("reset_inside_stage", &O::reset_inside_stage,
           "layers that do not open a stage forget what came before; null = false, for "
           "segmentation true (public code)")
      .add(
          "reinit_index", &O::reinit_index, at_least(1),
          "blocks of this number, from 0, convert the state as well; null = none, for ImageNet 11");
}

}  // namespace
}  // namespace fovea::layer_attention

namespace {
using namespace fovea::layer_attention;
}  // namespace

FOVEA_LAYER_ATTENTION(kcla, Kcla, kKcla, fields())
