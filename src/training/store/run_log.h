// The logs of a run: metrics.jsonl is the truth, metrics.csv a table made from it, log.txt for
// people, an event file for TensorBoard.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "base/file.h"
#include "schema/json/value.h"
#include "training/events/event_file.h"
#include "training/store/run_state.h"

namespace fovea::training {

class RunLog {
 public:
  /// Of a rank that writes none: nothing happens.
  RunLog() = default;
  /// Opens the logs for appending. event_file: the name that RunState::event_file has of a run that
  /// goes on.
  explicit RunLog(const std::filesystem::path& run_folder, bool tensorboard = true,
                  const std::string& event_file = "");

  /// One line of metrics.jsonl; its numbers also go to the event file, as train/loss, val/top1, lr,
  /// grad_norm. What is evaluated on the training samples is train_eval/..., since train/loss is
  /// the running loss of the loop.
  void record(const schema::Value& line);
  /// For TensorBoard: config.json as a text, and, where nothing was written yet, the settings that
  /// results depend on as hyperparameters.
  void configuration(std::int64_t step, const schema::Value& config, const schema::Value& settings);
  /// For TensorBoard: the run has come to its end.
  void finished(std::int64_t step);
  /// One line of log.txt.
  void text(const std::string& line);
  /// Makes all durable, notes their lengths and the hash of metrics.jsonl.
  void sync(RunState& state);
  /// Whether the logs of a folder are those that a checkpoint counts on. Changes nothing. Throws
  /// FileError if one is missing, a link or shorter than the checkpoint says, and if the part of
  /// metrics.jsonl that stays is damaged (with the first line that is no JSON) or was changed.
  static void check(const std::filesystem::path& run_folder, const RunState& state);
  /// Drops what is newer than the checkpoint, so that a resumed run writes nothing twice. Throws
  /// FileError as check() does, before anything is cut.
  void cut_back(const RunState& state);
  /// Writes metrics.csv from metrics.jsonl.
  void write_csv() const;

 private:
  std::filesystem::path folder_;
  std::unique_ptr<io::File> metrics_, text_;  // null: nothing is written
  std::string hash_;                          // log_hash of metrics.jsonl
  std::unique_ptr<EventFile> events_;         // null where it is off
};

/// The hash of a log, made line by line: of the hash before and the line. "" of none.
std::string log_hash(std::string_view jsonl, std::string hash = "");

/// A row for each epoch with an evaluation or a training loss: epoch (from 1), train_loss,
/// <part>_<metric>..., lr. train_loss is the mean over the samples of the epoch. Metrics are named
/// by their part (val_top1, test_top1), of the training samples train_eval_. The final numbers are
/// in the row of the epoch whose weights they are of. Cells without a value are empty. Where a part
/// was evaluated more than once in an epoch, a row for each evaluation, with its step beside the
/// epoch; train_loss is of the lines since the row before.
/// Throws FileError for a line that is not JSON.
std::string metrics_csv(std::string_view jsonl);

}  // namespace fovea::training
