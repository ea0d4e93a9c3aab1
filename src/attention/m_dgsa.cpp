// M-DGSA: A = g A+ - (1 - g) A-, where a gate g in (0, 1) is predicted for every query token and
// head. dgsa 2.2, Algorithm 1.

#include <cmath>
#include <utility>

#include "attention/attention.h"
#include "attention/two_maps.h"
#include "nn/init.h"
#include "nn/linear.h"
#include "nn/norm.h"
#include "nn/sizes.h"
#include "ops/elementwise.h"
#include "ops/in_place.h"
#include "ops/shape.h"
#include "tensor/host.h"

namespace {

using namespace fovea;
using attention::Context;
using attention::Slot;
using schema::at_least;
using schema::greater_than;
using schema::in_range;

enum class LambdaMode { kConstant, kSchedule, kLearnable };
enum class StreamLayout { kInterleaved, kHalves };
enum class ScaleDim { kStream, kHead };
enum class Fuse { kSubtract, kBlend };

struct MDgsaOptions {
  std::int64_t num_heads = 8;
  LambdaMode lambda_mode = LambdaMode::kConstant;
  double lambda_value = 0.8;
  bool proj_bias = false;
  bool q_residual = false;
  bool subln_affine = true;
  double eps = 1e-5;
  StreamLayout stream_layout = StreamLayout::kInterleaved;
  ScaleDim scale_dim = ScaleDim::kStream;
  std::int64_t gate_layers = 1;
  std::optional<std::int64_t> gate_hidden;
  std::optional<double> gate_bias_init;
  Fuse fuse = Fuse::kSubtract;
  double attn_drop = 0;
};

const attention::Info kMDgsa{.title = "Multihead differential gated self-attention",
                             .source = "dgsa 2.2, Algorithm 1",
                             .map = attention::MapKind::kSigned,
                             .masks = true,
                             .needs_grid = false};

// One linear layer to num_heads, or an MLP with GELU between its layers: weights are gate.weight,
// or gate.0.weight, gate.1.weight, ...
class DeepGate final : public nn::Module {
 public:
  DeepGate(const nn::Build& build, std::int64_t dim, const MDgsaOptions& o) {
    const std::int64_t hidden = o.gate_hidden.value_or(std::max<std::int64_t>(1, dim / 4));
    std::int64_t in = dim;
    for (std::int64_t i = 0; i < o.gate_layers; ++i) {
      const bool last = i + 1 == o.gate_layers;
      layers_.push_back(
          &child<nn::Linear>(std::to_string(i), build, in, last ? o.num_heads : hidden));
      in = hidden;
    }
  }
  std::string type() const override { return "Gate"; }

  Tensor operator()(const Tensor& x) {
    const auto scope = enter();
    Tensor z = (*layers_[0])(x);
    for (std::size_t i = 1; i < layers_.size(); ++i) z = (*layers_[i])(ops::gelu(std::move(z)));
    return z;
  }
  const Tensor& last_bias() const { return layers_.back()->bias(); }

 private:
  std::vector<nn::Linear*> layers_;
};

class MDGSA final : public attention::Attention {
 public:
  MDGSA(const Slot& slot, const MDgsaOptions& o)
      : o_(o),
        stream_dim_(checked_stream_dim(slot, o)),
        q_proj_(child<nn::Linear>("q_proj", slot.build, slot.dim, slot.dim, o.proj_bias)),
        k_proj_(child<nn::Linear>("k_proj", slot.build, slot.dim, slot.dim, o.proj_bias)),
        v_proj_(child<nn::Linear>("v_proj", slot.build, slot.dim, slot.dim, o.proj_bias)),
        out_proj_(child<nn::Linear>("out_proj", slot.build, slot.dim, slot.dim, o.proj_bias)),
        subln_(child<nn::RMSNorm>("subln", slot.build, 2 * stream_dim_, o.eps, o.subln_affine)),
        lambda_(o.lambda_mode == LambdaMode::kSchedule ? attention::lambda_schedule(slot.layer)
                                                       : o.lambda_value) {
    if (o.gate_layers == 1) {
      gate_ = &child<nn::Linear>("gate", slot.build, slot.dim, o.num_heads);
    } else {
      deep_gate_ = &child<DeepGate>("gate", slot.build, slot.dim, o);
    }
    if (o.gate_bias_init) {
      const Tensor& bias = gate_ != nullptr ? gate_->bias() : deep_gate_->last_bias();
      ops::fill(bias, *o.gate_bias_init);
    }
    if (o.lambda_mode == LambdaMode::kLearnable) {
      learned_lambda_ = parameter("lambda_", nn::init_constant(slot.build, {1}, o.lambda_value));
    }
    if (o.attn_drop > 0) drop_ = &child<nn::Dropout>("attn_drop", slot.build, o.attn_drop);
  }
  std::string type() const override { return "MDGSA"; }

 protected:
  // The steps are those of dgsa 2.2.
  Tensor forward(const Tensor& x, const Context& ctx) override {
    const Tensor q = q_proj_(x);
    const attention::TwoMaps maps = streams(q, k_proj_(x), v_proj_(x), ctx);
    const Tensor g =
        ops::sigmoid(gate_ != nullptr ? (*gate_)(x) : (*deep_gate_)(x));  // (b, n, heads)
    // A = g A+ + c A-, c = g - 1 (subtract) or 1 - g (blend).
    const Tensor c = o_.fuse == Fuse::kSubtract ? ops::affine(g, 1, -1) : ops::affine(g, -1, 1);
    if (ctx.probe != nullptr) ctx.probe->record("gate", g);
    attention::record_maps(ctx, maps, g, c, "attn_pos", "attn_neg");
    const Tensor u =
        attention::attended(ctx, attention::apply_two_maps(maps, g, c, drop_), maps.v, behind(ctx));
    const Tensor normed =
        subln_(ops::reshape(u, {u.size(0), u.size(1), o_.num_heads, 2 * stream_dim_}));
    Tensor y = out_proj_(ops::reshape(scale(normed), x.shape()));
    return o_.q_residual ? ops::add(std::move(y), q) : y;
  }

 private:
  static std::int64_t checked_stream_dim(const Slot& slot, const MDgsaOptions& o) {
    attention::check_heads("m_dgsa", slot.dim, o.num_heads, 2);
    return slot.dim / (2 * o.num_heads);
  }

  attention::TwoMaps streams(const Tensor& q, const Tensor& k, const Tensor& v,
                             const Context& ctx) const {
    const bool interleaved = o_.stream_layout == StreamLayout::kInterleaved;
    const std::int64_t step = interleaved ? 2 * stream_dim_ : stream_dim_;
    const std::int64_t second = interleaved ? stream_dim_ : o_.num_heads * stream_dim_;
    const auto view = [&](const Tensor& t, std::int64_t first) {
      return ops::heads(t, o_.num_heads, stream_dim_, first, step);
    };
    const std::int64_t width = o_.scale_dim == ScaleDim::kStream ? stream_dim_ : 2 * stream_dim_;
    return {view(q, 0),
            view(k, 0),
            view(q, second),
            view(k, second),
            ops::heads(v, o_.num_heads, 2 * stream_dim_, 0, 2 * stream_dim_),
            {1 / std::sqrt(static_cast<double>(width)), ctx.causal, ctx.key_mask}};
  }

  // What stands behind u, for a probe.
  attention::Probe::Behind behind(const Context& ctx) const {
    if (ctx.probe == nullptr || !ctx.probe->wants_values()) return {};
    const double lambda = learned_lambda_.defined() ? host_doubles(learned_lambda_)[0] : lambda_;
    return {.proj = out_proj_.weight(),
            .norm = true,
            .norm_weight = subln_.weight(),
            .norm_eps = subln_.eps(),
            .factor = 1 - lambda};
  }

  // H = (1 - lambda) Hn; a learnable lambda is the raw scalar.
  Tensor scale(const Tensor& heads) const {
    if (!learned_lambda_.defined()) return ops::mul(heads, 1 - lambda_);
    return ops::mul(heads, ops::affine(learned_lambda_, -1, 1));
  }

  MDgsaOptions o_;
  std::int64_t stream_dim_;  // d' = dim / (2 num_heads)
  nn::Linear& q_proj_;
  nn::Linear& k_proj_;
  nn::Linear& v_proj_;
  nn::Linear& out_proj_;
  nn::RMSNorm& subln_;
  nn::Linear* gate_ = nullptr;
  DeepGate* deep_gate_ = nullptr;
  nn::Dropout* drop_ = nullptr;
  double lambda_;
  Tensor learned_lambda_;
};

}  // namespace

FOVEA_ATTENTION(
    m_dgsa, MDGSA, kMDgsa,
    fovea::schema::Fields<MDgsaOptions>{}
        .add("num_heads", &MDgsaOptions::num_heads, at_least(1),
             "number of heads; twice it must divide dim")
        .add_enum("lambda_mode", &MDgsaOptions::lambda_mode,
                  {{"constant", LambdaMode::kConstant},
                   {"schedule", LambdaMode::kSchedule},
                   {"learnable", LambdaMode::kLearnable}},
                  "lambda: lambda_value, 0.8 - 0.6 exp(-0.3 (layer - 1)), or a parameter that "
                  "starts at lambda_value")
        .add("lambda_value", &MDgsaOptions::lambda_value, "value or initial value of lambda")
        .add("proj_bias", &MDgsaOptions::proj_bias, "bias on the four projections")
        .add("q_residual", &MDgsaOptions::q_residual,
             "inner residual: output + q (true in DGViT, false in DGT)")
        .add("subln_affine", &MDgsaOptions::subln_affine,
             "learnable weight of the per-head RMS norm")
        .add("eps", &MDgsaOptions::eps, greater_than(0), "epsilon of the per-head RMS norm")
        .add_enum("stream_layout", &MDgsaOptions::stream_layout,
                  {{"interleaved", StreamLayout::kInterleaved}, {"halves", StreamLayout::kHalves}},
                  "order of the q and k channels: (head, stream, d') or (stream, head, d')")
        .add_enum("scale_dim", &MDgsaOptions::scale_dim,
                  {{"stream", ScaleDim::kStream}, {"head", ScaleDim::kHead}},
                  "scores are divided by sqrt(d') or by sqrt(2 d')")
        .add("gate_layers", &MDgsaOptions::gate_layers, nn::block_count(),
             "layers of the gating MLP")
        .add("gate_hidden", &MDgsaOptions::gate_hidden, nn::channel_count(),
             "its hidden width; null = dim / 4")
        .add("gate_bias_init", &MDgsaOptions::gate_bias_init,
             "initial bias of the gate; null = as other linear layers; a positive one starts "
             "excitatory")
        .add_enum("fuse", &MDgsaOptions::fuse,
                  {{"subtract", Fuse::kSubtract}, {"blend", Fuse::kBlend}},
                  "g A+ - (1 - g) A-, or the weighted sum g A+ + (1 - g) A- as a control")
        .add("attn_drop", &MDgsaOptions::attn_drop, in_range(0, 0.99), "dropout on the fused map"))
