// Diagnostics of attention (explain C).

#include <fmt/format.h>

#include "base/error.h"
#include "explain/diagnostics/head_importance.h"
#include "explain/diagnostics/linear_map.h"
#include "explain/diagnostics/map_diagnostics.h"
#include "explain/diagnostics/signed_maps.h"
#include "explain/diagnostics/token_diagnostics.h"
#include "verify/explain/items.h"
#include "verify/explain/network.h"
#include "verify/runners.h"

namespace fovea::verify {
namespace {

using explain::MeanOf;
using visualise::AttentionMap;
using Numbers = std::vector<double>;

// The maps (b, heads, n, n) of a layer, sample by sample.
std::vector<AttentionMap> maps_of(const Case& c, const std::string& key) {
  const Tensor& maps = c.at(key);
  std::vector<AttentionMap> items;
  for (Numbers& values : items_of(c, key))
    items.push_back({maps.size(1), maps.size(2), std::move(values)});
  return items;
}

template <class Value>
void compare_heads(const Case& c, Checker& check, const std::string& name,
                   const explain::LayerDiagnostics& layer, Value value) {
  if (!c.has("output/" + name)) return;
  Numbers heads;
  for (const explain::HeadDiagnostics& head : layer.heads) heads.push_back(value(head).value());
  check.compare("output/" + name, heads);
}

void compare_layer(const Case& c, Checker& check, const std::string& below,
                   const explain::LayerDiagnostics& layer) {
  using Head = explain::HeadDiagnostics;
  const std::pair<const char*, MeanOf Head::*> names[] = {
      {"entropy", &Head::entropy},
      {"relative_entropy", &Head::relative_entropy},
      {"importance_max", &Head::importance_max},
      {"effective_rank", &Head::effective_rank},
      {"stable_rank", &Head::stable_rank},
      {"row_residual", &Head::row_residual},
      {"mean_distance", &Head::mean_distance}};
  for (const auto& [name, member] : names) {
    compare_heads(c, check, below + name, layer,
                  [member = member](const Head& head) { return head.*member; });
  }
  if (c.has("output/" + below + "head_similarity"))
    check.compare("output/" + below + "head_similarity", Numbers{layer.head_similarity.value()});
  if (c.has("output/" + below + "head_js"))
    check.compare("output/" + below + "head_js", Numbers{layer.head_js.value()});
}

void diagnose_maps(const Case& c, Checker& check) {
  explain::MapDiagnosticsOptions options;
  const std::int64_t prefix = c.integer("prefix");
  const double patch = c.number("patch", 1);
  std::vector<double> distances;
  if (c.given("grid")) {
    const std::vector<std::int64_t> grid = c.config().integers("grid");
    distances = explain::patch_distances(prefix, {grid.at(0), grid.at(1)}, {patch, patch});
  }
  options.causal = c.flag("causal");
  options.sink_threshold = c.number("eps", 0.3);
  options.sink_token = c.integer("token", 0);
  explain::MapDiagnostics diagnostics(options);
  const std::int64_t layers = c.integer("layers");
  std::vector<std::vector<std::uint8_t>> valid;
  if (c.has("input/key_mask")) valid = masks_of(c, "input/key_mask");
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    const auto maps = maps_of(c, fmt::format("input/attn/{}", layer));
    for (std::size_t i = 0; i < maps.size(); ++i) {
      explain::LayerMap map =
          explain::layer_map(valid.empty() ? maps[i] : visualise::crop(maps[i], valid.at(i)));
      map.distances = distances;
      diagnostics.add(static_cast<std::size_t>(layer), map);
    }
  }
  for (std::size_t layer = 0; layer < diagnostics.layers().size(); ++layer)
    compare_layer(c, check, fmt::format("{}/", layer), diagnostics.layers()[layer]);
  using Head = explain::HeadDiagnostics;
  const auto over_all = [&](MeanOf Head::*member) { return Numbers{diagnostics.over_all(member)}; };
  check.compare("output/sink_rate", over_all(&Head::sink_rate));
  check.compare("output/sink_any", over_all(&Head::sink_any));
  check.compare("output/first_token_share", over_all(&Head::first_token_share));
}

void diagnose_tokens(const Case& c, Checker& check) {
  explain::TokenDiagnosticsOptions options;
  options.factor = c.number("factor", options.factor);
  if (c.given("absolute")) options.absolute = c.number("absolute");
  for (std::int64_t layer = 0; layer < c.integer("layers"); ++layer) {
    const std::string key = fmt::format("input/x/{}", layer);
    std::map<std::string, Numbers> out;
    for (const Numbers& tokens : items_of(c, key)) {
      const auto one = explain::diagnose_tokens(tokens, c.at(key).size(1), options);
      out["similarity"].push_back(one.similarity);
      out["residual"].push_back(one.residual);
      out["median_norm"].push_back(one.median_norm);
      out["max_norm"].push_back(one.max_norm);
      out["ratio"].push_back(one.ratio);
      out["high_norm"].push_back(static_cast<double>(one.high_norm));
      out["massive"].push_back(static_cast<double>(one.massive));
      for (const auto& entry : one.top) {
        append(out["top_index"], std::vector{entry.token, entry.channel});
        out["top_value"].push_back(entry.value);
      }
    }
    for (const auto& [name, values] : out)
      check.compare(fmt::format("output/{}/{}", layer, name), values);
  }
}

// The parts of one head in a map of several.
std::span<const double> head_of(const Numbers& map, std::int64_t heads, std::size_t head) {
  const std::size_t size = map.size() / static_cast<std::size_t>(heads);
  return std::span(map).subspan(head * size, size);
}

void diagnose_signed(const Case& c, Checker& check) {
  c.config().describes({"maps"});
  std::int64_t layers = 0;
  const auto layer_key = [](const char* name, std::int64_t layer) {
    return fmt::format("input/{}/{}", name, layer);
  };
  while (c.has(layer_key("attn", layers)) || c.has(layer_key("positive", layers))) ++layers;
  c.config().only("layers", layers);
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    const bool two = c.has(layer_key("positive", layer));
    const std::string key = layer_key(two ? "positive" : "attn", layer);
    const std::int64_t heads = c.at(key).size(1), n = c.at(key).size(2);
    const auto first = items_of(c, key);
    const auto second =
        two ? items_of(c, layer_key("negative", layer)) : std::vector<Numbers>(first.size());
    std::map<std::string, std::vector<MeanOf>> out;
    for (const char* name : {"negative_mass", "row_cancellation"})
      out[name].resize(static_cast<std::size_t>(heads));
    if (two) {
      for (const char* name : {"cancelled", "inhibited"})
        out[name].resize(static_cast<std::size_t>(heads));
    }
    for (std::size_t i = 0; i < first.size(); ++i) {
      for (std::size_t h = 0; h < static_cast<std::size_t>(heads); ++h) {
        const std::span<const double> positive = head_of(first[i], heads, h);
        Numbers map(positive.begin(), positive.end());
        if (two) {
          const std::span<const double> negative = head_of(second.at(i), heads, h);
          for (std::size_t k = 0; k < map.size(); ++k) map[k] -= negative[k];
          const auto [cancelled, inhibited] = explain::cancellation(positive, negative);
          out["cancelled"][h].add(cancelled);
          out["inhibited"][h].add(inhibited);
        }
        out["negative_mass"][h].add(explain::negative_mass(map));
        out["row_cancellation"][h].add(explain::row_cancellation(map, n).value());
      }
    }
    for (const auto& [name, means] : out) {
      Numbers values;
      for (const MeanOf& mean : means) values.push_back(mean.value());
      check.compare(fmt::format("output/{}/{}", layer, name), values);
    }
  }
}

void diagnose_linear(const Case& c, Checker& check) {
  const auto feature = c.config().choice(
      "feature", {{"elu1", explain::Feature::kEluPlusOne}, {"relu", explain::Feature::kRelu}},
      explain::Feature::kEluPlusOne);
  const double eps = c.number("eps", 0);
  const Tensor& q = c.at("input/q");
  const std::int64_t heads = q.size(1), n = q.size(2);
  const auto queries = items_of(c, "input/q"), keys = items_of(c, "input/k");
  explain::MapDiagnostics diagnostics({});
  Numbers all;
  for (std::size_t i = 0; i < queries.size(); ++i) {
    AttentionMap map{heads, n, {}};
    for (std::size_t h = 0; h < static_cast<std::size_t>(heads); ++h)
      append(map.values, explain::linear_map(head_of(queries[i], heads, h),
                                             head_of(keys.at(i), heads, h), n, feature, eps));
    append(all, map.values);
    diagnostics.add(0, explain::layer_map(std::move(map)));
  }
  check.compare("output/attn", all);
  compare_layer(c, check, "", diagnostics.layers().front());
}

void diagnose_heads(const Case& c, Checker& check) {
  const auto model = network_of(c, check);
  const auto found = explain::head_importance(
      *model, models::only_input(model->interface(), c.at("input/x")), c.at("input/labels"));
  Numbers importance, normalised, ablation;
  for (const Numbers& layer : found.importance) append(importance, layer);
  for (const Numbers& layer : explain::normalised_by_layer(found.importance))
    append(normalised, layer);
  for (const Numbers& layer : found.ablation_loss) append(ablation, layer);
  check.compare("output/importance", importance);
  check.compare("output/importance_normalised", normalised);
  check.compare("output/ablation_loss", ablation);
  check.compare("output/loss", Numbers{found.loss});
}

}  // namespace

Table explain_diagnostics() {
  Table table;
  table.add("diagnose_maps") = diagnose_maps;
  table.add("diagnose_tokens") = diagnose_tokens;
  table.add("diagnose_signed") = diagnose_signed;
  table.add("diagnose_linear") = diagnose_linear;
  table.add("diagnose_heads") = diagnose_heads;
  return table;
}

}  // namespace fovea::verify
