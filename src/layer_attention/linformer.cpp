// Linformer over layers: standard layer attention whose keys and values are mapped to `rank` along
// the axis of layers where there are more than `threshold`. kcla 2.8. (In the public code the layer
// index stops at 1, so it never makes its projection.)

#include <cmath>

#include "layer_attention/heads.h"
#include "nn/linear.h"
#include "nn/sizes.h"
#include "ops/elementwise.h"
#include "ops/linear.h"
#include "ops/reduce.h"
#include "ops/shape.h"

namespace {

using namespace fovea;
using layer_attention::Slot;

struct LinformerOptions : layer_attention::HeadOptions {
  std::int64_t rank = 2;
  std::int64_t threshold = 3;
};

const layer_attention::Info kLinformer{.title = "Linformer layer attention",
                                       .source = "kcla 2.8",
                                       .names = layer_attention::mrla_names()};

class Linformer final : public layer_attention::Headwise {
 public:
  Linformer(const Slot& slot, const LinformerOptions& o) : Headwise("linformer", slot, o, true) {
    const std::int64_t seen = slot.layer + 1;
    if (seen <= o.threshold) return;
    proj_k_ = &child<nn::Linear>("proj_k", slot.build, seen, o.rank);
    proj_v_ = &child<nn::Linear>("proj_v", slot.build, seen, o.rank);
  }
  std::string type() const override { return "LinformerLayerAttention"; }

 protected:
  Tensor forward(const layer_attention::Layer& in, layer_attention::State& state,
                 attention::Probe* probe) override {
    auto& seen = state.get<layer_attention::History>(first());
    seen.add(layer_attention::pooled(in.x), in.x);
    const auto [keys, values] = recomputed(seen);
    const Tensor k = along_layers(proj_k_, keys);
    const Tensor v = along_layers(proj_v_, values);
    const Tensor q = p_.query(seen.pooled.back());
    const double scale = 1 / std::sqrt(static_cast<double>(p_.head_dim()));
    const Tensor a = ops::softmax(ops::mul(ops::matmul(q, k, false, true), scale));
    if (probe != nullptr && proj_k_ == nullptr) probe->record("attn", a);
    return p_.combine(a, v, in.x);
  }

 private:
  // (b, heads, layers, n) -> (b, heads, rank, n).
  static Tensor along_layers(nn::Linear* projection, const Tensor& x) {
    if (projection == nullptr) return x;
    return ops::transpose((*projection)(ops::transpose(x, 2, 3)), 2, 3);
  }

  nn::Linear* proj_k_ = nullptr;
  nn::Linear* proj_v_ = nullptr;
};

}  // namespace

FOVEA_LAYER_ATTENTION(linformer, Linformer, kLinformer,
                      fovea::schema::Fields<LinformerOptions>{}
                          .include(layer_attention::head_fields())
                          .add("rank", &LinformerOptions::rank, fovea::nn::channel_count(),
                               "layers after the projection")
                          .add("threshold", &LinformerOptions::threshold,
                               fovea::schema::at_least(0),
                               "layers that are seen without a projection"))
