// Linear angular attention (You et al., Castling-ViT): the first terms of the angle between queries
// and keys as a kernel, with a depthwise convolution of the values along the tokens. mala 3.8, 7;
// it follows the public code.

#include <fmt/format.h>

#include "attention/linear_forms.h"
#include "attention/qkv_attention.h"
#include "autograd/mode.h"
#include "base/error.h"
#include "nn/init.h"
#include "ops/conv/convolution.h"
#include "ops/elementwise.h"
#include "ops/shape.h"

namespace {

using namespace fovea;
using attention::Context;
using attention::Slot;
using schema::at_least;

struct LinearAngularOptions : attention::QkvOptions {
  std::int64_t res_kernel_size = 9;
  bool sparse_reg = false;
};

const attention::Info kLinearAngular{.title = "Linear angular attention",
                                     .source = "mala 3.8; You et al., Castling-ViT",
                                     .map = attention::MapKind::kSigned,
                                     .masks = true,
                                     .ordered = true};

class LinearAngular final : public attention::QkvAttention {
 public:
  LinearAngular(const Slot& slot, const LinearAngularOptions& o)
      : QkvAttention("linear_angular", slot, o), sparse_reg_(o.sparse_reg) {
    if (o.res_kernel_size == 0) return;
    FOVEA_CHECK(o.res_kernel_size % 2 == 1, ConfigError,
                fmt::format("linear_angular: res_kernel_size is {}; expected an odd number, or 0",
                            o.res_kernel_size));
    dconv_ = parameter("dconv.weight",
                       nn::init_conv_weight(slot.build.at("dconv").at("weight"),
                                            {num_heads(), 1, o.res_kernel_size, 1}, num_heads()));
  }
  std::string type() const override { return "LinearAngularAttention"; }

 protected:
  Tensor attend(const Heads& heads, const Context& ctx, bool) override {
    const auto& [q, all_keys, v] = heads;
    const ops::HeadView k =
        ctx.key_mask.defined()
            ? ops::heads(attention::masked_tokens(attention::tokens_of(all_keys), ctx.key_mask),
                         num_heads(), head_dim(), 0, head_dim())
            : all_keys;
    const bool sparse = sparse_reg_ && training();
    if (const Probe::Rows rows = ctx.wanted_rows(); rows.count != 0) {
      const autograd::NoGrad no_grad;
      const Tensor map = attention::angular_map(q, k, rows);
      ctx.probe->record_signed(
          sparse ? ops::add(map, attention::sparse_map(q, k, ctx.key_mask, rows)) : map);
    }
    return attention::angular_attention(
        q, k, v, sparse ? attention::sparse_map(q, k, ctx.key_mask) : Tensor());
  }

  // Results are divided by their length.
  bool applies_its_map() const override { return false; }

  // Every head has one kernel, for all of its channels.
  Tensor local_branch(const Tensor&, const ops::HeadView& v, const Context& ctx) override {
    if (!dconv_.defined()) return {};
    const std::int64_t size = dconv_.size(2);
    const Tensor kernels = ops::reshape(ops::expand(dconv_, {num_heads(), head_dim(), size, 1}),
                                        {num_heads() * head_dim(), 1, size, 1});
    const Tensor values = attention::masked_tokens(attention::tokens_of(v), ctx.key_mask);
    return ops::token_conv(values, kernels, {}, values.size(1), 1);
  }

 private:
  using Probe = attention::Probe;
  bool sparse_reg_;
  Tensor dconv_;
};

}  // namespace

FOVEA_ATTENTION(
    linear_angular, LinearAngular, kLinearAngular,
    attention::qkv_fields<LinearAngularOptions>()
        .add("res_kernel_size", &LinearAngularOptions::res_kernel_size, at_least(0),
             "tokens that the convolution of the values sees, odd; 0 = no convolution")
        .add("sparse_reg", &LinearAngularOptions::sparse_reg,
             "in training add the softmax map where it is above 0.02, which takes time and memory "
             "quadratic in the tokens"))
