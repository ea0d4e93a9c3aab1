#include "training/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "schema/compare.h"
#include "schema/parse.h"

namespace fovea::training {
namespace {

using Path = io::fs::path;
using schema::Value;

constexpr const char* kState = "state.json";
constexpr std::int64_t kFormat = 1;

std::string read(const Path& file) {
  const std::vector<std::byte> bytes = io::read_bytes(file);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// state.json carries its own hash: a flipped digit in it must not go unnoticed.
Value with_hash(Value record) {
  record.set("hash", schema::content_hash(record));
  return record;
}

Value read_state(const Path& folder) {
  const Path file = folder / kState;
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
    FOVEA_CHECK(record.at("format").as_int() == kFormat, FileError,
                fmt::format("{}: format {}, expected {}", file.string(),
                            record.at("format").as_int(), kFormat));
    return record;
  } catch (const ConfigError& error) {
    throw FileError(fmt::format("{}: damaged: {}", file.string(), error.what()));
  }
}

// The content of a file that state.json lists, compared with its length and hash.
std::string read_listed(const Path& folder, const std::string& name, const Value& listed) {
  const Path file = folder / name;
  std::string bytes = read(file);
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

void verify(const Path& folder) {
  const Value record = read_state(folder);
  for (const Value::Member& member : record.at("files").members()) {
    read_listed(folder, member.key, member.value);
  }
}

// Writes tensors and files and returns their list for state.json.
Value write_content(const Checkpoint& checkpoint, const Path& folder) {
  Value files = Value::object();
  const auto write_bytes = [&](const std::string& file, const std::string& bytes) {
    io::write_atomic(folder / file, bytes);
    files.set(file, Value::object({{"bytes", bytes.size()}, {"hash", hash_bytes(bytes)}}));
  };
  const auto write = [&](const std::string& file, const std::map<std::string, Tensor>& tensors) {
    TensorFile content;
    content.tensors = tensors;
    content.metadata = {{"format", "pt"}};  // lets PyTorch's loaders accept it
    write_bytes(file, serialise_safetensors(content));
  };
  write("model.safetensors", checkpoint.model);
  write("optimiser.safetensors", checkpoint.optimiser);
  if (!checkpoint.ema.empty()) write("ema.safetensors", checkpoint.ema);
  for (const auto& [file, bytes] : checkpoint.files) write_bytes(file, bytes);
  return files;
}

bool is_step_folder(const Path& entry) { return entry.filename().string().starts_with("step-"); }

}  // namespace

CheckpointStore::CheckpointStore(const Path& run_folder) : path_(run_folder / "checkpoints") {}

std::string CheckpointStore::folder_name(std::int64_t step) {
  return fmt::format("step-{:08}", step);
}

bool CheckpointStore::has_last() const { return io::fs::is_symlink(path_ / "last"); }

void CheckpointStore::save(const Checkpoint& checkpoint) {
  const std::string name = folder_name(checkpoint.state.step);
  const Path folder = path_ / name;
  io::make_directories(path_);
  Value files;
  if (has_last() && io::fs::read_symlink(path_ / "last") == name) {
    // The tensors of a step never change, only what was learnt about them since.
    files = read_state(folder).at("files");
  } else {
    io::remove_all(folder);  // what an earlier, interrupted save left
    io::make_directories(folder);
    files = write_content(checkpoint, folder);
  }
  const Value record =
      Value::object({{"format", kFormat}, {"state", to_value(checkpoint.state)}, {"files", files}});
  io::write_atomic(folder / kState, with_hash(record).dump() + "\n");
  io::sync_directory(path_);
  verify(folder);
  if (!has_last() || io::fs::read_symlink(path_ / "last") != name) {
    io::replace_symlink(path_ / "last", name);
  }
  link_best(checkpoint.state);
  prune(checkpoint.state);
}

void CheckpointStore::link_best(const RunState& state) {
  if (!state.best) return;
  const std::string name = folder_name(state.best->step);
  const Path link = path_ / "best";
  if (!io::fs::exists(path_ / name)) return;
  if (io::fs::is_symlink(link) && io::fs::read_symlink(link) == name) return;
  io::replace_symlink(link, name);
}

void CheckpointStore::prune(const RunState& state) {
  std::set<std::string> keep = {folder_name(state.step)};
  if (state.best) keep.insert(folder_name(state.best->step));
  for (const std::int64_t step : state.kept) keep.insert(folder_name(step));
  std::vector<Path> remove;
  for (const auto& entry : io::fs::directory_iterator(path_)) {
    if (is_step_folder(entry.path()) && !keep.contains(entry.path().filename().string())) {
      remove.push_back(entry.path());
    }
  }
  for (const Path& folder : remove) io::remove_all(folder);
}

void CheckpointStore::repair(const RunState& last) {
  link_best(last);
  prune(last);
}

Checkpoint CheckpointStore::load(const std::string& which, const Device& host) const {
  const Path folder = path_ / which;
  FOVEA_CHECK(io::fs::is_directory(folder), FileError,
              fmt::format("{}: no such checkpoint", folder.string()));
  const Value record = read_state(folder);
  Checkpoint checkpoint;
  try {
    checkpoint.state = run_state_from(record.at("state"));
    const auto tensors = [&](const std::string& file) {
      const std::string bytes = read_listed(folder, file, record.at("files").at(file));
      return parse_safetensors(bytes, (folder / file).string(), host).tensors;
    };
    checkpoint.model = tensors("model.safetensors");
    checkpoint.optimiser = tensors("optimiser.safetensors");
    if (record.at("files").find("ema.safetensors") != nullptr) {
      checkpoint.ema = tensors("ema.safetensors");
    }
    for (const Value::Member& member : record.at("files").members()) {
      if (!member.key.ends_with(".safetensors"))
        checkpoint.files[member.key] = read_listed(folder, member.key, member.value);
    }
  } catch (const ConfigError& error) {
    throw FileError(fmt::format("{}: damaged: {}", (folder / kState).string(), error.what()));
  }
  return checkpoint;
}

}  // namespace fovea::training
