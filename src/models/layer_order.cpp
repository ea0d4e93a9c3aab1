#include "models/layer_order.h"

#include <utility>
#include <vector>

namespace fovea::models {
namespace {

// Dotted names of the blocks with a dot behind them, in order.
std::vector<std::string> blocks_of(nn::Module& network) {
  std::vector<std::string> blocks;
  network.visit([&](const std::string& name, nn::Module& module) {
    const bool inside = !blocks.empty() && name.starts_with(blocks.back());
    if (module.is_block() && !inside) blocks.push_back(name + ".");
  });
  return blocks;
}

// Whether the module that a parameter belongs to is called norm, norm1, ... and lies beside the
// block or what the block is in, not in another part of the network, as a norm in front of
// downsampling.
bool is_norm_beside(const std::string& parameter, const std::string& block) {
  const std::string module = parameter.substr(0, parameter.rfind('.'));
  const std::size_t name = module.rfind('.') + 1;
  return module.substr(name).starts_with("norm") && block.starts_with(module.substr(0, name));
}

}  // namespace

std::map<std::string, std::int64_t> layers_to_output(nn::Module& network) {
  const std::vector<std::string> blocks = blocks_of(network);
  if (blocks.empty()) return {};
  std::map<std::string, std::int64_t> layers;
  std::size_t begun = 0;      // blocks
  bool right_behind = false;  // nothing but norms since
  for (const nn::NamedTensor& named : network.parameters()) {
    const std::string& name = named.name;
    if (begun < blocks.size() && name.starts_with(blocks[begun])) {
      ++begun;
      right_behind = true;
    } else if (begun > 0 && !name.starts_with(blocks[begun - 1])) {
      right_behind = right_behind && is_norm_beside(name, blocks[begun - 1]);
    }
    const std::size_t layer = begun == 0 || right_behind ? begun : begun + 1;
    layers[name] = static_cast<std::int64_t>(blocks.size() + 1 - layer);
  }
  return layers;
}

}  // namespace fovea::models
