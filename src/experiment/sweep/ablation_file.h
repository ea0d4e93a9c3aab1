// Inside of ablation.cpp: what an ablation file holds, before anything is resolved.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "experiment/file/experiment_kind.h"
#include "schema/json/value.h"

namespace fovea::experiment {

struct PublishedFields {
  schema::Value table, row;  // strings, kept as values for their positions
  schema::Value columns;     // {"test_top1": "CIFAR-10"}
};

struct RowFields {
  schema::Value name;     // string
  schema::Value extends;  // string, or null: the base of the file
  schema::Value set;      // object
  std::vector<PublishedFields> published;
  std::vector<std::string> differs;
};

struct AblationFields {
  std::string name;
  schema::Value base;  // string, object, or null where every row extends a file
  schema::Value set;   // object
  std::vector<RowFields> rows;
  schema::Value axes;   // object of non-empty arrays
  schema::Value seeds;  // null where none are given
  std::optional<std::int64_t> folds;
  std::vector<std::string> metrics;
  schema::Value detect, equivalent;  // objects of numbers above 0, by column
  schema::Value published;           // string, or null
  std::vector<std::string> differs;
};

/// What such a file may hold, as JSON Schema; the one of an experiment is
/// "#/definitions/experiment".
schema::Value ablation_schema();

/// Strict parsing with positions; see ablation.h for the keys.
AblationFields read_ablation_file(const std::filesystem::path& file);

/// The file a value of an ablation file names, relative to the file that gives the value. Throws
/// ConfigError unless it is a relative path inside the folder above that of `ablation_file`.
std::filesystem::path referenced_file(const schema::Value& reference, const std::string& key,
                                      const std::filesystem::path& ablation_file);

/// The experiment a "base" or "extends" names or is.
schema::Value load_base(const schema::Value& base, const std::string& key,
                        const std::filesystem::path& ablation_file, const ExperimentKind& kind,
                        schema::Notes& notes);

}  // namespace fovea::experiment
