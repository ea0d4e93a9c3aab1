#include "explain/recorded.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

#include "base/error.h"
#include "tensor/host.h"

namespace fovea::explain {
namespace {

using attention::Probe;

bool is_map(const std::string& name) {
  return name == "attn" || name == "reduced_attn" || name == "unit_attn";
}

// The grid of so many keys: one for every s x s tokens, or pooled to a square.
GridSize keys_of(const GridSize& grid, std::int64_t keys, const std::string& module) {
  const auto root = [](double x) { return static_cast<std::int64_t>(std::lround(std::sqrt(x))); };
  const std::int64_t s = std::max<std::int64_t>(
      1, root(static_cast<double>(grid.count()) / static_cast<double>(keys)));
  GridSize found{grid.h / s, grid.w / s};
  const std::int64_t side = root(static_cast<double>(keys));
  if (found.count() != keys) found = {side, side};
  FOVEA_CHECK(
      found.count() == keys, ShapeError,
      fmt::format("{}: {} keys for {} x {} tokens lie on no grid", module, keys, grid.h, grid.w));
  return found;
}

std::int64_t tokens_of(const RecordedLayer& layer) {
  return layer.attended.result.defined() ? layer.attended.result.size(1) : layer.map.value.size(2);
}

// Item i of the first axis, as float64.
std::vector<double> item_of(const Tensor& x, std::int64_t item) {
  return host_doubles(x.rows(item, item + 1));
}

// Which tokens of a sample are valid: those of the prefix, and words.
std::vector<std::uint8_t> valid_tokens(const Subject& subject, std::int64_t item) {
  const std::int64_t n = subject.input().size(1);
  std::vector<std::uint8_t> valid(as_index(subject.layout().prefix), 1);
  const auto first = subject.valid().begin() + item * n;
  valid.insert(valid.end(), first, first + n);
  return valid;
}

visualise::AttentionMap cropped(const Subject& subject, visualise::AttentionMap map,
                                std::int64_t item) {
  return subject.reads_text() ? visualise::crop(map, valid_tokens(subject, item)) : map;
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
std::vector<RecordedLayer> layers_of(const Probe& probe, bool values, const std::string& method) {
  std::map<std::string, const Probe::Attended*> attended;
  for (const Probe::Attended& one : probe.attended()) attended[one.module] = &one;
  std::vector<RecordedLayer> layers;
  std::size_t without_grid = 0;
  for (const Probe::Record& record : probe.records()) {
    if (is_map(record.name)) {
      RecordedLayer layer{record.module, record, {}, {}, {}};
      // Windows of other attentions are a part of the module that runs them.
      const auto found = attended.find(record.module);
      FOVEA_CHECK(!values || found != attended.end(), ConfigError,
                  fmt::format("{}: {} does more than to apply its map to values; expected an "
                              "attention whose result is map times values",
                              method, record.module));
      if (values) layer.attended = *found->second;
      layers.push_back(layer);
    }
    // The features of a block, which know its grid, come behind its map.
    if (record.name == "features" && record.value.rank() == 4) {
      const GridSize grid{record.value.size(2), record.value.size(3)};
      for (; without_grid < layers.size(); ++without_grid) {
        RecordedLayer& layer = layers[without_grid];
        layer.grid = grid;
        layer.keys = layer.in_units() ? grid : keys_of(grid, layer.map.value.size(3), layer.module);
      }
    }
  }
  return layers;
}

}  // namespace

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
  Recording recording{layers_of(probe, wanted != Wanted::kMaps, method)};
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

HeadValues head_values_of(const Subject& subject, const RecordedLayer& layer, std::int64_t item,
                          const std::string& method) {
  const Probe::Behind& behind = layer.attended.behind;
  FOVEA_CHECK(behind.proj.defined(), ConfigError,
              fmt::format("{}: what {} does behind its values is not linear; expected an output "
                          "projection, or a norm of heads and then one",
                          method, layer.module));
  HeadValues x;
  x.map = map_of(subject, layer, item, method);
  x.width = layer.attended.values.size(3);
  const std::vector<double> all = item_of(layer.attended.values, item);
  const std::int64_t heads = x.map.heads, n = layer.map.value.size(2);
  const std::vector<std::uint8_t> valid = subject.reads_text()
                                              ? valid_tokens(subject, item)
                                              : std::vector<std::uint8_t>(as_index(n), 1);
  for (std::int64_t h = 0; h < heads; ++h) {
    for (std::int64_t j = 0; j < n; ++j) {
      const auto first = all.begin() + (h * n + j) * x.width;
      if (valid[as_index(j)] != 0) x.values.insert(x.values.end(), first, first + x.width);
    }
  }
  x.proj = host_doubles(behind.proj);
  x.norm = behind.norm;
  if (behind.norm_weight.defined()) x.norm_weight = host_doubles(behind.norm_weight);
  x.norm_eps = behind.norm_eps;
  x.factor = behind.factor;
  return x;
}

TokenMap token_map_of(const RecordedLayer& layer, std::int64_t item, Weighing weighing) {
  const Tensor& map = layer.map.value;
  const std::int64_t heads = map.size(1);
  const std::int64_t units = layer.in_units() ? map.size(2) : 1;
  const std::int64_t rows = map.size(-2), keys = map.size(-1);
  std::vector<std::int64_t> places;
  if (layer.in_units()) {
    const auto read = layer.map.tokens.host_values<std::int64_t>();
    places.assign(read.begin(), read.end());
  }
  std::vector<double> gradient;
  if (weighing != Weighing::kRollout) gradient = unit_gradient(layer, item, places);
  std::vector<double> mean = mean_over_heads(item_of(map, item), gradient, heads, weighing);
  TokenMap made = layer.in_units()
                      ? TokenMap(std::move(mean), std::move(places), units, layer.grid.count())
                      : TokenMap(Matrix{rows, keys, std::move(mean)}, layer.grid, layer.keys);
  if (weighing == Weighing::kRollout) made.normalise_rows();
  return made;
}

std::vector<StageMaps> stages_of(const Recording& recording, std::int64_t item, Weighing weighing,
                                 const std::string& method) {
  std::vector<StageMaps> stages;
  for (const RecordedLayer& layer : recording.layers) {
    FOVEA_CHECK(layer.grid.count() > 0, ConfigError,
                fmt::format("{}: the tokens of {} lie on no grid that is known; expected one",
                            method, layer.module));
    const GridSize before = stages.empty() ? layer.grid : stages.back().grid;
    FOVEA_CHECK(layer.grid.h <= before.h && layer.grid.w <= before.w, ConfigError,
                fmt::format("{}: the {} x {} tokens of {} follow {} x {}; expected grids that "
                            "become coarser",
                            method, layer.grid.h, layer.grid.w, layer.module, before.h, before.w));
    if (stages.empty() || !(before == layer.grid)) stages.push_back({layer.grid, {}});
    stages.back().layers.push_back(token_map_of(layer, item, weighing));
  }
  return stages;
}

std::size_t layer_place(const std::string& layer, std::size_t layers, const std::string& method) {
  if (layer == "last") return layers - 1;
  std::int64_t place = 0;
  const char* end = layer.data() + layer.size();
  const auto [stop, error] = std::from_chars(layer.data(), end, place);
  const auto count = static_cast<std::int64_t>(layers);
  const bool number = error == std::errc() && stop == end;
  FOVEA_CHECK(
      number && place >= -count && place < count, ConfigError,
      fmt::format("{}: layer is \"{}\"; expected last, or a number from 0 to {}, or from -1 "
                  "(the last) to -{}",
                  method, layer, count - 1, count));
  return as_index(place < 0 ? place + count : place);
}

}  // namespace fovea::explain
