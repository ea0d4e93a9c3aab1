#include "attention/qkv_attention.h"

#include "ops/elementwise.h"
#include "ops/shape.h"

#include <iterator>
#include <utility>

namespace fovea::attention {
namespace {

std::int64_t head_dim_of(const char* variant, const Slot& slot, const QkvOptions& o) {
  check_heads(variant, slot.dim, o.num_heads, 1);
  return slot.dim / o.num_heads;
}

}  // namespace

QkvAttention::QkvAttention(const char* variant, const Slot& slot, const QkvOptions& o)
    : num_heads_(o.num_heads),
      head_dim_(head_dim_of(variant, slot, o)),
      rotary_(o.rope_base, head_dim_),
      qkv_(child<nn::Linear>("qkv", slot.build, slot.dim, 3 * slot.dim, o.qkv_bias)),
      proj_(child<nn::Linear>("proj", slot.build, slot.dim, slot.dim, o.proj_bias)) {
  if (!o.qk_norm) return;
  const auto norm = [&](const char* name) {
    return &child(name, nn::make_norm(slot.norm, slot.build.at(name), head_dim_, slot.norm_eps));
  };
  q_norm_ = norm("q_norm");
  k_norm_ = norm("k_norm");
}

// The queries and keys (b, n, 2 dim) of a projection (b, n, 3 dim), each head normed by itself.
Tensor QkvAttention::normed(const Tensor& qkv) const {
  const std::int64_t b = qkv.size(0), n = qkv.size(1), dim = num_heads_ * head_dim_;
  const auto part = [&](nn::UnaryModule& norm, std::int64_t first) {
    const Tensor heads =
        ops::reshape(ops::slice(qkv, -1, first, dim), {b, n, num_heads_, head_dim_});
    return ops::reshape(norm(heads), {b, n, dim});
  };
  return ops::concat({part(*q_norm_, 0), part(*k_norm_, dim)}, -1);
}

Tensor QkvAttention::forward(const Tensor& x, const Context& context) {
  return proj_(before_proj(x, context));
}

// (A function of its own, so that queries, keys and values are gone when proj runs.)
Tensor QkvAttention::before_proj(const Tensor& x, const Context& context) {
  const Tensor qkv = qkv_(x);  // (b, n, 3 dim), order q, k, v
  const std::int64_t dim = x.size(-1);
  const bool rotated = rotary_.applies(context);
  const Tensor plain = q_norm_ != nullptr ? normed(qkv) : qkv;  // begins with q and k
  const Tensor qk =
      rotated ? rotary_(before_rotation(ops::slice(plain, -1, 0, 2 * dim)), context) : plain;
  const Heads heads{ops::heads(qk, num_heads_, head_dim_, 0, head_dim_),
                    ops::heads(qk, num_heads_, head_dim_, dim, head_dim_),
                    ops::heads(qkv, num_heads_, head_dim_, 2 * dim, head_dim_)};
  record_queries_and_keys(context, ops::heads(plain, num_heads_, head_dim_, 0, head_dim_),
                          ops::heads(plain, num_heads_, head_dim_, dim, head_dim_));
  Tensor y = attend(heads, context, rotated);
  if (applies_its_map()) y = attended(context, y, heads.v, {.proj = proj_.weight()});
  const Tensor local = local_branch(x, heads.v, context);
  return local.defined() ? ops::add(std::move(y), local) : y;
}

Tensor QkvAttention::local_branch(const Tensor&, const ops::HeadView&, const Context&) {
  return {};
}

Tensor QkvAttention::queries_and_keys(const Heads& heads) {
  // They lie beside each other in the projection.
  const auto& [x, offsets, dim] = heads.q;
  return ops::slice(x, -1, offsets.front(), 2 * std::ssize(offsets) * dim);
}

QkvAttention::Heads QkvAttention::with_queries_and_keys(const Tensor& qk, const Heads& heads) {
  const std::int64_t count = std::ssize(heads.q.offsets);
  const std::int64_t dim = heads.q.dim;
  return {ops::heads(qk, count, dim, 0, dim), ops::heads(qk, count, dim, count * dim, dim),
          heads.v};
}

std::string QkvAttention::translated(const std::string& name) const {
  return name.starts_with("out_proj.") ? "proj." + name.substr(9) : name;
}

Tensor tokens_of(const ops::HeadView& heads) {
  return ops::slice(heads.x, -1, heads.offsets.front(), std::ssize(heads.offsets) * heads.dim);
}

}  // namespace fovea::attention
