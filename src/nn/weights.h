// Weights of a module and files: names must agree, or an error lists the differences.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "nn/module.h"
#include "tensor/safetensors.h"

namespace fovea::nn {

/// Parameters and buffers by dotted name.
std::map<std::string, Tensor> named_tensors(const Module& module);

/// Tensors without the "module." before every name that PyTorch's data-parallel wrapper adds.
std::map<std::string, Tensor> without_wrapper(const std::map<std::string, Tensor>& tensors);

/// The tensors of a file under the module's names for them (Module::own_name), without those that
/// it computes. Where two would get the same name, both keep theirs.
std::map<std::string, Tensor> with_own_names(const Module& module,
                                             const std::map<std::string, Tensor>& tensors);

/// What may differ between file and network; in patterns `*` stands for anything.
struct LoadOptions {
  std::vector<std::string> ignore;  // names of the file that are left out
  std::vector<std::string> random;  // names of the network that may be missing or of another shape
  // The flags by which a user fills these lists, for messages; empty where there are none.
  std::string ignore_flag = {};
  std::string random_flag = {};
};

struct LoadReport {
  std::int64_t loaded = 0;
  std::int64_t tensors = 0;         // of the network
  std::vector<std::string> random;  // of the network: left as they were
  // Of these: ignored by the caller, and of another shape in the file. The others are not in the
  // file.
  std::vector<std::string> left_out, other_shape;
  std::vector<std::string> unused;  // of the file
  // Of these: stored by public code of this network and never used (Module::is_unused).
  std::vector<std::string> known_unused;
};

/// Copies the tensors of a file into the module, a network or a part of one; floating types are
/// converted. `file` is used in messages. Nothing is changed if anything is wrong: throws FileError
/// that names what is missing, unexpected, of another shape, or not finite, and what can be done
/// about each of them. Accepted without a message: files with or without batch counters
/// (num_batches_tracked), names of without_wrapper() and Module::own_name(), and tensors of
/// Module::is_unused().
LoadReport load_weights(const Module& module, const std::map<std::string, Tensor>& tensors,
                        const std::string& file, const LoadOptions& options = {});

}  // namespace fovea::nn
