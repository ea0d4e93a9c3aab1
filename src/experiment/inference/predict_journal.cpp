#include "experiment/inference/predict_journal.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>
#include <vector>

#include "base/error.h"
#include "schema/compare.h"
#include "schema/json/parse.h"
#include "training/store/run_lock.h"

namespace fovea::experiment {
namespace {

namespace fs = std::filesystem;
using schema::Value;

constexpr const char* kSettingsFile = "predict.json";
constexpr const char* kJournalFile = "predict.journal";
constexpr const char* kResult = "result";
constexpr std::size_t kMostDifferences = 3;

Value to_value(const PredictJournal::State& state) {
  return Value::object({{"done", state.done}, {"failed", state.failed}});
}

PredictJournal::State state_in(const Value& value) {
  return {value.at("done").as_int(), value.at("failed").as_int()};
}

void check_settings(const fs::path& file, const Value& before, const Value& now) {
  std::vector<std::string> differences = schema::diff(before, now);
  if (differences.empty()) return;
  const std::size_t all = differences.size();
  if (all > kMostDifferences) {
    differences.resize(kMostDifferences);
    differences.push_back(fmt::format("and {} more", all - kMostDifferences));
  }
  throw ConfigError(fmt::format("--continue: {} is of a pass with other settings: {}",
                                file.string(), fmt::join(differences, "; ")));
}

// Whether the files are still as long.
bool all_there(const fs::path& out, const std::map<std::string, std::uint64_t>& bytes) {
  for (const auto& [name, size] : bytes) {
    std::error_code code;
    if (fs::file_size(out / name, code) < size || code) return false;
  }
  return true;
}

}  // namespace

PredictJournal::PredictJournal(fs::path out, Value settings, bool continues)
    : out_(std::move(out)), settings_(std::move(settings)) {
  const fs::path file = out_ / kSettingsFile;
  std::error_code code;
  if (!continues || !fs::exists(out_, code)) return;
  if (!fs::exists(file, code)) {
    const std::string lock = training::run_lock_of(out_).filename().string();
    // Where the pass ended before it wrote anything, there is nothing but its journal and its lock.
    for (const auto& entry : fs::directory_iterator(out_))
      FOVEA_CHECK(
          entry.path().filename() == kJournalFile ||
              entry.path().filename().string().starts_with(lock),
          FileError,
          fmt::format("--continue: {}: not found; the folder holds something else", file.string()));
    return;
  }
  lock_ = training::claim_run(out_);
  Value before = schema::parse(io::read_text(file), file.string());
  if (const Value* result = before.find(kResult)) {
    begin_ = state_in(*result);
    complete_ = true;
    before.erase(kResult);
  }
  check_settings(file, before, settings_);
  const fs::path journal = out_ / kJournalFile;
  if (complete_ || !fs::exists(journal, code)) return;
  const std::string text = io::read_text(journal);
  for (std::size_t at = 0, end = 0; (end = text.find('\n', at)) != std::string::npos;
       at = end + 1) {
    const Value line = schema::parse(text.substr(at, end - at), journal.string());
    std::map<std::string, std::uint64_t> bytes;
    for (const Value::Member& grown : line.at("bytes").members())
      bytes[grown.key] = static_cast<std::uint64_t>(grown.value.as_int());
    if (!all_there(out_, bytes)) break;  // lost with the machine's power
    begin_ = state_in(line);
    bytes_ = std::move(bytes);
    read_ = end + 1;
  }
}

void PredictJournal::open() {
  io::make_directories(out_);
  if (!lock_) lock_ = training::claim_run(out_);
  journal_ = std::make_unique<io::File>(out_ / kJournalFile, io::File::Mode::kAppend);
  journal_->truncate(read_);
  io::write_atomic(out_ / kSettingsFile, settings_.dump() + "\n");
}

io::File& PredictJournal::file(const std::string& name) {
  if (!journal_) open();
  std::unique_ptr<io::File>& file = files_[name];
  if (!file) {
    file = std::make_unique<io::File>(out_ / name, io::File::Mode::kAppend);
    file->truncate(bytes_[name]);
  }
  return *file;
}

void PredictJournal::note(const State& state) {
  lock_->require("the folder");
  Value line = to_value(state), bytes = Value::object();
  for (const auto& [name, file] : files_) bytes.set(name, static_cast<std::int64_t>(file->size()));
  line.set("bytes", bytes);
  journal_->write(line.dump(0) + "\n");
}

void PredictJournal::finish(const State& state) {
  for (const auto& [name, file] : files_) file->close();
  Value complete = settings_;
  complete.set(kResult, to_value(state));
  io::write_atomic(out_ / kSettingsFile, complete.dump() + "\n");
  journal_->close();
  io::remove_all(out_ / kJournalFile);
  lock_.reset();
}

}  // namespace fovea::experiment
