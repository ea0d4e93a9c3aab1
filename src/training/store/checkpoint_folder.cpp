#include "training/store/checkpoint_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "schema/compare.h"
#include "schema/json/parse.h"
#include "training/store/run_state.h"

namespace fovea::training {

using Path = io::fs::path;
using schema::Value;

std::string step_folder_name(std::int64_t step) { return fmt::format("step-{:08}", step); }

Value with_hash(Value record) {
  record.set("hash", schema::content_hash(record));
  return record;
}

Value read_state(const Path& folder) {
  const Path file = folder / kStateFile;
  const std::string text = io::read_text(file, std::uint64_t{64} << 20);
  try {
    schema::Limits limits;
    limits.bytes = text.size();
    Value record = schema::parse(text, file.string(), limits);
    const std::string hash = record.at("hash").as_string();
    record.erase("hash");
    FOVEA_CHECK(
        hash == schema::content_hash(record), FileError,
        fmt::format("{}: content differs from its hash; the file is damaged", file.string()));
    FOVEA_CHECK(record.at("format").as_int() == kCheckpointFormat, FileError,
                fmt::format("{}: format {}, expected {}", file.string(),
                            record.at("format").as_int(), kCheckpointFormat));
    return record;
  } catch (const ConfigError& error) {
    throw FileError(fmt::format("{}: damaged: {}", file.string(), error.what()));
  }
}

std::string read_listed(const Path& folder, const std::string& name, const Value& listed) {
  const Path file = folder / name;
  std::string bytes = io::read_text(file, kMostWeightBytes);
  const auto promised = static_cast<std::size_t>(listed.at("bytes").as_int());
  FOVEA_CHECK(
      bytes.size() >= promised, FileError,
      fmt::format("{}: checkpoint promises {} bytes, file holds {}; the copy or download was "
                  "cut short",
                  file.string(), promised, bytes.size()));
  FOVEA_CHECK(bytes.size() == promised && hash_bytes(bytes) == listed.at("hash").as_string(),
              FileError,
              fmt::format("{}: content differs from its hash; the file is damaged", file.string()));
  return bytes;
}

void verify_checkpoint(const Path& folder) {
  const Value record = read_state(folder);
  for (const Value::Member& member : record.at("files").members()) {
    read_listed(folder, member.key, member.value);
  }
}

bool is_step_name(const std::string& name) {
  const std::string_view digits =
      std::string_view(name).substr(std::min<std::size_t>(5, name.size()));
  return name.starts_with("step-") && !digits.empty() &&
         digits.find_first_not_of("0123456789") == std::string_view::npos;
}

bool is_folder(const Path& path) {
  std::error_code code;
  return io::fs::is_directory(path, code);
}

bool is_complete(const Path& folder) {
  try {
    verify_checkpoint(folder);
    return true;
  } catch (const Error&) {
    return false;
  }
}

std::vector<Path> step_folders(const Path& checkpoints) {
  std::vector<Path> folders;
  if (!is_folder(checkpoints)) return folders;
  for (const auto& entry : io::fs::directory_iterator(checkpoints)) {
    const Path& path = entry.path();
    if (is_folder(path) && is_step_name(path.filename().string())) folders.push_back(path);
  }
  const auto newer = [](const Path& a, const Path& b) {
    const std::string left = a.filename().string(), right = b.filename().string();
    return left.size() != right.size() ? left.size() > right.size() : left > right;
  };
  std::sort(folders.begin(), folders.end(), newer);
  return folders;
}

std::set<std::string> names_in_checkpoint(const Value& listed) {
  std::set<std::string> names = {kStateFile, "model.safetensors", "optimiser.safetensors",
                                 "ema.safetensors"};
  for (const Value::Member& file : listed.members()) names.insert(file.key);
  return names;
}

bool is_own_folder(const Path& folder, const std::set<std::string>& names) {
  if (io::fs::is_symlink(io::fs::symlink_status(folder))) return false;
  for (const auto& entry : io::fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (!io::fs::is_regular_file(entry.symlink_status())) return false;
    if (!names.contains(name) && !names.contains(io::temporary_of(name))) return false;
  }
  std::optional<std::int64_t> step;
  try {
    step = run_state_from(read_state(folder).at("state")).step;
  } catch (const Error&) {
    return true;  // unfinished
  }
  return folder.filename() == step_folder_name(*step) || !is_complete(folder);
}

std::int64_t step_of(const Path& folder) {
  const std::string name = folder.filename().string();
  std::int64_t step = -1;
  const char* const end = name.data() + name.size();
  const auto [rest, error] =
      std::from_chars(name.data() + std::min<std::size_t>(5, name.size()), end, step);
  const bool good = error == std::errc() && rest == end && is_step_name(name);
  return good && name == step_folder_name(step) ? step : -1;
}

void remove_own(const Path& folder, const std::set<std::string>& names) {
  if (!is_folder(folder)) return io::remove_all(folder);
  FOVEA_CHECK(is_own_folder(folder, names), FileError,
              fmt::format("{}: holds what is no checkpoint of this run, and one is to be written "
                          "there; move it elsewhere",
                          folder.string()));
  io::remove_all(folder);
}

}  // namespace fovea::training
