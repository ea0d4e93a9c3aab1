#include "training/store/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "schema/compare.h"
#include "schema/json/parse.h"
#include "schema/json/value.h"
#include "training/store/checkpoint_folder.h"

namespace fovea::training {
namespace {

using Path = io::fs::path;
using schema::Value;

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

}  // namespace

CheckpointStore::CheckpointStore(const Path& run_folder) : path_(run_folder / "checkpoints") {}

std::string CheckpointStore::folder_name(std::int64_t step) { return step_folder_name(step); }

// What `last` or `best` names, whether that is there or not; nothing where the name itself is
// missing.
std::optional<Path> CheckpointStore::named(const std::string& pointer) const {
  const Path path = path_ / pointer;
  std::error_code code;
  const io::fs::file_status status = io::fs::symlink_status(path, code);
  if (io::fs::is_symlink(status)) return path_ / io::fs::read_symlink(path).filename();
  if (io::fs::is_directory(status)) return path;
  if (!io::fs::is_regular_file(status)) return std::nullopt;
  std::string name = io::read_text(path, 4096);
  while (!name.empty() && std::isspace(static_cast<unsigned char>(name.back()))) name.pop_back();
  FOVEA_CHECK(is_step_name(name), FileError,
              fmt::format("{}: holds {}, expected the name of a folder like step-00001234",
                          path.string(), describe(Value(name))));
  return path_ / name;
}

bool CheckpointStore::any() const {
  std::error_code code;
  return io::fs::exists(io::fs::symlink_status(path_ / "last", code)) ||
         !step_folders(path_).empty();
}

std::optional<Path> CheckpointStore::find_last() const {
  if (const auto last = named("last")) {
    FOVEA_CHECK(
        is_folder(*last), FileError,
        fmt::format("{}: names {}, which is not there; copy it again, or remove {} to go on "
                    "from the newest complete checkpoint",
                    (path_ / "last").string(), last->filename().string(),
                    (path_ / "last").string()));
    return last;
  }
  for (const Path& folder : step_folders(path_)) {
    if (is_complete(folder)) return folder;
  }
  return std::nullopt;
}

Path CheckpointStore::folder_of(const std::string& which) const {
  std::optional<Path> folder;
  if (which == "last") {
    folder = find_last();
  } else if (which == "best") {
    folder = named("best");
    if (const auto last = folder ? std::nullopt : find_last()) {
      const RunState state = run_state_from(read_state(*last).at("state"));
      if (state.best) folder = path_ / folder_name(state.best->step);
    }
    FOVEA_CHECK(folder || !any(), FileError,
                fmt::format("{}: no such checkpoint; the run selected nothing, its weights are "
                            "those of last",
                            (path_ / which).string()));
  } else {
    folder = path_ / which;
  }
  FOVEA_CHECK(folder && is_folder(*folder), FileError,
              fmt::format("{}: no such checkpoint", (folder ? *folder : path_ / which).string()));
  return *folder;
}

void CheckpointStore::save(const Checkpoint& checkpoint) {
  const std::string name = folder_name(checkpoint.state.step);
  const Path folder = path_ / name;
  io::make_directories(path_);
  Value files;
  if (named("last") == folder) {
    // The tensors of a step never change, only what was learnt about them since.
    files = read_state(folder).at("files");
  } else {
    Value listed = Value::object();
    for (const auto& [file, content] : checkpoint.files) listed.set(file, Value());
    remove_own(folder, names_in_checkpoint(listed));  // what an earlier, interrupted save left
    io::make_directories(folder);
    files = write_content(checkpoint, folder);
  }
  const Value record = Value::object(
      {{"format", kCheckpointFormat}, {"state", to_value(checkpoint.state)}, {"files", files}});
  io::write_atomic(folder / kStateFile, with_hash(record).dump() + "\n");
  io::sync_directory(path_);
  verify_checkpoint(folder);
  point("last", checkpoint.state.step);
  point_best(checkpoint.state);
  prune(checkpoint.state, files);
}

// A file, not a symlink: copies that leave out or follow links, and file systems without them, keep
// it.
void CheckpointStore::point(const std::string& pointer, std::int64_t step) {
  const std::string name = folder_name(step);
  std::error_code code;
  const bool file = io::fs::is_regular_file(io::fs::symlink_status(path_ / pointer, code));
  if (!file || named(pointer) != path_ / name) io::write_atomic(path_ / pointer, name + "\n");
}

void CheckpointStore::point_best(const RunState& state) {
  if (!state.best) {
    if (named("best")) io::remove_all(path_ / "best");
  } else if (is_folder(path_ / folder_name(state.best->step))) {
    point("best", state.best->step);
  }
}

// A copy that followed a symlink left a folder with the content of a step. It takes the name of
// that step, unless the step itself was copied too.
void CheckpointStore::unfold(const std::string& pointer) {
  const Path copy = path_ / pointer;
  if (named(pointer) != copy) return;
  const Path aside = path_ / (pointer + ".tmp");  // so that no half-removed folder is called `last`
  const Path folder = path_ / folder_name(run_state_from(read_state(copy).at("state")).step);
  if (is_complete(folder)) {
    io::move(copy, aside);
    io::remove_all(aside);
  } else {
    remove_own(folder, names_in_checkpoint(read_state(copy).at("files")));
    io::move(copy, folder);
  }
}

// Removes the steps that the run no longer wants. Folders that are no checkpoints of it stay.
void CheckpointStore::prune(const RunState& state, const schema::Value& files) {
  std::set<std::string> keep = {folder_name(state.step)};
  if (state.best) keep.insert(folder_name(state.best->step));
  for (const std::int64_t step : state.kept) keep.insert(folder_name(step));
  const std::set<std::string> names = names_in_checkpoint(files);
  for (const Path& folder : step_folders(path_)) {
    if (keep.contains(folder.filename().string()) || step_of(folder) < 0) continue;
    if (is_own_folder(folder, names)) io::remove_all(folder);
  }
}

void CheckpointStore::check_place(const RunState& last) const {
  const std::set<std::string> names =
      names_in_checkpoint(read_state(folder_of("last")).at("files"));
  for (const Path& folder : step_folders(path_)) {
    FOVEA_CHECK(step_of(folder) <= last.step || is_own_folder(folder, names), FileError,
                fmt::format("{}: is no checkpoint of this run, which may write one there; move it "
                            "elsewhere",
                            folder.string()));
  }
}

void CheckpointStore::remove_litter() const {
  if (!is_folder(path_)) return;
  std::set<std::string> names = names_in_checkpoint(Value::object());
  if (const auto last = find_last()) names = names_in_checkpoint(read_state(*last).at("files"));
  std::vector<Path> found;
  for (const char* pointer : {"last", "best"}) {
    const Path aside = path_ / (std::string(pointer) + ".tmp");  // of unfold()
    if (is_folder(aside) && is_own_folder(aside, names)) found.push_back(aside);
  }
  for (const auto& entry : io::fs::directory_iterator(path_)) {
    const std::string own = io::temporary_of(entry.path().filename().string());
    if (own == "last" || own == "best") found.push_back(entry.path());
  }
  for (const Path& folder : step_folders(path_)) {
    for (const auto& entry : io::fs::directory_iterator(folder)) {
      if (names.contains(io::temporary_of(entry.path().filename().string())))
        found.push_back(entry.path());
    }
  }
  for (const Path& path : found) io::remove_all(path);
}

void CheckpointStore::remove_first() const {
  const Path first = path_ / folder_name(0);
  Value files = Value::object();
  if (is_folder(first) && is_complete(first)) files = read_state(first).at("files");
  io::remove_all(path_ / "last");  // first, so that it never names what is not there
  io::remove_all(path_ / "best");
  if (is_folder(first)) remove_own(first, names_in_checkpoint(files));
}

void CheckpointStore::require_best(const RunState& last) const {
  if (!last.best || named("best") == path_ / "best") return;
  const Path folder = path_ / folder_name(last.best->step);
  FOVEA_CHECK(is_folder(folder), FileError,
              fmt::format("{}: not found; the best weights of the run lie there; copy it again",
                          folder.string()));
}

void CheckpointStore::repair(const RunState& last) {
  unfold("last");
  unfold("best");
  point("last", last.step);
  point_best(last);
  prune(last, read_state(path_ / folder_name(last.step)).at("files"));
}

Checkpoint CheckpointStore::load(const std::string& which, const Device& host) const {
  return read_checkpoint(folder_of(which), host);
}

Checkpoint read_checkpoint(const Path& folder, const Device& host) {
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
    throw FileError(fmt::format("{}: damaged: {}", (folder / kStateFile).string(), error.what()));
  }
  return checkpoint;
}

}  // namespace fovea::training
