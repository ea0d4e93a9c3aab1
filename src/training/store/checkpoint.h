// Checkpoints: a folder for each step, committed by renaming a small file, so that `last` always
// names a complete one.
//
//   checkpoints/step-00001234/{model,optimiser,ema}.safetensors, state.json, files of the task
//   checkpoints/last, checkpoints/best: files that hold the name of a folder, "step-00001234"
//
// A run folder may be copied by any means. Older programs made symlinks of `last` and `best`; those
// are read as well, and so is what a copy makes of them: nothing, or a folder with the content.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/hash.h"
#include "tensor/safetensors.h"
#include "training/store/run_state.h"

namespace fovea::training {

/// Tensors in the host's memory. `ema` is empty where weights are not averaged.
struct Checkpoint {
  RunState state;
  std::map<std::string, Tensor> model;
  std::map<std::string, Tensor> optimiser;
  std::map<std::string, Tensor> ema;
  std::map<std::string, std::string> files;  // of the data (BatchSource::files)
};

using fovea::hash_bytes;

class CheckpointStore {
 public:
  explicit CheckpointStore(const std::filesystem::path& run_folder);

  /// True if there is anything of a checkpoint, complete or not.
  bool any() const;

  /// Writes and fsyncs the folder of state.step, reads it back and compares hashes, points `last`
  /// (and `best`, if state.best is this step) to it, and only then removes older folders: all but
  /// last, best and state.kept. Folders that hold anything else than a checkpoint are not ours and
  /// stay. Saving the same step again renews its state.json only. Throws FileError; `last` is then
  /// what it was or the new one.
  void save(const Checkpoint& checkpoint);

  /// Where the checkpoint `which` lies: "last", "best" or "step-00001234". Without the file `last`
  /// it is the newest folder that is complete, without `best` the step that the last one names.
  /// Throws FileError if there is none, and for a file that names a folder which is not there.
  std::filesystem::path folder_of(const std::string& which) const;
  /// True if `last` is there in any form, so that folder_of has not to look for it.
  bool has_last() const { return named("last").has_value(); }
  /// As folder_of("last"), but nothing where there is no complete checkpoint.
  std::optional<std::filesystem::path> find_last() const;

  /// Throws FileError naming the file that is missing, cut short or changed.
  Checkpoint load(const std::string& which, const Device& host) const;

  /// Throws FileError if the best weights that the last checkpoint counts on are gone.
  void require_best(const RunState& last) const;

  /// Throws FileError for a folder that is no checkpoint where one may be written.
  void check_place(const RunState& last) const;

  /// Removes the temporary files of a killed save, and nothing else.
  void remove_litter() const;
  /// Removes the checkpoint of step 0, of a run that begins again.
  void remove_first() const;

  /// Puts right what a killed save or a copy left behind, once the last checkpoint has been loaded
  /// and found to fit: unfinished folders, `last` and `best` that are missing, old or folders.
  void repair(const RunState& last);

  static std::string folder_name(std::int64_t step);
  const std::filesystem::path& folder() const { return path_; }

 private:
  std::optional<std::filesystem::path> named(const std::string& pointer) const;
  void point(const std::string& pointer, std::int64_t step);
  void unfold(const std::string& pointer);
  void point_best(const RunState& state);
  void prune(const RunState& state, const schema::Value& files);

  std::filesystem::path path_;
};

/// Reads the checkpoint in a folder. Throws FileError naming the file that is missing, cut short or
/// changed.
Checkpoint read_checkpoint(const std::filesystem::path& folder, const Device& host);

}  // namespace fovea::training
