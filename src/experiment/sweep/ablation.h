// Ablation files: one base experiment, many rows of overrides, several seeds, and the published
// numbers beside which the results go. Everything is resolved here, before any job starts.
//
//   { "name": "table1",
//     "base": "dgvit.json",                        // relative to this file, or an object
//     "set": {"train.epochs": 100},                // overrides of every row
//     "rows": [{"name": "DGViT x4", "extends": "other.json",   // instead of base
//               "set": {"model.ffn.expansion": 4},
//               "published": {"table": "Table 1", "row": "DGViT proj x4, dropout x2",
//                             "columns": {"test_top1": "CIFAR-10"}}}],
//     "axes": {"model.attention.num_heads": [2, 4, 8]},        // every combination, in every row
//     "seeds": [0, 1, 2], "metrics": ["test_top1"], "published": "dgsa",
//     "detect": {"test_top1": 0.5}, "equivalent": {"test_top1": 1} }   // tables/verdict.h
//
// With "folds": 5 every row is cross-validated instead: trained once for each fold, with one seed.
//
// Paths of settings and the meaning of their values are those of `--set` (schema/load.h). Like
// other files an ablation file may have comments and "extends".
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "experiment/file/experiment_kind.h"
#include "experiment/tables/metric_column.h"
#include "experiment/tables/published.h"
#include "schema/json/value.h"

namespace fovea::experiment {

/// A published number of one metric of a row. The metrics "parameters", "macs" and
/// "macs_paper" are counts.
struct PublishedCell {
  std::string metric;
  std::string table;
  std::string row;
  std::string column;
  PublishedValue value;
};

struct Row {
  std::string name;
  std::string slug;         // the name as part of a folder's: "dgvit-x4"
  schema::Value overrides;  // {"model.ffn.expansion": 4}: those of the row and its axes
  schema::Value config;     // resolved, with the first seed and without a fold
  std::vector<PublishedCell> published;
  std::vector<std::string> changes;  // "12 of 300 epochs", "--set train.epochs=12" (changes.h)
};

/// One run: a row with a seed, or with a seed and a fold.
struct Job {
  std::string id;  // <slug>-s<seed>[-f<fold>]-<first 8 digits of hash>
  std::size_t row = 0;
  std::int64_t seed = 0;
  std::optional<std::int64_t> fold = {};  // from 0; of a cross-validation
  std::string hash;                       // of identity(config)
  schema::Value config;                   // resolved
  /// What the hash covers: where data lie counts only if rows differ in nothing else.
  schema::Counted counted;
  /// What the runs of a row differ by: the fold, or else the seed.
  std::int64_t repeat() const { return fold.value_or(seed); }
};

struct Ablation {
  std::string name;
  std::string published;                             // key of the paper, or ""
  std::vector<std::int64_t> seeds;                   // a single one with folds
  std::int64_t folds = 0;                            // of a cross-validation; 0: none
  std::vector<std::string> metrics;                  // empty: the main ones of the runs
  std::map<std::string, double> detect, equivalent;  // differences and margins, by column
  std::vector<std::string> differs;  // what all rows differ in from the paper, in sentences
  std::vector<Row> rows;
  std::vector<Job> jobs;  // seed by seed or fold by fold, so that a whole table is there early
  ExperimentKind kind;
  schema::Notes notes;  // renamed keys, options dropped with their type
};

/// What a user may add on the command line.
struct AblationOverrides {
  std::vector<std::string> set = {};     // "train.epochs=1", for every row, after all others
  std::vector<std::int64_t> seeds = {};  // instead of those of the file, if any
  /// Instead of those of the file; 0: those. Columns of test become those of val where the file
  /// itself has no folds.
  std::int64_t folds = 0;
  /// "test_top1=0.5", beside those of the file or instead of them.
  std::vector<std::string> detect = {}, equivalent = {};
};

/// Reads an ablation file and resolves every row. Throws FileError if the file is missing and
/// ConfigError, with file, line and column, for unknown keys, paths that leave the folder above
/// that of the file, published numbers that do not exist, two rows of one name; RowErrors for all
/// settings an experiment does not have and all rows of one configuration.
Ablation load_ablation(const std::filesystem::path& file, const ExperimentKind& kind,
                       const AblationOverrides& overrides = {});

/// The name of the ablation in a file; nothing else in it is looked at.
std::string ablation_name(const std::filesystem::path& file);

/// Lower-case letters and digits with single dashes between; "row" if nothing is left.
std::string slug_of(const std::string& name);

/// Every column that a row may have.
std::vector<Column> known_columns(const Ablation& ablation);

/// The rows called so, by name or slug. Throws ConfigError with the nearest for an unknown one.
std::vector<std::size_t> find_rows(const Ablation& ablation, const std::vector<std::string>& names);

/// The content of ablation.json in a sweep's folder: names, seeds, and every row's overrides and
/// resolved configuration.
schema::Value to_value(const Ablation& ablation);

}  // namespace fovea::experiment
