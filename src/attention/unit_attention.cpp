#include "attention/unit_attention.h"

#include <cmath>

#include "attention/attention.h"
#include "autograd/mode.h"
#include "nn/init.h"

namespace fovea::attention {

UnitAttention::UnitAttention(const nn::Build& build, const char* network, std::int64_t dim,
                             const UnitOptions& o)
    : o_(o),
      scale_(o.qk_scale.value_or(
          std::sqrt(static_cast<double>(o.num_heads) / static_cast<double>(dim)))),
      qkv_(child<nn::Linear>("qkv", build, dim, 3 * dim, o.qkv_bias)),
      proj_(child<nn::Linear>("proj", build, dim, dim)) {
  check_heads(network, dim, o.num_heads, 1);
  if (o.attn_drop > 0) attn_drop_ = &child<nn::Dropout>("attn_drop", build, o.attn_drop);
  if (o.proj_drop > 0) proj_drop_ = &child<nn::Dropout>("proj_drop", build, o.proj_drop);
  if (o.bias_unit.empty()) return;
  positions_ = ops::RelativePositions(o.bias_unit, build.device);
  const char* name = "relative_position_bias_table";
  bias_table_ =
      parameter(name, nn::init_truncated_normal(build.at(name), {positions_.rows(), o.num_heads}));
}

Tensor UnitAttention::operator()(const Tensor& x, const ops::Units& units, Probe* probe) {
  const auto scope = enter();
  const Tensor y = proj_(before_proj(x, units, probe));
  return proj_drop_ != nullptr ? (*proj_drop_)(y) : y;
}

// (A function of its own, so that queries, keys and values are gone when proj runs.)
Tensor UnitAttention::before_proj(const Tensor& x, const ops::Units& units, Probe* probe) {
  const std::int64_t dim = x.size(-1);
  const std::int64_t head_dim = dim / o_.num_heads;
  const Tensor qkv = qkv_(x);  // (b, n, 3 dim), order q, k, v
  const auto view = [&](std::int64_t part) {
    return ops::heads(qkv, o_.num_heads, head_dim, part * dim, head_dim);
  };
  ops::UnitAttentionOptions options{.scale = scale_, .padding_attends = o_.padding_attends};
  if (bias_table_.defined()) options.bias = positions_.bias(bias_table_);
  if (o_.padding_attends) options.padding = qkv_.bias();
  if (probe != nullptr && probe->wants_maps()) {
    const autograd::NoGrad no_grad;
    probe->record_units(ops::unit_attention_map(view(0), view(1), units, options), units.tokens());
  }
  const auto attend = [&] {
    if (attn_drop_ == nullptr || !training())
      return ops::unit_attention(view(0), view(1), view(2), units, options);
    const Tensor maps = (*attn_drop_)(ops::unit_attention_map(view(0), view(1), units, options));
    return ops::attend_units(maps, view(2), units, options);
  };
  Tensor u = attend();
  if (probe != nullptr) {
    const auto values = [&] { return ops::take_heads(view(2)); };
    u = probe->attended(u, values, {.proj = proj_.weight()});
  }
  return u;
}

}  // namespace fovea::attention
