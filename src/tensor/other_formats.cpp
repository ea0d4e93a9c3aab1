#include "tensor/other_formats.h"

#include <fmt/format.h>

#include <filesystem>

namespace fovea::safetensors {
namespace {

using namespace std::string_view_literals;

// As Python writes it.
std::string quoted(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '"' || c == '\\') escaped += '\\';
    escaped += c;
  }
  return '"' + escaped + '"';
}

// Networks are saved as a dictionary of tensors, or as one that holds it under some name. In one
// line, as messages are, which Python reads as it is; the file itself is left alone.
std::string conversion(const std::string& file) {
  std::filesystem::path to = std::filesystem::path(file).replace_extension(".safetensors");
  if (to == file) to.replace_filename(to.stem().string() + "_converted.safetensors");
  return fmt::format(
      " import torch, safetensors.torch; "
      "state = torch.load({}, map_location=\"cpu\", weights_only=True); "
      "state = next((state[k] for k in (\"model\", \"state_dict\", \"model_state_dict\") "
      "if k in state), state); "
      "safetensors.torch.save_file({{k: v.contiguous().clone() for k, v in state.items() "
      "if torch.is_tensor(v)}}, {})",
      quoted(file), quoted(to.string()));
}

}  // namespace

std::string other_format(std::string_view bytes, const std::string& file) {
  if (bytes.starts_with("PK\x03\x04"sv)) {
    // The first entry of torch.save is NAME/data.pkl, of numpy.savez NAME.npy.
    const std::string_view first = bytes.substr(0, 512);
    if (first.find(".npy") != std::string_view::npos) return "a zip archive of NumPy (.npz)";
    if (first.find("data.pkl") == std::string_view::npos)
      return "a zip archive; unpack it, or if PyTorch wrote it convert it with Python:" +
             conversion(file);
    return "a zip archive of PyTorch (torch.save); convert it with Python:" + conversion(file);
  }
  const bool pickle = bytes.size() > 2 && bytes[0] == '\x80' && bytes[1] >= 2 && bytes[1] <= 5;
  if (pickle)
    return "a pickle of Python, as PyTorch before 1.6 saved; convert it with Python:" +
           conversion(file);
  if (bytes.starts_with("\x89HDF\r\n\x1a\n"sv)) return "an HDF5 file (Keras, MATLAB)";
  if (bytes.starts_with("GGUF"sv)) return "a GGUF file (llama.cpp)";
  if (bytes.starts_with("\x1f\x8b"sv)) return "a gzip archive; unpack it";
  return {};
}

}  // namespace fovea::safetensors
