#include "training/parameters.h"

#include <fmt/format.h>

#include <cstdint>
#include <map>

#include "base/error.h"
#include "base/name_pattern.h"
#include "models/layer_order.h"

namespace fovea::training {
namespace {

constexpr const char* kKey = "train.freeze";

bool takes_out(const std::string& pattern) { return pattern.starts_with("!"); }
std::string without_mark(const std::string& pattern) {
  return takes_out(pattern) ? pattern.substr(1) : pattern;
}

bool is_frozen(const std::string& name, const std::vector<std::string>& patterns) {
  for (auto pattern = patterns.rbegin(); pattern != patterns.rend(); ++pattern) {
    if (matches_pattern(name, without_mark(*pattern))) return !takes_out(*pattern);
  }
  return false;
}

std::int64_t trained_count(const nn::Module& network) {
  std::int64_t count = 0;
  for (const nn::NamedTensor& named : network.parameters())
    count += named.tensor.requires_grad() ? named.tensor.numel() : 0;
  return count;
}

}  // namespace

std::vector<optim::Parameter> parameters_of(nn::Module& network) {
  const std::map<std::string, std::int64_t> layers = models::layers_to_output(network);
  std::vector<optim::Parameter> list;
  for (const nn::NamedTensor& named : network.parameters()) {
    list.push_back({named.name, named.tensor});
    if (const auto layer = layers.find(named.name); layer != layers.end())
      list.back().layers_to_output = layer->second;
  }
  return list;
}

void freeze(nn::Module& network, const std::vector<std::string>& patterns) {
  if (patterns.empty()) return;
  std::vector<std::string> names, given;
  for (const nn::NamedTensor& named : network.parameters()) names.push_back(named.name);
  for (const std::string& pattern : patterns) given.push_back(without_mark(pattern));
  require_matches(kKey, given, names, "parameters");
  network.freeze([&](const std::string& name) { return is_frozen(name, patterns); });
  FOVEA_CHECK(trained_count(network) > 0, ConfigError,
              fmt::format("{}: freezes all {} parameters, which leaves nothing to train; take out "
                          "what is to be trained: [\"*\", \"!head.*\"]",
                          kKey, names.size()));
}

std::string frozen_text(const nn::Module& network, const std::vector<std::string>& patterns) {
  if (patterns.empty()) return "";
  return fmt::format("{}: {} of {} parameters are trained", kKey, trained_count(network),
                     network.parameter_count());
}

}  // namespace fovea::training
