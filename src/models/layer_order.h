// The layers of a network in the order of its data, for learning rates by layer.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "nn/module.h"

namespace fovea::models {

/// Of every parameter, by dotted name: how many layers lie between it and the output. As in timm,
/// the layers are what comes before the first block (patches, positions, tokens, stem), each block,
/// and what comes behind the last one (0: head, decoder). What lies between two blocks belongs to
/// the second, as Swin's downsampling does in timm; a norm right behind a block belongs to the
/// block, the last norm of a ViT too. The blocks are the modules of is_block(), in the order they
/// are registered in; of nested ones the outer. Empty for a network without blocks.
std::map<std::string, std::int64_t> layers_to_output(nn::Module& network);

}  // namespace fovea::models
