// Weights that another program wrote: its names become ours before they are loaded.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "models/model.h"
#include "nn/weights.h"
#include "schema/value.h"

namespace fovea::training {

/// A safetensors file and how it is read. The steps are taken in this order:
///   1. "module." before every name goes (without_wrapper).
///   2. strip_prefix: every name that begins with one of these loses it; others keep their names.
///   3. rename: "a=b" puts b in place of every a in every name, "^a=b" only at its beginning, in
///      the order given. A prefix or renaming that changes no name is an error, two tensors that
///      get one name as well.
///   4. interpolate_pos_embed: see resample_positions().
struct ForeignWeights {
  std::filesystem::path file;
  std::vector<std::string> strip_prefix = {};
  std::vector<std::string> rename = {};
  bool interpolate_pos_embed = false;
  nn::LoadOptions options = {};
};

/// Steps 1 to 3. Throws ConfigError.
std::map<std::string, Tensor> renamed(const std::map<std::string, Tensor>& tensors,
                                      const ForeignWeights& from);

/// Reads the file into the network. Throws FileError as load_weights() does and ConfigError.
nn::LoadReport load_foreign(models::Model& model, const ForeignWeights& from, const Device& host);

/// For results and summaries: {"file", "hash" of its content, "loaded", "random", "unused"}.
schema::Value to_value(const ForeignWeights& from, const nn::LoadReport& report);

/// "head.weight, head.bias: random, not in the file"; empty if there are none.
std::string random_text(const std::vector<std::string>& random);

}  // namespace fovea::training
