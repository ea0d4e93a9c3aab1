#include "training/store/run_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/hash.h"
#include "metrics/metric_info.h"
#include "schema/json/parse.h"
#include "training/events/settings_events.h"

namespace fovea::training {
namespace {

using schema::Value;

struct Row {
  std::int64_t epoch = 0;
  double loss_sum = 0;
  double samples = 0;
  std::string lr;
  std::map<std::string, std::string> cells;  // by column
};

// Keys of a record that are not metrics.
bool is_bookkeeping(const std::string& key) {
  static const std::set<std::string> keys = {"step",    "epoch",  "split",
                                             "samples", "time_s", "weights"};
  return keys.contains(key) || is_note(key);
}

std::vector<Value> lines_of(std::string_view jsonl) {
  std::vector<Value> lines;
  while (!jsonl.empty()) {
    const std::size_t end = std::min(jsonl.find('\n'), jsonl.size());
    try {
      lines.push_back(schema::parse(jsonl.substr(0, end), "metrics.jsonl"));
    } catch (const ConfigError& error) {
      throw FileError(fmt::format("metrics.jsonl, line {}: {}", lines.size() + 1, error.what()));
    }
    jsonl.remove_prefix(std::min(end + 1, jsonl.size()));
  }
  return lines;
}

std::string cell(const Value& value) { return value.is_null() ? "nan" : value.dump(0); }

// Lines of the loop itself; an evaluation may be of the training samples, too.
bool is_training(const Value& line) { return line.find("samples") != nullptr; }

// What a line is about, for tags and columns.
std::string part_of(const Value& line) {
  const std::string& split = line.at("split").as_string();
  return split == "train" && !is_training(line) ? "train_eval" : split;
}

// Logs that older programs began call the first epoch 0. (A run of no steps has only an evaluation,
// before the first.)
bool counts_from_zero(const std::vector<Value>& lines) {
  return std::any_of(lines.begin(), lines.end(), [](const Value& line) {
    return is_training(line) && line.at("epoch").as_int() == 0;
  });
}

// Where a part was evaluated more than once in an epoch (train.eval_every_steps), the steps at
// which the rows of the table end: those of evaluations, and the last. Otherwise empty: rows are
// epochs.
std::set<std::int64_t> ends_of_rows(const std::vector<Value>& lines) {
  std::set<std::int64_t> ends;
  std::map<std::pair<std::string, std::int64_t>, std::int64_t> step_of;  // of a part in an epoch
  std::int64_t last = 0;
  bool by_step = false;
  for (const Value& line : lines) {
    const std::int64_t step = line.at("step").as_int();
    last = std::max(last, step);
    if (is_training(line)) continue;
    ends.insert(step);
    const std::pair key(part_of(line), line.at("epoch").as_int());
    by_step = by_step || step_of.try_emplace(key, step).first->second != step;
  }
  if (!by_step) return {};
  ends.insert(last);
  return ends;
}

constexpr const char* kLogAdvice =
    "bring the file back from a copy, or train into a new folder with --out";

void check_length(std::uint64_t size, std::int64_t promised, const char* name) {
  FOVEA_CHECK(
      size >= static_cast<std::uint64_t>(promised), FileError,
      fmt::format("{}: holds {} bytes, the checkpoint counts on {}; it was changed since: {}", name,
                  size, promised, kLogAdvice));
}

// Of the part that stays: lines that are no JSON, then anything else that has changed.
void check_metrics(std::string_view jsonl, const RunState& state) {
  check_length(jsonl.size(), state.metrics_bytes, "metrics.jsonl");
  const std::string_view kept = jsonl.substr(0, static_cast<std::size_t>(state.metrics_bytes));
  const std::string hash = log_hash(kept);
  if (!state.metrics_hash.empty() && hash == state.metrics_hash) return;
  try {
    lines_of(kept);
  } catch (const FileError& error) {
    throw FileError(fmt::format("{}; the line is damaged: {}", error.what(), kLogAdvice));
  }
  FOVEA_CHECK(state.metrics_hash.empty(), FileError,
              fmt::format("metrics.jsonl: its first {} bytes are not those that the checkpoint "
                          "counts on; it was changed since: {}",
                          state.metrics_bytes, kLogAdvice));
}

}  // namespace

RunLog::RunLog(const std::filesystem::path& run_folder, bool tensorboard,
               const std::string& event_file)
    : folder_(run_folder),
      metrics_(std::make_unique<io::File>(run_folder / "metrics.jsonl", io::File::Mode::kAppend)),
      text_(std::make_unique<io::File>(run_folder / "log.txt", io::File::Mode::kAppend)),
      events_(tensorboard ? std::make_unique<EventFile>(run_folder, event_file) : nullptr) {}

void RunLog::record(const Value& line) {
  if (!metrics_) return;
  const std::string text = line.dump(0) + "\n";
  metrics_->write(text);
  hash_ = log_hash(text, hash_);
  if (!events_) return;
  std::vector<std::string> values;
  for (const Value::Member& member : line.members()) {
    if (is_bookkeeping(member.key) || !member.value.is_number()) continue;
    const bool of_split = !is_training(line) || member.key == metrics::kLoss.name;
    const std::string tag = of_split ? part_of(line) + "/" + member.key : member.key;
    values.push_back(scalar_value(tag, member.value.as_double()));
  }
  if (!values.empty()) events_->add(line.at("step").as_int(), values);
}

void RunLog::configuration(std::int64_t step, const Value& config, const Value& settings) {
  if (!events_) return;
  std::vector<std::string> values = {text_value("config", "```\n" + config.dump() + "\n```")};
  // (TensorBoard takes the first that it finds.)
  if (events_->size() == 0) values.push_back(hparams_value(settings, unix_time()));
  events_->add(step, values);
}

void RunLog::finished(std::int64_t step) {
  if (events_) events_->add(step, {finished_value(unix_time())});
}

void RunLog::text(const std::string& line) {
  if (text_) text_->write(line + "\n");
}

void RunLog::sync(RunState& state) {
  metrics_->sync();
  text_->sync();
  if (events_) events_->sync();
  state.metrics_bytes = static_cast<std::int64_t>(metrics_->size());
  state.text_bytes = static_cast<std::int64_t>(text_->size());
  // Without TensorBoard the file of an earlier part of the run stays as long as it is.
  if (events_) {
    state.event_bytes = events_->size();
    state.event_file = events_->name();
  }
  state.metrics_hash = hash_;
}

void RunLog::check(const std::filesystem::path& run_folder, const RunState& state) {
  for (const char* name : {"metrics.jsonl", "log.txt"}) {
    const auto status = io::fs::symlink_status(run_folder / name);
    FOVEA_CHECK(!io::fs::is_symlink(status), FileError,
                fmt::format("{}: is a link to another file, which is not ours to write; put the "
                            "file itself there",
                            (run_folder / name).string()));
  }
  check_metrics(io::read_text(run_folder / "metrics.jsonl"), state);
  check_length(io::ReadFile(run_folder / "log.txt").size(), state.text_bytes, "log.txt");
}

void RunLog::cut_back(const RunState& state) {
  check(folder_, state);
  const std::string jsonl = io::read_text(folder_ / "metrics.jsonl");
  hash_ =
      log_hash(std::string_view(jsonl).substr(0, static_cast<std::size_t>(state.metrics_bytes)));
  metrics_->truncate(static_cast<std::uint64_t>(state.metrics_bytes));
  text_->truncate(static_cast<std::uint64_t>(state.text_bytes));
  if (events_) events_->cut_back(state.event_bytes);
}

void RunLog::write_csv() const {
  if (!metrics_) return;
  io::write_atomic(folder_ / "metrics.csv", metrics_csv(io::read_text(folder_ / "metrics.jsonl")));
}

std::string log_hash(std::string_view jsonl, std::string hash) {
  while (!jsonl.empty()) {
    const std::size_t end = std::min(jsonl.find('\n'), jsonl.size() - 1) + 1;
    hash = hash_bytes(hash + std::string(jsonl.substr(0, end)));
    jsonl.remove_prefix(end);
  }
  return hash;
}

std::string metrics_csv(std::string_view jsonl) {
  const std::vector<Value> lines = lines_of(jsonl);
  std::map<std::int64_t, Row> rows;
  std::vector<std::string> columns;
  const bool from_zero = counts_from_zero(lines);
  const std::set<std::int64_t> ends = ends_of_rows(lines);
  for (const Value& line : lines) {
    const std::int64_t epoch = line.at("epoch").as_int() + (from_zero ? 1 : 0);
    Row& row = rows[ends.empty() ? epoch : *ends.lower_bound(line.at("step").as_int())];
    row.epoch = epoch;
    if (is_training(line)) {
      const double samples = line.at("samples").as_double();
      const Value& loss = line.at(metrics::kLoss.name);
      row.loss_sum += samples * (loss.is_null() ? 0 : loss.as_double());
      row.samples += samples;
      row.lr = cell(line.at("lr"));
      continue;
    }
    for (const Value::Member& member : line.members()) {
      if (is_bookkeeping(member.key)) continue;
      const std::string column = part_of(line) + "_" + member.key;
      if (std::find(columns.begin(), columns.end(), column) == columns.end()) {
        columns.push_back(column);
      }
      row.cells[column] = cell(member.value);
    }
  }
  std::string csv = ends.empty() ? "epoch,train_loss" : "epoch,step,train_loss";
  for (const std::string& column : columns) csv += "," + column;
  csv += ",lr\n";
  for (const auto& [key, row] : rows) {
    csv += fmt::format("{},", row.epoch) + (ends.empty() ? "" : fmt::format("{},", key));
    if (row.samples > 0) csv += fmt::format("{}", row.loss_sum / row.samples);
    for (const std::string& column : columns) {
      const auto found = row.cells.find(column);
      csv += "," + (found == row.cells.end() ? "" : found->second);
    }
    csv += "," + row.lr + "\n";
  }
  return csv;
}

}  // namespace fovea::training
