#include "layer_attention/augmented_conv.h"

#include <fmt/format.h>

#include <cmath>

#include "base/error.h"
#include "nn/init.h"
#include "ops/elementwise.h"
#include "ops/indexing.h"
#include "ops/linear.h"
#include "ops/reduce.h"
#include "ops/shape.h"

namespace fovea::layer_attention {
namespace {

const AugmentedConvOptions& checked(const AugmentedConvOptions& o) {
  FOVEA_CHECK(o.num_heads >= 1 && o.dk % o.num_heads == 0 && o.dv % o.num_heads == 0, ConfigError,
              fmt::format("augmented_conv: dk {} and dv {} are not divisible by num_heads {}", o.dk,
                          o.dv, o.num_heads));
  FOVEA_CHECK(o.dv > 0 && o.dv < o.out, ConfigError,
              fmt::format("augmented_conv: dv {} of {} output channels; expected 1 to {}", o.dv,
                          o.out, o.out - 1));
  FOVEA_CHECK(!o.relative || (o.height > 0 && o.width > 0), ConfigError,
              "augmented_conv: relative positions need height and width");
  return o;
}

// Row j - i + n - 1 of a table, for places i and j: (n, n, dim).
Tensor differences(const Tensor& table, std::int64_t n) {
  std::vector<std::int64_t> rows;
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < n; ++j) rows.push_back(j - i + n - 1);
  }
  return ops::embedding(table, Tensor::from(rows, {n, n}, table.device()));
}

}  // namespace

AugmentedConv::AugmentedConv(const nn::Build& build, const AugmentedConvOptions& options)
    : o_(checked(options)),
      conv_out_(child<nn::Conv2d>("conv_out", build, o_.in, o_.out - o_.dv, ops::Sizes{o_.kernel},
                                  ops::ConvOptions{.padding = {o_.kernel / 2}})),
      qkv_(child<nn::Conv2d>("qkv_conv", build, o_.in, 2 * o_.dk + o_.dv, ops::Sizes{1})),
      attn_out_(child<nn::Conv2d>("attn_out", build, o_.dv, o_.dv, ops::Sizes{1})) {
  if (!o_.relative) return;
  const std::int64_t dim = o_.dk / o_.num_heads;
  const double stddev = 1 / std::sqrt(static_cast<double>(dim));
  const auto table = [&](const char* name, std::int64_t size) {
    return parameter(name, nn::init_normal(build.at(name), {2 * size - 1, dim}, stddev));
  };
  rel_w_ = table("key_rel_w", o_.width);
  rel_h_ = table("key_rel_h", o_.height);
}

// q, k: (b, heads, h, w, dim) -> (b heads, h w, h w).
Tensor AugmentedConv::logits(const Tensor& q, const Tensor& k) const {
  const std::int64_t items = q.size(0) * q.size(1), h = q.size(2), w = q.size(3), dim = q.size(4);
  const Tensor content = ops::matmul(ops::reshape(q, {items, h * w, dim}),
                                     ops::reshape(k, {items, h * w, dim}), false, true);
  if (!o_.relative) return content;
  FOVEA_CHECK(
      h == o_.height && w == o_.width, ShapeError,
      fmt::format("augmented_conv: x is {} x {}; expected {} x {}", h, w, o_.height, o_.width));
  // Queries of one column (row) times the rows of its table: (w, items h, dim) x (w, dim, w).
  const Tensor by_x = ops::reshape(ops::permute(q, {3, 0, 1, 2, 4}), {w, items * h, dim});
  const Tensor along_x = ops::matmul(by_x, differences(rel_w_, w), false, true);
  const Tensor by_y = ops::reshape(ops::permute(q, {2, 0, 1, 3, 4}), {h, items * w, dim});
  const Tensor along_y = ops::matmul(by_y, differences(rel_h_, h), false, true);
  // Place (iy, ix) to (jy, jx): the first does not depend on jy, the second not on jx.
  const Tensor x_part = ops::reshape(
      ops::permute(ops::reshape(along_x, {w, items, h, w}), {1, 2, 0, 3}), {items, h, w, 1, w});
  const Tensor y_part = ops::reshape(
      ops::permute(ops::reshape(along_y, {h, items, w, h}), {1, 0, 2, 3}), {items, h, w, h, 1});
  return ops::add(content, ops::reshape(ops::add(x_part, y_part), {items, h * w, h * w}));
}

Tensor AugmentedConv::forward(const Tensor& x) {
  const std::int64_t b = x.size(0), h = x.size(2), w = x.size(3), heads = o_.num_heads;
  const std::vector<Tensor> qkv = ops::split(qkv_(x), 1, {o_.dk, o_.dk, o_.dv});
  // (b, heads dim, h, w) -> (b, heads, h, w, dim)
  const auto by_place = [&](const Tensor& t) {
    return ops::permute(ops::reshape(t, {b, heads, t.size(1) / heads, h, w}), {0, 1, 3, 4, 2});
  };
  const double scale = 1 / std::sqrt(static_cast<double>(o_.dk / heads));
  const Tensor a = ops::softmax(logits(ops::mul(by_place(qkv[0]), scale), by_place(qkv[1])));
  const Tensor v = ops::reshape(by_place(qkv[2]), {b * heads, h * w, o_.dv / heads});
  const Tensor o = ops::transpose(ops::matmul(a, v), 1, 2);  // (b heads, dv / heads, h w)
  return ops::concat({conv_out_(x), attn_out_(ops::reshape(o, {b, o_.dv, h, w}))}, 1);
}

}  // namespace fovea::layer_attention
