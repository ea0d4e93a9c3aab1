// Checkpoints: a folder for each step, committed by swapping a symlink, so that `last` always names
// a complete one.
//
//   checkpoints/step-00001234/{model,optimiser,ema}.safetensors, state.json, files of the task
//   checkpoints/last -> step-00001234,  checkpoints/best -> step-00001000
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "base/hash.h"
#include "tensor/safetensors.h"
#include "training/run_state.h"

namespace fovea::training {

/// Tensors in the host's memory. `ema` is empty where weights are not averaged.
struct Checkpoint {
  RunState state;
  std::map<std::string, Tensor> model;
  std::map<std::string, Tensor> optimiser;
  std::map<std::string, Tensor> ema;
  std::map<std::string, std::string> files;  // of the task (Task::files)
};

using fovea::hash_bytes;

class CheckpointStore {
 public:
  explicit CheckpointStore(const std::filesystem::path& run_folder);

  /// True if there is something to resume.
  bool has_last() const;

  /// Writes and fsyncs the folder of state.step, reads it back and compares hashes, points `last`
  /// (and `best`, if state.best is this step) to it, and only then removes older folders: all but
  /// last, best and state.kept. Saving the same step again renews its state.json only. Throws
  /// FileError; `last` is then what it was or the new one.
  void save(const Checkpoint& checkpoint);

  /// `which`: "last", "best" or "step-00001234". Throws FileError naming the file that is missing,
  /// cut short or changed.
  Checkpoint load(const std::string& which, const Device& host) const;

  /// Puts right what a killed save left behind, once `last` has been loaded: unfinished folders,
  /// and a `best` that was not swapped yet.
  void repair(const RunState& last);

  static std::string folder_name(std::int64_t step);
  const std::filesystem::path& folder() const { return path_; }

 private:
  void link_best(const RunState& state);
  void prune(const RunState& state);

  std::filesystem::path path_;
};

}  // namespace fovea::training
