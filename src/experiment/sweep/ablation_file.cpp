#include "experiment/sweep/ablation_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "schema/describe/json_schema.h"
#include "schema/fields.h"
#include "schema/load.h"
#include "schema/renamed.h"

namespace fovea::experiment {
namespace {

namespace fs = std::filesystem;
using schema::Fields;
using schema::Value;

[[noreturn]] void fail(const Value& at, const std::string& path, const std::string& message) {
  throw ConfigError(schema::where(at.origin(), path) + message);
}

void expect_string(const Value& value, const std::string& path) {
  if (!value.is_string() || value.as_string().empty())
    fail(value, path, "expected string, got " + schema::describe(value));
}

void expect_object(Value& value, const std::string& path) {
  if (value.is_null()) value = Value::object();
  if (!value.is_object()) fail(value, path, "expected object, got " + schema::describe(value));
}

Fields<AblationFields> fields() {
  const auto published =
      Fields<PublishedFields>{}
          .add_any("table", &PublishedFields::table, "table of the paper, as in published.json")
          .required()
          .add_any("row", &PublishedFields::row, "row of that table")
          .required()
          .add_any("columns", &PublishedFields::columns, "column of each metric")
          .required();
  const auto row =
      Fields<RowFields>{}
          .add_any("name", &RowFields::name, "name of the row in the tables")
          .required()
          .add_any("extends", &RowFields::extends, "experiment file to use instead of base")
          .add_any("set", &RowFields::set, "settings by dotted path")
          .add_object("published", &RowFields::published, published,
                      "the row of the paper, or a list of them")
          .add("differs", &RowFields::differs,
               "in what it differs from the published row, for the table's footnotes");
  using F = AblationFields;
  return Fields<F>{}
      .add("name", &F::name, schema::in_one_line(),
           "name of the ablation; default: that of the file")
      .add_any("base", &F::base, "experiment file, or the experiment itself")
      .add_any("set", &F::set, "settings of every row, by dotted path")
      .add_object("rows", &F::rows, row, "rows of the table")
      .add_any("axes", &F::axes, "lists of values by dotted path; every combination is a row")
      .add_any("seeds", &F::seeds, "seeds of every row; default 0 to 4, with folds 0")
      .add("folds", &F::folds, schema::at_least(2),
           "folds of a cross-validation: every row is trained once for each, which is then its val "
           "part; null: none")
      .add("metrics", &F::metrics, "columns of the table; empty: the main ones of the runs")
      .add_any("detect", &F::detect,
               "differences by column; below the table stands how many runs show them")
      .add_any("equivalent", &F::equivalent,
               "margins by column; rows are tested for a difference to the first one within them")
      .add_any("published", &F::published, "key of the paper whose numbers go beside ours")
      .add("differs", &F::differs,
           "sentences on what all rows differ in from the paper, for below the table");
}

// One object stands for a list of one.
void wrap_published(Value& root) {
  Value* rows = root.find("rows");
  if (rows == nullptr || !rows->is_array()) return;
  for (Value& row : rows->items()) {
    Value* published = row.find("published");
    if (published == nullptr || !published->is_object()) continue;
    Value list = Value::array({*published});
    list.set_origin(published->origin());
    *published = std::move(list);
  }
}

void check_settings(const Value& set, const std::string& path) {
  for (const auto& member : set.members()) {
    if (member.key == "seed") {
      throw ConfigError(schema::where(member.key_origin, path) +
                        "the seed cannot be set here; use the key \"seeds\" of the ablation");
    }
  }
}

void check_axes(const Value& axes) {
  check_settings(axes, "axes");
  for (const auto& member : axes.members()) {
    const std::string path = "axes." + member.key;
    if (!member.value.is_array() || member.value.size() == 0) {
      fail(member.value, path,
           "expected array of at least one value, got " +
               (member.value.is_array() ? "an empty one" : schema::describe(member.value)));
    }
  }
}

void check_seeds(const Value& seeds) {
  if (seeds.is_null()) return;
  if (!seeds.is_array() || seeds.size() == 0)
    fail(seeds, "seeds", "expected array of at least one integer >= 0");
  std::set<std::int64_t> known;
  for (const Value& seed : seeds.items()) {
    if (!seed.is_integer() || seed.as_int() < 0)
      fail(seed, "seeds", "expected integer >= 0, got " + schema::describe(seed));
    if (!known.insert(seed.as_int()).second)
      fail(seed, "seeds", fmt::format("{} is given twice", seed.as_int()));
  }
}

void check_row(RowFields& row, const std::string& path, const Value& published_key) {
  expect_string(row.name, path + ".name");
  expect_object(row.set, path + ".set");
  check_settings(row.set, path + ".set");
  for (PublishedFields& published : row.published) {
    const std::string at = path + ".published";
    expect_string(published.table, at + ".table");
    expect_string(published.row, at + ".row");
    expect_object(published.columns, at + ".columns");
    for (const auto& column : published.columns.members())
      expect_string(column.value, at + ".columns." + column.key);
    if (published_key.is_null()) {
      fail(published.table, at,
           "which paper is meant: the ablation has no key \"published\", expected one such as "
           "\"dgsa\"");
    }
  }
}

void check_differences(const Value& differences, const std::string& path) {
  for (const auto& member : differences.members()) {
    if (!member.value.is_number() || !(member.value.as_double() > 0))
      fail(member.value, path + "." + member.key,
           "expected number > 0, got " + schema::describe(member.value));
  }
}

bool is_inside(const fs::path& path, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first ==
         folder.end();
}

// Lets a property, which the fields leave free, be any of these.
void allow(Value& object, const std::string& key, std::initializer_list<Value> kinds) {
  object.find("properties")->find(key)->set("anyOf", Value::array(kinds));
}

}  // namespace

Value ablation_schema() {
  const auto type = [](const char* name) { return Value::object({{"type", name}}); };
  Value list = type("array");
  list.set("minItems", 1);
  Value seeds = list;
  seeds.set("items", Value::object({{"type", "integer"}, {"minimum", 0}}));
  Value axes = type("object");
  axes.set("additionalProperties", list);
  Value root = schema::json_schema(fields());
  allow(root, "base", {type("string"), Value::object({{"$ref", "#/definitions/experiment"}})});
  allow(root, "set", {type("object")});
  allow(root, "axes", {axes});
  allow(root, "seeds", {seeds});
  Value differences = type("object");
  differences.set("additionalProperties",
                  Value::object({{"type", "number"}, {"exclusiveMinimum", 0}}));
  allow(root, "detect", {differences});
  allow(root, "equivalent", {differences});
  allow(root, "published", {type("string")});
  Value& properties = *root.find("properties");
  properties.set("extends", type("string"));
  Value& row = *properties.find("rows")->find("items");
  allow(row, "name", {type("string")});
  allow(row, "extends", {type("string")});
  allow(row, "set", {type("object")});
  // One object stands for a list of one.
  Value published = *row.find("properties")->find("published");
  row.find("properties")
      ->set("published",
            Value::object({{"anyOf", Value::array({published, *published.find("items")})}}));
  return root;
}

AblationFields read_ablation_file(const fs::path& file) {
  Value root = schema::load(file);
  wrap_published(root);
  AblationFields result = fields().parse(root);
  if (result.name.empty()) result.name = file.stem().string();
  expect_object(result.set, "set");
  check_settings(result.set, "set");
  expect_object(result.axes, "axes");
  check_axes(result.axes);
  check_seeds(result.seeds);
  expect_object(result.detect, "detect");
  check_differences(result.detect, "detect");
  expect_object(result.equivalent, "equivalent");
  check_differences(result.equivalent, "equivalent");
  if (!result.published.is_null()) expect_string(result.published, "published");
  for (std::size_t i = 0; i < result.rows.size(); ++i) {
    RowFields& row = result.rows[i];
    check_row(row, fmt::format("rows.{}", i), result.published);
    for (std::size_t j = 0; j < i; ++j) {
      if (result.rows[j].name == row.name) {
        fail(row.name, fmt::format("rows.{}.name", i),
             fmt::format("two rows are called \"{}\"", row.name.as_string()));
      }
    }
    if (row.extends.is_null() && result.base.is_null()) {
      fail(row.name, fmt::format("rows.{}", i),
           "no experiment to start from; give the ablation \"base\", or the row \"extends\"");
    }
  }
  if (result.rows.empty() && result.base.is_null()) {
    fail(root, "", "missing key \"base\", expected the name of an experiment file");
  }
  return result;
}

fs::path referenced_file(const Value& reference, const std::string& key,
                         const fs::path& ablation_file) {
  expect_string(reference, key);
  const std::string& text = reference.as_string();
  const fs::path given = text;
  if (given.is_absolute() || text.find_first_of(std::string("\0\\", 2)) != std::string::npos) {
    fail(reference, key,
         "expected a path relative to this file, got " + schema::describe(reference));
  }
  const fs::path from =
      reference.origin().line > 0 ? fs::path(reference.origin().file) : ablation_file;
  const fs::path file = (from.parent_path() / given).lexically_normal();
  const fs::path root = fs::absolute(ablation_file).lexically_normal().parent_path().parent_path();
  if (!is_inside(fs::absolute(file).lexically_normal(), root)) {
    fail(reference, key,
         fmt::format("\"{}\" leaves the folder above that of the ablation, expected a file inside "
                     "it",
                     text));
  }
  return file;
}

Value load_base(const Value& base, const std::string& key, const fs::path& ablation_file,
                const ExperimentKind& kind, schema::Notes& notes) {
  if (base.is_object()) {
    Value own = base;
    own.erase("extends");
    schema::rename_keys(*kind.fields, own, schema::OldKeys::kBeside, notes);
    const Value* extends = base.find("extends");
    if (extends == nullptr) return own;
    return schema::merge(load_base(*extends, key + ".extends", ablation_file, kind, notes), own);
  }
  const fs::path file = referenced_file(base, key, ablation_file);
  try {
    return load_file(kind, file, notes);
  } catch (const FileError& error) {
    fail(base, key, error.what());
  }
}

}  // namespace fovea::experiment
