#include "explain/recorded_values.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "base/error.h"
#include "tensor/host.h"

namespace fovea::explain {
namespace {

// Its width, and the way behind its result.
HeadValues without_tokens(const RecordedLayer& layer, const std::string& method) {
  const attention::Probe::Behind& behind = layer.attended.behind;
  FOVEA_CHECK(behind.proj.defined(), ConfigError,
              fmt::format("{}: what {} does behind its values is not linear; expected an output "
                          "projection, or a norm of heads and then one",
                          method, layer.module));
  HeadValues x;
  x.heads = layer.map.value.size(1);
  x.width = layer.attended.values.size(3);
  x.proj = host_doubles(behind.proj);
  x.norm = behind.norm;
  if (behind.norm_weight.defined()) x.norm_weight = host_doubles(behind.norm_weight);
  x.norm_eps = behind.norm_eps;
  x.factor = behind.factor;
  return x;
}

// Those of some tokens, (heads, tokens, width), of all values (heads, n, width).
std::vector<double> values_of(const std::vector<double>& all, const HeadValues& x,
                              const std::vector<std::int64_t>& tokens) {
  const std::int64_t n = std::ssize(all) / (x.heads * x.width);
  std::vector<double> some;
  for (std::int64_t h = 0; h < x.heads; ++h) {
    for (const std::int64_t token : tokens) {
      const auto first = all.begin() + (h * n + token) * x.width;
      some.insert(some.end(), first, first + x.width);
    }
  }
  return some;
}

// The unit's members that are tokens, by their places in it.
std::vector<std::int64_t> members_of(const std::vector<std::int64_t>& places, std::int64_t unit,
                                     std::int64_t size) {
  std::vector<std::int64_t> members;
  for (std::int64_t i = 0; i < size; ++i) {
    if (places[as_index(unit * size + i)] >= 0) members.push_back(i);
  }
  return members;
}

TokenMap of_units(const RecordedLayer& layer, HeadValues x, const std::vector<double>& map,
                  const std::vector<double>& values,
                  const std::function<Matrix(const HeadValues&)>& weigh) {
  const std::vector<std::int64_t> places = layer.places();
  const std::int64_t units = layer.map.value.size(2), size = layer.map.value.size(3);
  std::vector<double> weights(as_index(units * size * size), 0.0);
  for (std::int64_t u = 0; u < units; ++u) {
    const std::vector<std::int64_t> members = members_of(places, u, size);
    if (members.empty()) continue;
    std::vector<std::int64_t> tokens;
    for (const std::int64_t i : members) tokens.push_back(places[as_index(u * size + i)]);
    x.rows = x.keys = std::ssize(members);
    x.values = values_of(values, x, tokens);
    x.map.clear();
    for (std::int64_t h = 0; h < x.heads; ++h) {
      for (const std::int64_t i : members) {
        for (const std::int64_t j : members)
          x.map.push_back(map[as_index(((h * units + u) * size + i) * size + j)]);
      }
    }
    const Matrix weighed = weigh(x);
    for (std::int64_t i = 0; i < x.rows; ++i) {
      for (std::int64_t j = 0; j < x.keys; ++j)
        weights[as_index((u * size + members[as_index(i)]) * size + members[as_index(j)])] =
            weighed.at(i, j);
    }
  }
  return {std::move(weights), places, units, layer.grid.count()};
}

}  // namespace

HeadValues head_values_of(const Subject& subject, const RecordedLayer& layer, std::int64_t item,
                          const std::string& method) {
  HeadValues x = without_tokens(layer, method);
  visualise::AttentionMap map = map_of(subject, layer, item, method);
  const std::int64_t n = layer.map.value.size(2);
  std::vector<std::int64_t> tokens;
  const auto valid =
      subject.reads_text() ? subject.valid_tokens(item) : std::vector<std::uint8_t>(as_index(n), 1);
  for (std::int64_t j = 0; j < n; ++j) {
    if (valid[as_index(j)] != 0) tokens.push_back(j);
  }
  x.values = values_of(host_doubles(layer.attended.values.rows(item, item + 1)), x, tokens);
  x.rows = x.keys = map.n;
  x.map = std::move(map.values);
  return x;
}

TokenMap value_map_of(const RecordedLayer& layer, std::int64_t item,
                      const std::function<Matrix(const HeadValues&)>& weigh,
                      const std::string& method) {
  HeadValues x = without_tokens(layer, method);
  std::vector<double> map = host_doubles(layer.map.value.rows(item, item + 1));
  std::vector<double> values = host_doubles(layer.attended.values.rows(item, item + 1));
  if (layer.in_units()) return of_units(layer, std::move(x), map, values, weigh);
  x.rows = layer.map.value.size(2);
  x.keys = layer.map.value.size(3);
  x.map = std::move(map);
  x.values = std::move(values);
  return {weigh(x), layer.grid, layer.keys};
}

}  // namespace fovea::explain
