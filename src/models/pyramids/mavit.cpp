#include "models/pyramids/mavit.h"

#include <fmt/format.h>

#include <cmath>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "models/token_maps.h"
#include "nn/init.h"
#include "nn/sizes.h"
#include "ops/activation.h"
#include "ops/elementwise.h"
#include "ops/shape.h"
#include "tensor/host.h"

namespace fovea::models {
namespace {

constexpr double kNormEps = 1e-6;

ops::ConvOptions conv_3x3(std::int64_t stride) { return {.stride = {stride}, .padding = {1}}; }

void check_mavit(const MavitOptions& o) {
  const std::size_t stages = o.depths.size();
  FOVEA_CHECK(stages > 0, ConfigError, "mavit: depths is empty; expected one number a stage");
  const auto check = [&](const char* key, std::size_t size) {
    FOVEA_CHECK(size == stages, ConfigError,
                fmt::format("mavit: {} has {} numbers for {} stages", key, size, stages));
  };
  check("embed_dims", o.embed_dims.size());
  check("num_heads", o.num_heads.size());
  check("mlp_ratios", o.mlp_ratios.size());
  check("layer_scale_init", o.layer_scale_init.size());
  const std::int64_t blocks = std::accumulate(o.depths.begin(), o.depths.end(), std::int64_t{0});
  const bool letters = o.flags.find_first_not_of("lv") == std::string::npos;
  const auto length = static_cast<std::int64_t>(o.flags.size());
  FOVEA_CHECK(letters && (length == static_cast<std::int64_t>(stages) || length == blocks),
              ConfigError,
              fmt::format("mavit: flags is \"{}\"; expected a letter l or v for each of {} stages, "
                          "or of {} blocks",
                          o.flags, stages, blocks));
}

// The letter of block `made`, counted over all stages, in stage s.
MavitMechanism mechanism_of(const MavitOptions& o, std::size_t s, std::size_t made) {
  const char flag = o.flags[o.flags.size() == o.depths.size() ? s : made];
  return flag == 'l' ? MavitMechanism::kMala : MavitMechanism::kSoftmax;
}

}  // namespace

schema::Fields<MavitOptions> mavit_fields(const MavitOptions& defaults) {
  using O = MavitOptions;
  return schema::Fields<O>(defaults)
      .add("embed_dims", &O::embed_dims, nn::channel_count(), "channels of each stage")
      .add("depths", &O::depths, nn::block_count(), "blocks of each stage")
      .add("num_heads", &O::num_heads, schema::at_least(1), "heads of each stage")
      .add("mlp_ratios", &O::mlp_ratios, nn::width_ratio(),
           "hidden width of the feed-forward networks relative to the channels")
      .add("layer_scale_init", &O::layer_scale_init, schema::at_least(0),
           "start of the factors of each stage's branches; 0 = no such factors")
      .add("drop_path_rate", &O::drop_path_rate, schema::in_range(0, 0.99),
           "stochastic depth, rising linearly from 0 to this at the last block")
      .add("flags", &O::flags,
           "attention of each stage, or of each block: l = MALA, v = softmax; llvv is the authors' "
           "code and its checkpoints, llll the paper's text")
      .add_object("attention", &O::attention, mavit_attention_fields(), "attention of the blocks");
}

MavitOptions mavit_size(char size) {
  MavitOptions o;
  o.mlp_ratios = {3.5, 3.5, 3.5, 3.5};
  o.layer_scale_init = {1, 1, 1, 1};
  switch (size) {
    case 't':
      o.embed_dims = {64, 128, 256, 512};
      o.depths = {2, 2, 6, 2};
      o.num_heads = {1, 2, 4, 8};
      o.drop_path_rate = 0.1;
      break;
    case 's':
      o.embed_dims = {64, 128, 320, 512};
      o.depths = {3, 5, 9, 3};
      o.num_heads = {1, 2, 5, 8};
      o.drop_path_rate = 0.15;
      break;
    case 'b':
      o.embed_dims = {96, 192, 384, 512};
      o.depths = {4, 6, 12, 6};
      o.num_heads = {1, 2, 6, 8};
      o.layer_scale_init = {1, 1, 1e-6, 1e-6};
      o.drop_path_rate = 0.4;
      break;
    default:
      o.embed_dims = {96, 192, 448, 640};
      o.depths = {4, 7, 19, 8};
      o.num_heads = {1, 2, 7, 10};
      o.layer_scale_init = {1e-6, 1e-6, 1e-6, 1e-6};
      o.drop_path_rate = 0.55;
  }
  return o;
}

MavitFfn::MavitFfn(const nn::Build& build, std::int64_t dim, std::int64_t hidden)
    : fc1_(child<nn::TokenPointwise>("fc1", build, dim, hidden)),
      dwconv_(child<nn::TokenConv2d>("dwconv", build, hidden, 3)),
      fc2_(child<nn::TokenPointwise>("fc2", build, hidden, dim)) {}

Tensor MavitFfn::operator()(Tensor x, const nn::Grid& grid) {
  const auto scope = enter();
  x = ops::gelu(fc1_(x));
  x = dwconv_.with_residual(x, grid.h, grid.w);
  return fc2_(x);
}

MavitBlock::MavitBlock(const nn::Build& build, const MavitBlockOptions& o)
    : norm1_(child<nn::LayerNorm>("norm1.norm", build, o.dim, kNormEps)),
      attn_(child<MavitAttention>("attn", build, o.dim, o.num_heads, o.mechanism, o.attention)),
      norm2_(child<nn::LayerNorm>("norm2.norm", build, o.dim, kNormEps)),
      ffn_(child<MavitFfn>("ffn", build, o.dim, o.hidden)),
      pos_(child<nn::TokenConv2d>("pos", build, o.dim, 3)) {
  if (o.drop_path > 0) drop_path_ = &child<nn::DropPath>("drop_path", build, o.drop_path);
  if (o.layer_scale_init == 0) return;
  const Shape shape{1, o.dim, 1, 1};
  gamma_1_ = parameter("gamma_1", nn::init_constant(build, shape, o.layer_scale_init));
  gamma_2_ = parameter("gamma_2", nn::init_constant(build, shape, o.layer_scale_init));
}

Tensor MavitBlock::residual(const Tensor& x, Tensor branch, const Tensor& scale) const {
  if (drop_path_ != nullptr) branch = (*drop_path_)(branch);
  if (!scale.defined()) return ops::add(x, std::move(branch));
  return ops::add_product(x, std::move(branch), ops::reshape(scale, {x.size(2)}), false);
}

Tensor MavitBlock::operator()(Tensor x, const attention::Context& context) {
  const auto scope = enter();
  const nn::Grid grid{context.grid_h, context.grid_w};
  x = pos_.with_residual(x, grid.h, grid.w);
  x = residual(x, attn_(norm1_(x), context), gamma_1_);
  x = residual(x, ffn_(norm2_(x), grid), gamma_2_);
  if (context.probe != nullptr) context.probe->record("features", map_of(x, grid));
  return x;
}

MavitStem::MavitStem(const nn::Build& build, std::int64_t in, std::int64_t dim) {
  const std::array<std::int64_t, 5> widths = {in, dim / 2, dim / 2, dim / 2, dim};
  for (std::size_t i = 0; i < 4; ++i) {
    const std::int64_t stride = i == 0 || i == 3 ? 2 : 1;
    convs_.push_back(&child<nn::Conv2d>(fmt::format("proj.{}", 3 * i), build, widths[i],
                                        widths[i + 1], ops::Sizes{3}, conv_3x3(stride)));
    norms_.push_back(
        &child<nn::BatchNorm2d>(fmt::format("proj.{}", 3 * i + 1), build, widths[i + 1]));
  }
}

Tensor MavitStem::forward(const Tensor& x) {
  Tensor y = x;
  for (std::size_t i = 0; i < convs_.size(); ++i) {
    y = (*norms_[i])((*convs_[i])(y));
    if (i + 1 < convs_.size()) y = ops::gelu(std::move(y));
  }
  return y;
}

MavitDownsample::MavitDownsample(const nn::Build& build, std::int64_t in, std::int64_t out)
    : reduction_(child<nn::Conv2d>("reduction", build, in, out, ops::Sizes{3}, conv_3x3(2))),
      norm_(child<nn::BatchNorm2d>("norm", build, out)) {}

MavitRope::MavitRope(const nn::Build& build, std::int64_t head_dim)
    : rates_(attention::grid_rates("mavit", head_dim)) {
  std::vector<double> twice;
  for (const double rate : rates_) twice.insert(twice.end(), {rate, rate});
  const Shape shape{static_cast<std::int64_t>(twice.size())};
  angle_ = buffer("angle", from_doubles(twice, shape, build.dtype, build.device));
  version_ = angle_.version();
}

ops::RotaryTables MavitRope::operator()(const nn::Grid& grid, DType activations) {
  const DType dtype = compute_dtype(activations);
  return tables_.of({grid.h, grid.w, dtype, angle_.version()}, [&] {
    std::vector<double> rates = rates_;
    if (angle_.version() != version_) {  // a file was read into angle_
      const std::vector<double> values = host_doubles(angle_);
      for (std::size_t i = 0; i < rates.size(); ++i) rates[i] = values[2 * i];
    }
    return attention::grid_rotary(rates, 0, grid.h, grid.w, dtype, angle_.device());
  });
}

MavitBackbone::MavitBackbone(const nn::Build& outer, const MavitOptions& o, std::int64_t in_chans,
                             bool extra_norms)
    : activations_(outer.activation_dtype()) {
  check_mavit(o);
  nn::Build build = outer;
  build.init = nn::Init::kTruncNormal;
  stem_ = &child<MavitStem>("patch_embed", build, in_chans, o.embed_dims[0]);
  const std::int64_t blocks = std::accumulate(o.depths.begin(), o.depths.end(), std::int64_t{0});
  std::int64_t made = 0;
  std::int64_t stride = 4;
  for (std::size_t s = 0; s < o.depths.size(); ++s, stride *= 2) {
    const std::int64_t dim = o.embed_dims[s];
    Stage stage;
    if (o.attention.rope == attention::RotaryKind::kGrid) {
      attention::check_heads("mavit", dim, o.num_heads[s], 1);
      stage.rope = &child<MavitRope>(fmt::format("layers.{}.RoPE", s), build, dim / o.num_heads[s]);
    }
    for (std::int64_t i = 0; i < o.depths[s]; ++i, ++made) {
      const double rate = blocks > 1 ? o.drop_path_rate * static_cast<double>(made) /
                                           static_cast<double>(blocks - 1)
                                     : 0.0;
      stage.blocks.push_back(&child<MavitBlock>(
          fmt::format("layers.{}.blocks.{}", s, i), build,
          MavitBlockOptions{
              .dim = dim,
              .num_heads = o.num_heads[s],
              .hidden = static_cast<std::int64_t>(o.mlp_ratios[s] * static_cast<double>(dim)),
              .mechanism = mechanism_of(o, s, static_cast<std::size_t>(made)),
              .layer_scale_init = o.layer_scale_init[s],
              .drop_path = rate,
              .attention = o.attention}));
    }
    if (s + 1 < o.depths.size())
      stage.downsample = &child<MavitDownsample>(fmt::format("layers.{}.downsample", s), build, dim,
                                                 o.embed_dims[s + 1]);
    if (extra_norms)
      stage.extra_norm =
          &child<nn::LayerNorm>(fmt::format("extra_norms.{}.norm", s), build, dim, kNormEps);
    stages_.push_back(std::move(stage));
    levels_.push_back({dim, stride});
  }
}

Tensor MavitBackbone::last_level(const Tensor& image, attention::Probe* probe) {
  const auto scope = enter();
  return run(image, probe, nullptr);
}

std::vector<Tensor> MavitBackbone::forward(const Tensor& image, attention::Probe* probe) {
  std::vector<Tensor> levels;
  run(image, probe, &levels);
  return levels;
}

Tensor MavitBackbone::run(const Tensor& image, attention::Probe* probe,
                          std::vector<Tensor>* levels) {
  Tensor map = (*stem_)(ops::cast(image, activations_));
  for (const Stage& stage : stages_) {
    attention::Context context;
    context.grid_h = map.size(2);
    context.grid_w = map.size(3);
    context.probe = probe;
    const nn::Grid grid{context.grid_h, context.grid_w};
    if (stage.rope != nullptr) {
      const ops::RotaryTables tables = (*stage.rope)(grid, activations_);
      context.rope_cos = tables.cos;
      context.rope_sin = tables.sin;
    }
    Tensor x = tokens_of(map);
    for (MavitBlock* block : stage.blocks) x = (*block)(std::move(x), context);
    if (levels != nullptr)
      levels->push_back(map_of(stage.extra_norm != nullptr ? (*stage.extra_norm)(x) : x, grid));
    if (stage.downsample != nullptr || levels == nullptr) map = map_of(x, grid);
    if (stage.downsample != nullptr) map = (*stage.downsample)(map);
  }
  return map;
}

std::vector<std::string> MavitBackbone::parts_of(std::int64_t stage) const {
  if (stage == 0) return {"patch_embed"};
  if (stage > std::ssize(levels_)) return {};
  return {fmt::format("layers.{}", stage - 1), fmt::format("extra_norms.{}", stage - 1)};
}

}  // namespace fovea::models

namespace {

using namespace fovea;
using models::MavitBackbone;

struct MavitBackboneOptions : models::BackboneOptions, models::MavitOptions {};

schema::Fields<MavitBackboneOptions> mavit_backbone_fields(char size) {
  const models::MavitOptions defaults = models::mavit_size(size);
  MavitBackboneOptions o;
  static_cast<models::MavitOptions&>(o) = defaults;
  return schema::Fields<MavitBackboneOptions>(o).include(models::mavit_fields(defaults));
}

}  // namespace

FOVEA_BACKBONE(mavit_t, MavitBackbone, "MAViT-T: four levels, strides 4 to 32 (mala 4.1)",
               mavit_backbone_fields('t'))
FOVEA_BACKBONE(mavit_s, MavitBackbone, "MAViT-S: four levels, strides 4 to 32 (mala 4.1)",
               mavit_backbone_fields('s'))
FOVEA_BACKBONE(mavit_b, MavitBackbone, "MAViT-B: four levels, strides 4 to 32 (mala 4.1)",
               mavit_backbone_fields('b'))
FOVEA_BACKBONE(mavit_l, MavitBackbone, "MAViT-L: four levels, strides 4 to 32 (mala 4.1)",
               mavit_backbone_fields('l'))
