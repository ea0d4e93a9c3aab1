// A trained network in one file that can be handed on (fovea export): weights, and all that they
// mean nothing without.
//
// It is a safetensors file, so that other programs can read its weights. "__metadata__" has
//   format   "fovea-1"
//   config   JSON: every setting of the run
//   files    JSON: the texts that lie beside the weights of a run, by name
//   about    JSON: what the network is, for people; see ModelFile::about
//   hash     of the whole file, its own digits taken for zeros
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "schema/json/value.h"
#include "tensor/safetensors.h"

namespace fovea::training {

/// Programs know such a file by this ending.
inline constexpr const char* kModelEnding = ".fovea";
bool is_model_file(const std::filesystem::path& path);

struct ModelFile {
  std::map<std::string, Tensor> weights;
  schema::Value config;
  std::map<std::string, std::string> files;
  schema::Value about = schema::Value::object();
  std::string hash = {};  // of a file that was read
};

/// Equal models give equal files. Writes atomically. Throws FileError.
void write_model_file(const std::filesystem::path& path, const ModelFile& model);

/// Throws FileError of one line for a file that is missing, cut short, changed in any bit, or no
/// such file.
ModelFile read_model_file(const std::filesystem::path& path, const Device& host);
/// The same of the bytes of a file; `name` is that of messages.
ModelFile parse_model_file(std::string bytes, const std::string& name, const Device& host);

}  // namespace fovea::training
