// Non-local block: attention of every place of a map to all of its places, behind a residual block.
// kcla has numbers alone (Table III, rows "+1 NL"); this is mmcv's NonLocal2d (embedded Gaussian,
// scaled, without a norm). "1 NL" is one of them before the last block of the third stage.

#include <fmt/format.h>

#include <cmath>

#include "base/error.h"
#include "layer_attention/context.h"
#include "nn/convolution.h"
#include "ops/attention/attention.h"
#include "ops/elementwise.h"
#include "ops/shape.h"

namespace {

using namespace fovea;
using layer_attention::Slot;

enum class NonLocalBlocks { kAll, kBeforeLast };

struct NonLocalOptions : layer_attention::ContextOptions {
  NonLocalBlocks blocks = NonLocalBlocks::kAll;
  std::int64_t reduction = 2;
};

const layer_attention::Info kNonLocal{.title = "Non-local block",
                                      .source = "kcla Table III, arXiv 1711.07971",
                                      .names = layer_attention::names_inside("nonlocal_block")};

// x + W_out (softmax(theta(x) phi(x)^T / sqrt(hidden)) g(x)), all of them 1x1 convolutions.
class NonLocalBlock final : public nn::Module {
 public:
  NonLocalBlock(const nn::Build& outer, std::int64_t channels, std::int64_t hidden)
      : hidden_(hidden) {
    nn::Build build = outer;
    build.init = nn::Init::kHead;  // normal(0, 0.01), biases 0
    const auto pointwise = [&](const char* name, std::int64_t in, std::int64_t out) {
      return &child<nn::TokenPointwise>(name, build, in, out);
    };
    value_ = pointwise("g.conv", channels, hidden);
    query_ = pointwise("theta.conv", channels, hidden);
    key_ = pointwise("phi.conv", channels, hidden);
    out_ = pointwise("conv_out.conv", hidden, channels);
    layer_attention::start_at_zero(*out_);
  }
  std::string type() const override { return "NonLocal"; }

  Tensor operator()(const Tensor& x, attention::Probe* probe) {
    const auto scope = enter();
    const std::int64_t places = x.size(2) * x.size(3);
    const Tensor tokens = ops::transpose(ops::reshape(x, {x.size(0), x.size(1), places}), 1, 2);
    const auto head = [&](nn::TokenPointwise& layer) {
      return ops::heads(layer(tokens), 1, hidden_, 0, hidden_);
    };
    const ops::HeadView q = head(*query_), k = head(*key_), v = head(*value_);
    ops::AttentionOptions options;
    options.scale = 1 / std::sqrt(static_cast<double>(hidden_));
    if (probe != nullptr && probe->wants_maps()) {
      const auto [first, count] = probe->rows(0, x.size(2), x.size(3));
      probe->record("attn", ops::attention_map(q, k, options, first, count));
    }
    const Tensor y = (*out_)(ops::attention(q, k, v, options));
    return ops::add(x, ops::reshape(ops::transpose(y, 1, 2), x.shape()));
  }

 private:
  std::int64_t hidden_;
  nn::TokenPointwise* value_ = nullptr;
  nn::TokenPointwise* query_ = nullptr;
  nn::TokenPointwise* key_ = nullptr;
  nn::TokenPointwise* out_ = nullptr;
};

class NonLocal final : public layer_attention::LayerAttention {
 public:
  NonLocal(const Slot& slot, const NonLocalOptions& o) {
    if (!stands_here(slot, o)) return;
    block_ = &child<NonLocalBlock>("", slot.build, slot.channels,
                                   std::max<std::int64_t>(1, slot.channels / o.reduction));
  }
  std::string type() const override { return "NonLocal"; }
  layer_attention::Join join() const override { return {.norm = false, .replace = true}; }

 protected:
  Tensor forward(const layer_attention::Layer& in, layer_attention::State&,
                 attention::Probe* probe) override {
    return block_ == nullptr ? in.x : (*block_)(in.x, probe);
  }

 private:
  static bool stands_here(const Slot& slot, const NonLocalOptions& o) {
    if (!layer_attention::stands_in(o, slot)) return false;
    if (o.blocks == NonLocalBlocks::kAll) return true;
    FOVEA_CHECK(slot.layers > 1, ConfigError,
                fmt::format("model.layer_attention.blocks: before_last, but stage {} has one block",
                            slot.stage + 1));
    return slot.layer == slot.layers - 2;
  }

  NonLocalBlock* block_ = nullptr;
};

}  // namespace

FOVEA_LAYER_ATTENTION(
    non_local, NonLocal, kNonLocal,
    fovea::schema::Fields<NonLocalOptions>{}
        .include(layer_attention::context_fields())
        .add_enum("blocks", &NonLocalOptions::blocks,
                  {{"all", NonLocalBlocks::kAll}, {"before_last", NonLocalBlocks::kBeforeLast}},
                  "behind every block of these stages, or before the last one of each")
        .add("reduction", &NonLocalOptions::reduction, fovea::schema::at_least(1),
             "by how much queries, keys and values are narrower"))
