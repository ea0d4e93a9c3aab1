// Weights that another program wrote: its names become ours before they are loaded.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "models/model.h"
#include "nn/weights.h"
#include "schema/json/value.h"

namespace fovea::training {

/// A safetensors file and how it is read. The steps are taken in this order:
///   1. "module." before every name goes (without_wrapper).
///   2. strip_prefix: every name that begins with one of these loses it; others keep their names.
///   3. rename: "a=b" puts b in place of every a in every name, "^a=b" only at its beginning, in
///      the order given. A prefix or renaming that changes no name is an error, two tensors that
///      get one name as well.
///   4. names: "hf" and "torchvision" become timm's, see models::timm_tensors().
///   5. interpolate_pos_embed: see resample_positions().
struct ForeignWeights {
  std::filesystem::path file;
  std::vector<std::string> strip_prefix = {};
  std::vector<std::string> rename = {};
  std::string names = "timm";
  bool interpolate_pos_embed = false;
  nn::LoadOptions options = {};
};

/// Steps 1 to 4. Throws ConfigError, and FileError as timm_tensors() does.
std::map<std::string, Tensor> renamed(const std::map<std::string, Tensor>& tensors,
                                      const ForeignWeights& from);

/// Reads the file into the network. Throws FileError as load_weights() does and ConfigError.
nn::LoadReport load_foreign(models::Model& model, const ForeignWeights& from, const Device& host);

/// {"loaded", and lists of names: "random", of these "left_out" and "other_shape", "unused", of
/// these "known_unused"}; see nn::LoadReport.
schema::Value to_value(const nn::LoadReport& report);
/// For results and summaries: the same with "file" and "hash" of its content.
schema::Value to_value(const ForeignWeights& from, const nn::LoadReport& report);

/// What the network did not get from the file, and what it knowingly left there, by such a record:
/// "head.weight, head.bias: random, left out as asked"; empty where it took all. Of records of
/// older programs, which did not tell why: "random, not taken from the file".
std::string random_text(const schema::Value& init);

}  // namespace fovea::training
