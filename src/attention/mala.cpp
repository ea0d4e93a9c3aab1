// Magnitude-aware linear attention (MALA): similarities of features times beta, minus gamma, so
// that weights grow with a query's magnitude and still sum to 1. mala 3.2 to 3.5, 3.8 item 4.
#include "attention/mala.h"

#include <fmt/format.h>

#include <limits>

#include "attention/rotary.h"
#include "autograd/mode.h"
#include "nn/convolution.h"
#include "nn/init.h"
#include "nn/linear.h"
#include "ops/elementwise.h"
#include "ops/shape.h"

namespace fovea::attention {
namespace {

ops::Coefficient call_coefficient(MalaCoefficient kind) {
  if (kind == MalaCoefficient::kLearnable) return ops::Coefficient::kGiven;
  return kind == MalaCoefficient::kNone ? ops::Coefficient::kNone : ops::Coefficient::kFormula;
}

ops::HeadView clamped(const ops::HeadView& view, double most) {
  const Tensor x = ops::clamp(ops::merge_heads(ops::take_heads(view)),
                              -std::numeric_limits<double>::infinity(), most);
  return ops::heads(x, static_cast<std::int64_t>(view.offsets.size()), view.dim, 0, view.dim);
}

}  // namespace

schema::Fields<MalaOptions> mala_fields() {
  using O = MalaOptions;
  return schema::Fields<O>{}
      .add_enum("kernel", &O::kernel,
                {{"elu1", FeatureMap::kEluPlusOne},
                 {"relu", FeatureMap::kRelu},
                 {"exp", FeatureMap::kExp},
                 {"identity", FeatureMap::kNone}},
                "function that makes features of queries and keys: elu(x) + 1, relu, exp, or x")
      .add("exp_max", &O::exp_max, schema::any(),
           "queries and keys are at most this before the kernel, which keeps exp finite; null = no "
           "limit")
      .add_enum("scaling", &O::scaling,
                {{"none", ops::SimilarityScale::kNone},
                 {"head_dim_mean", ops::SimilarityScale::kHeadDimMean}},
                "similarities of features: as the paper prints them, or divided by sqrt(head_dim) "
                "and the number of keys, as its authors' code does")
      .add("eps", &O::eps, schema::at_least(0), "added to the sum of similarities in beta")
      .add_enum("beta", &O::beta,
                {{"formula", MalaCoefficient::kFormula},
                 {"none", MalaCoefficient::kNone},
                 {"learnable", MalaCoefficient::kLearnable}},
                "what multiplies similarities: 1 + 1 / their sum, 1, or a parameter")
      .add_enum(
          "gamma", &O::gamma,
          {{"formula", MalaCoefficient::kFormula},
           {"none", MalaCoefficient::kNone},
           {"learnable", MalaCoefficient::kLearnable}},
          "what is subtracted from them: their sum over the number of keys, 0, or a parameter")
      .add_enum("learnable_shape", &O::learnable_shape,
                {{"scalar", LearnableShape::kScalar},
                 {"head", LearnableShape::kHead},
                 {"channel", LearnableShape::kChannel}},
                "a learnable beta or gamma is one number, one a head, or one a channel")
      .add_enum(
          "normaliser", &O::normaliser,
          {{"unrotated", ops::Normaliser::kUnrotated}, {"rotated", ops::Normaliser::kRotated}},
          "with rotary positions, beta and gamma are those of features without them, as in "
          "the authors' code, or with them (experimental)");
}

Mala::Mala(const nn::Build& build, const MalaOptions& o, std::int64_t num_heads,
           std::int64_t head_dim)
    : o_(o), num_heads_(num_heads), head_dim_(head_dim) {
  beta_ = coefficient("beta", build, o.beta, 1);
  gamma_ = coefficient("gamma", build, o.gamma, 0);
}

Tensor Mala::coefficient(const char* name, const nn::Build& build, MalaCoefficient kind,
                         double start) {
  if (kind != MalaCoefficient::kLearnable) return {};
  Shape shape{num_heads_};
  if (o_.learnable_shape == LearnableShape::kScalar) shape = {1};
  if (o_.learnable_shape == LearnableShape::kChannel) shape = {num_heads_, head_dim_};
  return parameter(name, nn::init_constant(build, shape, start));
}

// (heads, head_dim)
Tensor Mala::of_channels(const Tensor& learned) const {
  if (!learned.defined()) return {};
  const Tensor rows = learned.rank() == 1 ? ops::reshape(learned, {learned.size(0), 1}) : learned;
  return ops::expand(rows, {num_heads_, head_dim_});
}

ops::MagnitudeOptions Mala::options(const Context& context, const ops::RotaryTables& rotary) const {
  return {.feature_map = o_.kernel,
          .scale = o_.scaling,
          .eps = o_.eps,
          .beta = call_coefficient(o_.beta),
          .gamma = call_coefficient(o_.gamma),
          .given_beta = of_channels(beta_),
          .given_gamma = of_channels(gamma_),
          .normaliser = o_.normaliser,
          .causal = context.causal,
          // A causal mask already hides the padding behind the end of a text.
          .key_mask = context.causal ? Tensor() : context.key_mask,
          .rotary = rotary};
}

Tensor Mala::operator()(const Heads& heads, const Context& context, const ops::RotaryTables& rotary,
                        const ops::HeadFinish& finish) {
  const auto scope = enter();
  auto [q, k, v] = heads;
  record_queries_and_keys(context, q, k);
  if (o_.exp_max) {
    q = clamped(q, *o_.exp_max);
    k = clamped(k, *o_.exp_max);
  }
  const ops::MagnitudeOptions call = options(context, rotary);
  if (const auto [first, count] = context.wanted_rows(); count != 0) {
    const autograd::NoGrad no_grad;
    const bool all = context.causal;
    context.probe->record_signed(
        ops::magnitude_map(q, k, call, all ? 0 : first, all ? -1 : count).scores);
  }
  if (context.probe == nullptr || !context.probe->wants_values())
    return ops::magnitude_attention(q, k, v, call, finish);
  const Tensor u = attended(context, ops::magnitude_attention(q, k, v, call), v, {});
  return ops::finished(u, finish);
}

}  // namespace fovea::attention

namespace {

using namespace fovea;
using attention::Context;
using attention::RotaryKind;
using attention::Slot;

struct MalaAttentionOptions : attention::MalaOptions {
  std::int64_t num_heads = 8;
  bool qkv_bias = true;
  bool proj_bias = true;
  RotaryKind rope = RotaryKind::kNone;
  std::int64_t lepe = 0;
  bool gate = false;
};

// Rows sum to 1 but for eps; entries may be negative.
const attention::Info kMala{.title = "Magnitude-aware linear attention",
                            .source = "mala 3.2",
                            .map = attention::MapKind::kSigned,
                            .masks = true,
                            .needs_grid = false};

class MalaAttention final : public attention::Attention {
 public:
  MalaAttention(const Slot& slot, const MalaAttentionOptions& o)
      : o_(o),
        head_dim_(checked_head_dim(slot, o)),
        rotary_(o.rope, head_dim_),
        mala_(child<attention::Mala>("", slot.build, o, o.num_heads, head_dim_)),
        qkv_(child<nn::Linear>(o.gate ? "qkvo" : "qkv", slot.build, slot.dim,
                               (o.gate ? 4 : 3) * slot.dim, o.qkv_bias)),
        proj_(child<nn::Linear>("proj", slot.build, slot.dim, slot.dim, o.proj_bias)) {
    if (o.lepe > 0) lepe_ = &child<nn::TokenConv2d>("lepe", slot.build, slot.dim, o.lepe);
  }
  std::string type() const override { return "MalaAttention"; }

 protected:
  Tensor forward(const Tensor& x, const Context& ctx) override {
    const Tensor qkv = qkv_(x);  // (b, n, 3 dim), order q, k, v; and the gate
    const std::int64_t dim = x.size(-1);
    const auto part = [&](std::int64_t which) {
      return ops::heads(qkv, o_.num_heads, head_dim_, which * dim, head_dim_);
    };
    ops::HeadFinish finish;
    if (lepe_ != nullptr) {
      const Tensor local = enhanced(ops::slice(qkv, -1, 2 * dim, dim), ctx);
      finish.residual = ops::heads(local, o_.num_heads, head_dim_, 0, head_dim_);
    }
    if (o_.gate) {
      finish.gate = part(3);
      finish.gate_op = UnaryOp::kAffine;
    }
    const ops::RotaryTables rotary =
        rotary_.applies(ctx) ? rotary_.tables(x.size(1), x, ctx) : ops::RotaryTables{};
    return proj_(mala_({part(0), part(1), part(2)}, ctx, rotary, finish));
  }

 private:
  static std::int64_t checked_head_dim(const Slot& slot, const MalaAttentionOptions& o) {
    attention::check_heads("mala", slot.dim, o.num_heads, 1);
    FOVEA_CHECK(o.lepe == 0 || o.lepe % 2 == 1, ConfigError,
                fmt::format("mala: lepe is {}; expected 0 or an odd number", o.lepe));
    return slot.dim / o.num_heads;
  }

  // Positions by a depthwise convolution of the values; tokens before the grid have none.
  Tensor enhanced(const Tensor& v, const Context& ctx) {
    const std::int64_t prefix = ctx.prefix_tokens;
    const std::int64_t grid = v.size(1) - prefix;
    FOVEA_CHECK(grid == ctx.grid_h * ctx.grid_w, ShapeError,
                fmt::format("mala: {} tokens on a grid of {} x {}; lepe needs a grid", grid,
                            ctx.grid_h, ctx.grid_w));
    const Tensor cells = prefix == 0 ? v : ops::slice(v, 1, prefix, grid);
    const Tensor local = (*lepe_)(cells, ctx.grid_h, ctx.grid_w);
    if (prefix == 0) return local;
    return ops::concat({ops::mul(ops::slice(v, 1, 0, prefix), 0), local}, 1);
  }

  MalaAttentionOptions o_;
  std::int64_t head_dim_;
  attention::Rotary rotary_;
  attention::Mala& mala_;
  nn::Linear& qkv_;
  nn::Linear& proj_;
  nn::TokenConv2d* lepe_ = nullptr;
};

}  // namespace

FOVEA_ATTENTION(
    mala, MalaAttention, kMala,
    fovea::schema::Fields<MalaAttentionOptions>{}
        .add("num_heads", &MalaAttentionOptions::num_heads, fovea::schema::at_least(1),
             "number of heads; must divide dim")
        .add("qkv_bias", &MalaAttentionOptions::qkv_bias, "bias on the fused q, k, v projection")
        .add("proj_bias", &MalaAttentionOptions::proj_bias, "bias on the output projection")
        .include(attention::mala_fields())
        .add_enum(
            "rope", &MalaAttentionOptions::rope,
            {{"none", RotaryKind::kNone}, {"1d", RotaryKind::kSequence}, {"2d", RotaryKind::kGrid}},
            "rotary positions of features: none, in order of the tokens, or on the grid")
        .add("lepe", &MalaAttentionOptions::lepe, fovea::schema::at_least(0),
             "side of a depthwise convolution of the values over the grid that is added to the "
             "result; odd, 0 = none")
        .add("gate", &MalaAttentionOptions::gate,
             "multiply the result by a fourth part of the projection, as MAViT does"))
