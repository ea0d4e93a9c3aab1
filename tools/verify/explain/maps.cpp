// Explanations from maps, values, activations and masks that a case gives. explain A, D.

#include <fmt/format.h>

#include <functional>

#include "explain/maps/cam.h"
#include "explain/maps/flow.h"
#include "explain/maps/gradient_maps.h"
#include "explain/maps/pixels.h"
#include "explain/maps/token_map.h"
#include "explain/maps/values.h"
#include "explain/recorded.h"
#include "ops/attention/units.h"
#include "verify/runners.h"

namespace fovea::verify {
namespace {

using explain::GradedMap;
using explain::Matrix;
using explain::Pooling;
using explain::TokenLayout;
using Values = std::vector<double>;

TokenLayout layout_of(const Case& c) {
  return {c.integer("prefix"),
          c.config().choice<Pooling>(
              "pooling", {{"class", Pooling::kClass}, {"mean", Pooling::kMean}}, Pooling::kMean)};
}

// Maps `input/<prefix><kind>/<l>` for l from 0 on.
std::vector<Tensor> layers_of(const Case& c, const std::string& kind) {
  std::vector<Tensor> layers;
  while (c.has(fmt::format("input/{}/{}", kind, layers.size())))
    layers.push_back(c.at(fmt::format("input/{}/{}", kind, layers.size())));
  return layers;
}

visualise::AttentionMap map_of(const Tensor& x) { return {x.size(0), x.size(1), to_doubles(x)}; }

std::vector<GradedMap> graded_maps(const Case& c) {
  const std::vector<Tensor> maps = layers_of(c, "attn"), gradients = layers_of(c, "grad");
  std::vector<GradedMap> layers;
  for (std::size_t l = 0; l < maps.size(); ++l) {
    GradedMap layer{map_of(maps[l]), {}};
    if (l < gradients.size()) layer.gradient = map_of(gradients[l]);
    if (c.has("input/key_mask")) {
      const auto mask = c.at("input/key_mask").host_values<std::uint8_t>();
      layer.map = visualise::crop(layer.map, mask);
      if (l < gradients.size()) layer.gradient = visualise::crop(layer.gradient, mask);
    }
    layers.push_back(std::move(layer));
  }
  return layers;
}

std::string layer_word(const Config& variant) {
  if (!variant.given("layer")) return "last";
  const schema::Value& layer = variant.value("layer");
  return layer.is_string() ? layer.as_string() : std::to_string(layer.as_int());
}

std::size_t place_of(const std::string& layer, const std::vector<GradedMap>& layers,
                     const char* method) {
  return explain::layer_place(layer, std::vector<std::string>(layers.size()), method);
}

using Method = std::function<Values(const std::vector<GradedMap>&, const TokenLayout&)>;

Method raw_attention(const Config& variant) {
  const auto fusion = visualise::fusion_from_name(variant.text("fusion", "mean"));
  return [fusion, word = layer_word(variant)](const std::vector<GradedMap>& layers,
                                              const TokenLayout& layout) {
    Values mean;
    for (std::size_t l = 0; l < layers.size(); ++l) {
      if (word != "mean" && l != place_of(word, layers, "raw_attention")) continue;
      const Values row =
          explain::reading_row(visualise::fused_heads(layers[l].map, fusion), layout);
      mean.resize(row.size(), 0.0);
      for (std::size_t j = 0; j < row.size(); ++j)
        mean[j] += word == "mean" ? row[j] / static_cast<double>(layers.size()) : row[j];
    }
    return mean;
  };
}

Method rollout(bool is_signed) {
  return [is_signed](const std::vector<GradedMap>& layers, const TokenLayout& layout) {
    std::vector<visualise::AttentionMap> maps;
    for (const GradedMap& layer : layers) maps.push_back(layer.map);
    return explain::reading_row(
        visualise::attention_rollout(maps, visualise::default_rollout(is_signed)), layout);
  };
}

std::vector<Matrix> weighted(const std::vector<GradedMap>& layers, bool positive) {
  std::vector<Matrix> all;
  for (const GradedMap& layer : layers) all.push_back(explain::weighted_map(layer, positive));
  return all;
}

Method method_of(const Config& variant, bool is_signed) {
  const std::string method = variant.text("method");
  if (method == "raw_attention") return raw_attention(variant);
  if (method == "rollout") return rollout(is_signed);
  if (method == "attention_gradient") {
    return [positive = variant.flag("positive", true), word = layer_word(variant)](
               const std::vector<GradedMap>& layers, const TokenLayout& layout) {
      const auto place = place_of(word, layers, "attention_gradient");
      return explain::reading_row(explain::weighted_map(layers[place], positive), layout);
    };
  }
  if (method == "gradient_rollout") {
    return [start = variant.integer("start_layer", 0)](const std::vector<GradedMap>& layers,
                                                       const TokenLayout& layout) {
      return explain::gradient_rollout(weighted(layers, true), layout, start);
    };
  }
  if (method == "generic_attention") {
    return [positive = variant.flag("positive", true)](const std::vector<GradedMap>& layers,
                                                       const TokenLayout& layout) {
      return explain::generic_relevance(weighted(layers, positive), layout);
    };
  }
  if (method == "attention_gradcam") {
    return [word = layer_word(variant)](const std::vector<GradedMap>& layers,
                                        const TokenLayout& layout) {
      const auto place = place_of(word, layers, "attention_gradcam");
      return explain::attention_gradcam(layers[place], layout);
    };
  }
  variant.refuse("method");
}

void run_given_maps(const Case& c, Checker& check) {
  const TokenLayout layout = layout_of(c);
  const bool is_signed = c.flag("signed");
  c.config().describes({"grid"});
  const Config variants = c.config().at("variants");
  std::map<std::string, Method> methods;
  for (const std::string& name : variants.keys())
    methods.emplace(name, method_of(variants.at(name), is_signed));
  c.check_all_read();
  const std::vector<GradedMap> layers = graded_maps(c);
  for (const auto& [name, method] : methods)
    check.compare("output/" + name, method(layers, layout));
}

void run_flow(const Case& c, Checker& check) {
  const TokenLayout layout = layout_of(c);
  c.check_all_read();
  std::vector<visualise::AttentionMap> maps;
  for (const Tensor& map : layers_of(c, "attn")) maps.push_back(map_of(map));
  const explain::AttentionFlow flow = explain::attention_flow(maps, layout);
  check.compare("output/flow", flow.relevance);
  check.compare("output/values", flow.values);
}

// (windows, heads, w w, w w) -> (heads, windows, w w, w w)
Values heads_first(const Tensor& windows) {
  const std::int64_t count = windows.size(0), heads = windows.size(1);
  const std::int64_t each = windows.size(2) * windows.size(3);
  const Values values = to_doubles(windows);
  Values result;
  for (std::int64_t h = 0; h < heads; ++h) {
    for (std::int64_t u = 0; u < count; ++u) {
      const auto first = values.begin() + (u * heads + h) * each;
      result.insert(result.end(), first, first + each);
    }
  }
  return result;
}

void run_window_maps(const Case& c, Checker& check) {
  const auto grid = c.config().integers("grid"), shifts = c.config().integers("shifts");
  const std::int64_t window = c.integer("window"), heads = c.integer("heads");
  c.check_all_read();
  const explain::GridSize size{grid.at(0), grid.at(1)};
  const std::vector<Tensor> maps = layers_of(c, "attn"), gradients = layers_of(c, "grad");
  explain::StageMaps rollout{size, {}}, generic{size, {}};
  for (std::size_t l = 0; l < maps.size(); ++l) {
    const ops::Units units({.grid = grid,
                            .unit = {window, window},
                            .shift = {shifts.at(l), shifts.at(l)},
                            .padded_first = false},
                           c.device());
    const auto tokens = units.tokens().host_values<std::int64_t>();
    const auto add = [&](explain::StageMaps& to, explain::Weighing weighing) {
      to.layers.emplace_back(
          explain::mean_over_heads(heads_first(maps[l]), heads_first(gradients.at(l)), heads,
                                   weighing),
          std::vector<std::int64_t>(tokens.begin(), tokens.end()), units.count(), size.count());
    };
    add(rollout, explain::Weighing::kRollout);
    add(generic, explain::Weighing::kPositiveGradient);
  }
  const auto dense = [&](const explain::StageMaps& stage, explain::StageRule rule) {
    Values all;
    for (std::int64_t i = 0; i < size.count(); ++i) {
      Values row(static_cast<std::size_t>(size.count()), 0.0);
      row[static_cast<std::size_t>(i)] = 1;
      row = explain::through_stages({&stage, 1}, rule, {row});
      all.insert(all.end(), row.begin(), row.end());
    }
    return all;
  };
  check.compare("output/rollout", dense(rollout, explain::StageRule::kRollout));
  check.compare("output/generic", dense(generic, explain::StageRule::kGeneric));
  check.compare("output/generic_mean",
                explain::through_stages({&generic, 1}, explain::StageRule::kGeneric));
}

void run_stages(const Case& c, Checker& check) {
  const schema::Value &grids = c.value("grids"), &key_grids = c.value("key_grids");
  const auto layers = c.config().integers("layers");
  const std::int64_t heads = c.integer("heads");
  c.check_all_read();
  const auto size_of = [](const schema::Value& grid) {
    return explain::GridSize{grid.at(0).as_int(), grid.at(1).as_int()};
  };
  std::vector<explain::StageMaps> generic, rollout;
  for (std::size_t s = 0; s < layers.size(); ++s) {
    const explain::GridSize grid = size_of(grids.at(s)), keys = size_of(key_grids.at(s));
    generic.push_back({grid, {}});
    rollout.push_back({grid, {}});
    for (std::int64_t l = 0; l < layers[s]; ++l) {
      const Values map = to_doubles(c.at(fmt::format("input/stage{}/attn/{}", s, l)));
      const Values gradient = to_doubles(c.at(fmt::format("input/stage{}/grad/{}", s, l)));
      const auto made = [&](explain::Weighing weighing) {
        return explain::TokenMap(Matrix{grid.count(), keys.count(),
                                        explain::mean_over_heads(map, gradient, heads, weighing)},
                                 grid, keys);
      };
      generic.back().layers.push_back(made(explain::Weighing::kPositiveGradient));
      rollout.back().layers.push_back(made(explain::Weighing::kRollout));
      rollout.back().layers.back().normalise_rows();
    }
  }
  check.compare("output/generic", explain::through_stages(generic, explain::StageRule::kGeneric));
  check.compare("output/rollout", explain::through_stages(rollout, explain::StageRule::kRollout));
}

void run_values(const Case& c, Checker& check) {
  const Tensor &map = c.at("input/attn"), &v = c.at("input/v");
  c.config().only("heads", map.size(0));
  explain::HeadValues x{map.size(0),
                        map.size(1),
                        map.size(2),
                        to_doubles(map),
                        v.size(2),
                        to_doubles(v),
                        to_doubles(c.at("input/w_out"))};
  x.norm_eps = c.number("eps");
  x.norm = c.given("lambda");
  if (x.norm) x.factor = 1 - c.number("lambda");
  if (c.has("input/subln")) x.norm_weight = to_doubles(c.at("input/subln"));
  c.check_all_read();
  const Matrix norms = explain::summed_norms(x);
  check.compare("output/head_norms", explain::head_norms(x));
  check.compare("output/norms", norms.values);
  check.compare("output/contribution", explain::contributions(x).values);
  check.compare("output/head_contribution", explain::head_contributions(x));
  check.compare("output/value_rollout", explain::rollout_step(norms).values);
}

// (n, k) behind the prefix -> (k, places).
Values channels_first(const Values& tokens, std::int64_t channels, std::int64_t prefix) {
  const auto n = std::ssize(tokens) / channels;
  Values result;
  for (std::int64_t k = 0; k < channels; ++k) {
    for (std::int64_t i = prefix; i < n; ++i)
      result.push_back(tokens[static_cast<std::size_t>(i * channels + k)]);
  }
  return result;
}

void run_cam(const Case& c, Checker& check) {
  const Tensor &a = c.at("input/activations"), &g = c.at("input/gradients");
  const bool tokens = c.flag("tokens");
  const std::int64_t prefix = c.integer("prefix");
  const auto grid = c.config().integers("grid");
  c.check_all_read();
  const std::int64_t channels = a.size(tokens ? 2 : 1);
  const auto sample = [&](const Tensor& x, std::int64_t i) {
    const Values values = to_doubles(x.rows(i, i + 1));
    return tokens ? channels_first(values, channels, prefix) : values;
  };
  const std::map<std::string, explain::Cam> kinds = {{"grad_cam", explain::Cam::kGradCam},
                                                     {"hires_cam", explain::Cam::kHiResCam},
                                                     {"layer_cam", explain::Cam::kLayerCam}};
  for (const auto& [name, kind] : kinds) {
    Values maps, scaled;
    for (std::int64_t i = 0; i < a.size(0); ++i) {
      const Values map = explain::class_activation_map(kind, sample(a, i), sample(g, i), channels);
      if (std::ssize(map) != grid.at(0) * grid.at(1)) c.config().refuse("grid");
      const Values one = explain::scaled_cam(map);
      maps.insert(maps.end(), map.begin(), map.end());
      scaled.insert(scaled.end(), one.begin(), one.end());
    }
    check.compare("output/" + name, maps);
    check.compare("output/" + name + "_scaled", scaled);
  }
}

void run_rise(const Case& c, Checker& check) {
  const double keep = c.number("keep");
  c.check_all_read();
  check.compare("output/map", explain::rise_map(to_doubles(c.at("input/masks")),
                                                to_doubles(c.at("input/scores")), keep));
}

}  // namespace

Table explain_maps() {
  Table table;
  table.add("explain_maps") = run_given_maps;
  table.add("explain_flow") = run_flow;
  table.add("explain_window_maps") = run_window_maps;
  table.add("explain_stages") = run_stages;
  table.add("explain_values") = run_values;
  table.add("explain_cam") = run_cam;
  table.add("explain_rise") = run_rise;
  return table;
}

}  // namespace fovea::verify
