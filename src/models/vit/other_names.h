// The names that other libraries give the weights of a ViT.
#pragma once

#include <map>
#include <string>

#include "schema/fields.h"
#include "tensor/tensor.h"

namespace fovea::models {

enum class NamesOf {
  kTimm,         // those of the networks here
  kHuggingFace,  // transformers: ViT, DeiT, DINOv2 with and without registers, CLIP's image encoder
  kTorchvision,  // VisionTransformer
};

/// The word of a flag: "timm", "hf" or "torchvision". Throws ConfigError for another.
NamesOf names_of(const std::string& word);

/// The tensors of a file under timm's names, in timm's form: queries, keys and values are joined,
/// and so are the halves of a gated MLP; with register tokens the position of the class token is
/// added to it, since only patches have positions in timm; a projection without bias becomes a head
/// whose bias is 0. Names that are not known stay. `file` is used in messages. Throws ConfigError
/// where no name is the library's, and FileError where a part of a joined tensor is missing.
std::map<std::string, Tensor> timm_tensors(const std::map<std::string, Tensor>& tensors,
                                           NamesOf names, const std::string& file);

}  // namespace fovea::models
