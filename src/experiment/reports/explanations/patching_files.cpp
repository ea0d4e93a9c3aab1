#include "experiment/reports/explanations/patching_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "base/csv_field.h"
#include "base/file.h"
#include "experiment/reports/explanations/estimate_value.h"
#include "experiment/tables/text_table.h"
#include "visualise/plots/matrix_plot.h"

namespace fovea::experiment {
namespace {

using explain::PatchedInput;
using explain::PatchedLayer;
using explain::TargetScore;
using schema::Value;

// The places of a layer in the order of the table; nothing where it lacks one.
struct NamedScore {
  std::string place;
  std::optional<TargetScore> score;
};

std::vector<NamedScore> places_of_layer(const PatchedLayer& layer) {
  std::vector<NamedScore> places = {
      {"prefix", layer.prefix}, {"attn", layer.attention}, {"mlp", layer.ffn}};
  for (std::size_t head = 0; head < layer.heads.size(); ++head)
    places.push_back({fmt::format("head {}", head), layer.heads[head]});
  return places;
}

// The places that any layer of an input has.
std::vector<std::string> columns_of(const PatchedInput& one) {
  std::vector<std::string> columns;
  std::size_t heads = 0;
  std::set<std::string> there;
  for (const PatchedLayer& layer : one.patching.layers) {
    heads = std::max(heads, layer.heads.size());
    for (const NamedScore& place : places_of_layer(layer))
      if (place.score) there.insert(place.place);
  }
  for (const char* place : {"prefix", "attn", "mlp"})
    if (there.contains(place)) columns.push_back(place);
  for (std::size_t head = 0; head < heads; ++head) columns.push_back(fmt::format("head {}", head));
  return columns;
}

// The effect at a place of a layer; NaN where there is none.
double effect_at(const PatchedInput& one, const PatchedLayer& layer, const std::string& column) {
  for (const NamedScore& place : places_of_layer(layer))
    if (place.place == column && place.score) return one.patching.effect(*place.score);
  return std::numeric_limits<double>::quiet_NaN();
}

TextTable effects_table(const PatchedInput& one) {
  TextTable table{{"layer"}, {}};
  const std::vector<std::string> columns = columns_of(one);
  table.header.insert(table.header.end(), columns.begin(), columns.end());
  for (const PatchedLayer& layer : one.patching.layers) {
    std::vector<std::string>& row = table.rows.emplace_back();
    row.push_back(layer.module);
    for (const std::string& column : columns) {
      const double effect = effect_at(one, layer, column);
      row.push_back(std::isfinite(effect) ? fmt::format("{:.3f}", effect) : ".");
    }
  }
  return table;
}

std::string score_text(const TargetScore& score) {
  std::string text = fmt::format("{:.3f}", score.logit);
  if (std::isfinite(score.probability)) text += fmt::format(" ({:.1f} %)", 100 * score.probability);
  return text;
}

visualise::MatrixPlot effects_plot(const PatchedInput& one) {
  visualise::MatrixPlot plot{
      .title = fmt::format("{}: {} from {}, for {}", one.run, one.input, one.other, one.target),
      .quantity = "effect",
      .rows = {},
      .columns = columns_of(one),
      .values = {}};
  for (const PatchedLayer& layer : one.patching.layers) {
    plot.rows.push_back(layer.module);
    for (const std::string& column : plot.columns)
      plot.values.push_back(effect_at(one, layer, column));
  }
  return plot;
}

std::string patching_csv(const std::vector<PatchedInput>& patched) {
  std::string text = "run,input,other,target,layer,place,logit,probability,effect\n";
  for (const PatchedInput& one : patched) {
    const auto add = [&](const std::string& layer, const std::string& place,
                         const TargetScore& score) {
      const double effect = one.patching.effect(score);
      text +=
          fmt::format("{},{},{},{},{},{},{},{},{}\n", csv_field(one.run), csv_field(one.input),
                      csv_field(one.other), csv_field(one.target), layer, place, score.logit,
                      std::isfinite(score.probability) ? fmt::format("{}", score.probability) : "",
                      std::isfinite(effect) ? fmt::format("{}", effect) : "");
    };
    add("", "clean", one.patching.clean);
    add("", "other", one.patching.other);
    for (const PatchedLayer& layer : one.patching.layers)
      for (const NamedScore& place : places_of_layer(layer))
        if (place.score) add(layer.module, place.place, *place.score);
  }
  return text;
}

Value score_value(const PatchedInput& one, const TargetScore& score) {
  return Value::object({{"logit", number_value(score.logit)},
                        {"probability", number_value(score.probability)},
                        {"effect", number_value(one.patching.effect(score))}});
}

Value patching_json(const std::vector<PatchedInput>& patched, Value record) {
  Value all = Value::array();
  for (const PatchedInput& one : patched) {
    Value layers = Value::array();
    for (const PatchedLayer& layer : one.patching.layers) {
      Value value = Value::object({{"layer", layer.module}});
      for (const NamedScore& place : places_of_layer(layer))
        if (place.score) value.set(place.place, score_value(one, *place.score));
      layers.push_back(std::move(value));
    }
    all.push_back(Value::object({{"run", one.run},
                                 {"weights", one.weights},
                                 {"input", one.input},
                                 {"other", one.other},
                                 {"target", one.target},
                                 {"clean", score_value(one, one.patching.clean)},
                                 {"other_score", score_value(one, one.patching.other)},
                                 {"layers", std::move(layers)}}));
  }
  record.set("inputs", std::move(all));
  return record;
}

}  // namespace

std::string patching_tables_text(const std::vector<PatchedInput>& patched) {
  std::string text;
  for (const PatchedInput& one : patched) {
    text +=
        fmt::format("{}: {} with activations of {}; logit of {}: {}, of the other input {}\n{}\n",
                    one.run, one.input, one.other, one.target, score_text(one.patching.clean),
                    score_text(one.patching.other), plain_table(effects_table(one)));
  }
  text +=
      "effect = (patched - clean) / (other - clean) of the logit: 0 changes nothing, 1 gives all "
      "of "
      "the difference. prefix: the class token and registers behind the block; attn: all heads; "
      "mlp: the feed-forward network; for all tokens but prefix.\n";
  return text;
}

std::vector<std::string> write_patching_files(const io::fs::path& folder,
                                              const std::vector<PatchedInput>& patched,
                                              Value settings) {
  std::vector<visualise::MatrixPlot> plots;
  std::set<std::string> runs;
  for (const PatchedInput& one : patched) runs.insert(one.run);
  const std::size_t inputs = patched.size() / runs.size();
  // Runs lie behind each other; in the picture they stand side by side.
  for (std::size_t i = 0; i < inputs; ++i)
    for (std::size_t r = 0; r < runs.size(); ++r)
      plots.push_back(effects_plot(patched[r * inputs + i]));
  io::make_directories(folder);
  io::write_atomic(folder / "patching.csv", patching_csv(patched));
  write_png(folder / "patching.png", visualise::render(plots, std::ssize(runs)));
  io::write_atomic(folder / "patching.json",
                   patching_json(patched, std::move(settings)).dump() + "\n");
  return {"patching.json", "patching.csv", "patching.png"};
}

}  // namespace fovea::experiment
