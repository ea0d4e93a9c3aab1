// D-Former: a U-shaped transformer for volumes whose blocks attend to local and to dilated units by
// turns. Names are those of the public model file. dformer 4.1.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "base/error.h"
#include "models/volumes/dformer_stage.h"
#include "nn/init.h"
#include "nn/sizes.h"
#include "ops/elementwise.h"
#include "ops/shape.h"

namespace {

using namespace fovea;
using models::DataShape;
using models::Size3;
using models::TokenVolume;
using schema::at_least;

enum class SkipSource { kStageInput, kStageOutput };
enum class DeepSupervision {
  kNone,       // one head
  kReference,  // as the public code: three heads, of which the coarsest is never asked
  kFull,       // three heads
};

struct DFormerOptions : models::VolumeOptions, models::ScopeOptions {
  std::int64_t embed_dim = 96;
  std::vector<std::int64_t> depths = {2, 2, 6, 2};
  std::vector<std::int64_t> num_heads = {3, 6, 12, 24};
  Size3 patch_size{2, 4, 4};
  Size3 group_size{2, 8, 8};
  std::vector<std::int64_t> interval_list = {8, 4, 2, 1};
  bool patch_norm = true;
  models::PartitionRule gs_partition = models::PartitionRule::kAuto;
  models::PaddingMask padding_mask = models::PaddingMask::kAny;
  bool mask_padding = true;
  SkipSource skip_source = SkipSource::kStageInput;
  bool decoder_bottleneck = false;
  DeepSupervision deep_supervision = DeepSupervision::kReference;
  double drop_path_rate = 0;
  nn::Init init = nn::Init::kTorch;

  std::size_t stages() const { return depths.size(); }
  std::int64_t dim(std::size_t stage) const { return embed_dim << stage; }
};

// The grid of the first stage, where the size of the volumes is known.
std::optional<Size3> first_grid(const std::optional<Size3>& volume, const Size3& patch) {
  if (!volume) return std::nullopt;
  Size3 grid;
  for (std::size_t axis = 0; axis < 3; ++axis)
    grid[axis] = ((*volume)[axis] + patch[axis] - 1) / patch[axis];
  return grid;
}

// What the stages of encoder and decoder at each resolution have in common. The decoder has the
// rates of stochastic depth of the encoder's stage beside it.
std::vector<models::StageShape> shapes_of(const DFormerOptions& o, std::optional<Size3> grid) {
  const auto blocks = std::accumulate(o.depths.begin(), o.depths.end(), std::int64_t{0});
  std::vector<models::StageShape> shapes;
  std::int64_t made = 0;
  for (std::size_t s = 0; s < o.stages(); ++s) {
    models::StageShape shape{.dim = o.dim(s),
                             .num_heads = o.num_heads[s],
                             .partition = {o.group_size, o.interval_list[s], o.gs_partition,
                                           o.padding_mask, o.mask_padding},
                             .grid = grid};
    for (std::int64_t i = 0; i < o.depths[s]; ++i, ++made)
      shape.drop_path.push_back(blocks > 1 ? o.drop_path_rate * static_cast<double>(made) /
                                                 static_cast<double>(blocks - 1)
                                           : 0.0);
    shapes.push_back(shape);
    if (!grid) continue;
    for (std::int64_t& side : *grid) side = (side + 1) / 2;
  }
  return shapes;
}

// The maps of tokens that heads read, the finest first.
using Pyramid = std::array<TokenVolume, 3>;

// Everything but the heads.
class DFormerBackbone final : public nn::Module {
 public:
  DFormerBackbone(const nn::Build& build, const DFormerOptions& o, std::int64_t in,
                  const std::vector<models::StageShape>& shapes)
      : skip_source_(o.skip_source),
        positions_(o.positions),
        patch_embed_(child<models::PatchEmbed3d>("patch_embed", build, o.patch_size, in,
                                                 o.embed_dim, o.patch_norm)),
        norm_(child<nn::LayerNorm>("norm", build, o.dim(o.stages() - 1), models::kVolumeNormEps)),
        norm_up_(child<nn::LayerNorm>("norm_up", build, o.embed_dim, models::kVolumeNormEps)) {
    const std::size_t last = o.stages() - 1;
    for (std::size_t s = 0; s <= last; ++s)
      layers_.push_back(&child<models::ScopeStage>(
          fmt::format("layers.{}", s), build, o, shapes[s],
          s < last ? models::StageTail::kMerging : models::StageTail::kNone));
    if (o.decoder_bottleneck)
      layer_mid_ =
          &child<models::ScopeStage>("layer_mid", build, o, shapes[last], models::StageTail::kNone);
    first_up_ = &child<models::PatchExpand3d>("layers_up.0", build, o.dim(last));
    for (std::size_t j = 1; j <= last; ++j) {
      fusions_.push_back(
          &child<models::SkipFusion>(fmt::format("concat_back_dim.{}", j), build, o.dim(last - j)));
      layers_up_.push_back(&child<models::ScopeStage>(
          fmt::format("layers_up.{}", j), build, o, shapes[last - j],
          j < last ? models::StageTail::kExpanding : models::StageTail::kNone));
    }
    if (positions_ != models::PositionEncoding::kApe) return;
    FOVEA_CHECK(shapes[0].grid.has_value(), ConfigError,
                "model.img_size: not given, and pos_encoding ape needs it");
    const auto [d, h, w] = *shapes[0].grid;
    table_ = parameter(
        "absolute_pos_embed",
        nn::init_truncated_normal(build.at("absolute_pos_embed"), {1, o.embed_dim, d, h, w}));
  }
  std::string type() const override { return "DFormerBackbone"; }

  Pyramid operator()(const Tensor& volumes, attention::Probe* probe) {
    const auto scope = enter();
    TokenVolume x = with_positions(patch_embed_(volumes));
    std::vector<TokenVolume> skips;
    for (models::ScopeStage* layer : layers_) {
      if (probe != nullptr && skip_source_ == SkipSource::kStageInput)
        probe->record("skip", ops::permute(x.as_grid(), {0, 4, 1, 2, 3}));
      const models::ScopeStage::Result result = (*layer)(x, probe);
      skips.push_back(skip_source_ == SkipSource::kStageInput ? x : result.features);
      x = result.next;
    }
    x.x = norm_(x.x);
    if (layer_mid_ != nullptr) x = (*layer_mid_)(x, probe).next;
    x = (*first_up_)(x);
    Pyramid out;
    out[2] = x;
    for (std::size_t j = 0; j < layers_up_.size(); ++j) {
      x = (*fusions_[j])(x, skips[layers_up_.size() - 1 - j]);
      x = (*layers_up_[j])(x, probe).next;
      if (j == 0) out[1] = x;
    }
    x.x = norm_up_(x.x);
    out[0] = x;
    return out;
  }

 private:
  TokenVolume with_positions(const TokenVolume& tokens) const {
    if (positions_ == models::PositionEncoding::kSpe) {
      const Tensor waves = models::sinusoidal_volume(tokens.grid, tokens.channels(),
                                                     tokens.x.dtype(), tokens.x.device());
      return {ops::add(tokens.x, waves), tokens.grid};
    }
    if (!table_.defined()) return tokens;
    const Size3 of{table_.size(2), table_.size(3), table_.size(4)};
    FOVEA_CHECK(of == tokens.grid, ShapeError,
                fmt::format("dformer: tokens on a grid of {} x {} x {}; the table of pos_encoding "
                            "ape is of {} x {} x {}",
                            tokens.grid[0], tokens.grid[1], tokens.grid[2], of[0], of[1], of[2]));
    const Tensor rows = ops::permute(table_, {0, 2, 3, 4, 1});
    return {ops::add(tokens.x, TokenVolume::from_grid(rows).x), tokens.grid};
  }

  SkipSource skip_source_;
  models::PositionEncoding positions_;
  models::PatchEmbed3d& patch_embed_;
  nn::LayerNorm& norm_;
  nn::LayerNorm& norm_up_;
  std::vector<models::ScopeStage*> layers_;
  models::ScopeStage* layer_mid_ = nullptr;
  models::PatchExpand3d* first_up_ = nullptr;
  std::vector<models::SkipFusion*> fusions_;
  std::vector<models::ScopeStage*> layers_up_;
  Tensor table_;
};

class DFormer final : public models::VolumeNetwork {
 public:
  DFormer(const nn::Build& outer, const DFormerOptions& o, const DataShape& data)
      : VolumeNetwork(outer, o, data),
        deep_supervision_(o.deep_supervision),
        decoder_bottleneck_(o.decoder_bottleneck),
        attn_(o.attn),
        shapes_(shapes_of(o, first_grid(size(), o.patch_size))) {
    nn::Build build = outer;
    build.init = o.init;
    check_size(o);
    model_down_ = &child<DFormerBackbone>("model_down", build, o, in_chans(), shapes_);
    const std::size_t heads = deep_supervision_ == DeepSupervision::kNone ? 1 : 3;
    for (std::size_t i = 0; i < heads; ++i)
      heads_.push_back(&child<models::VolumeHead>(fmt::format("final.{}", i), build, o.dim(i),
                                                  o.patch_size, num_classes()));
  }
  std::string type() const override { return "DFormer"; }

  // The public code runs all of its heads and projects padding to queries, keys and values, too.
  std::optional<std::int64_t> paper_macs(
      const std::vector<autograd::Event>& events) const override {
    const auto first = std::find_if(events.begin(), events.end(), [](const autograd::Event& e) {
      return e.op == "patch_logits";  // of the finest tokens: (b, d, h, w, c)
    });
    const std::int64_t counted = *VolumeNetwork::paper_macs(events);
    if (first == events.end()) return counted;
    const Size3 grid{first->input[1], first->input[2], first->input[3]};
    std::int64_t more = padded_projections(grid);
    if (deep_supervision_ == DeepSupervision::kReference)  // a quarter of the tokens of each axis
      more += heads_.back()->macs(grid[0] * grid[1] * grid[2] / (4 * 4 * 4));
    return counted + first->input[0] * more;
  }

 protected:
  std::vector<Tensor> maps(const Tensor& volumes, attention::Probe* probe) override {
    const Pyramid pyramid = (*model_down_)(volumes, probe);
    const std::size_t asked = deep_supervision_ == DeepSupervision::kReference ? 2 : heads_.size();
    std::vector<Tensor> maps;
    for (std::size_t i = 0; i < asked; ++i) maps.push_back((*heads_[i])(pyramid[i]));
    return maps;
  }

 private:
  // Of qkv and proj for the padding of the units of all blocks, those of the decoder too.
  std::int64_t padded_projections(Size3 grid) const {
    std::int64_t macs = 0;
    for (std::size_t s = 0; s < shapes_.size(); ++s) {
      const models::StageShape& stage = shapes_[s];
      std::int64_t padding = 0;
      for (std::size_t i = 0; i < stage.drop_path.size(); ++i) {
        const auto plan = models::partition(grid, models::scheme_of(attn_, i), stage.partition);
        std::int64_t places = 1;
        for (std::size_t axis = 0; axis < 3; ++axis) places *= plan.unit[axis] * plan.count[axis];
        padding += places - grid[0] * grid[1] * grid[2];
      }
      const bool twice = s + 1 < shapes_.size() || decoder_bottleneck_;
      macs += (twice ? 2 : 1) * padding * 4 * stage.dim * stage.dim;
      for (std::int64_t& side : grid) side = (side + 1) / 2;
    }
    return macs;
  }

  // A side that is no multiple would be padded on its way down, and skip connections would not
  // match.
  void check_size(const DFormerOptions& o) const {
    if (!size()) return;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const std::int64_t side = o.patch_size[axis] << (o.stages() - 1);
      FOVEA_CHECK(
          (*size())[axis] % side == 0, ConfigError,
          fmt::format("model.img_size: {} x {} x {}; expected multiples of {} x {} x {}",
                      (*size())[0], (*size())[1], (*size())[2], o.patch_size[0] << (o.stages() - 1),
                      o.patch_size[1] << (o.stages() - 1), o.patch_size[2] << (o.stages() - 1)));
    }
  }

  DeepSupervision deep_supervision_;
  bool decoder_bottleneck_;
  models::OddBlocks attn_;
  std::vector<models::StageShape> shapes_;
  DFormerBackbone* model_down_ = nullptr;
  std::vector<models::VolumeHead*> heads_;
};

schema::Fields<DFormerOptions> dformer_fields() {
  using O = DFormerOptions;
  schema::Fields<O> fields;
  fields.add("embed_dim", &O::embed_dim, nn::channel_count(), "channels of the first stage")
      .add("depths", &O::depths, nn::block_count(), "blocks of every stage, LSM and GSM by turns")
      .add("num_heads", &O::num_heads, at_least(1), "heads of every stage")
      .add("patch_size", &O::patch_size, nn::side_length(), "depth, height and width of a patch")
      .add("group_size", &O::group_size, nn::window_length(),
           "tokens of a unit of attention along each axis")
      .add("interval_list", &O::interval_list, nn::window_length(),
           "of every stage: global units are of maps padded to multiples of it (reference rule)")
      .add("mlp_ratio", &O::mlp_ratio, nn::width_ratio(),
           "hidden width of the FFNs relative to that of the tokens")
      .add("qkv_bias", &O::qkv_bias, "bias on the fused q, k, v projection")
      .add("qk_scale", &O::qk_scale, schema::greater_than(0),
           "factor of the scores; null = head_dim^-0.5")
      .add("patch_norm", &O::patch_norm, "layer norm behind the patch embedding")
      .add_enum("attn", &O::attn,
                {{"ls_gs", models::OddBlocks::kGlobal},
                 {"ls_ls", models::OddBlocks::kLocal},
                 {"ls_sw", models::OddBlocks::kShifted}},
                "units of even and odd blocks: local; global (dilated), local, or shifted windows")
      .add_enum("pos_encoding", &O::positions,
                {{"dpe", models::PositionEncoding::kDpe},
                 {"ape", models::PositionEncoding::kApe},
                 {"spe", models::PositionEncoding::kSpe},
                 {"rpe", models::PositionEncoding::kRpe},
                 {"none", models::PositionEncoding::kNone}},
                "positions: a depthwise convolution in every stage; added once to the tokens, "
                "learned or of sines; a table of relative ones in every attention")
      .add_enum("dpe_position", &O::dpe_position,
                {{"before", models::DpePosition::kBefore},
                 {"after_lsm", models::DpePosition::kAfterLsm},
                 {"after_gsm", models::DpePosition::kAfterGsm}},
                "where that convolution stands in a stage")
      .add("dpe_kernel", &O::dpe_kernel, nn::side_length(), "its odd size")
      .add_enum("gs_partition", &O::gs_partition,
                {{"auto", models::PartitionRule::kAuto},
                 {"reference", models::PartitionRule::kReference},
                 {"unit", models::PartitionRule::kUnit}},
                "what fixes padding and gaps of units: the public code's rule, the paper's, or the "
                "first where it has a plan (dformer 3.2)")
      .add_enum(
          "padding_mask", &O::padding_mask,
          {{"any", models::PaddingMask::kAny}, {"reference", models::PaddingMask::kReference}},
          "keys of padding are masked; reference: but not in global units where only the "
          "depth was padded")
      .add("mask_padding", &O::mask_padding,
           "the same in shifted windows (attn ls_sw); false: padding is seen as tokens are")
      .add_enum(
          "skip_source", &O::skip_source,
          {{"stage_input", SkipSource::kStageInput}, {"stage_output", SkipSource::kStageOutput}},
          "what skip connections take from a stage of the encoder")
      .add("decoder_bottleneck", &O::decoder_bottleneck,
           "a decoder stage at the coarsest resolution")
      .add_enum("deep_supervision", &O::deep_supervision,
                {{"reference", DeepSupervision::kReference},
                 {"full", DeepSupervision::kFull},
                 {"none", DeepSupervision::kNone}},
                "maps that are given: full and half resolution, of three heads; those of all "
                "three; only the finest, of one head")
      .add("drop_path_rate", &O::drop_path_rate, schema::in_range(0, 0.99),
           "stochastic depth, rising linearly from 0 to this at the last block of the encoder")
      .add("drop_rate", &O::drop_rate, schema::in_range(0, 0.99),
           "dropout behind the projections of attention and in the feed-forward networks")
      .add("attn_drop_rate", &O::attn_drop_rate, schema::in_range(0, 0.99),
           "dropout on attention weights, whose maps are then made in full while training")
      .add_enum("init", &O::init,
                {{"torch_default", nn::Init::kTorch}, {"trunc_normal", nn::Init::kTruncNormal}},
                "initial weights: uniform +-1 / sqrt(fan_in), or of linear layers normal(0, 0.02) "
                "truncated with zero biases")
      .check([](const O& o) -> std::string {
        constexpr std::size_t kStages = 4;  // which the heads are placed for
        if (o.stages() != kStages || o.num_heads.size() != kStages ||
            o.interval_list.size() != kStages)
          return fmt::format(
              "depths has {} numbers, num_heads {} and interval_list {}; expected {} each",
              o.stages(), o.num_heads.size(), o.interval_list.size(), kStages);
        return o.dpe_kernel % 2 == 1 ? "" : "dpe_kernel is even; expected an odd size";
      });
  return models::add_volume_fields(fields);
}

}  // namespace

FOVEA_MODEL(dformer, DFormer, "D-Former: local and global scope attention in volumes (dformer 4.1)",
            dformer_fields())
