// Networks of other programs that are recognised by the names of their weights, so that a file of
// another network is called what it is.
#pragma once

#include <string>
#include <vector>

#include "tensor/tensor.h"

namespace fovea::nn {

/// What is recognised of a file, given the names that a network has no tensor for:
///   parts      a variant of the network, with more than the network has: "a ViT with register
///              tokens (timm: *_reg4_*)", "a distilled DeiT", ...; its other tensors may fit
///   network    wholly another one, "a Swin Transformer"
/// `has`: what to do, with the types here that read it, or that none does.
struct KnownNetwork {
  std::string what;
  std::string has;
  bool part = false;
};

/// All parts that `left_over` shows, or else the network; empty where none is known. A part speaks
/// for the names that `explains` tells.
std::vector<KnownNetwork> known_networks(const std::vector<std::string>& left_over);

/// Whether a name belongs to a part of known_networks(), so that no near name is meant.
bool explains(const std::string& name);

}  // namespace fovea::nn
