#include "models/pyramids/swin.h"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "base/error.h"
#include "models/pyramids/grid_windows.h"
#include "models/token_maps.h"
#include "nn/sizes.h"
#include "ops/elementwise.h"
#include "ops/shape.h"

namespace fovea::models {
namespace {

using schema::at_least;
using schema::Component;
using schema::in_range;

constexpr double kSwinEps = 1e-5;

// (b, h w, c) -> (b, h, w, c).
Tensor on_grid(const Tensor& x, const nn::Grid& grid) {
  return ops::reshape(x, {x.size(0), grid.h, grid.w, x.size(2)});
}

void check_stages(const SwinOptions& o) {
  FOVEA_CHECK(!o.depths.empty() && o.num_heads.size() == o.depths.size(), ConfigError,
              fmt::format("swin: num_heads has {} numbers for {} stages", o.num_heads.size(),
                          o.depths.size()));
  FOVEA_CHECK(o.kinds.size() == 1 || o.kinds.size() == o.depths.size(), ConfigError,
              fmt::format("swin: kinds has {} attentions for {} stages; expected one, or one a "
                          "stage",
                          o.kinds.size(), o.depths.size()));
}

bool in_windows(const Component& kind) { return kind.type == "softmax"; }

// The number of heads is that of the stage. Softmax in windows is a module of its own, without the
// registry's options.
Component with_heads(const Component& kind, std::int64_t num_heads) {
  const attention::Variant& variant = attention::variants().find(kind.type);
  if (in_windows(kind)) {
    const schema::Value none = schema::Value::object({{"type", kind.type}});
    FOVEA_CHECK(
        kind.options.is_null() || kind.options == variant.fields->resolve_component(none, ""),
        ConfigError, "model.kinds: softmax has no options here");
    return kind;
  }
  Component made{kind.type, kind.object()};
  if (variant.fields->find("num_heads") != nullptr) made.options.set("num_heads", num_heads);
  return made;
}

// timm's window of an axis: not larger than the axis, and not shifted where it is as large.
std::int64_t window_of(std::int64_t window, std::int64_t tokens) {
  return tokens == 0 ? window : std::min(window, tokens);
}

// Collects what an attention records in each window as one record of units, and what it did with
// these. (Nothing else: gates and parts of a map mean nothing without their window.)
class WindowMaps {
 public:
  WindowMaps(std::int64_t b, std::int64_t members) : b_(b), members_(members) {}

  // Of windows of one size: "attn" (b windows, heads, n, n).
  void add(const attention::Probe& windows) {
    for (const attention::Probe::Record& record : windows.records()) {
      if (record.name != "attn") continue;
      const Tensor& map = record.value;
      const std::int64_t heads = map.size(1), n = map.size(3), count = map.size(0) / b_;
      const Tensor units =
          ops::permute(ops::reshape(map, {b_, count, heads, n, n}), {0, 2, 1, 3, 4});
      const std::int64_t more = members_ - n;
      maps_.push_back(more == 0 ? units
                                : ops::pad(units, {{0, 0}, {0, 0}, {0, 0}, {0, more}, {0, more}}));
      is_signed_ = record.is_signed;
    }
    attended_.insert(attended_.end(), windows.attended().begin(), windows.attended().end());
  }
  void record(attention::Probe& probe, const Tensor& tokens) const {
    if (!maps_.empty()) probe.record_units(ops::concat(maps_, 2), tokens, is_signed_, "attn");
    if (!attended_.empty()) probe.attended_in_windows(attended_, tokens);
  }

 private:
  std::int64_t b_, members_;
  std::vector<Tensor> maps_;  // (b, heads, windows, members, members)
  bool is_signed_ = false;
  std::vector<attention::Probe::Attended> attended_;
};

attention::UnitOptions windows_of(const SwinOptions& o, const SwinStageShape& shape) {
  return {
      .num_heads = shape.num_heads,
      .bias_unit = {window_of(o.window_size, shape.grid.h), window_of(o.window_size, shape.grid.w)},
      .padding_attends = true};
}

}  // namespace

schema::Fields<SwinOptions> swin_fields(const SwinOptions& defaults) {
  using O = SwinOptions;
  return schema::Fields<O>(defaults)
      .add("embed_dim", &O::embed_dim, nn::channel_count(),
           "channels of the first stage; they double")
      .add("depths", &O::depths, nn::block_count(), "blocks of each stage")
      .add("num_heads", &O::num_heads, at_least(1), "heads of each stage")
      .add("patch_size", &O::patch_size, nn::side_length(), "side of a patch in pixels")
      .add("window_size", &O::window_size, nn::window_length(), "side of a window in tokens")
      .add("mlp_ratio", &O::mlp_ratio, nn::width_ratio(),
           "hidden width of the feed-forward networks relative to the channels")
      .add("drop_path_rate", &O::drop_path_rate, in_range(0, 0.99),
           "stochastic depth, rising linearly from 0 to this at the last block")
      .add_component("kinds", &O::kinds, attention::variants().choices(),
                     "attention of all stages, or of each: softmax inside windows, which are "
                     "shifted in every second block, with relative position bias; others without "
                     "these, with the heads of num_heads")
      .add_enum("linear_window", &O::linear_window,
                {{"global", LinearWindow::kGlobal}, {"local", LinearWindow::kLocal}},
                "where attentions other than softmax look: at the whole grid, or inside windows, "
                "shifted in every second block");
}

SwinOptions swin_size(const std::string& size) {
  SwinOptions o;
  if (size != "t") o.depths = {2, 2, 18, 2};
  if (size == "s") o.drop_path_rate = 0.3;
  if (size == "b") {
    o.embed_dim = 128;
    o.num_heads = {4, 8, 16, 32};
    o.drop_path_rate = 0.5;
  }
  return o;
}

SwinBlock::SwinBlock(const nn::Build& build, const SwinOptions& o, const Component& kind,
                     const SwinStageShape& shape, std::int64_t index, double drop_path)
    : norm1_(child<nn::LayerNorm>("norm1", build, shape.dim, kSwinEps)),
      norm2_(child<nn::LayerNorm>("norm2", build, shape.dim, kSwinEps)),
      shifted_(index % 2 == 1) {
  if (in_windows(kind)) {
    windows_ =
        &child<attention::UnitAttention>("attn", build, "swin", shape.dim, windows_of(o, shape));
  } else {
    if (o.linear_window == LinearWindow::kLocal) local_ = o.window_size;
    attention::Slot slot;
    slot.build = build.at("attn");
    slot.dim = shape.dim;
    slot.layout.grid_h = local_ > 0 ? local_ : shape.grid.h;
    slot.layout.grid_w = local_ > 0 ? local_ : shape.grid.w;
    tokens_ = &child("attn", attention::make_attention(kind, slot));
  }
  const std::string& ffn = attention::variants().find(kind.type).info.ffn;
  const Component mlp = schema::with_options(ffn, {{"expansion", o.mlp_ratio}});
  mlp_ = &child("mlp", nn::make_ffn(mlp, build.at("mlp"), shape.dim, 0));
  if (drop_path > 0) drop_path_ = &child<nn::DropPath>("drop_path", build, drop_path);
}

Tensor SwinBlock::attend(const Tensor& x, const SwinTokens& tokens, attention::Probe* probe) {
  if (windows_ != nullptr) return (*windows_)(x, tokens.windows[shifted_ ? 1 : 0], probe);
  const auto attend_to = [&](const Tensor& t, const nn::Grid& grid, attention::Probe* seen) {
    attention::Context context;
    context.grid_h = grid.h;
    context.grid_w = grid.w;
    context.probe = seen;
    return (*tokens_)(t, context);
  };
  if (local_ == 0) return attend_to(x, tokens.grid, probe);
  const GridWindows cut(tokens.grid, local_, shifted_);
  const bool seen = probe != nullptr && probe->wants_maps();
  WindowMaps maps(x.size(0), cut.members());
  const Tensor y = cut.map(x, [&](const Tensor& t, const nn::Grid& grid) {
    attention::Probe of_windows;
    if (seen && probe->wants_values()) of_windows.with_values();
    const Tensor attended = attend_to(t, grid, seen ? &of_windows : nullptr);
    maps.add(of_windows);
    return attended;
  });
  if (seen) maps.record(*probe, cut.tokens(x.device()));
  return y;
}

Tensor SwinBlock::operator()(Tensor x, const SwinTokens& tokens, attention::Probe* probe) {
  const auto scope = enter();
  const auto residual = [&](const Tensor& to, Tensor branch) {
    if (drop_path_ != nullptr) branch = (*drop_path_)(branch);
    return ops::add(to, std::move(branch));
  };
  x = residual(x, attend(norm1_(x), tokens, probe));
  x = residual(x, (*mlp_)(norm2_(x), tokens.grid));
  if (probe != nullptr) probe->record("features", map_of(x, tokens.grid));
  return x;
}

// Buffers of the official code, which are computed from the sizes.
std::string SwinBlock::translated(const std::string& name) const {
  return name == "attn_mask" || name == "attn.relative_position_index" ? "" : name;
}

PatchMerging::PatchMerging(const nn::Build& build, std::int64_t dim)
    : norm_(child<nn::LayerNorm>("norm", build, 4 * dim, kSwinEps)),
      reduction_(child<nn::Linear>("reduction", build, 4 * dim, 2 * dim, false)) {}

Tensor PatchMerging::operator()(const Tensor& x, const nn::Grid& grid) {
  const auto scope = enter();
  const std::int64_t b = x.size(0), c = x.size(2);
  const std::int64_t h = (grid.h + 1) / 2, w = (grid.w + 1) / 2;
  Tensor map = on_grid(x, grid);
  if (2 * h != grid.h || 2 * w != grid.w)
    map = ops::pad(map, {{0, 0}, {0, 2 * h - grid.h}, {0, 2 * w - grid.w}, {0, 0}});
  const Tensor squares = ops::permute(ops::reshape(map, {b, h, 2, w, 2, c}), {0, 1, 3, 4, 2, 5});
  return reduction_(norm_(ops::reshape(squares, {b, h * w, 4 * c})));
}

SwinPatchEmbed::SwinPatchEmbed(const nn::Build& build, std::int64_t patch_size,
                               std::int64_t in_chans, std::int64_t dim)
    : proj_(child<nn::PatchEmbed>("", build, patch_size, in_chans, dim)),
      norm_(child<nn::LayerNorm>("norm", build, dim, kSwinEps)) {}

Tensor SwinPatchEmbed::operator()(const Tensor& image) {
  const auto scope = enter();
  return norm_(proj_(image));
}

namespace {

// Initial values as in the official code: truncated normals in linear layers, PyTorch's in
// convolutions.
nn::Build starting_as(const nn::Build& build, nn::Init init) {
  nn::Build made = build;
  made.init = init;
  return made;
}

}  // namespace

SwinStages::SwinStages(const nn::Build& outer, const SwinOptions& o, std::int64_t in_chans,
                       const nn::Grid& patches)
    : device_(outer.device),
      activations_(outer.activation_dtype()),
      patch_size_(o.patch_size),
      patch_embed_(child<SwinPatchEmbed>("patch_embed", starting_as(outer, nn::Init::kTorch),
                                         o.patch_size, in_chans, o.embed_dim)) {
  check_stages(o);
  const nn::Build build = starting_as(outer, nn::Init::kTruncNormal);
  std::int64_t blocks = 0, made = 0;
  for (const std::int64_t depth : o.depths) blocks += depth;
  SwinStageShape shape{o.embed_dim, 0, patches};
  for (std::size_t s = 0; s < o.depths.size(); ++s) {
    shape.num_heads = o.num_heads[s];
    const Component kind = with_heads(o.kinds[o.kinds.size() == 1 ? 0 : s], shape.num_heads);
    Stage stage;
    stage.dim = shape.dim;
    stage.window = {window_of(o.window_size, shape.grid.h), window_of(o.window_size, shape.grid.w)};
    for (std::int64_t i = 0; i < o.depths[s]; ++i, ++made) {
      const double rate = blocks > 1 ? o.drop_path_rate * static_cast<double>(made) /
                                           static_cast<double>(blocks - 1)
                                     : 0.0;
      stage.blocks.push_back(&child<SwinBlock>(fmt::format("layers.{}.blocks.{}", s, i), build, o,
                                               kind, shape, i, rate));
    }
    if (s + 1 < o.depths.size()) {
      stage.downsample =
          &child<PatchMerging>(fmt::format("layers.{}.downsample", s), build, shape.dim);
    }
    stages_.push_back(std::move(stage));
    shape.dim *= 2;
    shape.grid = {(shape.grid.h + 1) / 2, (shape.grid.w + 1) / 2};
  }
}

std::vector<PyramidLevel> SwinStages::levels() const {
  std::vector<PyramidLevel> levels;
  std::int64_t stride = patch_size_;
  for (const Stage& stage : stages_) {
    levels.push_back({stage.dim, stride});
    stride *= 2;
  }
  return levels;
}

// Windows as in timm: the grid is rolled first and padded afterwards.
SwinTokens SwinStages::tokens_of(Stage& stage, const nn::Grid& grid) const {
  return stage.tokens.of({grid.h, grid.w}, [&] {
    ops::UnitPlan plan{.grid = {grid.h, grid.w},
                       .unit = {stage.window[0], stage.window[1]},
                       .padded_first = false};
    const ops::Units windows(plan, device_);
    for (std::size_t i = 0; i < 2; ++i)
      plan.shift.push_back(plan.grid[i] <= plan.unit[i] ? 0 : plan.unit[i] / 2);
    return SwinTokens{grid, {windows, ops::Units(plan, device_)}};
  });
}

std::vector<SwinStages::Level> SwinStages::operator()(const Tensor& image,
                                                      attention::Probe* probe) {
  const auto scope = enter();
  const auto patches = [&](std::int64_t size) { return (size + patch_size_ - 1) / patch_size_; };
  const std::int64_t height = image.size(2), width = image.size(3);
  nn::Grid grid{patches(height), patches(width)};
  Tensor x = ops::cast(image, activations_);
  if (grid.h * patch_size_ != height || grid.w * patch_size_ != width) {
    x = ops::pad(
        x, {{0, 0}, {0, 0}, {0, grid.h * patch_size_ - height}, {0, grid.w * patch_size_ - width}});
  }
  x = patch_embed_(x);
  std::vector<Level> levels;
  for (Stage& stage : stages_) {
    const SwinTokens tokens = tokens_of(stage, grid);
    for (SwinBlock* block : stage.blocks) x = (*block)(std::move(x), tokens, probe);
    levels.push_back({x, grid});
    if (stage.downsample == nullptr) break;
    x = (*stage.downsample)(x, grid);
    grid = {(grid.h + 1) / 2, (grid.w + 1) / 2};
  }
  return levels;
}

// timm names a merging after the stage behind it, the official code after the one before.
std::string SwinStages::translated_in_file(const std::string& name, const HasName& in_file) const {
  if (in_file("layers.0.downsample.reduction.weight")) return name;
  for (std::size_t s = 1; s < stages_.size(); ++s) {
    const std::string merging = fmt::format("layers.{}.downsample.", s);
    if (name.starts_with(merging))
      return fmt::format("layers.{}.downsample.", s - 1) + name.substr(merging.size());
  }
  return name;
}

SwinBackbone::SwinBackbone(const nn::Build& build, const SwinOptions& o, std::int64_t in_chans)
    : stages_(child<SwinStages>("", build, o, in_chans, nn::Grid{})) {
  levels_ = stages_.levels();
  for (const PyramidLevel& level : levels_) {
    norms_.push_back(&child<nn::LayerNorm>(fmt::format("norm{}", norms_.size()), build,
                                           level.channels, kSwinEps));
  }
}

std::vector<Tensor> SwinBackbone::forward(const Tensor& image, attention::Probe* probe) {
  std::vector<Tensor> maps;
  for (const auto& [x, grid] : stages_(image, probe))
    maps.push_back(map_of((*norms_[maps.size()])(x), grid));
  return maps;
}

std::vector<std::string> SwinBackbone::parts_of(std::int64_t stage) const {
  if (stage == 0) return {"patch_embed"};
  if (stage > std::ssize(levels_)) return {};
  return {fmt::format("layers.{}", stage - 1), fmt::format("norm{}", stage - 1)};
}

}  // namespace fovea::models

namespace {

using namespace fovea;
using models::SwinBackbone;

struct SwinBackboneOptions : models::BackboneOptions, models::SwinOptions {};

schema::Fields<SwinBackboneOptions> swin_backbone_fields(const char* size) {
  const models::SwinOptions defaults = models::swin_size(size);
  SwinBackboneOptions o;
  static_cast<models::SwinOptions&>(o) = defaults;
  return schema::Fields<SwinBackboneOptions>(o).include(models::swin_fields(defaults));
}

}  // namespace

FOVEA_BACKBONE(swin_t, SwinBackbone, "Swin-T: four levels, strides 4 to 32",
               swin_backbone_fields("t"))
FOVEA_BACKBONE(swin_s, SwinBackbone, "Swin-S: four levels, strides 4 to 32",
               swin_backbone_fields("s"))
FOVEA_BACKBONE(swin_b, SwinBackbone, "Swin-B: four levels, strides 4 to 32",
               swin_backbone_fields("b"))
