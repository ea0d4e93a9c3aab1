#include "training/run_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "base/error.h"
#include "metrics/metric_info.h"
#include "schema/parse.h"

namespace fovea::training {
namespace {

using schema::Value;

struct Row {
  double loss_sum = 0;
  double samples = 0;
  std::string lr;
  std::map<std::string, std::string> cells;  // by column
};

// Keys of a record that are not metrics.
bool is_bookkeeping(const std::string& key) {
  static const std::set<std::string> keys = {"step",   "epoch",     "split",  "samples",
                                             "time_s", "nonfinite", "weights"};
  return keys.contains(key);
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

void check_length(const io::File& file, std::int64_t promised, const char* name) {
  const std::uint64_t size = file.size();
  FOVEA_CHECK(size >= static_cast<std::uint64_t>(promised), FileError,
              fmt::format("{}: holds {} bytes, the checkpoint counts on {}; it was changed since",
                          name, size, promised));
}

}  // namespace

RunLog::RunLog(const std::filesystem::path& run_folder, bool tensorboard)
    : folder_(run_folder),
      metrics_(run_folder / "metrics.jsonl", io::File::Mode::kAppend),
      text_(run_folder / "log.txt", io::File::Mode::kAppend),
      events_(tensorboard ? std::make_unique<EventFile>(run_folder) : nullptr) {}

void RunLog::record(const Value& line) {
  metrics_.write(line.dump(0) + "\n");
  if (!events_) return;
  std::vector<Scalar> scalars;
  for (const Value::Member& member : line.members()) {
    if (is_bookkeeping(member.key) || !member.value.is_number()) continue;
    const bool of_split = !is_training(line) || member.key == metrics::kLoss.name;
    const std::string tag = of_split ? part_of(line) + "/" + member.key : member.key;
    scalars.push_back({tag, member.value.as_double()});
  }
  if (!scalars.empty()) events_->add(line.at("step").as_int(), scalars);
}

void RunLog::text(const std::string& line) { text_.write(line + "\n"); }

void RunLog::sync(RunState& state) {
  metrics_.sync();
  text_.sync();
  if (events_) events_->sync();
  state.metrics_bytes = static_cast<std::int64_t>(metrics_.size());
  state.text_bytes = static_cast<std::int64_t>(text_.size());
  // Without TensorBoard the file of an earlier part of the run stays as long as it is.
  if (events_) state.event_bytes = events_->size();
}

void RunLog::cut_back(const RunState& state) {
  check_length(metrics_, state.metrics_bytes, "metrics.jsonl");
  check_length(text_, state.text_bytes, "log.txt");
  metrics_.truncate(static_cast<std::uint64_t>(state.metrics_bytes));
  text_.truncate(static_cast<std::uint64_t>(state.text_bytes));
  if (events_) events_->cut_back(state.event_bytes);
}

void RunLog::write_csv() const {
  io::write_atomic(folder_ / "metrics.csv", metrics_csv(io::read_text(folder_ / "metrics.jsonl")));
}

std::string metrics_csv(std::string_view jsonl) {
  const std::vector<Value> lines = lines_of(jsonl);
  std::map<std::int64_t, Row> rows;
  std::vector<std::string> columns;
  for (const Value& line : lines) {
    Row& row = rows[line.at("epoch").as_int()];
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
      const std::string part = part_of(line);
      const std::string column = (part == "val" ? "eval" : part) + "_" + member.key;
      if (std::find(columns.begin(), columns.end(), column) == columns.end()) {
        columns.push_back(column);
      }
      row.cells[column] = cell(member.value);
    }
  }
  std::string csv = "epoch,train_loss";
  for (const std::string& column : columns) csv += "," + column;
  csv += ",lr\n";
  for (const auto& [epoch, row] : rows) {
    csv += fmt::format("{},{}", epoch,
                       row.samples > 0 ? fmt::format("{}", row.loss_sum / row.samples) : "");
    for (const std::string& column : columns) {
      const auto found = row.cells.find(column);
      csv += "," + (found == row.cells.end() ? "" : found->second);
    }
    csv += "," + row.lr + "\n";
  }
  return csv;
}

}  // namespace fovea::training
