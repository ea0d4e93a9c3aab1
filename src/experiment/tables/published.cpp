#include "experiment/tables/published.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "base/suggest.h"
#include "schema/fields.h"
#include "schema/load.h"

namespace fovea::experiment {
namespace {

using schema::Fields;
using schema::Value;

struct RowFields {
  std::string row;
  Value values;
};
struct TableFields {
  std::string table;
  std::string unit;
  std::vector<std::string> columns;
  Protocol protocol;
  Value protocols;  // object of protocols by column
  std::vector<RowFields> rows;
};
struct FileFields {
  std::string key;
  std::vector<TableFields> tables;
};

Fields<Protocol> protocol_fields() {
  using schema::at_least;
  return Fields<Protocol>{}
      .add("epochs", &Protocol::epochs, at_least(1), "length of training")
      .add("seeds", &Protocol::seeds, at_least(1), "runs behind a mean")
      .add("train_samples", &Protocol::train_samples, at_least(1), "samples trained on")
      .add("pretrained", &Protocol::pretrained,
           "where the weights that the backbone begins with are from; empty: not said");
}

Fields<FileFields> file_fields() {
  const auto row = Fields<RowFields>{}
                       .add("row", &RowFields::row, "name of the row")
                       .required()
                       .add_any("values", &RowFields::values, "numbers by column")
                       .required();
  const auto table =
      Fields<TableFields>{}
          .add("table", &TableFields::table, "name of the table")
          .required()
          .add("unit", &TableFields::unit, schema::one_of({"", "million"}), "what values count")
          .add("columns", &TableFields::columns, "names of the columns")
          .add_object("protocol", &TableFields::protocol, protocol_fields(),
                      "how the numbers were made")
          .add_any("protocols", &TableFields::protocols, "the same for single columns")
          .add_object("rows", &TableFields::rows, row, "the rows");
  return Fields<FileFields>{}
      .add("key", &FileFields::key, "key of the paper")
      .add_object("tables", &FileFields::tables, table, "the tables")
      .required();
}

PublishedValue value_of(const Value& given, double scale) {
  if (given.is_object()) {
    PublishedValue value{given.at("mean").as_double() * scale, std::nullopt};
    if (const Value* std = given.find("std")) value.std = std->as_double() * scale;
    return value;
  }
  if (given.is_string()) {  // of a run that diverged
    FOVEA_CHECK(given.as_string() == "NaN", ConfigError,
                fmt::format("{}\"{}\"; expected number, {{\"mean\", \"std\"}} or \"NaN\"",
                            schema::where(given.origin(), "values"), given.as_string()));
    return {std::numeric_limits<double>::quiet_NaN(), std::nullopt};
  }
  return {given.as_double() * scale, std::nullopt};
}

template <class Items, class Name>
const auto& named(const Items& items, const Name& name, const Value& wanted, const char* what,
                  const std::string& holder) {
  const auto found = std::find_if(items.begin(), items.end(), [&](const auto& item) {
    return name(item) == wanted.as_string();
  });
  if (found != items.end()) return *found;
  std::vector<std::string> known;
  for (const auto& item : items) known.push_back(name(item));
  throw ConfigError(fmt::format("{}{} has no {} \"{}\"{} (known: {})",
                                schema::where(wanted.origin(), std::string("published.") + what),
                                holder, what, wanted.as_string(),
                                did_you_mean(wanted.as_string(), known), fmt::join(known, ", ")));
}

}  // namespace

Published::Published(const std::filesystem::path& file) : file_(file.string()) {
  const FileFields content = file_fields().parse(schema::load(file));
  for (const TableFields& table : content.tables) {
    FOVEA_CHECK(std::none_of(tables_.begin(), tables_.end(),
                             [&](const Table& known) { return known.name == table.table; }),
                ConfigError, fmt::format("{}: has {} twice", file_, table.table));
    const double scale = table.unit == "million" ? 1e6 : 1.0;
    Table& into = tables_.emplace_back();
    into.name = table.table;
    into.protocol = table.protocol;
    if (table.protocols.is_object()) {
      for (const auto& member : table.protocols.members())
        into.columns[member.key] = protocol_fields().parse(member.value, "protocols." + member.key);
    }
    for (const RowFields& row : table.rows) {
      Row& cells = into.rows.emplace_back();
      cells.name = row.row;
      for (const auto& member : row.values.members()) {
        cells.cells.push_back({member.key, value_of(member.value, scale)});
      }
    }
  }
}

PublishedValue Published::find(const Value& table, const Value& row, const Value& column) const {
  const Table& t = named(
      tables_, [](const Table& x) { return x.name; }, table, "table", file_);
  const Row& r = named(
      t.rows, [](const Row& x) { return x.name; }, row, "row", t.name);
  const Cell& c = named(
      r.cells, [](const Cell& x) { return x.column; }, column, "column",
      fmt::format("{}, row \"{}\"", t.name, r.name));
  return c.value;
}

std::vector<std::string> Published::tables() const {
  std::vector<std::string> names;
  for (const Table& table : tables_) names.push_back(table.name);
  return names;
}

std::vector<std::string> Published::rows(const std::string& table) const {
  std::vector<std::string> names;
  for (const Table& known : tables_) {
    for (const Row& row : known.rows) {
      if (known.name == table) names.push_back(row.name);
    }
  }
  return names;
}

std::vector<std::string> Published::columns(const std::string& table) const {
  std::vector<std::string> names;
  for (const Table& known : tables_) {
    if (known.name != table) continue;
    for (const Row& row : known.rows) {
      for (const Cell& cell : row.cells) {
        if (std::find(names.begin(), names.end(), cell.column) == names.end())
          names.push_back(cell.column);
      }
    }
  }
  return names;
}

std::optional<PublishedValue> Published::value(const std::string& table, const std::string& row,
                                               const std::string& column) const {
  for (const Table& known : tables_) {
    for (const Row& cells : known.rows) {
      for (const Cell& cell : cells.cells) {
        if (known.name == table && cells.name == row && cell.column == column) return cell.value;
      }
    }
  }
  return std::nullopt;
}

std::optional<PublishedValue> Published::of_row(const std::string& row,
                                                const std::string& column) const {
  for (const Table& table : tables_) {
    if (const auto found = value(table.name, row, column)) return found;
  }
  return std::nullopt;
}

Protocol Published::protocol(const std::string& table, const std::string& column) const {
  const auto found = std::find_if(tables_.begin(), tables_.end(),
                                  [&](const Table& known) { return known.name == table; });
  if (found == tables_.end()) return {};
  Protocol result = found->protocol;
  const auto own = found->columns.find(column);
  if (own == found->columns.end()) return result;
  if (own->second.epochs) result.epochs = own->second.epochs;
  if (own->second.seeds) result.seeds = own->second.seeds;
  if (own->second.train_samples) result.train_samples = own->second.train_samples;
  if (!own->second.pretrained.empty()) result.pretrained = own->second.pretrained;
  return result;
}

}  // namespace fovea::experiment
