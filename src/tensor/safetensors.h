// safetensors files: an 8-byte little-endian header length, a JSON header, then row-major data.
// Format: docs/file-formats.md. Equal tensors give equal files.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tensor/tensor.h"

namespace fovea {

struct TensorFile {
  std::map<std::string, Tensor> tensors;
  std::map<std::string, std::string> metadata;  // "__metadata__"
};

/// Reads all tensors to a host device. F16 is widened to float32, BOOL and I8 become uint8 and
/// int32. Throws FileError with one sentence for every kind of damage.
TensorFile read_safetensors(const std::filesystem::path& path, const Device& device);

/// Writes atomically (io::write_atomic semantics). Tensors must be on a host device.
void write_safetensors(const std::filesystem::path& path, const TensorFile& file);

}  // namespace fovea
