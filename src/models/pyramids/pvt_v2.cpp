#include "models/pyramids/pvt_v2.h"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <utility>

#include "attention/attention.h"
#include "autograd/mode.h"
#include "base/error.h"
#include "models/token_maps.h"
#include "nn/sizes.h"
#include "ops/attention/attention.h"
#include "ops/elementwise.h"

namespace fovea::models {
namespace {

using schema::at_least;
using schema::in_range;

constexpr double kBlockEps = 1e-6;  // of the norms of blocks and stages
constexpr double kInnerEps = 1e-5;  // of those of embeddings and reduced keys

schema::Component ffn_of(double ratio, bool linear) {
  return {"mix_ffn", schema::Value::object(
                         {{"type", "mix_ffn"}, {"expansion", ratio}, {"relu_first", linear}})};
}

void check_lengths(const PvtV2Options& o) {
  FOVEA_CHECK(!o.depths.empty(), ConfigError,
              "pvt_v2: depths is empty; expected one number a stage");
  const auto check = [&](const char* key, std::size_t size) {
    FOVEA_CHECK(size == o.depths.size(), ConfigError,
                fmt::format("pvt_v2: {} has {} numbers for {} stages", key, size, o.depths.size()));
  };
  check("embed_dims", o.embed_dims.size());
  check("num_heads", o.num_heads.size());
  check("mlp_ratios", o.mlp_ratios.size());
  check("sr_ratios", o.sr_ratios.size());
}

}  // namespace

schema::Fields<PvtV2Options> pvt_v2_fields(const PvtV2Options& defaults) {
  using O = PvtV2Options;
  return schema::Fields<O>(defaults)
      .add("embed_dims", &O::embed_dims, nn::channel_count(), "channels of each stage")
      .add("depths", &O::depths, nn::block_count(), "blocks of each stage")
      .add("num_heads", &O::num_heads, at_least(1), "heads of each stage")
      .add("mlp_ratios", &O::mlp_ratios, nn::width_ratio(),
           "hidden width of the feed-forward networks relative to the channels")
      .add("sr_ratios", &O::sr_ratios, at_least(1),
           "by how much the grid of keys and values is coarser, on each side")
      .add("linear", &O::linear, "keys and values from a 7 x 7 average of the grid instead")
      .add("qkv_bias", &O::qkv_bias, "bias on the projections to queries, keys and values")
      .add("drop_path_rate", &O::drop_path_rate, in_range(0, 0.99),
           "stochastic depth, rising linearly from 0 to this at the last block");
}

PvtV2Options pvt_v2_size(const std::string& size) {
  const std::map<std::string, std::vector<std::int64_t>> depths = {
      {"b0", {2, 2, 2, 2}},  {"b1", {2, 2, 2, 2}},  {"b2", {3, 4, 6, 3}}, {"b2_li", {3, 4, 6, 3}},
      {"b3", {3, 4, 18, 3}}, {"b4", {3, 8, 27, 3}}, {"b5", {3, 6, 40, 3}}};
  PvtV2Options o;
  o.depths = depths.at(size);
  o.embed_dims = {64, 128, 320, 512};
  if (size == "b0") o.embed_dims = {32, 64, 160, 256};
  o.num_heads = {1, 2, 5, 8};
  o.sr_ratios = {8, 4, 2, 1};
  o.mlp_ratios = {8, 8, 4, 4};
  if (size == "b5") o.mlp_ratios = {4, 4, 4, 4};
  o.linear = size == "b2_li";
  return o;
}

OverlapPatchEmbed::OverlapPatchEmbed(const nn::Build& build, std::int64_t in, std::int64_t dim,
                                     std::int64_t patch_size, std::int64_t stride)
    : proj_(child<nn::Conv2d>("proj", build, in, dim, ops::Sizes{patch_size},
                              ops::ConvOptions{.stride = {stride}, .padding = {patch_size / 2}})),
      norm_(child<nn::LayerNorm>("norm", build, dim, kInnerEps)) {}

OverlapPatchEmbed::Tokens OverlapPatchEmbed::operator()(const Tensor& map) {
  const auto scope = enter();
  const Tensor y = proj_(map);
  return {norm_(tokens_of(y)), {y.size(2), y.size(3)}};
}

SpatialReductionAttention::SpatialReductionAttention(const nn::Build& build, std::int64_t dim,
                                                     const SpatialReductionOptions& o)
    : o_(o),
      q_(child<nn::Linear>("q", build, dim, dim, o.qkv_bias)),
      kv_(child<nn::Linear>("kv", build, dim, 2 * dim, o.qkv_bias)),
      proj_(child<nn::Linear>("proj", build, dim, dim)) {
  attention::check_heads("pvt_v2", dim, o.num_heads, 1);
  if (!o.linear && o.sr_ratio == 1) return;
  const std::int64_t kernel = o.linear ? 1 : o.sr_ratio;
  sr_ = &child<nn::Conv2d>("sr", build, dim, dim, ops::Sizes{kernel},
                           ops::ConvOptions{.stride = {kernel}});
  norm_ = &child<nn::LayerNorm>("norm", build, dim, kInnerEps);
}

// The tokens that keys and values are projected from.
Tensor SpatialReductionAttention::reduced(const Tensor& x, const nn::Grid& grid) {
  if (sr_ == nullptr) return x;
  const Tensor map = map_of(x, grid);
  if (o_.linear) {
    constexpr std::int64_t kSide = 7;
    return ops::gelu((*norm_)(tokens_of((*sr_)(ops::adaptive_avg_pool(map, {kSide})))));
  }
  return (*norm_)(tokens_of((*sr_)(map)));
}

Tensor SpatialReductionAttention::operator()(const Tensor& x, const nn::Grid& grid,
                                             attention::Probe* probe) {
  const auto scope = enter();
  const std::int64_t dim = x.size(-1);
  const std::int64_t head_dim = dim / o_.num_heads;
  const Tensor kv = kv_(reduced(x, grid));
  const ops::HeadView q = ops::heads(q_(x), o_.num_heads, head_dim, 0, head_dim);
  const ops::HeadView k = ops::heads(kv, o_.num_heads, head_dim, 0, head_dim);
  const ops::HeadView v = ops::heads(kv, o_.num_heads, head_dim, dim, head_dim);
  const ops::AttentionOptions options{1 / std::sqrt(static_cast<double>(head_dim)), false, {}};
  if (probe != nullptr && probe->wants_maps()) {
    const autograd::NoGrad no_grad;
    probe->record("reduced_attn", ops::attention_map(q, k, options));
  }
  Tensor u = ops::attention(q, k, v, options);
  if (probe != nullptr) {
    u = probe->attended(u, [&] { return ops::take_heads(v); }, {.proj = proj_.weight()});
  }
  return proj_(u);
}

PvtV2Block::PvtV2Block(const nn::Build& build, std::int64_t dim,
                       const SpatialReductionOptions& attention, double mlp_ratio, double drop_path)
    : norm1_(child<nn::LayerNorm>("norm1", build, dim, kBlockEps)),
      attn_(child<SpatialReductionAttention>("attn", build, dim, attention)),
      norm2_(child<nn::LayerNorm>("norm2", build, dim, kBlockEps)),
      mlp_(child("mlp",
                 nn::make_ffn(ffn_of(mlp_ratio, attention.linear), build.at("mlp"), dim, 0))) {
  if (drop_path > 0) drop_path_ = &child<nn::DropPath>("drop_path", build, drop_path);
}

Tensor PvtV2Block::operator()(Tensor x, const nn::Grid& grid, attention::Probe* probe) {
  const auto scope = enter();
  const auto residual = [&](const Tensor& to, Tensor branch) {
    if (drop_path_ != nullptr) branch = (*drop_path_)(branch);
    return ops::add(to, std::move(branch));
  };
  x = residual(x, attn_(norm1_(x), grid, probe));
  x = residual(x, mlp_(norm2_(x), grid));
  if (probe != nullptr) probe->record("features", map_of(x, grid));
  return x;
}

PvtV2Backbone::PvtV2Backbone(const nn::Build& outer, const PvtV2Options& o, std::int64_t in_chans)
    : activations_(outer.activation_dtype()) {
  check_lengths(o);
  nn::Build build = outer;
  build.init = nn::Init::kPvt;
  std::int64_t blocks = 0;
  for (const std::int64_t depth : o.depths) blocks += depth;
  std::int64_t made = 0;
  std::int64_t in = in_chans;
  std::int64_t stride = 1;
  for (std::size_t s = 0; s < o.depths.size(); ++s) {
    const std::int64_t dim = o.embed_dims[s];
    const SpatialReductionOptions attention{o.num_heads[s], o.sr_ratios[s], o.linear, o.qkv_bias};
    const std::int64_t step = s == 0 ? 4 : 2;
    Stage stage;
    stage.embed = &child<OverlapPatchEmbed>(fmt::format("patch_embed{}", s + 1), build, in, dim,
                                            std::int64_t{s == 0 ? 7 : 3}, step);
    for (std::int64_t i = 0; i < o.depths[s]; ++i, ++made) {
      const double rate = blocks > 1 ? o.drop_path_rate * static_cast<double>(made) /
                                           static_cast<double>(blocks - 1)
                                     : 0.0;
      stage.blocks.push_back(&child<PvtV2Block>(fmt::format("block{}.{}", s + 1, i), build, dim,
                                                attention, o.mlp_ratios[s], rate));
    }
    stage.norm = &child<nn::LayerNorm>(fmt::format("norm{}", s + 1), build, dim, kBlockEps);
    stages_.push_back(std::move(stage));
    in = dim;
    stride *= step;
    levels_.push_back({dim, stride});
  }
}

std::vector<Tensor> PvtV2Backbone::forward(const Tensor& image, attention::Probe* probe) {
  std::vector<Tensor> maps;
  Tensor map = ops::cast(image, activations_);
  for (const Stage& stage : stages_) {
    auto [x, grid] = (*stage.embed)(map);
    for (PvtV2Block* block : stage.blocks) x = (*block)(std::move(x), grid, probe);
    map = map_of((*stage.norm)(x), grid);
    maps.push_back(map);
  }
  return maps;
}

// timm: patch_embed, stages.0.blocks.0, stages.0.norm, stages.1.downsample. gdla 3.1.
std::string PvtV2Backbone::translated(const std::string& name) const {
  if (name.starts_with("patch_embed.")) return "patch_embed1" + name.substr(11);
  for (std::size_t s = 0; s < stages_.size(); ++s) {
    const std::string stage = fmt::format("stages.{}.", s);
    if (!name.starts_with(stage)) continue;
    const std::string rest = name.substr(stage.size());
    if (rest.starts_with("downsample."))
      return fmt::format("patch_embed{}", s + 1) + rest.substr(10);
    if (rest.starts_with("blocks.")) return fmt::format("block{}", s + 1) + rest.substr(6);
    if (rest.starts_with("norm.")) return fmt::format("norm{}", s + 1) + rest.substr(4);
  }
  return name;
}

std::vector<std::string> PvtV2Backbone::parts_of(std::int64_t stage) const {
  if (stage == 0) return {};
  if (stage > std::ssize(levels_)) return {};
  return {fmt::format("patch_embed{}", stage), fmt::format("block{}", stage),
          fmt::format("norm{}", stage)};
}

}  // namespace fovea::models

namespace {

using namespace fovea;
using models::PvtV2Backbone;

struct PvtV2BackboneOptions : models::BackboneOptions, models::PvtV2Options {};

schema::Fields<PvtV2BackboneOptions> pvt_v2_backbone_fields(const char* size) {
  const models::PvtV2Options defaults = models::pvt_v2_size(size);
  PvtV2BackboneOptions o;
  static_cast<models::PvtV2Options&>(o) = defaults;
  return schema::Fields<PvtV2BackboneOptions>(o).include(models::pvt_v2_fields(defaults));
}

}  // namespace

FOVEA_BACKBONE(pvt_v2_b0, PvtV2Backbone, "PVTv2-B0: four levels, strides 4 to 32",
               pvt_v2_backbone_fields("b0"))
FOVEA_BACKBONE(pvt_v2_b1, PvtV2Backbone, "PVTv2-B1: four levels, strides 4 to 32",
               pvt_v2_backbone_fields("b1"))
FOVEA_BACKBONE(pvt_v2_b2, PvtV2Backbone, "PVTv2-B2: four levels, strides 4 to 32",
               pvt_v2_backbone_fields("b2"))
FOVEA_BACKBONE(pvt_v2_b2_li, PvtV2Backbone,
               "PVTv2-B2 with linear attention to 7 x 7 places: four levels, strides 4 to 32",
               pvt_v2_backbone_fields("b2_li"))
FOVEA_BACKBONE(pvt_v2_b3, PvtV2Backbone, "PVTv2-B3: four levels, strides 4 to 32",
               pvt_v2_backbone_fields("b3"))
FOVEA_BACKBONE(pvt_v2_b4, PvtV2Backbone, "PVTv2-B4: four levels, strides 4 to 32",
               pvt_v2_backbone_fields("b4"))
FOVEA_BACKBONE(pvt_v2_b5, PvtV2Backbone, "PVTv2-B5: four levels, strides 4 to 32",
               pvt_v2_backbone_fields("b5"))
