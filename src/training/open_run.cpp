// How a run begins and goes on: what is in its folder, what is refused, checkpoints. Nothing in the
// folder is cut or removed before the run in it is known to be whole.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>
#include <sstream>

#include "base/error.h"
#include "base/file.h"
#include "schema/compare.h"
#include "schema/json/parse.h"
#include "schema/load.h"
#include "training/monitor.h"
#include "training/store/data_identity.h"
#include "training/store/run_lock.h"
#include "training/store/weights.h"
#include "training/trainer.h"

namespace fovea::training {
namespace {

// What atomic writes of a killed process left of these files; the lock says that nobody is writing
// now. Nothing else, whatever it is called.
void remove_temporaries(const std::filesystem::path& folder, const std::set<std::string>& names) {
  std::vector<std::filesystem::path> found;
  for (const auto& entry : io::fs::directory_iterator(folder)) {
    if (names.contains(io::temporary_of(entry.path().filename().string())))
      found.push_back(entry.path());
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

// The configuration of a run that goes on. Its checkpoints have it too, so that a damaged one may
// be written again.
schema::Value read_config(const std::filesystem::path& file) {
  try {
    return schema::parse(io::read_text(file), file.string());
  } catch (const ConfigError& error) {
    throw FileError(
        fmt::format("{}; the file is damaged: remove it, and go on with fovea train "
                    "EXPERIMENT --resume --out {}",
                    error.what(), file.parent_path().string()));
  }
}

// "val, test".
std::string names_of(const std::vector<data::Split>& parts) {
  std::vector<std::string_view> names;
  for (const data::Split part : parts) names.push_back(data::name_of(part));
  return fmt::format("{}", fmt::join(names, ", "));
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

bool is_untrained(const std::filesystem::path& run_folder) {
  if (io::exists_at_all(run_folder / "summary.json")) return false;
  const CheckpointStore checkpoints(run_folder);
  try {
    const auto last = checkpoints.find_last();
    const std::string first = CheckpointStore::folder_name(0);
    // Without a checkpoint there is either nothing, or a first one that was cut short.
    if (last && last->filename() != first) return false;
    if (!last && checkpoints.any() &&
        (!io::fs::exists(run_folder / "checkpoints" / first) ||
         io::fs::exists(run_folder / "checkpoints" / first / "state.json")))
      return false;
    return evaluations(run_folder / "metrics.jsonl") == 0;
  } catch (const Error&) {
    return false;  // a `last` that names what is not there, and the like
  }
}

// For the terminal alone: a resumed run leaves the same bytes as one that was never stopped.
void Trainer::notify(const std::string& line) const {
  if (setup_.progress != nullptr) setup_.progress->message(line);
}

void Trainer::refuse_other(const std::string& place, const schema::Value& before) const {
  // A run may go on elsewhere (note_move()).
  const auto identity = [&](const schema::Value& config) {
    schema::Value counted = extended(config);
    if (setup_.identity) counted = setup_.identity(counted);
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

schema::Value Trainer::settings() const {
  return setup_.identity ? setup_.identity(setup_.config) : setup_.config;
}

std::string Trainer::hash_of_config() const { return schema::content_hash(settings()); }

void Trainer::log_configuration() { log_->configuration(state_.step, setup_.config, settings()); }

// The files that this run writes beside its checkpoints.
std::set<std::string> Trainer::own_files() const {
  std::set<std::string> names = {"config.json",  "metrics.jsonl", "metrics.csv", "log.txt",
                                 "summary.json", "splits.json",   "curves.png"};
  for (const auto& [name, content] : setup_.files) names.insert(name);
  for (const auto& [name, content] : task_.files()) names.insert(name);
  return names;
}

// What stands where a new run writes is somebody's: a log of another program, a link to a file
// elsewhere.
void Trainer::refuse_foreign_files() const {
  for (const std::string& name : own_files()) {
    FOVEA_CHECK(!io::exists_at_all(setup_.run_folder / name), FileError,
                fmt::format("{}: is there already, and the run would write over it; move it "
                            "elsewhere, or choose another folder with --out",
                            (setup_.run_folder / name).string()));
  }
}

// A run in which nothing was trained yet: it ended at a sample that could not be read, say. The
// same command begins it again. Its configuration or its first checkpoint says that the files are
// ours.
bool Trainer::begins_again() const {
  if (!is_untrained(setup_.run_folder)) return false;
  const std::filesystem::path config_file = setup_.run_folder / "config.json";
  if (!io::fs::exists(config_file)) return false;
  if (checkpoints_.find_last()) return true;
  try {
    refuse_other(config_file.string(),
                 schema::parse(io::read_text(config_file), config_file.string()));
    return true;
  } catch (const Error&) {
    return false;
  }
}

void Trainer::remove_untrained() {
  const std::filesystem::path& folder = setup_.run_folder;
  notify(fmt::format("{}: was stopped before anything was trained; begins again", folder.string()));
  std::string events;
  if (const auto last = checkpoints_.find_last())
    events = read_checkpoint(*last, setup_.host).state.event_file;
  checkpoints_.remove_litter();
  checkpoints_.remove_first();
  if (!events.empty()) io::remove_all(folder / events);
  remove_temporaries(folder, own_files());
  for (const std::string& name : own_files()) {
    if (io::exists_at_all(folder / name)) io::remove_all(folder / name);
  }
}

void Trainer::open_run() {
  const std::filesystem::path& folder = setup_.run_folder;
  const std::filesystem::path config_file = folder / "config.json";
  const bool has_run =
      io::fs::exists(config_file) || checkpoints_.any() || !holds_nothing(folder / "metrics.jsonl");
  const bool again = !setup_.resume && has_run && begins_again();
  FOVEA_CHECK(setup_.resume || !has_run || again, FileError,
              fmt::format("{}: holds a run already; continue it with --resume, or choose another "
                          "folder with --out",
                          folder.string()));
  FOVEA_CHECK(!setup_.resume || has_run, FileError,
              fmt::format("{}: there is no run to resume", folder.string()));
  if (again) remove_untrained();
  if (!setup_.resume) refuse_foreign_files();
  state_.config = setup_.config;
  state_.config_hash = hash_of_config();
  state_.parts = selection_.during;
  state_.data = source_.fingerprint();
  std::optional<std::filesystem::path> last;
  if (setup_.resume) {
    if (io::fs::exists(config_file)) refuse_other(config_file.string(), read_config(config_file));
    last = find_last();
    if (last) {
      restore(*last);
    } else {
      refuse_lost_checkpoints();
    }
    remove_temporaries(folder, own_files());
    checkpoints_.remove_litter();
  }
  // The configuration first: it says that what lies beside it is ours.
  if (!io::fs::exists(config_file)) io::write_atomic(config_file, setup_.config.dump() + "\n");
  if (!last) {
    for (const auto& [name, content] : setup_.files) io::write_atomic(folder / name, content);
    for (const auto& [name, content] : task_.files()) io::write_atomic(folder / name, content);
  }
  keep_sample_lists(source_.sample_lists(), folder);
  std::string events = state_.event_file;
  if (last && events.empty()) events = EventFile::find(folder);
  log_ = std::make_unique<RunLog>(folder, setup_.train.tensorboard, events);
  log_->cut_back(state_);
  if (state_.event_bytes == 0) log_configuration();
  if (last) {
    note_move();
    checkpoints_.repair(state_);
    if (setup_.extend > 0) extend();
    return;
  }
  if (setup_.resume) {
    notify(
        fmt::format("{}: was stopped before its first checkpoint; begins again", folder.string()));
  }
  // From here on a run without a checkpoint is one that has lost it. The first one also holds
  // weights that came from elsewhere (train --init).
  write_checkpoint(to_host(optimiser_->state(), setup_.host));
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
  const bool overfit = before.parts == std::vector{data::Split::kTrain};
  throw ConfigError(fmt::format(
      "{}: this run was evaluated on {} so far and would be on {} now; {}",
      setup_.run_folder.string(), names_of(before.parts), names_of(selection_.during),
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
  if (setup_.extend > 0) check_extension(checkpoint.state);
  for (const std::string& note : source_.check_files(checkpoint.files, folder.string()))
    notify(note);
  refuse_other_data(checkpoint.state.data, state_.data, setup_.run_folder);
  const schema::Value data = state_.data;
  checkpoints_.require_best(checkpoint.state);
  checkpoints_.check_place(checkpoint.state);
  RunLog::check(setup_.run_folder, checkpoint.state);
  load_weights(task_.model(), checkpoint.model, (folder / "model.safetensors").string());
  optimiser_->load_state(checkpoint.optimiser);
  FOVEA_CHECK((ema_ != nullptr) == !checkpoint.ema.empty(), FileError,
              fmt::format("{}: averaged weights are missing or not expected", folder.string()));
  if (ema_) ema_->load_state(checkpoint.ema);
  state_ = checkpoint.state;
  state_.parts = selection_.during;
  state_.data = data;
  const auto known = measured(setup_.train, task_.metrics());
  state_.metrics = with_current_names(state_.metrics, known);
  if (state_.best) {
    state_.best->metric = metrics::current_name(known, state_.best->metric);
    state_.best->metrics = with_current_names(state_.best->metrics, known);
  }
  if (!selection_.monitored() && state_.best) {
    // Older programs noted the best weights on test unasked. They are kept, but choose nothing.
    state_.kept.push_back(state_.best->step);
    state_.best.reset();
    state_.evaluations_since_best = 0;
  }
}

void Trainer::claim_folder() {
  io::make_directories(setup_.run_folder);
  claim_ = claim_run(
      setup_.run_folder, [&](const std::string& line) { notify(line); }, setup_.stop);
}

// Before every write: where this process was suspended, another may have gone on with the run.
void Trainer::require_claim() const {
  if (claim_) claim_->require("the run");
}

void Trainer::write_checkpoint(const std::map<std::string, Tensor>& optimiser_state) {
  require_claim();
  log_->sync(state_);
  Checkpoint checkpoint;
  checkpoint.state = state_;
  checkpoint.state.time_s = elapsed();
  checkpoint.model = to_host(named_tensors(task_.model()), setup_.host);
  checkpoint.optimiser = optimiser_state;
  if (ema_) checkpoint.ema = to_host(ema_->state(), setup_.host);
  checkpoint.files = task_.files();
  checkpoints_.save(checkpoint);
}

}  // namespace fovea::training
