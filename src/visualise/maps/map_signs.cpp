#include "visualise/maps/map_signs.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/csv_field.h"
#include "tensor/host.h"

namespace fovea::visualise {
namespace {

double percent_of(std::int64_t part, std::int64_t all) {
  return all == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(all);
}

void count(double weight, LayerSigns& into) {
  into.least = into.weights == 0 ? weight : std::min(into.least, weight);
  ++into.weights;
  if (weight < 0) ++into.negative;
  if (weight == 0) ++into.zero;
}

// Maps (b, heads, units, members, members) of the tokens (units, members), of which -1 are none.
void count_units(const std::vector<double>& maps, const Tensor& tokens, LayerSigns& into) {
  const std::vector<double> members = host_doubles(tokens);
  const auto units = static_cast<std::size_t>(tokens.size(0));
  const auto size = static_cast<std::size_t>(tokens.size(1));
  for (std::size_t i = 0; i < maps.size(); ++i) {
    const std::size_t key = i % size, query = i / size % size, unit = i / (size * size) % units;
    if (members[unit * size + key] >= 0 && members[unit * size + query] >= 0) count(maps[i], into);
  }
}

}  // namespace

bool is_attention_map(const attention::Probe::Record& record) {
  return record.name == "attn" || record.name == "reduced_attn" || record.name == "unit_attn";
}

double LayerSigns::negative_share() const { return percent_of(negative, weights); }
double LayerSigns::zero_share() const { return percent_of(zero, weights); }

void add_signs(const attention::Probe& probe, std::vector<LayerSigns>& layers) {
  for (const attention::Probe::Record& record : probe.records()) {
    if (!is_attention_map(record)) continue;
    auto found = std::find_if(layers.begin(), layers.end(), [&](const LayerSigns& known) {
      return known.layer == record.module;
    });
    if (found == layers.end()) {
      layers.push_back({.layer = record.module});
      found = layers.end() - 1;
    }
    const std::vector<double> weights = host_doubles(record.value);
    if (record.tokens.defined()) {
      count_units(weights, record.tokens, *found);
    } else {
      for (const double weight : weights) count(weight, *found);
    }
  }
}

LayerSigns total_of(const std::vector<LayerSigns>& layers) {
  LayerSigns total{.layer = "all"};
  for (const LayerSigns& layer : layers) {
    total.least = total.weights == 0 ? layer.least : std::min(total.least, layer.least);
    total.weights += layer.weights;
    total.negative += layer.negative;
    total.zero += layer.zero;
  }
  return total;
}

std::string signs_csv(const std::vector<LayerSigns>& layers) {
  std::string text = "layer,weights,negative,zero,least\n";
  for (const LayerSigns& layer : layers) {
    text += fmt::format("{},{},{},{},{}\n", csv_field(layer.layer), layer.weights, layer.negative,
                        layer.zero, layer.least);
  }
  return text;
}

}  // namespace fovea::visualise
