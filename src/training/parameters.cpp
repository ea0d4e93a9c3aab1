#include "training/parameters.h"

#include <cstdint>
#include <map>
#include <string>

#include "models/layer_order.h"

namespace fovea::training {

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

}  // namespace fovea::training
