// The dgsa paper's rollouts and heat maps.

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "verify/dformer/dformer.h"
#include "verify/dgsa/dgsa.h"
#include "verify/module_case.h"
#include "verify/runners.h"
#include "visualise/drawing/colour_map.h"
#include "visualise/drawing/heatmap.h"
#include "visualise/maps/attention_maps.h"
#include "visualise/maps/rollouts/rollout.h"

namespace fovea::verify {
namespace {

using schema::Value;

visualise::RolloutOptions rollout_options(const Config& given) {
  visualise::RolloutOptions o;
  if (given.given("fusion")) o.fusion = visualise::fusion_from_name(given.text("fusion"));
  if (given.given("sign")) o.sign = visualise::sign_from_name(given.text("sign"));
  if (given.given("normalise"))
    o.normalise = visualise::normalise_from_name(given.text("normalise"));
  o.alpha = given.number("alpha", o.alpha);
  o.discard = given.number("discard", o.discard);
  o.start_layer = given.integer("start_layer", o.start_layer);
  return o;
}

// The options of every picture of a case, by its name.
std::map<std::string, visualise::RolloutOptions> variants_of(const Case& c) {
  const Config variants = c.config().at("variants");
  std::map<std::string, visualise::RolloutOptions> all;
  for (const std::string& name : variants.keys())
    all.emplace(name, rollout_options(variants.at(name)));
  return all;
}

std::vector<visualise::AttentionMap> input_maps(const Case& c) {
  std::vector<visualise::AttentionMap> layers;
  while (c.has(fmt::format("input/attn/{}", layers.size()))) {
    const Tensor& map = c.at(fmt::format("input/attn/{}", layers.size()));
    layers.push_back({map.size(-3), map.size(-1), to_doubles(map)});
  }
  return layers;
}

// As visualise-attention draws it with --smooth --scale minmax.
std::vector<double> heat_of(const std::vector<double>& weights, std::int64_t grid_h,
                            std::int64_t grid_w, std::int64_t height, std::int64_t width) {
  const visualise::Matrix grid = visualise::as_grid(weights, grid_h, grid_w);
  return visualise::scale_minmax(visualise::heat_map(grid, height, width, true)).values;
}

void run_rollout(const Case& c, Checker& check) {
  // dformer rolls its own blocks out under this name.
  if (!c.given("variants")) return run_unit_rollout(c, check);
  const auto layers = input_maps(c);
  const auto grid = c.config().integers("grid"), image = c.config().integers("image");
  c.config().only("layers", std::ssize(layers));
  c.config().only("heads", layers.front().heads);
  const auto variants = variants_of(c);
  c.check_all_read();
  for (const auto& [name, options] : variants) {
    const visualise::Matrix rollout = visualise::attention_rollout(layers, options);
    check.compare("output/" + name + "/rollout", rollout.values);
    check.compare("output/" + name + "/heat", heat_of(visualise::class_row(rollout), grid.at(0),
                                                      grid.at(1), image.at(0), image.at(1)));
  }
}

void run_text_rollout(const Case& c, Checker& check) {
  auto layers = input_maps(c);
  const auto mask = c.at("input/key_mask").host_values<std::uint8_t>();
  const visualise::RolloutOptions options = rollout_options(c.config());
  c.config().only("n", std::ssize(mask));
  c.config().only("valid", std::count(mask.begin(), mask.end(), std::uint8_t{1}));
  c.check_all_read();
  for (auto& layer : layers) layer = visualise::crop(layer, mask);
  const visualise::Matrix rollout = visualise::attention_rollout(layers, options);
  const std::vector<double> mean = visualise::mean_row(rollout);
  check.compare("output/rollout_valid", rollout.values);
  check.compare("output/row_mean", mean);
  check.compare("output/row_cls", visualise::class_row(rollout));
  const visualise::Matrix bar{1, static_cast<std::int64_t>(mean.size()), mean};
  check.compare("output/bar_mean_minmax", visualise::scale_minmax(bar).values);
  check.compare("output/bar_mean_symmetric", visualise::scale_symmetric(bar).values);
}

std::vector<double> colours(const std::vector<double>& values, visualise::ColourMap map) {
  std::vector<double> bytes;
  for (const double value : values) {
    const visualise::Colour rgb = visualise::colour_of(map, value);
    bytes.insert(bytes.end(), {double(rgb.r), double(rgb.g), double(rgb.b)});
  }
  return bytes;
}

void run_heatmap(const Case& c, Checker& check) {
  const Tensor& grid = c.at("input/grid");
  c.config().only("grid", Value::array({grid.size(0), grid.size(1)}));
  const auto image = c.config().integers("image");
  c.check_all_read();
  const visualise::Matrix small{grid.size(0), grid.size(1), to_doubles(grid)};
  const visualise::Matrix up = visualise::heat_map(small, image.at(0), image.at(1), true);
  const visualise::Matrix scaled = visualise::scale_minmax(up);
  check.compare("output/up", up.values);
  check.compare("output/minmax", scaled.values);
  check.compare("output/symmetric", visualise::scale_symmetric(up).values);
  for (const char* name : {"plasma", "viridis", "cividis"}) {
    const visualise::ColourMap map = visualise::colour_map_from_name(name);
    check.compare_within(fmt::format("output/rgb_minmax/{}", name), colours(scaled.values, map), 1);
    check.compare_within(fmt::format("output/rgb_ramp/{}", name),
                         colours(to_doubles(c.at("input/ramp")), map), 1);
  }
}

// Image by image, as visualise-attention looks at a network.
void run_network_rollout(const Case& c, Checker& check) {
  const auto model = make_network(c, false);
  const auto variants = variants_of(c);
  load_parameters(c, *model, check);
  if (!check.passed()) return;
  const Tensor& x = c.at("input/x");
  std::vector<visualise::Observation> seen;
  std::vector<double> logits;
  for (std::int64_t item = 0; item < x.size(0); ++item) {
    seen.push_back(visualise::observe(*model, x.rows(item, item + 1)));
    logits.insert(logits.end(), seen.back().logits.begin(), seen.back().logits.end());
  }
  check.compare("output/logits", logits);
  for (const auto& [name, rollout] : variants) {
    std::vector<double> rollouts, heats;
    for (const visualise::Observation& one : seen) {
      const auto matrix = visualise::attention_rollout(one.layers, rollout);
      const auto heat = heat_of(visualise::token_weights(one, rollout), one.grid_h, one.grid_w,
                                x.size(2), x.size(3));
      rollouts.insert(rollouts.end(), matrix.values.begin(), matrix.values.end());
      heats.insert(heats.end(), heat.begin(), heat.end());
    }
    check.compare("output/" + name + "/rollout", rollouts);
    check.compare("output/" + name + "/heat", heats);
  }
}

}  // namespace

Table dgsa_rollouts() {
  Table table;
  table.add("attention_rollout") = run_rollout;
  table.add("attention_rollout_text") = run_text_rollout;
  table.add("heatmap_upsample_colormap") = run_heatmap;
  for (const char* network : {"DGViT", "ViT", "DIFF-ViT"})
    table.add(std::string(network) + "+attention_rollout") = run_network_rollout;
  return table;
}

}  // namespace fovea::verify
