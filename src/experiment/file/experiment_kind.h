// What sweeps and stored runs must know of experiments: their keys, and how they are validated. An
// ablation knows no network and no data set, so that its tests have a kind of experiment of their
// own.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "metrics/metric_info.h"
#include "schema/identity.h"
#include "schema/json/value.h"
#include "schema/notes.h"

namespace fovea::experiment {

struct ExperimentKind {
  const schema::Description* fields = nullptr;
  /// Validates an experiment and fills in every default; throws ConfigError.
  std::function<schema::Value(const schema::Value& unresolved, schema::Notes& notes)> resolve;
  /// Every metric that a run of a resolved experiment may have, whatever its data turn out to be.
  std::function<std::vector<metrics::MetricInfo>(const schema::Value& resolved)> metrics = {};
  /// The resolved experiment in which fold `index` of `count` is the val part; throws ConfigError
  /// where the experiment itself says what val is.
  std::function<schema::Value(const schema::Value& resolved, std::int64_t index,
                              std::int64_t count)>
      with_fold = {};
};

/// An experiment file with its parents; old keys of each become today's.
schema::Value load_file(const ExperimentKind& kind, const std::filesystem::path& file,
                        schema::Notes& notes);

/// One setting over an experiment: "train.epochs=1", or a value at a path, which may be an old one.
void override_setting(const ExperimentKind& kind, schema::Value& experiment,
                      const std::string& assignment, schema::Notes& notes);
void override_setting(const ExperimentKind& kind, schema::Value& experiment,
                      const std::string& path, const schema::Value& value, schema::Notes& notes);

/// A configuration that was stored by this or an older program, as this one would store it: old
/// keys have their new names, keys that are new their defaults. Throws ConfigError where it means
/// nothing to this program.
schema::Value brought_up_to_date(const ExperimentKind& kind, const schema::Value& stored);

/// The same without what no result depends on: two runs with equal ones are one run.
schema::Value identity(const ExperimentKind& kind, const schema::Value& stored,
                       const schema::Counted& counted = {});
/// How the configuration of a run is compared with others: files by their content where it is
/// known.
schema::Counted counted_in(const ExperimentKind& kind, const schema::Value& resolved);

}  // namespace fovea::experiment
