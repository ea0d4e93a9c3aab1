// The logs of a run: metrics.jsonl is the truth, metrics.csv a table made from it, log.txt for
// people, an event file for TensorBoard.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "base/file.h"
#include "schema/value.h"
#include "training/event_file.h"
#include "training/run_state.h"

namespace fovea::training {

class RunLog {
 public:
  /// Opens the logs for appending.
  explicit RunLog(const std::filesystem::path& run_folder, bool tensorboard = true);

  /// One line of metrics.jsonl; its numbers also go to the event file, as train/loss, val/top1, lr,
  /// grad_norm. What is evaluated on the training samples is train_eval/..., since train/loss is
  /// the running loss of the loop.
  void record(const schema::Value& line);
  /// One line of log.txt.
  void text(const std::string& line);
  /// Makes all durable and notes their lengths.
  void sync(RunState& state);
  /// Drops what is newer than the checkpoint, so that a resumed run writes nothing twice. Throws
  /// FileError if a log is shorter than the checkpoint says.
  void cut_back(const RunState& state);
  /// Writes metrics.csv from metrics.jsonl.
  void write_csv() const;

 private:
  std::filesystem::path folder_;
  io::File metrics_;
  io::File text_;
  std::unique_ptr<EventFile> events_;  // null where it is off
};

/// A row for each epoch with an evaluation or a training loss: epoch, train_loss, eval_<metric>...,
/// lr. train_loss is the mean over the samples of the epoch. The metrics of "val" are called eval_,
/// those of other parts by their part (test_top1), of the training samples train_eval_. The final
/// numbers are in the row of the epoch whose weights they are of. Cells without a value are empty.
/// Throws FileError for a line that is not JSON.
std::string metrics_csv(std::string_view jsonl);

}  // namespace fovea::training
