// safetensors files: an 8-byte little-endian header length, a JSON header, then row-major data.
// Equal tensors give equal files.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "tensor/tensor.h"

namespace fovea {

struct TensorFile {
  std::map<std::string, Tensor> tensors;
  std::map<std::string, std::string> metadata;  // "__metadata__"
};

/// Reads all tensors to a device. F32, F64, BF16, I64, I32 and U8 keep their types; F16 is
/// widened to float32, BOOL becomes uint8, I8, I16 and U16 become int32, U32 becomes int64.
/// Throws FileError with one sentence for every kind of damage.
TensorFile read_safetensors(const std::filesystem::path& path, const Device& device);

/// The same for the bytes of a file; `name` is used in messages.
TensorFile parse_safetensors(std::string_view bytes, const std::string& name, const Device& device);

/// Writes atomically (io::write_atomic). Tensors may be on any device. Entries are ordered by
/// size of the dtype, largest first, then by name, and the header is padded with spaces, so that
/// all data is aligned. Throws FileError if it cannot be written or a name is not UTF-8.
void write_safetensors(const std::filesystem::path& path, const TensorFile& file);

/// The bytes that write_safetensors() writes.
std::string serialise_safetensors(const TensorFile& file);

}  // namespace fovea
