// The gdla paper's figures (9): maps of decoder stages, overlays of classes, contours.

#include <map>

#include "verify/runners.h"
#include "visualise/drawing/heatmap.h"
#include "visualise/layouts/label_overlay.h"
#include "visualise/layouts/overlay.h"
#include "visualise/maps/stage_maps.h"

namespace fovea::verify {
namespace {

using schema::Value;
using visualise::Canvas;
using visualise::Matrix;

Matrix tokens_of(const Case& c, const std::string& key) {
  const Tensor& tokens = c.at("input/" + key);
  return {tokens.size(0), tokens.size(1), to_doubles(tokens)};
}

std::vector<double> shares_of(const std::vector<double>& values) {
  return visualise::scale_minmax({1, std::ssize(values), values}).values;
}

void run_maps(const Case& c, Checker& check) {
  const std::int64_t h = c.integer("H"), w = c.integer("W"), side = c.integer("image");
  c.config().only("norm", "min-max, eps 1e-8, per map");
  c.config().only("upsample", "bilinear align_corners False after normalisation");
  c.check_all_read();
  std::map<std::string, Matrix> updates;
  for (const std::string network : {"gdla", "la"}) {
    const std::string key = "output/" + network + "_";
    const auto compare_map = [&](const std::string& name, const Matrix& map) {
      check.compare(key + name, map.values);
      check.compare(key + name + "_map", visualise::shown_map(map, side, side).values);
    };
    compare_map("input_norm", visualise::token_norms(tokens_of(c, network + "_block_input"), h, w));
    updates[network] = visualise::token_norms(tokens_of(c, network + "_delta"), h, w);
    compare_map("delta_norm", updates[network]);
    const Matrix output = tokens_of(c, network + "_block_output");
    const std::vector<double> tokens = visualise::token_saliency(output);
    const std::vector<double> channels = visualise::channel_saliency(output);
    check.compare(key + "csm_token_raw", tokens);
    check.compare(key + "csm_channel_raw", channels);
    check.compare(key + "csm_token", shares_of(tokens));
    check.compare(key + "csm_channel", shares_of(channels));
    check.compare(key + "first_token_ratio",
                  std::vector<double>{visualise::first_token_ratio(tokens)});
  }
  const Matrix difference = visualise::shown_difference(updates["gdla"], updates["la"], side, side);
  check.compare("output/delta_difference", difference.values);
}

visualise::Colour colour_of(const Value& rgb) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(rgb.at(i).as_int()); };
  return {byte(0), byte(1), byte(2)};
}

void run_overlays(const Case& c, Checker& check) {
  const Tensor& image = c.at("input/image_hwc_u8");
  const std::int64_t h = image.size(0), w = image.size(1);
  const Canvas picture = visualise::canvas_from_bytes(image.host_values<std::uint8_t>(), h, w, 3);
  const auto bytes = [](const Canvas& canvas) {
    return std::vector<double>(canvas.rgb.begin(), canvas.rgb.end());
  };
  Canvas contours = picture;
  c.config().only("order", "ground truth first, prediction on top");
  for (const char* name : {"gt", "pred"}) {
    const std::vector<double> values = to_doubles(c.at(std::string("input/") + name));
    visualise::draw_contour(contours, std::vector<float>(values.begin(), values.end()), h, w, 1,
                            colour_of(c.value(std::string(name) + "_colour")),
                            c.integer("thickness"));
  }
  check.compare("output/contours", bytes(contours));
  std::vector<visualise::Colour> palette;
  for (const Value& rgb : c.value("palette").items()) palette.push_back(colour_of(rgb));
  const std::vector<double> labels = to_doubles(c.at("input/labels"));
  check.compare("output/regions",
                bytes(visualise::tint_classes(
                    picture, std::vector<std::int64_t>(labels.begin(), labels.end()), {palette},
                    c.number("alpha"))));
}

}  // namespace

Table gdla_figures() {
  Table table;
  table.add("visualisation_maps") = run_maps;
  table.add("visualisation_overlays") = run_overlays;
  return table;
}

}  // namespace fovea::verify
