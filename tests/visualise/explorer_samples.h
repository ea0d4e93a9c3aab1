// Networks that were never trained, for tests of the explorer: maps with a pattern that is known.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "visualise/pages/explorer.h"

namespace fovea::test {

/// A number in [0, 1) that depends on nothing but its arguments.
inline double noise(std::int64_t a, std::int64_t b) {
  auto x = static_cast<std::uint64_t>(a) * 0x9E3779B97F4A7C15u +
           static_cast<std::uint64_t>(b) * 0xBF58476D1CE4E5B9u + 0x94D049BB133111EBu;
  x ^= x >> 31;
  x *= 0xBF58476D1CE4E5B9u;
  x ^= x >> 29;
  return static_cast<double>(x >> 11) * 0x1p-53;
}

/// Maps whose head h looks mostly at the token h + 1 places before, wrapping around; rows sum to 1.
/// With `negative` a share of each row is pushed below 0.
inline visualise::AttentionMap pattern_map(std::int64_t heads, std::int64_t n, std::int64_t seed,
                                           bool negative) {
  visualise::AttentionMap map{heads, n, {}};
  for (std::int64_t head = 0; head < heads; ++head) {
    for (std::int64_t query = 0; query < n; ++query) {
      std::vector<double> row;
      double sum = 0;
      for (std::int64_t key = 0; key < n; ++key) {
        const bool target = (query - key - head - 1) % n == 0;
        row.push_back(std::exp(3 * noise(seed * heads + head, query * n + key)) +
                      (target ? 4.0 * static_cast<double>(n) : 0.0));
        sum += row.back();
      }
      for (const double w : row) {
        map.values.push_back(w / sum - (negative ? 0.9 / static_cast<double>(n) : 0.0));
      }
    }
  }
  return map;
}

inline visualise::ExplorerModel pattern_model(const std::string& name, std::int64_t depth,
                                              std::int64_t heads, std::int64_t n, bool negative) {
  visualise::ExplorerModel model;
  model.name = name;
  for (std::int64_t layer = 0; layer < depth; ++layer) {
    model.layers.push_back(pattern_map(heads, n, layer + 1, negative));
  }
  model.rollout = visualise::attention_rollout(model.layers, visualise::default_rollout(negative));
  model.attention = visualise::attention_quantity(negative);
  model.rolled_out = visualise::rollout_quantity(visualise::default_rollout(negative), negative);
  model.attention_even = visualise::even_share(model.attention, n);
  model.rollout_even = visualise::even_share(visualise::default_rollout(negative), negative, n);
  model.policy = negative ? "raw, abs" : "raw, sum";
  return model;
}

inline std::vector<std::string> words(std::int64_t count) {
  const std::vector<std::string> some = {
      "the",   "server", "draws", "a",      "filled", "rectangle", ",",       "line", "or",
      "point", "in",     "the",   "colour", "of",     "its",       "context", "."};
  std::vector<std::string> text;
  for (std::int64_t i = 0; i < count; ++i) {
    text.push_back(some[static_cast<std::size_t>(i) % some.size()]);
  }
  return text;
}

/// A text of `n` words as a softmax and a signed network see it.
inline visualise::Explorer text_explorer(std::int64_t n, std::int64_t depth, std::int64_t heads) {
  visualise::ExplorerSample sample{"a text", {}, {}};
  sample.models.push_back(pattern_model("Transformer", depth, heads, n, false));
  sample.models.push_back(pattern_model("DGT", depth, heads, n, true));
  for (auto& model : sample.models) model.tokens = words(n);
  return {"Attention explorer", {sample}};
}

/// A picture of 32 x 32 pixels as a network of 8 x 8 patches and one of 4 x 4 see it.
inline visualise::Explorer picture_explorer() {
  visualise::ExplorerSample sample{"a picture", visualise::Canvas(32, 32), {}};
  for (std::int64_t y = 0; y < 32; ++y) {
    for (std::int64_t x = 0; x < 32; ++x) {
      const auto bright = static_cast<std::uint8_t>(7 * std::abs(x - y));
      sample.picture.set(x, y, {bright, static_cast<std::uint8_t>(8 * y), 90});
    }
  }
  sample.models.push_back(pattern_model("DGViT", 2, 4, 65, true));
  sample.models.back().grid_h = sample.models.back().grid_w = 8;
  sample.models.back().prefix_tokens = 1;
  sample.models.push_back(pattern_model("ViT", 3, 2, 16, false));
  sample.models.back().grid_h = sample.models.back().grid_w = 4;
  return {"Attention explorer", {sample}};
}

/// A picture of 64 x 32 pixels in which a detector with attention found two objects, and one with
/// weights of layers one of them. The first looks from object i at cell i + 1 + head alone.
inline visualise::Explorer detector_explorer() {
  visualise::ExplorerSample sample{"cells", visualise::Canvas(64, 32), {}};
  const visualise::Colour blue{0, 114, 178}, orange{213, 94, 0};
  sample.truth = {{"cell", {4, 4, 20, 20}, blue}};
  visualise::ExplorerModel tokens;
  tokens.name = "MAViT";
  tokens.note = "2 found";
  tokens.is_detector = true;
  tokens.objects = {{"cell 0.90", {4, 4, 20, 20}, blue, 0},
                    {"<b>platelet 0.40", {40, 8, 56, 24}, orange, 1}};
  for (const std::int64_t side : {4, 2}) {  // rows of 4 x 8 and of 2 x 4 places
    visualise::ExplorerObjectMap map{side == 4 ? "layers.0" : "layers.1", 2, side, 2 * side, {}};
    map.even = 1.0 / static_cast<double>(2 * side * side);
    for (std::int64_t head = 0; head < 2; ++head) {
      for (std::int64_t object = 0; object < 2; ++object) {
        for (std::int64_t cell = 0; cell < 2 * side * side; ++cell)
          map.weights.push_back(cell == object + 1 + head ? 1 : 0);
      }
    }
    tokens.object_maps.push_back(std::move(map));
  }
  visualise::ExplorerModel layers;
  layers.name = "ResNet";
  layers.is_detector = true;
  layers.objects = {{"cell 0.70", {5, 5, 21, 21}, blue, 0}};
  layers.object_maps = {
      {"layer2", 1, 0, 3, {0.5, 0.2, 0.3}, {false, "weight of a layer"}, 1.0 / 3, true}};
  sample.models = {tokens, layers};
  return {"Detection explorer", {sample}};
}

}  // namespace fovea::test
