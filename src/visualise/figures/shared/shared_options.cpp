#include "visualise/figures/shared/shared_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "base/suggest.h"
#include "visualise/figures/shared/image_inputs.h"

namespace fovea::visualise {

using schema::Fields;

schema::Range words(std::vector<std::string> names) {
  schema::Range range = schema::one_of(std::move(names));
  range.accepts = nullptr;
  return range;
}

schema::Range palettes() {
  return words({"inferno", "plasma", "viridis", "cividis", "reds", "jet", "blues", "grey"});
}

void check_word(const std::string& flag, const std::string& word,
                const std::vector<std::string>& known) {
  FOVEA_CHECK(std::find(known.begin(), known.end(), word) != known.end(), ConfigError,
              fmt::format("{} {}: unknown{} (known: {})", flag, word, did_you_mean(word, known),
                          fmt::join(known, ", ")));
}

std::int64_t FactorOption::enlargement(const Canvas& picture, std::int64_t side) const {
  if (factor) return *factor;
  return std::max<std::int64_t>(1, side / std::max(picture.height, picture.width));
}

const Fields<FactorOption>& factor_field() {
  static const auto fields = Fields<FactorOption>{}.add(
      "factor", &FactorOption::factor, schema::in_range(1, 64), "enlargement of the images");
  return fields;
}

const Fields<OverlayOption>& overlay_field() {
  static const auto fields =
      Fields<OverlayOption>{}.add("overlay", &OverlayOption::overlay, schema::in_range(0, 1),
                                  "share of the image under the map (default: 0.5; rollouts with 0 "
                                  "have no overlay.png)");
  return fields;
}

const Fields<SmoothOption>& smooth_field() {
  static const auto fields = Fields<SmoothOption>{}.add(
      "smooth", &SmoothOption::smooth, "blend between patches instead of a block for each");
  return fields;
}

const Fields<ThicknessOption>& thickness_field() {
  static const auto fields =
      Fields<ThicknessOption>{}.add("thickness", &ThicknessOption::thickness,
                                    schema::greater_than(0), "of contours, in pixels (default: 1)");
  return fields;
}

const Fields<ExplorerOption>& explorer_field() {
  static const auto fields = Fields<ExplorerOption>{}.add(
      "no_explorer", &ExplorerOption::no_explorer,
      "no explorer.html, which holds every map: about a byte a weight; no volumes-<run>.html, at "
      "most 15 MB a case");
  return fields;
}

const Fields<HeadsOption>& heads_field() {
  static const auto fields = Fields<HeadsOption>{}.add("heads", &HeadsOption::heads,
                                                       "also every layer and head, of images");
  return fields;
}

ColourMap ColoursOption::sequential() const {
  return colours.empty() ? kHeat : sequential_from_name(colours);
}

const Fields<ColoursOption>& colours_field() {
  static const auto fields = Fields<ColoursOption>{}.add(
      "colours", &ColoursOption::colours, palettes(),
      "of quantities without sign (default: inferno); signed ones are blue, light grey at 0, red, "
      "but with --scale minmax");
  return fields;
}

HeatScale HeatLook::heat_scale() const {
  return scale.empty() ? HeatScale{} : heat_scale_from_text(scale);
}

HeadLook HeatLook::head_look() const { return {heat_scale().ends, sequential(), smooth}; }

const Fields<HeatLook>& heat_look_fields() {
  static const auto fields =
      Fields<HeatLook>{}
          .add("scale", &HeatLook::scale,
               words({"percentiles", "from_zero", "even_share", "minmax", "column", "figure",
                      "image"}),
               "where colours begin and end: at the 1st and 99th percentile (percentiles, the "
               "default; of signed maps as far on both sides), at 0 (from_zero), at the "
               "percentiles of logarithms in times an even share (even_share), or at the least "
               "and the largest of each image (minmax); and behind a comma what has the same "
               "colours: the images of a run (column, the default), all runs of one quantity "
               "(figure), nothing (image)")
          .include(colours_field())
          .include(smooth_field())
          .include(overlay_field())
          .include(factor_field());
  return fields;
}

attention::Probe::Place QueryOption::place_in(const Canvas& image) const {
  if (query.empty()) return {0.5, 0.5};
  FOVEA_CHECK(query.size() == 2 && query[0] >= 0 && query[1] >= 0 && query[0] < image.height &&
                  query[1] < image.width,
              ConfigError,
              fmt::format("--query: expected row and column of a pixel of {} x {}, from 0",
                          image.height, image.width));
  // The middle of the pixel, so that no rounding moves it to the next token.
  const auto share = [](std::int64_t pixel, std::int64_t size) {
    return (static_cast<double>(pixel) + 0.5) / static_cast<double>(size);
  };
  return {share(query[0], image.height), share(query[1], image.width)};
}

const Fields<QueryOption>& query_field() {
  static const auto fields = Fields<QueryOption>{}.add(
      "query", &QueryOption::query,
      "row and column of the pixel whose attention is drawn (default: the middle)");
  return fields;
}

Fields<LayerOption> layer_field(const std::string& standard) {
  return Fields<LayerOption>{}.add("layer", &LayerOption::layer,
                                   "number of a layer, from 0, or its name, as blocks.11; "
                                   "repeatable (default: " +
                                       standard + ")");
}

std::size_t layer_place(const std::vector<std::string>& names, const std::string& wanted,
                        const std::string& run) {
  const auto named = std::find(names.begin(), names.end(), wanted);
  const std::size_t place = named == names.end() && is_index(wanted)
                                ? std::stoull(wanted.substr(0, 18))
                                : static_cast<std::size_t>(named - names.begin());
  FOVEA_CHECK(place < names.size(), ConfigError,
              fmt::format("--layer {}: {} has no such layer (known: 0..{}, {})", wanted, run,
                          names.size() - 1, fmt::join(names, ", ")));
  return place;
}

RolloutOptions RolloutSettings::options(bool signed_maps) const {
  RolloutOptions o = default_rollout(signed_maps);
  if (!sign.empty()) o.sign = sign_from_name(sign);
  if (!normalise.empty()) {
    o.normalise = normalise_from_name(normalise);
  } else if (!sign.empty() && sign != "raw") {
    o.normalise = Normalise::kSum;  // unsigned maps: the usual rollout
  }
  o.fusion = fusion_from_name(fusion);
  o.discard = discard;
  o.alpha = alpha;
  o.start_layer = start_layer;
  return o;
}

const Fields<RolloutSettings>& rollout_fields() {
  static const auto fields =
      Fields<RolloutSettings>{}
          .add("sign", &RolloutSettings::sign, words({"raw", "abs", "positive", "negative"}),
               "of the weights of maps (default: raw)")
          .add("normalise", &RolloutSettings::normalise, words({"sum", "abs", "none"}),
               "rows (default: sum; abs for raw signed maps)")
          .add("fusion", &RolloutSettings::fusion, words({"mean", "max", "min"}),
               "over heads (default: mean)")
          .add("discard", &RolloutSettings::discard, schema::in_range(0, 0.999),
               "share of smallest entries set to zero")
          .add("alpha", &RolloutSettings::alpha, schema::in_range(0, 1),
               "weight of the map against the skip connection")
          .add("start_layer", &RolloutSettings::start_layer, schema::at_least(0),
               "first layer of the rollout, from 0");
  return fields;
}

}  // namespace fovea::visualise
