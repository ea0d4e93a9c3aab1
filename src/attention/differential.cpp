// DIFF attention (Ye et al.): A = softmax(q1 k1^T) - lambda softmax(q2 k2^T), one scalar lambda a
// layer. dgsa 2.3; names and head convention of the public reference (8 heads = 16 maps). Options
// for the length of lambda's vectors, its schedule, rotary positions and one projection make it
// that of gdla 2.9.

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "attention/attention.h"
#include "attention/rotary.h"
#include "attention/two_maps.h"
#include "nn/init.h"
#include "nn/linear.h"
#include "nn/norm.h"
#include "ops/create.h"
#include "ops/elementwise.h"
#include "ops/reduce.h"
#include "ops/shape.h"

namespace {

using namespace fovea;
using attention::Context;
using attention::Slot;
using schema::at_least;
using schema::greater_than;
using schema::in_range;

// How heads are paired to maps when keys are shared (grouped): the repeated list of key heads (the
// reference's plain file), or the stored pairs (its flash variants).
enum class Pairing { kPlain, kPaired };

// The length of the four vectors that lambda is made of: the width of a map's queries, or of a
// head.
enum class LambdaDim { kHalf, kHead };

struct DifferentialOptions {
  std::int64_t num_heads = 8;
  std::optional<std::int64_t> num_kv_heads;
  Pairing gqa_pairing = Pairing::kPlain;
  bool proj_bias = false;
  bool subln_affine = true;
  double eps = 1e-5;
  double attn_drop = 0;
  bool fused_qkv = false;
  std::optional<bool> qkv_bias;
  LambdaDim lambda_dim = LambdaDim::kHalf;
  std::int64_t lambda_depth_offset = -1;
  std::optional<double> rope_base;
};

const attention::Info kDifferential{.title = "Differential attention",
                                    .source = "dgsa 2.3; Ye et al., Differential Transformer",
                                    .map = attention::MapKind::kSigned,
                                    .masks = true,
                                    .needs_grid = false};

class Differential final : public attention::Attention {
 public:
  Differential(const Slot& slot, const DifferentialOptions& o)
      : num_heads_(o.num_heads),
        kv_heads_(o.num_kv_heads.value_or(o.num_heads)),
        stream_dim_(checked_stream_dim(slot, o)),
        pairing_(o.gqa_pairing),
        lambda_init_(attention::lambda_schedule(slot.layer + 1 + o.lambda_depth_offset)),
        rotary_(o.rope_base, stream_dim_),
        out_proj_(child<nn::Linear>("out_proj", slot.build, slot.dim, slot.dim, o.proj_bias)),
        subln_(child<nn::RMSNorm>("subln", slot.build, 2 * stream_dim_, o.eps, o.subln_affine)) {
    const bool bias = o.qkv_bias.value_or(o.proj_bias);
    const auto add = [&](const char* name, std::int64_t width) {
      projections_.push_back(&child<nn::Linear>(name, slot.build, slot.dim, width, bias));
    };
    if (o.fused_qkv) {
      add("qkv", slot.dim + 2 * kv_width());
    } else {
      add("q_proj", slot.dim);
      add("k_proj", kv_width());
      add("v_proj", kv_width());
    }
    const std::int64_t length = o.lambda_dim == LambdaDim::kHead ? 2 * stream_dim_ : stream_dim_;
    const auto vector = [&](const char* name) {
      return parameter(name, nn::init_normal(slot.build.at(name), {length}, 0.1));
    };
    lambda_q1_ = vector("lambda_q1");
    lambda_k1_ = vector("lambda_k1");
    lambda_q2_ = vector("lambda_q2");
    lambda_k2_ = vector("lambda_k2");
    if (o.attn_drop > 0) drop_ = &child<nn::Dropout>("attn_drop", slot.build, o.attn_drop);
  }
  std::string type() const override { return "DifferentialAttention"; }

 protected:
  Tensor forward(const Tensor& x, const Context& ctx) override {
    const attention::TwoMaps maps = project(x, ctx);
    const Tensor lambda = this->lambda();
    const Shape rows{x.size(0), x.size(1), num_heads_};
    const Tensor c1 = ops::ones(rows, x.dtype(), x.device());
    const Tensor c2 = ops::expand(ops::neg(lambda), rows);
    if (ctx.probe != nullptr) ctx.probe->record("lam", lambda);
    attention::record_maps(ctx, maps, c1, c2, "attn1", "attn2");
    const Tensor u =
        attention::attended(ctx, attention::apply_two_maps(maps, c1, c2, drop_), maps.v,
                            {.proj = out_proj_.weight(),
                             .norm = true,
                             .norm_weight = subln_.weight(),
                             .norm_eps = subln_.eps(),
                             .factor = 1 - lambda_init_});
    // The factor uses lambda_init, not lambda (dgsa 2.3 step 5).
    const Tensor heads =
        subln_(ops::reshape(u, {u.size(0), u.size(1), num_heads_, 2 * stream_dim_}));
    return out_proj_(ops::reshape(ops::mul(heads, 1 - lambda_init_), x.shape()));
  }

 private:
  static std::int64_t checked_stream_dim(const Slot& slot, const DifferentialOptions& o) {
    attention::check_heads("differential", slot.dim, o.num_heads, 2);
    const std::int64_t kv = o.num_kv_heads.value_or(o.num_heads);
    FOVEA_CHECK(o.num_heads % kv == 0, ConfigError,
                fmt::format("differential: num_heads {} is not divisible by num_kv_heads {}",
                            o.num_heads, kv));
    return slot.dim / (2 * o.num_heads);
  }
  std::int64_t kv_width() const { return 2 * kv_heads_ * stream_dim_; }

  // Channels of a projection from `first` on.
  struct Part {
    Tensor x;
    std::int64_t first = 0;
  };

  // Queries, keys and values. What is rotated becomes a tensor of its own.
  std::array<Part, 3> parts(const Tensor& x, const Context& ctx) {
    const std::array<std::int64_t, 3> widths = {x.size(-1), kv_width(), kv_width()};
    const bool fused = projections_.size() == 1;
    std::array<Part, 3> all;
    std::int64_t first = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      all[i] = fused && i > 0 ? Part{all[0].x, first} : Part{(*projections_[i])(x)};
      first += widths[i];
    }
    if (!rotary_.applies(ctx)) return all;
    for (const std::size_t i : {std::size_t{1}, std::size_t{0}}) {
      const Tensor own = fused ? ops::slice(all[i].x, -1, all[i].first, widths[i]) : all[i].x;
      all[i] = {rotary_(own, ctx)};
    }
    return all;
  }

  attention::TwoMaps project(const Tensor& x, const Context& ctx) {
    const auto [q, k, v] = parts(x, ctx);
    attention::TwoMaps maps;
    maps.q1 = ops::heads(q.x, num_heads_, stream_dim_, q.first, 2 * stream_dim_);
    maps.q2 = ops::heads(q.x, num_heads_, stream_dim_, q.first + stream_dim_, 2 * stream_dim_);
    maps.k1 = {k.x, {}, stream_dim_};
    maps.k2 = {k.x, {}, stream_dim_};
    maps.v = {v.x, {}, 2 * stream_dim_};
    const std::int64_t repeat = num_heads_ / kv_heads_;
    for (std::int64_t head = 0; head < num_heads_; ++head) {
      const bool plain = pairing_ == Pairing::kPlain;
      const std::int64_t pair = head / repeat;
      maps.k1.offsets.push_back(k.first + (plain ? 2 * head / repeat : 2 * pair) * stream_dim_);
      maps.k2.offsets.push_back(k.first +
                                (plain ? (2 * head + 1) / repeat : 2 * pair + 1) * stream_dim_);
      maps.v.offsets.push_back(v.first + pair * 2 * stream_dim_);
    }
    maps.options = {1 / std::sqrt(static_cast<double>(stream_dim_)), ctx.causal, ctx.key_mask};
    return maps;
  }

  // exp(q1 . k1) - exp(q2 . k2) + lambda_init, shape (1).
  Tensor lambda() const {
    const Tensor first = ops::exp(ops::sum(ops::mul(lambda_q1_, lambda_k1_), {0}, true));
    const Tensor second = ops::exp(ops::sum(ops::mul(lambda_q2_, lambda_k2_), {0}, true));
    return ops::add(ops::sub(first, second), lambda_init_);
  }

  std::int64_t num_heads_;
  std::int64_t kv_heads_;
  std::int64_t stream_dim_;  // d' = dim / (2 num_heads)
  Pairing pairing_;
  double lambda_init_;
  attention::Rotary rotary_;
  nn::Linear& out_proj_;
  nn::RMSNorm& subln_;
  std::vector<nn::Linear*> projections_;  // q, k, v, or one of all
  Tensor lambda_q1_, lambda_k1_, lambda_q2_, lambda_k2_;
  nn::Dropout* drop_ = nullptr;
};

}  // namespace

FOVEA_ATTENTION(
    differential, Differential, kDifferential,
    attention::add_rope<DifferentialOptions>(
        fovea::schema::Fields<DifferentialOptions>{}
            .add("num_heads", &DifferentialOptions::num_heads, at_least(1),
                 "number of heads; twice it must divide dim")
            .add("num_kv_heads", &DifferentialOptions::num_kv_heads, at_least(1),
                 "heads of keys and values, shared by groups of query heads; null = num_heads")
            .add_enum("gqa_pairing", &DifferentialOptions::gqa_pairing,
                      {{"plain", Pairing::kPlain}, {"paired", Pairing::kPaired}},
                      "with shared keys: pair the repeated key heads, or the stored ones")
            .add("proj_bias", &DifferentialOptions::proj_bias,
                 "bias on the output projection, and on the others unless qkv_bias says")
            .add("subln_affine", &DifferentialOptions::subln_affine,
                 "learnable weight of the per-head RMS norm")
            .add("eps", &DifferentialOptions::eps, greater_than(0),
                 "epsilon of the per-head RMS norm")
            .add("attn_drop", &DifferentialOptions::attn_drop, in_range(0, 0.99),
                 "dropout on attention weights")
            .add("fused_qkv", &DifferentialOptions::fused_qkv,
                 "one projection qkv instead of q_proj, k_proj, v_proj")
            .add("qkv_bias", &DifferentialOptions::qkv_bias,
                 "bias on the projections of queries, keys and values; null = as proj_bias")
            .add_enum("lambda_dim", &DifferentialOptions::lambda_dim,
                      {{"half", LambdaDim::kHalf}, {"head", LambdaDim::kHead}},
                      "length of the vectors of lambda: that of a map's queries, or of a head")
            .add("lambda_depth_offset", &DifferentialOptions::lambda_depth_offset, in_range(-1, 0),
                 "lambda_init is 0.8 - 0.6 exp(-0.3 (layer + this)), layers from 1: -1 or 0")))
