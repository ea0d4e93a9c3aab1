// Networks of other programs that are recognised by the names of their weights, so that messages
// say what network a file is of.
#pragma once

#include <string>
#include <vector>

#include "tensor/tensor.h"

namespace fovea::nn {

/// What is recognised in a file, given the names that a network has no tensor for:
///   parts      a variant of the network with parts that it lacks: "a ViT with register
///              tokens (timm: *_reg4_*)", "a distilled DeiT", ...; its other tensors may fit
///   network    another network, "a Swin Transformer"
/// `has`: what to do: the types here that read it, or that none does.
struct KnownNetwork {
  std::string what;
  std::string has;
  bool part = false;
};

/// All parts that the names `left_over` belong to, or else the network; empty where none is known.
/// A part accounts for the names that `explains` matches.
std::vector<KnownNetwork> known_networks(const std::vector<std::string>& left_over);

/// The networks that a file is recognised as by the names that the network has and the file has not:
/// the same network with less.
std::vector<KnownNetwork> known_without(const std::vector<std::string>& missing);

/// Whether a name belongs to a part of known_networks(), and so is no misspelt name.
bool explains(const std::string& name);

}  // namespace fovea::nn
