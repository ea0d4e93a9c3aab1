// Where a run stands: everything a resumed run needs besides tensors.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "data/parts/split.h"
#include "metrics/metric_info.h"
#include "schema/json/value.h"

namespace fovea::training {

/// The best evaluation so far.
struct Best {
  double value = 0;
  std::int64_t step = 0;
  std::int64_t epoch = 0;   // from 0; in files from RunState::epochs_from
  std::string metric = {};  // the monitor, or that of averaged weights; "" from an older program
  schema::Value metrics = schema::Value::object();  // of all parts evaluated then
  bool operator==(const Best&) const = default;
};

/// Sums since the last line of the log.
struct Window {
  double loss_sum = 0;  // weighted by samples
  double grad_norm_sum = 0;
  std::int64_t samples = 0;
  std::int64_t steps = 0;
  std::map<std::string, double> part_sums = {};  // of the loss, as loss_sum
  bool operator==(const Window&) const = default;
};

struct RunState {
  std::int64_t step = 0;   // completed optimiser steps
  std::int64_t epoch = 0;  // those that are over; the one in progress, from 0
  /// What the files of the run count epochs from: 1, or 0 where an older program began it.
  std::int64_t epochs_from = 1;
  std::int64_t batch = 0;  // micro-batches of it that are done
  std::optional<Best> best;
  std::int64_t evaluations_since_best = 0;
  Window window;
  std::int64_t metrics_bytes = 0;  // length of metrics.jsonl
  std::string metrics_hash;        // of these bytes (log_hash); "" in checkpoints of old programs
  std::int64_t text_bytes = 0;     // length of log.txt
  std::int64_t event_bytes = 0;    // length of the TensorBoard file
  std::string event_file;          // its name
  std::vector<std::int64_t> kept;  // steps whose checkpoints are never removed
  std::string config_hash;         // of what results depend on
  schema::Value config;            // the whole configuration; null in checkpoints of old programs
  schema::Value data;              // BatchSource::fingerprint
  std::string stop_reason;         // why the run is over; "" while it is not
  double time_s = 0;               // of training, over all parts of the run
  schema::Value metrics = schema::Value::object();  // last evaluation of each part
  std::vector<data::Split> parts;                   // evaluated while the run goes on

  bool operator==(const RunState&) const = default;
};

schema::Value to_value(const RunState& state);
/// Throws ConfigError if a member is missing or of another kind.
RunState run_state_from(const schema::Value& value);

/// Sets a member; what is not finite becomes null and is named in the list "nonfinite", since JSON
/// has no word for it.
void set_number(schema::Value& record, const std::string& key, double value);
/// The same of a metric; where values are missing, "compared" of the record says how many: {name:
/// {"defined", "of", "set"}}.
void set_measured(schema::Value& record, const metrics::Measurement& metric);
/// What set_measured() noted; nothing missing where it noted nothing.
metrics::Coverage coverage_in(const schema::Value& record, const std::string& metric);
/// Whether a member of a record of metrics is none: "nonfinite", "compared".
bool is_note(const std::string& key);

/// Gives metrics their names of today, in a record of each part.
schema::Value with_current_names(const schema::Value& metrics_by_part,
                                 const std::vector<metrics::MetricInfo>& known);

}  // namespace fovea::training
