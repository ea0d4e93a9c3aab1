#include "visualise/pages/explorer.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string_view>

#include "base/base64.h"
#include "base/error.h"
#include "base/file.h"
#include "visualise/pages/explorer_maps.h"
#include "visualise/pages/page_parts.h"

// The parts of the page (src/visualise/explorer/), built in by fovea_embed in CMake.
extern "C" {
extern const char fovea_explorer_page_html_begin[], fovea_explorer_page_html_end[];
extern const char fovea_explorer_page_css_begin[], fovea_explorer_page_css_end[];
extern const char fovea_explorer_shared_js_begin[], fovea_explorer_shared_js_end[];
extern const char fovea_explorer_scale_js_begin[], fovea_explorer_scale_js_end[];
extern const char fovea_explorer_maps_js_begin[], fovea_explorer_maps_js_end[];
extern const char fovea_explorer_drawing_js_begin[], fovea_explorer_drawing_js_end[];
extern const char fovea_explorer_views_js_begin[], fovea_explorer_views_js_end[];
extern const char fovea_explorer_objects_js_begin[], fovea_explorer_objects_js_end[];
extern const char fovea_explorer_relevance_js_begin[], fovea_explorer_relevance_js_end[];
extern const char fovea_explorer_page_js_begin[], fovea_explorer_page_js_end[];
}

namespace fovea::visualise {
namespace {

using Json = nlohmann::json;

std::string_view between(const char* begin, const char* end) {
  return {begin, static_cast<std::size_t>(end - begin)};
}

void check_detector(const ExplorerModel& model, bool image) {
  FOVEA_CHECK(image && model.layers.empty(), ShapeError,
              fmt::format("explorer: {} is a detector; expected a picture and no layers of tokens",
                          model.name));
  for (const ExplorerObject& object : model.objects) {
    FOVEA_CHECK(object.map >= -1 && object.map < std::ssize(model.object_maps), ShapeError,
                fmt::format("explorer: {} of {} has map {}; there are {}", object.name, model.name,
                            object.map, model.object_maps.size()));
  }
}

void check(const ExplorerModel& model, bool image) {
  if (model.is_detector) return check_detector(model, image);
  FOVEA_CHECK(!model.layers.empty(), ShapeError,
              fmt::format("explorer: {} has no layers; expected at least one map", model.name));
  const std::int64_t n = model.layers[0].n;
  FOVEA_CHECK(model.prefix_tokens >= 0 && model.prefix_tokens < n, ShapeError,
              fmt::format("explorer: {} has {} prefix tokens of {}; expected fewer", model.name,
                          model.prefix_tokens, n));
  if (image) {
    FOVEA_CHECK(model.grid_h >= 1 && model.grid_w >= 1 && model.tokens.empty() &&
                    model.prefix_tokens + model.grid_h * model.grid_w == n,
                ShapeError,
                fmt::format("explorer: {} sees a picture as {} x {} patches, {} prefix tokens and "
                            "{} words; its maps have {} tokens",
                            model.name, model.grid_h, model.grid_w, model.prefix_tokens,
                            model.tokens.size(), n));
  } else {
    FOVEA_CHECK(std::ssize(model.tokens) == n, ShapeError,
                fmt::format("explorer: {} has {} words; its maps have {} tokens", model.name,
                            model.tokens.size(), n));
  }
}

Json describe(const Quantity& quantity, double even) {
  return {{"name", quantity.name}, {"signed", quantity.is_signed}, {"even", even}};
}

Json anchors(ColourMap map) {
  Json colours = Json::array();
  for (const Colour& c : anchors_of(map)) colours.push_back({c.r, c.g, c.b});
  return colours;
}

// What explorer/scale.js goes by, and what the page begins with.
Json describe(const HeatScale& scale) {
  return {{"ends", name_of(scale.ends)},
          {"sharing", scale.sharing == HeatSharing::kFigure ? "figure" : "token"},
          {"percentiles", {kLowPercentile, kHighPercentile}},
          {"noise", kEvenNoise},
          {"nothing", kNothing}};
}

// Boxes in shares of the picture.
Json describe(const std::vector<ExplorerObject>& objects, const Canvas& picture) {
  const auto width = static_cast<double>(picture.width),
             height = static_cast<double>(picture.height);
  Json json = Json::array();
  for (const ExplorerObject& object : objects) {
    const auto& [x1, y1, x2, y2] = object.box;
    const Colour& c = object.colour;
    json.push_back({{"name", object.name},
                    {"box", {x1 / width, y1 / height, x2 / width, y2 / height}},
                    {"colour", {c.r, c.g, c.b}},
                    {"map", object.map}});
  }
  return json;
}

Json describe_detector(const ExplorerModel& model, const Canvas& picture) {
  Json heads = Json::array(), maps = Json::array();
  for (const ExplorerObjectMap& map : model.object_maps) {
    heads.push_back(map.heads);
    maps.push_back({{"name", map.name},
                    {"rows", map.rows},
                    {"cols", map.cols},
                    {"carried", map.carried},
                    {"quantity", describe(map.quantity, map.even)}});
  }
  return {{"name", model.name},
          {"note", model.note},
          {"n", model.objects.size()},
          {"prefix", 0},
          {"class_token", false},
          {"heads", heads},
          {"maps", maps},
          {"objects", describe(model.objects, picture)}};
}

Json describe(const ExplorerModel& model, bool image) {
  Json heads = Json::array();
  for (const AttentionMap& map : model.layers) heads.push_back(map.heads);
  Json json = {{"name", model.name},
               {"note", model.note},
               {"policy", model.policy},
               {"n", model.layers[0].n},
               {"heads", heads},
               {"rollout", !model.rollout.values.empty()},
               {"attention", describe(model.attention, model.attention_even)},
               {"rolled_out", describe(model.rolled_out, model.rollout_even)},
               {"prefix", model.prefix_tokens},
               {"class_token", model.prefix_tokens > 0 && model.class_token}};
  if (image) {
    json["rows"] = model.grid_h;
    json["cols"] = model.grid_w;
  } else {
    json["tokens"] = model.tokens;
  }
  return json;
}

Json describe(const ExplorerRelevance& one, bool image) {
  const std::int64_t n = one.rows * one.cols;
  FOVEA_CHECK(
      n >= 1 && std::ssize(one.values) == n && std::ssize(one.words) == (image ? 0 : n), ShapeError,
      fmt::format("explorer: {} of {} has {} values and {} words; expected those of {} x {} "
                  "places",
                  one.method, one.run, one.values.size(), one.words.size(), one.rows, one.cols));
  Json json = {{"name", one.run + ": " + one.method},
               {"run", one.run},
               {"method", one.method},
               {"note", one.note},
               {"target", one.target},
               {"n", n},
               {"heads", {1}},
               {"rollout", false},
               {"attention", describe(one.quantity, 0)},
               {"prefix", 0},
               {"class_token", false}};
  if (image) {
    json["rows"] = one.rows;
    json["cols"] = one.cols;
  } else {
    json["tokens"] = one.words;
  }
  return json;
}

// An element for a network's or method's numbers.
std::string packed_element(std::size_t sample, std::size_t model, const std::string& base64) {
  return fmt::format("<script type=\"text/plain\" id=\"maps-{}-{}\">{}</script>\n", sample, model,
                     base64);
}

// What a sample shows.
enum class Kind { kAttention, kDetections, kRelevance };
Kind kind_of(const ExplorerSample& sample) {
  FOVEA_CHECK(sample.models.empty() != sample.relevance.empty(), ShapeError,
              fmt::format("explorer: {} has {} models and {} maps of relevance; expected either",
                          sample.name, sample.models.size(), sample.relevance.size()));
  if (sample.models.empty()) return Kind::kRelevance;
  return sample.models[0].is_detector ? Kind::kDetections : Kind::kAttention;
}

}  // namespace

std::string explorer_page(const Explorer& explorer) {
  FOVEA_CHECK(!explorer.samples.empty(), ShapeError, "explorer: no samples; expected at least one");
  Json data = {
      {"title", explorer.title},
      {"relevance", kind_of(explorer.samples[0]) == Kind::kRelevance},
      {"palettes",
       {{"diverging", anchors(ColourMap::kDiverging)}, {"heat", anchors(explorer.sequential)}}},
      {"scale", describe(explorer.scale)},
      {"samples", Json::array()}};
  std::string maps;
  for (std::size_t i = 0; i < explorer.samples.size(); ++i) {
    const ExplorerSample& sample = explorer.samples[i];
    const Kind kind = kind_of(sample);
    FOVEA_CHECK(kind == kind_of(explorer.samples[0]), ShapeError,
                fmt::format("explorer: {} and {} show different things; expected attention, "
                            "detections or relevance of both",
                            sample.name, explorer.samples[0].name));
    const bool image = sample.picture.width > 0;
    Json described = {{"name", sample.name}, {"models", Json::array()}};
    if (!sample.truth.empty()) described["truth"] = describe(sample.truth, sample.picture);
    if (image) {
      described["picture"] = "data:image/png;base64," + to_base64(to_png(sample.picture));
    }
    for (std::size_t k = 0; k < sample.models.size(); ++k) {
      const ExplorerModel& model = sample.models[k];
      check(model, image);
      FOVEA_CHECK(model.is_detector == sample.models[0].is_detector, ShapeError,
                  fmt::format("explorer: {} and {} are not both detectors", model.name,
                              sample.models[0].name));
      described["models"].push_back(model.is_detector ? describe_detector(model, sample.picture)
                                                      : describe(model, image));
      maps += packed_element(i, k,
                             model.is_detector
                                 ? pack_object_maps(model.object_maps, std::ssize(model.objects))
                                 : pack_maps(model.layers, model.rollout));
    }
    for (std::size_t k = 0; k < sample.relevance.size(); ++k) {
      const ExplorerRelevance& one = sample.relevance[k];
      described["models"].push_back(describe(one, image));
      maps += packed_element(i, k, pack_row(one.values, one.run + ", " + one.method));
    }
    data["samples"].push_back(std::move(described));
  }
  return filled_page({between(fovea_explorer_page_html_begin, fovea_explorer_page_html_end),
                      {between(fovea_explorer_page_css_begin, fovea_explorer_page_css_end)},
                      {between(fovea_explorer_shared_js_begin, fovea_explorer_shared_js_end),
                       between(fovea_explorer_scale_js_begin, fovea_explorer_scale_js_end),
                       between(fovea_explorer_maps_js_begin, fovea_explorer_maps_js_end),
                       between(fovea_explorer_drawing_js_begin, fovea_explorer_drawing_js_end),
                       between(fovea_explorer_views_js_begin, fovea_explorer_views_js_end),
                       between(fovea_explorer_objects_js_begin, fovea_explorer_objects_js_end),
                       between(fovea_explorer_relevance_js_begin, fovea_explorer_relevance_js_end),
                       between(fovea_explorer_page_js_begin, fovea_explorer_page_js_end)},
                      maps,
                      embeddable(data)});
}

void write_explorer(const std::filesystem::path& path, const Explorer& explorer) {
  io::write_atomic(path, explorer_page(explorer));
}

}  // namespace fovea::visualise
