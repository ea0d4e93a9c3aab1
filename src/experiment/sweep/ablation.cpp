#include "experiment/sweep/ablation.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "base/suggest.h"
#include "experiment/file/changes.h"
#include "experiment/sweep/ablation_file.h"
#include "experiment/sweep/column_numbers.h"
#include "experiment/tables/row_errors.h"
#include "schema/compare.h"
#include "schema/load.h"

namespace fovea::experiment {
namespace {

namespace fs = std::filesystem;
using schema::Value;

constexpr std::size_t kMostRows = 10000;
constexpr std::size_t kLongestSlug = 60;

// What one axis gives one row.
struct Setting {
  std::string path;
  Value value;
};
using Combination = std::vector<Setting>;

// Every combination, the last axis changing fastest.
std::vector<Combination> combinations(const Value& axes) {
  std::vector<Combination> all = {{}};
  for (const auto& axis : axes.members()) {
    FOVEA_CHECK(
        all.size() * axis.value.size() <= kMostRows, ConfigError,
        fmt::format("{}more than {} rows", schema::where(axis.key_origin, "axes"), kMostRows));
    std::vector<Combination> longer;
    for (const Combination& combination : all) {
      for (const Value& value : axis.value.items()) {
        longer.push_back(combination);
        longer.back().push_back({axis.key, value});
      }
    }
    all = std::move(longer);
  }
  return all;
}

std::string last_key(const std::string& path) { return path.substr(path.rfind('.') + 1); }

// "num_heads=4"; the whole path where two axes end alike.
std::string text_of(const Combination& combination) {
  std::map<std::string, int> ends;
  for (const Setting& setting : combination) ++ends[last_key(setting.path)];
  std::vector<std::string> parts;
  for (const Setting& setting : combination) {
    const std::string end = last_key(setting.path);
    const Value* type = setting.value.find("type");
    const Value& shown = type != nullptr && setting.value.size() == 1 ? *type : setting.value;
    parts.push_back(fmt::format("{}={}", ends[end] == 1 ? end : setting.path,
                                shown.is_string() ? shown.as_string() : shown.dump(0)));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

class Planner {
 public:
  Planner(const fs::path& file, const ExperimentKind& kind, const AblationOverrides& overrides)
      : file_(file),
        kind_(kind),
        overrides_(overrides),
        fields_(read_ablation_file(file)),
        combinations_(combinations(fields_.axes)) {}

  Ablation plan() {
    result_.name = fields_.name;
    result_.differs = fields_.differs;
    result_.kind = kind_;
    result_.folds = overrides_.folds > 0 ? overrides_.folds : fields_.folds.value_or(0);
    choose_seeds();
    choose_metrics();
    result_.detect = by_column(fields_.detect, "--detect", overrides_.detect);
    result_.equivalent = by_column(fields_.equivalent, "--equivalent", overrides_.equivalent);
    load_published();
    std::vector<RowFields> rows = fields_.rows;
    // Without rows the axes alone make them, or the base is the only one.
    if (rows.empty()) rows.push_back({"", Value(), Value::object(), {}, {}});
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::string key = fmt::format("rows.{}", i);
      const bool own = !rows[i].extends.is_null();
      const Value base = load_base(own ? rows[i].extends : fields_.base,
                                   own ? key + ".extends" : "base", file_, kind_, result_.notes);
      for (const Combination& combination : combinations_) add_row(rows[i], base, combination);
    }
    complaints_.raise();
    tell_rows_apart();
    complaints_.raise();
    add_jobs();
    return std::move(result_);
  }

 private:
  void choose_seeds() {
    if (!fields_.seeds.is_null()) {
      for (const Value& seed : fields_.seeds.items()) planned_seeds_.push_back(seed.as_int());
    } else if (result_.folds > 0) {
      planned_seeds_ = {0};
    } else {
      planned_seeds_ = {0, 1, 2, 3, 4};
    }
    result_.seeds = overrides_.seeds.empty() ? planned_seeds_ : overrides_.seeds;
    const std::string place = overrides_.seeds.empty()
                                  ? schema::where(fields_.seeds.origin(), "seeds")
                                  : std::string("--seeds: ");
    FOVEA_CHECK(result_.folds == 0 || result_.seeds.size() == 1, ConfigError,
                fmt::format("{}{} seeds with {} folds; every row is trained once for each fold, "
                            "expected one seed, e.g. --seeds 0",
                            place, result_.seeds.size(), result_.folds));
    if (result_.folds > 0) planned_seeds_ = result_.seeds;
  }

  // Who asks for folds of a file without is told of val where the file speaks of test.
  void choose_metrics() {
    result_.metrics = fields_.metrics;
    if (overrides_.folds == 0 || fields_.folds) return;
    for (std::string& metric : result_.metrics) metric = of_val(metric);
  }

  static std::string of_val(const std::string& column) {
    const std::string test = "test_";
    return column.starts_with(test) ? "val_" + column.substr(test.size()) : column;
  }

  std::map<std::string, double> by_column(const Value& of_file, const std::string& flag,
                                          const std::vector<std::string>& of_line) const {
    std::map<std::string, double> all = numbers_by_column(flag, of_line);
    const bool moved = overrides_.folds > 0 && !fields_.folds;
    for (const auto& member : of_file.members())
      all.emplace(moved ? of_val(member.key) : member.key, member.value.as_double());
    return all;
  }

  void load_published() {
    const Value& key = fields_.published;
    if (key.is_null()) return;
    result_.published = key.as_string();
    const auto allowed = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
    };
    FOVEA_CHECK(std::all_of(result_.published.begin(), result_.published.end(), allowed),
                ConfigError,
                schema::where(key.origin(), "published") +
                    "expected the key of a paper such as \"dgsa\", got " + schema::describe(key));
    const fs::path from = key.origin().line > 0 ? fs::path(key.origin().file) : file_;
    const fs::path numbers =
        (from.parent_path() / ".." / result_.published / "published.json").lexically_normal();
    try {
      published_.emplace(numbers);
    } catch (const FileError& error) {
      throw ConfigError(schema::where(key.origin(), "published") + error.what());
    }
  }

  void add_row(const RowFields& fields, const Value& base, const Combination& combination) {
    Row row;
    row.name = fields.name.as_string();
    const std::string axes = text_of(combination);
    if (!axes.empty()) row.name += (row.name.empty() ? "" : ", ") + axes;
    if (row.name.empty()) row.name = fields_.name;
    row.slug = slug_of(row.name);
    row.overrides = Value::object();
    add_published(fields, row);
    try {
      Value experiment = base;
      for (const auto& member : fields_.set.members())
        override_setting(kind_, experiment, member.key, member.value, result_.notes);
      const auto apply = [&](const std::string& path, const Value& value) {
        override_setting(kind_, experiment, path, value, result_.notes);
        row.overrides.set(path, value);
      };
      for (const auto& member : fields.set.members()) apply(member.key, member.value);
      for (const Setting& setting : combination) apply(setting.path, setting.value);
      experiment.set("name", fmt::format("{}/{}", fields_.name, row.name));
      experiment.set("seed", result_.seeds.front());
      const Value planned = experiment;
      for (const std::string& text : overrides_.set)
        override_setting(kind_, experiment, text, result_.notes);
      row.config = kind_.resolve(experiment, result_.notes);
      if (result_.folds > 0) kind_.with_fold(row.config, 0, result_.folds);  // or it complains
      row.changes = changes_to(planned, row);
      row.changes.insert(row.changes.end(), fields.differs.begin(), fields.differs.end());
    } catch (const ConfigError& error) {
      complaints_.add(row.name, error.what());
    }
    result_.rows.push_back(std::move(row));
  }

  // What the command line and the limits of the row change in what was planned or published.
  std::vector<std::string> changes_to(const Value& planned, const Row& row) const {
    RowPlan plan;
    plan.config = row.config;
    plan.seeds = result_.seeds;
    plan.planned_seeds = planned_seeds_;
    schema::Notes unheard;
    const auto identity_with = [&](const std::string* text) -> Value {
      Value experiment = planned;
      try {
        if (text != nullptr) override_setting(kind_, experiment, *text, unheard);
        const Value config = kind_.resolve(experiment, unheard);
        return schema::identity(*kind_.fields, config, counted_in(kind_, config));
      } catch (const ConfigError&) {
        return {};  // no experiment without the other settings
      }
    };
    const Value without = overrides_.set.empty() ? Value() : identity_with(nullptr);
    for (const std::string& text : overrides_.set) {
      if (without.is_null() || !(identity_with(&text) == without)) plan.set.push_back(text);
    }
    try {
      plan.planned = overrides_.set.empty() ? row.config : kind_.resolve(planned, unheard);
    } catch (const ConfigError&) {
    }
    for (const PublishedCell& cell : row.published) {
      const Protocol stated = published_->protocol(cell.table, cell.column);
      if (!plan.published.epochs) plan.published.epochs = stated.epochs;
      if (!plan.published.seeds) plan.published.seeds = stated.seeds;
      if (!plan.published.train_samples) plan.published.train_samples = stated.train_samples;
      if (plan.published.pretrained.empty()) plan.published.pretrained = stated.pretrained;
    }
    return changes_of(plan);
  }

  void add_published(const RowFields& fields, Row& row) const {
    for (const PublishedFields& from : fields.published) {
      for (const auto& member : from.columns.members()) {
        row.published.push_back({member.key, from.table.as_string(), from.row.as_string(),
                                 member.value.as_string(),
                                 published_->find(from.table, from.row, member.value)});
      }
    }
  }

  std::string hash_of(const Value& config, const schema::Counted& counted) const {
    return schema::content_hash(schema::identity(*kind_.fields, config, counted));
  }

  // Two equal rows are an override that does nothing: a mistake that only the results would show.
  // Rows may differ in nothing but where their data lie.
  void tell_rows_apart() {
    std::map<std::string, std::size_t> first;
    for (const Row& row : result_.rows) counted_.push_back(counted_in(kind_, row.config));
    for (std::size_t i = 0; i < result_.rows.size(); ++i) {
      const Row& row = result_.rows[i];
      const auto [known, is_new] = first.emplace(hash_of(row.config, counted_[i]), i);
      if (is_new) continue;
      const std::size_t other = known->second;
      counted_[i].places = counted_[other].places = schema::Places::kCounted;
    }
    first.clear();
    for (std::size_t i = 0; i < result_.rows.size(); ++i) {
      if (counted_[i].places == schema::Places::kIgnored) continue;
      const auto [known, is_new] = first.emplace(hash_of(result_.rows[i].config, counted_[i]), i);
      if (is_new) continue;
      complaints_.add(fmt::format("{}: rows \"{}\" and \"{}\" have the same configuration",
                                  file_.string(), result_.rows[known->second].name,
                                  result_.rows[i].name));
    }
  }

  void add_jobs() {
    for (const std::int64_t seed : result_.seeds) {
      if (result_.folds == 0) add_jobs(seed, std::nullopt);
      for (std::int64_t fold = 0; fold < result_.folds; ++fold) add_jobs(seed, fold);
    }
  }

  void add_jobs(std::int64_t seed, std::optional<std::int64_t> fold) {
    for (std::size_t i = 0; i < result_.rows.size(); ++i) {
      Job job;
      job.row = i;
      job.seed = seed;
      job.fold = fold;
      const Value& config = result_.rows[i].config;
      job.config = fold ? kind_.with_fold(config, *fold, result_.folds) : config;
      job.config.set("seed", seed);
      job.counted = counted_[i];
      // (A fold may name another file.)
      if (fold) job.counted.by_name = counted_in(kind_, job.config).by_name;
      job.hash = hash_of(job.config, job.counted);
      job.id = fmt::format("{}-s{}{}-{}", result_.rows[i].slug, seed,
                           fold ? fmt::format("-f{}", *fold) : "", job.hash.substr(0, 8));
      result_.jobs.push_back(std::move(job));
    }
  }

  fs::path file_;
  const ExperimentKind& kind_;
  const AblationOverrides& overrides_;
  AblationFields fields_;
  std::vector<Combination> combinations_;
  std::optional<Published> published_;
  std::vector<std::int64_t> planned_seeds_;
  std::vector<schema::Counted> counted_;  // by row
  RowComplaints complaints_;
  Ablation result_;
};

}  // namespace

Ablation load_ablation(const fs::path& file, const ExperimentKind& kind,
                       const AblationOverrides& overrides) {
  std::set<std::int64_t> known;
  for (const std::int64_t seed : overrides.seeds) {
    FOVEA_CHECK(seed >= 0 && known.insert(seed).second, ConfigError,
                fmt::format("--seeds: {} is {}; expected different integers >= 0", seed,
                            seed < 0 ? "negative" : "given twice"));
  }
  return Planner(file, kind, overrides).plan();
}

std::string ablation_name(const fs::path& file) { return read_ablation_file(file).name; }

std::string slug_of(const std::string& name) {
  std::string slug;
  for (const char c : name) {
    const bool upper = c >= 'A' && c <= 'Z';
    if (upper || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) {
      slug += upper ? static_cast<char>(c - 'A' + 'a') : c;
    } else if (!slug.empty() && slug.back() != '-') {
      slug += '-';
    }
  }
  slug = slug.substr(0, kLongestSlug);
  while (!slug.empty() && slug.back() == '-') slug.pop_back();
  return slug.empty() ? "row" : slug;
}

std::vector<std::size_t> find_rows(const Ablation& ablation,
                                   const std::vector<std::string>& names) {
  std::vector<std::size_t> found;
  for (const std::string& name : names) {
    const std::size_t before = found.size();
    std::vector<std::string> known;
    for (std::size_t i = 0; i < ablation.rows.size(); ++i) {
      const Row& row = ablation.rows[i];
      if (row.name == name || row.slug == name) found.push_back(i);
      known.push_back(row.name);
      known.push_back(row.slug);
    }
    FOVEA_CHECK(found.size() > before, ConfigError,
                fmt::format("--only {}: no row called so{}; run with --list to see all", name,
                            did_you_mean(name, known)));
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

std::vector<Column> known_columns(const Ablation& ablation) {
  std::vector<Column> all;
  for (const Row& row : ablation.rows) {
    if (!ablation.kind.metrics) continue;
    for (Column& column : columns_of(ablation.kind.metrics(row.config))) {
      const bool is_new = std::none_of(
          all.begin(), all.end(), [&](const Column& other) { return other.key == column.key; });
      if (is_new) all.push_back(std::move(column));
    }
  }
  return all;
}

Value to_value(const Ablation& ablation) {
  Value rows = Value::array();
  for (const Row& row : ablation.rows) {
    rows.push_back(Value::object({{"name", row.name},
                                  {"slug", row.slug},
                                  {"overrides", row.overrides},
                                  {"config", row.config}}));
  }
  Value value = Value::object({{"name", ablation.name},
                               {"published", ablation.published},
                               {"seeds", Value::array(ablation.seeds)},
                               {"folds", ablation.folds > 0 ? Value(ablation.folds) : Value()}});
  Value metrics = Value::array();
  for (const std::string& metric : ablation.metrics) metrics.push_back(metric);
  value.set("metrics", metrics);
  value.set("rows", rows);
  return value;
}

}  // namespace fovea::experiment
