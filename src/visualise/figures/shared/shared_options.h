// Options that several figures have. The options of a figure derive from those it has, and its
// fields include theirs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attention/probe.h"
#include "schema/fields.h"
#include "visualise/drawing/canvas.h"
#include "visualise/maps/attention_maps.h"
#include "visualise/maps/heat_scale.h"

namespace fovea::visualise {

/// Words to choose from, for help and completion. What reads the text refuses others.
schema::Range words(std::vector<std::string> names);
/// The palettes of --colours.
schema::Range palettes();
/// Throws ConfigError for a word of an option that is none of those known.
void check_word(const std::string& flag, const std::string& word,
                const std::vector<std::string>& known);

struct FactorOption {
  std::optional<std::int64_t> factor;
  /// How many times its size a picture is drawn at: what makes its longer side about `side` pixels,
  /// unless a factor was given.
  std::int64_t enlargement(const Canvas& picture, std::int64_t side = 128) const;
};
const schema::Fields<FactorOption>& factor_field();

struct OverlayOption {
  std::optional<double> overlay;
};
const schema::Fields<OverlayOption>& overlay_field();

struct SmoothOption {
  bool smooth = false;
};
const schema::Fields<SmoothOption>& smooth_field();

struct ThicknessOption {
  std::int64_t thickness = 1;
};
const schema::Fields<ThicknessOption>& thickness_field();

struct ExplorerOption {
  bool no_explorer = false;
};
const schema::Fields<ExplorerOption>& explorer_field();

struct HeadsOption {
  bool heads = false;
};
const schema::Fields<HeadsOption>& heads_field();

/// Of quantities of which signed ones have colours of their own.
struct ColoursOption {
  std::string colours;
  ColourMap sequential() const;
};
const schema::Fields<ColoursOption>& colours_field();

/// How rollouts and heads are coloured and laid over images.
struct HeatLook : ColoursOption, SmoothOption, OverlayOption, FactorOption {
  std::string scale;
  HeatScale heat_scale() const;
  HeadLook head_look() const;
  /// The share of the image under a map.
  double share_of_image() const { return overlay.value_or(0.5); }
};
const schema::Fields<HeatLook>& heat_look_fields();

/// A pixel of images.
struct QueryOption {
  std::vector<std::int64_t> query;
  /// The place of the pixel, the middle without one. Throws ConfigError for one outside the image.
  attention::Probe::Place place_in(const Canvas& image) const;
};
const schema::Fields<QueryOption>& query_field();

/// Layers by their numbers or names.
struct LayerOption {
  std::vector<std::string> layer;
};
/// `standard`: which are drawn without it.
schema::Fields<LayerOption> layer_field(const std::string& standard);
/// The place among `names` of the layer that --layer calls `wanted`. Throws ConfigError.
std::size_t layer_place(const std::vector<std::string>& names, const std::string& wanted,
                        const std::string& run);

/// How maps of one grid are rolled out.
struct RolloutSettings {
  std::string sign, normalise;
  std::string fusion = "mean";
  double discard = 0;
  double alpha = 0.5;
  std::int64_t start_layer = 0;
  RolloutOptions options(bool signed_maps) const;
};
const schema::Fields<RolloutSettings>& rollout_fields();

}  // namespace fovea::visualise
