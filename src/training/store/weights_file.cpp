#include "training/store/weights_file.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/file.h"
#include "schema/json/parse.h"
#include "training/store/checkpoint.h"

namespace fovea::training {
namespace {

using Path = io::fs::path;

constexpr const char* kModel = "model.safetensors";

// Whether a path ends in checkpoints/last or checkpoints/best.
bool is_pointer(const Path& path) {
  const std::string name = path.filename().string();
  return (name == "last" || name == "best") && path.parent_path().filename() == "checkpoints";
}

Path of_pointer(const Path& path) {
  return CheckpointStore(path.parent_path().parent_path()).folder_of(path.filename().string());
}

std::string reported_weights(const Path& run) {
  const Path file = run / "summary.json";
  std::error_code code;
  if (!io::fs::exists(file, code)) return "last";
  const schema::Value summary = schema::parse(io::read_text(file), file.string());
  const schema::Value* weights = summary.find("weights");
  return weights == nullptr ? "last" : weights->as_string();
}

}  // namespace

Path weights_file(const Path& given) {
  std::error_code code;
  // "RUN/" and "checkpoints/last/" name what they name without the slash.
  const Path path = given.has_filename() ? given : given.parent_path();
  if (is_pointer(path)) return of_pointer(path) / kModel;
  if (is_pointer(path.parent_path())) return of_pointer(path.parent_path()) / path.filename();
  if (!io::fs::is_directory(path, code)) return given;
  if (io::fs::exists(path / kModel, code)) return path / kModel;
  FOVEA_CHECK(io::fs::is_directory(path / "checkpoints", code), FileError,
              fmt::format("{}: is a folder without {} and without checkpoints; expected a "
                          "safetensors file, a run or a checkpoint",
                          given.string(), kModel));
  return CheckpointStore(path).folder_of(reported_weights(path)) / kModel;
}

}  // namespace fovea::training
