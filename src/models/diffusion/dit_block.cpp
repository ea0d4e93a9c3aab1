#include "models/diffusion/dit_block.h"

#include "ops/elementwise.h"
#include "ops/in_place.h"
#include "ops/norm.h"
#include "ops/shape.h"

namespace fovea::models {
namespace {

constexpr double kNormEps = 1e-6;

nn::Linear& from_zero(nn::Linear& layer) {
  ops::fill(layer.weight(), 0);
  ops::fill(layer.bias(), 0);
  return layer;
}

// `count` vectors of every item, each (b, 1, dim).
std::vector<Tensor> modulations(nn::Linear& layer, const Tensor& c, std::int64_t count) {
  const Tensor all = layer(ops::silu(c));
  const std::int64_t dim = all.size(1) / count;
  return ops::split(ops::reshape(all, {all.size(0), 1, all.size(1)}), 2,
                    std::vector<std::int64_t>(static_cast<std::size_t>(count), dim));
}

// LN(x) (1 + scale) + shift
Tensor modulated(const Tensor& x, const Tensor& shift, const Tensor& scale) {
  const Tensor normed = ops::layer_norm(x, {}, {}, kNormEps);
  return ops::add(ops::mul(normed, ops::add(scale, 1)), shift);
}

}  // namespace

DiTBlock::DiTBlock(const nn::Build& build, const DiTBlockOptions& o, std::int64_t layer,
                   std::int64_t depth, const attention::Layout& layout)
    : attn_(child("attn", attention::make_attention(
                              o.attention, {build.at("attn"), o.dim, layer, depth, layout}))),
      mlp_(child("mlp", nn::make_ffn(schema::with_options("mlp", {{"expansion", o.mlp_ratio},
                                                                  {"activation", "gelu_tanh"}}),
                                     build.at("mlp"), o.dim, 0))),
      modulation_(from_zero(child<nn::Linear>("adaLN_modulation.1", build, o.dim, 6 * o.dim))) {}

Tensor DiTBlock::operator()(const Tensor& x, const Tensor& c, const attention::Context& context) {
  const auto scope = enter();
  const std::vector<Tensor> m = modulations(modulation_, c, 6);
  Tensor y = ops::add_product(x, attn_(modulated(x, m[0], m[1]), context), m[2], false);
  y = ops::add_product(y, mlp_(modulated(y, m[3], m[4])), m[5], false);
  if (context.probe != nullptr) context.probe->record("features", y);
  return y;
}

DiTFinalLayer::DiTFinalLayer(const nn::Build& build, std::int64_t dim, std::int64_t out)
    : linear_(from_zero(child<nn::Linear>("linear", build, dim, out))),
      modulation_(from_zero(child<nn::Linear>("adaLN_modulation.1", build, dim, 2 * dim))) {}

Tensor DiTFinalLayer::operator()(const Tensor& x, const Tensor& c) {
  const auto scope = enter();
  const std::vector<Tensor> m = modulations(modulation_, c, 2);
  return linear_(modulated(x, m[0], m[1]));
}

}  // namespace fovea::models
