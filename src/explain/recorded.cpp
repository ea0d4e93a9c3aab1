#include "explain/recorded.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

#include "base/error.h"
#include "explain/joined_windows.h"
#include "tensor/host.h"
#include "visualise/maps/map_signs.h"

namespace fovea::explain {
namespace {

using attention::Probe;

// Of a map (b, c, h, w), or (b, c, d, h, w).
GridSize grid_of(const Tensor& map) {
  return {map.size(-2), map.size(-1), map.rank() == 5 ? map.size(2) : 1};
}

// The grid of so many keys: one for every s x s tokens, or pooled to a square.
GridSize keys_of(const GridSize& grid, std::int64_t keys, const std::string& module) {
  if (grid.count() == keys) return grid;
  const auto root = [](double x) { return static_cast<std::int64_t>(std::lround(std::sqrt(x))); };
  const std::int64_t s = std::max<std::int64_t>(
      1, root(static_cast<double>(grid.count()) / static_cast<double>(keys)));
  GridSize found{grid.h / s, grid.w / s};
  const std::int64_t side = root(static_cast<double>(keys));
  if (found.count() != keys) found = {side, side};
  FOVEA_CHECK(found.count() == keys, ShapeError,
              fmt::format("{}: {} keys for {} tokens lie on no grid", module, keys, text_of(grid)));
  return found;
}

std::int64_t tokens_of(const RecordedLayer& layer) {
  return layer.attended.result.defined() ? layer.attended.result.size(1) : layer.map.value.size(2);
}

// Item i of the first axis, as float64.
std::vector<double> item_of(const Tensor& x, std::int64_t item) {
  return host_doubles(x.rows(item, item + 1));
}

visualise::AttentionMap cropped(const Subject& subject, visualise::AttentionMap map,
                                std::int64_t item) {
  return subject.reads_text() ? visualise::crop(map, subject.valid_tokens(item)) : map;
}

void check_whole(const RecordedLayer& layer, const std::string& method) {
  FOVEA_CHECK(
      layer.whole(), ConfigError,
      fmt::format("{}: {} attends {}; expected weights of all tokens for all tokens", method,
                  layer.module, layer.in_units() ? "inside windows" : "to reduced keys"));
}

// dA_ij = sum_d dU_id v_jd for every head, laid out as the map of a sample. `places`: the tokens of
// units; empty: rows are tokens, and columns keys.
std::vector<double> unit_gradient(const RecordedLayer& layer, std::int64_t item,
                                  const std::vector<std::int64_t>& places) {
  const std::vector<double> du = item_of(*layer.attended.gradient, item);  // (n, heads, width)
  const std::vector<double> v = item_of(layer.attended.values, item);      // (heads, keys, width)
  const Tensor& map = layer.map.value;
  const std::int64_t heads = map.size(1), rows = map.size(-2), columns = map.size(-1);
  const std::int64_t all_rows = map.numel() / (map.size(0) * heads * columns);
  const std::int64_t keys = layer.attended.values.size(2), width = layer.attended.values.size(3);
  std::vector<double> gradient(as_index(heads * all_rows * columns), 0.0);
  for (std::int64_t h = 0; h < heads; ++h) {
    for (std::int64_t i = 0; i < all_rows; ++i) {
      const std::int64_t query = places.empty() ? i : places[as_index(i)];
      for (std::int64_t j = 0; query >= 0 && j < columns; ++j) {
        const std::int64_t key = places.empty() ? j : places[as_index(i / rows * columns + j)];
        if (key < 0) continue;
        const double* left = du.data() + (query * heads + h) * width;
        const double* right = v.data() + (h * keys + key) * width;
        double& sum = gradient[as_index((h * all_rows + i) * columns + j)];
        for (std::int64_t d = 0; d < width; ++d) sum += left[d] * right[d];
      }
    }
  }
  return gradient;
}

// Reads the maps and, where the probe has them, values of a pass.
Recording recording_of(const Probe& probe, bool values, const std::string& method) {
  std::map<std::string, const Probe::Attended*> attended;
  for (const Probe::Attended& one : probe.attended()) attended[one.module] = &one;
  Recording recording;
  std::vector<RecordedLayer>& layers = recording.layers;
  std::size_t without_grid = 0;
  for (const Probe::Record& record : probe.records()) {
    if (visualise::is_attention_map(record)) {
      RecordedLayer layer{record.module, record, {}, {}, {}};
      // Windows of other attentions are a part of the module that runs them.
      const auto found = attended.find(record.module);
      FOVEA_CHECK(!values || found != attended.end(), ConfigError,
                  fmt::format("{}: {} does more than to apply its map to values; expected an "
                              "attention whose result is map times values",
                              method, record.module));
      if (values) layer.attended = joined(*found->second);
      layers.push_back(layer);
    }
    if (record.name == "skip") recording.skips.push_back(grid_of(record.value));
    // The features of a block, which know its grid, come behind its map.
    if (record.name == "features" && record.value.rank() >= 4) {
      const GridSize grid = grid_of(record.value);
      for (; without_grid < layers.size(); ++without_grid) {
        RecordedLayer& layer = layers[without_grid];
        layer.grid = grid;
        layer.keys = layer.in_units() ? grid : keys_of(grid, layer.map.value.size(3), layer.module);
      }
    }
  }
  return recording;
}

// The stage on this grid that a decoder's last one joins, if there is one.
void set_skip(std::vector<StageMaps>& stages, const Recording& recording) {
  const GridSize& grid = stages.back().grid;
  std::size_t s = stages.size() - 1;
  if (grid.count() <= stages[s - 1].grid.count()) return;
  while (s > 0 && !(stages[s - 1].grid == grid)) --s;
  if (s == 0) return;
  stages.back().skip = s - 1;
  stages.back().skip_of_begin =
      std::find(recording.skips.begin(), recording.skips.end(), grid) != recording.skips.end();
}

}  // namespace

std::vector<std::int64_t> RecordedLayer::places() const {
  if (!in_units()) return {};
  const auto read = map.tokens.host_values<std::int64_t>();
  std::vector<std::int64_t> places(read.begin(), read.end());
  // Slices that were added behind the depth of a volume may be tokens to a block.
  for (std::int64_t& place : places) {
    if (place >= grid.count()) place = -1;
  }
  return places;
}

Recording record(const Subject& subject, const std::vector<std::int64_t>& targets, Wanted wanted,
                 const std::string& method) {
  Probe probe;
  if (wanted != Wanted::kMaps) probe.with_values();
  if (wanted == Wanted::kGradients) {
    subject.gradient(subject.x(), targets, &probe);
  } else {
    const autograd::NoGrad no_grad;
    subject.scores(subject.x(), &probe);
  }
  Recording recording = recording_of(probe, wanted != Wanted::kMaps, method);
  FOVEA_CHECK(!recording.layers.empty(), ConfigError,
              fmt::format("{}: the network has no attention over tokens; expected one", method));
  const std::int64_t n = tokens_of(recording.layers.front());
  for (const RecordedLayer& layer : recording.layers) {
    recording.is_signed = recording.is_signed || layer.map.is_signed;
    recording.one_grid = recording.one_grid && layer.whole() && tokens_of(layer) == n;
    FOVEA_CHECK(wanted != Wanted::kGradients || layer.attended.gradient->defined(), ConfigError,
                fmt::format("{}: no gradient reaches {}; expected scores that depend on it", method,
                            layer.module));
  }
  recording.one_grid = recording.one_grid && (subject.reads_text() || subject.grid().count() > 0);
  return recording;
}

visualise::AttentionMap map_of(const Subject& subject, const RecordedLayer& layer,
                               std::int64_t item, const std::string& method) {
  check_whole(layer, method);
  const Tensor& map = layer.map.value;
  return cropped(subject, {map.size(1), map.size(2), item_of(map, item)}, item);
}

GradedMap graded_map_of(const Subject& subject, const RecordedLayer& layer, std::int64_t item,
                        const std::string& method) {
  GradedMap both{map_of(subject, layer, item, method), {}};
  const Tensor& map = layer.map.value;
  both.gradient =
      cropped(subject, {map.size(1), map.size(2), unit_gradient(layer, item, {})}, item);
  return both;
}

TokenMap token_map_of(const RecordedLayer& layer, std::int64_t item, Weighing weighing) {
  const Tensor& map = layer.map.value;
  const std::int64_t heads = map.size(1);
  const std::int64_t units = layer.in_units() ? map.size(2) : 1;
  const std::int64_t rows = map.size(-2), keys = map.size(-1);
  std::vector<std::int64_t> places = layer.places();
  std::vector<double> gradient;
  if (weighing != Weighing::kRollout && weighing != Weighing::kWeights)
    gradient = unit_gradient(layer, item, places);
  std::vector<double> mean = mean_over_heads(item_of(map, item), gradient, heads, weighing);
  TokenMap made = layer.in_units()
                      ? TokenMap(std::move(mean), std::move(places), units, layer.grid.count())
                      : TokenMap(Matrix{rows, keys, std::move(mean)}, layer.grid, layer.keys);
  if (weighing == Weighing::kRollout) made.normalise_rows();
  return made;
}

std::vector<StageMaps> stages_of(const Recording& recording, std::int64_t item,
                                 const MapOfLayer& map, const std::string& method) {
  std::vector<StageMaps> stages;
  for (const RecordedLayer& layer : recording.layers) {
    FOVEA_CHECK(layer.grid.count() > 0, ConfigError,
                fmt::format("{}: the tokens of {} lie on no grid that is known; expected one",
                            method, layer.module));
    if (stages.empty() || !(stages.back().grid == layer.grid)) {
      stages.push_back({layer.grid, {}});
      if (stages.size() > 1) set_skip(stages, recording);
    }
    stages.back().layers.push_back(map(layer, item));
  }
  return stages;
}

std::size_t layer_place(const std::string& layer, const std::vector<std::string>& modules,
                        const std::string& method) {
  if (layer == "last") return modules.size() - 1;
  std::int64_t place = 0;
  const char* end = layer.data() + layer.size();
  const auto [stop, error] = std::from_chars(layer.data(), end, place);
  const auto count = std::ssize(modules);
  if (error == std::errc() && stop == end && place >= -count && place < count)
    return as_index(place < 0 ? place + count : place);
  for (std::size_t l = modules.size(); l-- > 0;) {
    if (modules[l] == layer || modules[l].starts_with(layer + ".")) return l;
  }
  throw ConfigError(fmt::format(
      "{}: layer is \"{}\"; expected last, a number from 0 to {}, or from -1 (the last) "
      "to -{}, or one of {}",
      method, layer, count - 1, count, fmt::join(modules, ", ")));
}

std::size_t layer_place(const std::string& layer, const Recording& recording,
                        const std::string& method) {
  std::vector<std::string> modules;
  for (const RecordedLayer& one : recording.layers) modules.push_back(one.module);
  return layer_place(layer, modules, method);
}

}  // namespace fovea::explain
