// Weights of a network and files: names must agree, or the difference is spelled out.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "nn/module.h"
#include "tensor/safetensors.h"

namespace fovea::training {

/// Parameters and buffers by dotted name.
std::map<std::string, Tensor> named_tensors(const nn::Module& module);

/// The same tensors in the host's memory, shared where they are there already.
std::map<std::string, Tensor> to_host(const std::map<std::string, Tensor>& tensors,
                                      const Device& host);

/// The value of a scalar on any device.
double scalar_of(const Tensor& x);

struct LoadOptions {
  /// Names that may be missing, unexpected or of another shape; `*` stands for anything.
  std::vector<std::string> ignore;
};

struct LoadReport {
  std::int64_t loaded = 0;
  std::vector<std::string> kept;    // of the model, left as they were
  std::vector<std::string> unused;  // of the file
};

/// Copies the tensors of a file into the network; floating types are converted. `file` is used in
/// messages. Nothing is changed if anything is wrong: throws FileError that names what is missing,
/// unexpected, of another shape, or not finite, and the pattern that would skip it.
/// Two habits of PyTorch are taken without a word: files with or without batch counters
/// (num_batches_tracked), and "module." before every name, which its data-parallel wrapper adds.
LoadReport load_weights(const nn::Module& module, const std::map<std::string, Tensor>& tensors,
                        const std::string& file, const LoadOptions& options = {});

/// True if `text` matches `pattern`, in which `*` stands for any characters.
bool matches(const std::string& pattern, const std::string& text);

}  // namespace fovea::training
