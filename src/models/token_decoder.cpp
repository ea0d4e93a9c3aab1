#include "models/token_decoder.h"

#include <fmt/format.h>

#include "base/error.h"
#include "models/token_maps.h"
#include "ops/elementwise.h"

namespace fovea::models {
namespace {

const ops::ConvOptions kSame{.padding = {1}};

// The two that the paper's code initialises with Xavier's numbers. gdla 2.11.
bool begins_as_xavier(const schema::Component& ffn) {
  return ffn.type == "mlp" || ffn.type == "swiglu";
}

}  // namespace

ResidualStem::ResidualStem(const nn::Build& build, std::int64_t in, std::int64_t out)
    : conv1_(child<nn::Conv2d>("conv1", build, in, in, ops::Sizes{3}, kSame, false)),
      norm1_(child<nn::BatchNorm2d>("norm1", build, in)),
      conv2_(child<nn::Conv2d>("conv2", build, in, out, ops::Sizes{3}, kSame, false)),
      norm2_(child<nn::BatchNorm2d>("norm2", build, out)) {
  if (in == out) return;
  conv3_ = &child<nn::Conv2d>("conv3", build, in, out, ops::Sizes{1}, ops::ConvOptions{}, false);
  norm3_ = &child<nn::BatchNorm2d>("norm3", build, out);
}

Tensor ResidualStem::forward(const Tensor& x) {
  const Tensor y = conv2_(norm1_.with_relu(conv1_(x)));
  return norm2_.with_relu(y, conv3_ != nullptr ? (*norm3_)((*conv3_)(x)) : x);
}

TransposedUp::TransposedUp(const nn::Build& build, std::int64_t in, std::int64_t out,
                           std::int64_t kernel, std::int64_t factor)
    : up_(child<nn::ConvTranspose2d>(
          "up", build, in, out, ops::Sizes{kernel},
          ops::ConvOptions{
              .stride = {factor}, .padding = {kernel / 2}, .output_padding = {factor - 1}},
          false)) {}

TokenDecoderBlock::TokenDecoderBlock(const attention::Slot& slot, std::int64_t heads,
                                     const TokenDecoderBlockOptions& o)
    : norm1_(child<nn::LayerNorm>("norm1", slot.build, slot.dim, o.norm_eps)) {
  const nn::Build& build = slot.build;
  if (o.preconv) dwc_ = &child<nn::Conv2d>("dwc", build, slot.dim, slot.dim, ops::Sizes{3}, kSame);
  schema::Component attention = o.attention;
  attention.options.set("num_heads", heads);
  attention::Slot inner = slot;
  inner.build = build.at("attn");
  attn_ = &child("attn", attention::make_attention(attention, inner));
  norm2_ = &child<nn::LayerNorm>("norm2", build, slot.dim, o.norm_eps);
  nn::Build ffn = build.at("mlp");
  if (begins_as_xavier(o.ffn)) ffn.init = nn::Init::kXavier;
  mlp_ = &child("mlp", nn::make_ffn(o.ffn, ffn, slot.dim, 0));
}

Tensor TokenDecoderBlock::operator()(const Tensor& map, attention::Probe* probe) {
  const auto scope = enter();
  const nn::Grid grid{map.size(2), map.size(3)};
  attention::Context context;
  context.grid_h = grid.h;
  context.grid_w = grid.w;
  context.probe = probe;
  const Tensor x = tokens_of(map);
  Tensor u = norm1_(x);
  if (dwc_ != nullptr) u = tokens_of(ops::silu((*dwc_)(map_of(u, grid))));
  const Tensor delta = (*attn_)(u, context);
  const Tensor attended = ops::add(x, delta);
  const Tensor y = ops::add(attended, (*mlp_)((*norm2_)(attended), grid));
  const Tensor result = map_of(y, grid);
  if (probe != nullptr) {
    probe->record("block_input", x);
    probe->record("attn_delta", delta);
    probe->record("features", result);
  }
  return result;
}

}  // namespace fovea::models
