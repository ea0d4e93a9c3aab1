// InLine attention (Han et al.): linear attention whose rows sum to 1 by subtraction, not by
// division, and a 3 x 3 convolution whose weights depend on the image. mala 3.8, 10; names of the
// public code.

#include "attention/grid_tokens.h"
#include "attention/linear_forms.h"
#include "attention/qkv_attention.h"
#include "autograd/mode.h"
#include "nn/init.h"
#include "ops/conv/convolution.h"
#include "ops/elementwise.h"
#include "ops/linear.h"
#include "ops/reduce.h"
#include "ops/shape.h"

namespace {

using namespace fovea;
using attention::Context;
using attention::Slot;

struct InlineOptions : attention::QkvOptions {};

const attention::Info kInline{
    .title = "InLine attention",
    .source =
        "mala 3.8; Han et al., Bridging the Divide: Reconsidering Softmax and Linear Attention",
    .map = attention::MapKind::kSigned,
    .needs_grid = true};

// PyTorch's Conv1d with a kernel of 1 on vectors (b, in) -> (b, out). Parameters: weight (out, in /
// groups, 1), bias (out).
class GroupedLinear final : public nn::UnaryModule {
 public:
  GroupedLinear(const nn::Build& build, std::int64_t in, std::int64_t out, std::int64_t groups)
      : groups_(groups),
        weight_(parameter("weight",
                          nn::init_conv_weight(build.at("weight"), {out, in / groups, 1}, groups))),
        bias_(parameter("bias", nn::init_bias(build.at("bias"), out, in / groups))) {}
  std::string type() const override { return "GroupedLinear"; }

 protected:
  Tensor forward(const Tensor& x) override {
    const std::int64_t b = x.size(0);
    const std::int64_t in = weight_.size(1);
    const std::int64_t out = weight_.size(0) / groups_;
    const Tensor parts = ops::transpose(ops::reshape(x, {b, groups_, in}), 0, 1);
    const Tensor weight = ops::reshape(ops::as_activation(weight_, x), {groups_, out, in});
    const Tensor y = ops::matmul(parts, weight, false, true);  // (groups, b, out)
    return ops::add(ops::reshape(ops::transpose(y, 0, 1), {b, groups_ * out}), bias_);
  }

 private:
  std::int64_t groups_;
  Tensor weight_;
  Tensor bias_;
};

class Inline final : public attention::QkvAttention {
 public:
  Inline(const Slot& slot, const InlineOptions& o)
      : QkvAttention("inline", slot, o),
        hidden_(child<GroupedLinear>("residual.0", slot.build, slot.dim, slot.dim, o.num_heads)),
        kernels_(
            child<GroupedLinear>("residual.2", slot.build, slot.dim, 9 * slot.dim, o.num_heads)) {}
  std::string type() const override { return "InlineAttention"; }

 protected:
  Tensor attend(const Heads& heads, const Context& ctx, bool) override {
    const auto& [q, k, v] = heads;
    if (const attention::Probe::Rows rows = ctx.wanted_rows(); rows.count != 0) {
      const autograd::NoGrad no_grad;
      ctx.probe->record_signed(attention::inline_map(q, k, rows));
    }
    return attention::inline_attention(q, k, v);
  }

  // The kernels of an image come from the mean of all of its tokens.
  Tensor local_branch(const Tensor& x, const ops::HeadView& v, const Context& ctx) override {
    const Tensor kernels = kernels_(ops::gelu(hidden_(ops::mean(x, {1}))));  // (b, 9 dim)
    const Tensor cells = attention::grid_tokens("inline", attention::tokens_of(v), ctx);
    const std::int64_t b = cells.size(0);
    const std::int64_t dim = cells.size(2);
    const Tensor weight =
        ops::cast(ops::reshape(kernels, {b * dim, 1, 3, 3}), compute_dtype(kernels.dtype()));
    // The images of a batch become channels of one, each with its own kernel.
    const Tensor map =
        ops::reshape(ops::transpose(cells, 1, 2), {1, b * dim, ctx.grid_h, ctx.grid_w});
    const Tensor y = ops::conv(map, weight, {}, {.padding = {1}, .groups = b * dim});
    return attention::behind_prefix(
        ops::transpose(ops::reshape(y, {b, dim, ctx.grid_h * ctx.grid_w}), 1, 2), ctx);
  }

 private:
  GroupedLinear& hidden_;
  GroupedLinear& kernels_;
};

}  // namespace

FOVEA_ATTENTION(inline, Inline, kInline, attention::qkv_fields<InlineOptions>())
