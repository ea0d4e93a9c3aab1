// How a run begins and goes on: what is in its folder, what is refused, checkpoints. Nothing in the
// folder is cut or removed before the run in it is known to be whole.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <sstream>

#include "base/error.h"
#include "base/file.h"
#include "schema/compare.h"
#include "schema/load.h"
#include "schema/parse.h"
#include "training/data_identity.h"
#include "training/trainer.h"
#include "training/weights.h"

namespace fovea::training {
namespace {

// What atomic writes of a killed process left; the lock says that nobody is writing now.
void remove_temporaries(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> found;
  for (const auto& entry : io::fs::recursive_directory_iterator(folder)) {
    if (entry.path().extension() == ".tmp") found.push_back(entry.path());
  }
  for (const std::filesystem::path& path : found) io::remove_all(path);
}

bool holds_nothing(const std::filesystem::path& file) {
  std::error_code code;
  const auto size = io::fs::file_size(file, code);
  return code || size == 0;
}

// Evaluations in metrics.jsonl; lines of the loop itself count samples.
std::int64_t evaluations(const std::filesystem::path& file) {
  if (holds_nothing(file)) return 0;
  std::int64_t count = 0;
  std::istringstream lines(io::read_text(file));
  for (std::string line; std::getline(lines, line);) {
    count += line.find("\"samples\"") == std::string::npos ? 1 : 0;
  }
  return count;
}

// Where a run computes, or "" where a configuration does not say.
std::string device_of(const schema::Value& config) {
  const schema::Value* train = config.is_object() ? config.find("train") : nullptr;
  const schema::Value* device = train != nullptr ? train->find("device") : nullptr;
  return device != nullptr && device->is_string() ? device->as_string() : "";
}

void set_device(schema::Value& config, const std::string& device) {
  if (!device_of(config).empty()) schema::set_path(config, "train.device", device);
}

}  // namespace

// For the terminal alone: a resumed run leaves the same bytes as one that was never stopped.
void Trainer::notify(const std::string& line) const {
  if (setup_.progress != nullptr) setup_.progress->message(line);
}

void Trainer::refuse_other(const std::string& place, const schema::Value& before) const {
  // A run may go on elsewhere (note_move()).
  const auto identity = [&](const schema::Value& config) {
    schema::Value counted = setup_.identity ? setup_.identity(config) : config;
    set_device(counted, "any");
    return counted;
  };
  std::string differences;
  for (const std::string& line : schema::diff(identity(before), identity(setup_.config))) {
    differences += (differences.empty() ? "" : "; ") + line;
  }
  FOVEA_CHECK(differences.empty(), ConfigError,
              fmt::format("{}: this run began with another configuration: {}", place, differences));
}

void Trainer::open_run() {
  const std::filesystem::path& folder = setup_.run_folder;
  const std::filesystem::path config_file = folder / "config.json";
  const bool has_run =
      io::fs::exists(config_file) || checkpoints_.any() || !holds_nothing(folder / "metrics.jsonl");
  FOVEA_CHECK(setup_.resume || !has_run, FileError,
              fmt::format("{}: holds a run already; continue it with --resume, or choose another "
                          "folder with --out",
                          folder.string()));
  FOVEA_CHECK(!setup_.resume || has_run, FileError,
              fmt::format("{}: there is no run to resume", folder.string()));
  state_.config = setup_.config;
  state_.config_hash =
      schema::content_hash(setup_.identity ? setup_.identity(setup_.config) : setup_.config);
  state_.parts = selection_.during;
  state_.data = task_.fingerprint();
  std::optional<std::filesystem::path> last;
  if (setup_.resume) {
    if (io::fs::exists(config_file)) {
      refuse_other(config_file.string(),
                   schema::parse(io::read_text(config_file), config_file.string()));
    }
    last = find_last();
    if (last) {
      restore(*last);
    } else {
      refuse_lost_checkpoints();
    }
    remove_temporaries(folder);
  }
  if (!setup_.resume || !io::fs::exists(config_file)) {
    for (const auto& [name, content] : setup_.files) io::write_atomic(folder / name, content);
    for (const auto& [name, content] : task_.files()) io::write_atomic(folder / name, content);
    io::write_atomic(config_file, setup_.config.dump() + "\n");
  }
  keep_sample_lists(task_, folder);
  log_ = std::make_unique<RunLog>(folder, setup_.train.tensorboard);
  log_->cut_back(state_);
  if (last) {
    note_move();
    checkpoints_.repair(state_);
    return;
  }
  if (setup_.resume) {
    notify(
        fmt::format("{}: was stopped before its first checkpoint; begins again", folder.string()));
  }
  // From here on a run without a checkpoint is one that has lost it. The first one also holds
  // weights that came from elsewhere (train --init).
  save();
}

// Sums of another device are added in another order: from here on the last digits are its own.
void Trainer::note_move() {
  const std::string before = device_of(state_.config), now = device_of(setup_.config);
  if (finished() || before == now || before.empty() || now.empty()) return;
  say(fmt::format("step {}: goes on on {}; so far the run was on {}", state_.step, now, before));
  set_device(state_.config, now);
}

std::optional<std::filesystem::path> Trainer::find_last() const {
  const bool named = checkpoints_.has_last();
  const auto last = checkpoints_.find_last();
  if (last && !named) {
    notify(fmt::format("{}: not found; goes on from {}, the newest complete checkpoint",
                       (checkpoints_.folder() / "last").string(), last->filename().string()));
  }
  return last;
}

// Only a run that was stopped before its first checkpoint may begin again.
void Trainer::refuse_lost_checkpoints() const {
  const std::filesystem::path& folder = setup_.run_folder;
  const std::filesystem::path first = checkpoints_.folder() / CheckpointStore::folder_name(0);
  // state.json is the last file of a checkpoint to be written.
  const bool unfinished = io::fs::exists(first) && !io::fs::exists(first / "state.json");
  const bool folders = checkpoints_.any() && !unfinished;
  const std::int64_t evaluated = evaluations(folder / "metrics.jsonl");
  const bool finished = io::fs::exists(folder / "summary.json");
  if (!folders && !finished && evaluated == 0) return;
  throw FileError(fmt::format(
      "{}: {}, but the run has {} evaluations in metrics.jsonl{}; copy it again with its "
      "checkpoints, or begin anew in another folder with --out",
      checkpoints_.folder().string(),
      folders ? "no checkpoint is complete" : "there is no checkpoint", evaluated,
      finished ? " and a summary.json" : ""));
}

// A part may have come or gone since, and --overfit is no part of the configuration.
void Trainer::refuse_other_parts(const RunState& before) const {
  if (before.parts.empty() || before.parts == selection_.during) return;
  const bool overfit = before.parts == std::vector<std::string>{"train"};
  throw ConfigError(fmt::format(
      "{}: this run was evaluated on {} so far and would be on {} now; {}",
      setup_.run_folder.string(), fmt::join(before.parts, ", "), fmt::join(selection_.during, ", "),
      overfit ? "it began with --overfit: give that again"
              : "it began without --overfit, or the parts of the data set have changed"));
}

// Reads and compares everything; changes no file.
void Trainer::restore(const std::filesystem::path& folder) {
  const Checkpoint checkpoint = read_checkpoint(folder, setup_.host);
  // The hash is that of the program that saved; another one may have other keys. A checkpoint
  // without its configuration is known by the run's config.json alone.
  if (checkpoint.state.config.is_object()) refuse_other(folder.string(), checkpoint.state.config);
  refuse_other_parts(checkpoint.state);
  for (const std::string& note : task_.check_files(checkpoint.files, folder.string())) notify(note);
  refuse_other_data(checkpoint.state.data, state_.data, setup_.run_folder);
  const schema::Value data = state_.data;
  checkpoints_.require_best(checkpoint.state);
  load_weights(task_.model(), checkpoint.model, (folder / "model.safetensors").string());
  optimiser_->load_state(checkpoint.optimiser);
  FOVEA_CHECK((ema_ != nullptr) == !checkpoint.ema.empty(), FileError,
              fmt::format("{}: averaged weights are missing or not expected", folder.string()));
  if (ema_) ema_->load_state(checkpoint.ema);
  state_ = checkpoint.state;
  state_.parts = selection_.during;
  state_.data = data;
  if (!selection_.monitored() && state_.best) {
    // Older programs noted the best weights on test unasked. They are kept, but choose nothing.
    state_.kept.push_back(state_.best->step);
    state_.best.reset();
    state_.evaluations_since_best = 0;
  }
}

void Trainer::save() {
  log_->sync(state_);
  Checkpoint checkpoint;
  checkpoint.state = state_;
  checkpoint.state.time_s = elapsed();
  checkpoint.model = to_host(named_tensors(task_.model()), setup_.host);
  checkpoint.optimiser = to_host(optimiser_->state(), setup_.host);
  if (ema_) checkpoint.ema = to_host(ema_->state(), setup_.host);
  checkpoint.files = task_.files();
  checkpoints_.save(checkpoint);
}

}  // namespace fovea::training
