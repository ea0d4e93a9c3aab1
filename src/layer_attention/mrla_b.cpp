// RLA and MRLA-B: every layer makes its key and value once and keeps them; one head is RLA.
// kcla 2.2, Eq. 4.

#include <cmath>

#include "layer_attention/heads.h"
#include "ops/elementwise.h"
#include "ops/linear.h"
#include "ops/reduce.h"

namespace {

using namespace fovea;
using layer_attention::Slot;
using MrlaBOptions = layer_attention::HeadOptions;

const layer_attention::Info kMrlaB{.title = "Multi-head recurrent layer attention, base",
                                   .source = "kcla 2.2, Eq. 4",
                                   .names = layer_attention::mrla_names()};

class MrlaB final : public layer_attention::Headwise {
 public:
  MrlaB(const Slot& slot, const MrlaBOptions& o) : Headwise("mrla_b", slot, o, true) {}
  std::string type() const override { return "MRLA-B"; }

 protected:
  Tensor forward(const layer_attention::Layer& in, layer_attention::State& state,
                 attention::Probe* probe) override {
    auto& cache = state.get<layer_attention::Cache>(first());
    const Tensor y = layer_attention::pooled(in.x);
    cache.keys.push_back(p_.key(y));
    cache.values.push_back(p_.value(in.x));
    const Tensor k = layer_attention::stack(cache.keys);
    const double scale = 1 / std::sqrt(static_cast<double>(p_.head_dim()));
    const Tensor a = ops::softmax(ops::mul(ops::matmul(p_.query(y), k, false, true), scale));
    if (probe != nullptr) {
      probe->record("keys", k);
      probe->record("attn", a);
    }
    return p_.combine(a, layer_attention::stack(cache.values), in.x);
  }
};

}  // namespace

// 16 channels a head, for ImageNet too.
FOVEA_LAYER_ATTENTION(mrla_b, MrlaB, kMrlaB, layer_attention::head_fields())
