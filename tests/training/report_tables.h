// Tables of reports, for tests.
#pragma once

#include <string>

#include "training/tasks/task_report.h"

namespace fovea::test {

/// Null if there is none of that name.
inline const training::Table* find_table(const training::Report& report, const std::string& name) {
  for (const training::Table& table : report.tables)
    if (table.name == name) return &table;
  return nullptr;
}

/// "index,name,dice": the names of its columns; "" if there is no such table.
inline std::string heads_of(const training::Report& report, const std::string& name) {
  std::string heads;
  const training::Table* table = find_table(report, name);
  if (table == nullptr) return heads;
  for (const training::Column& column : table->columns)
    heads += (heads.empty() ? "" : ",") + column.name;
  return heads;
}

/// A column of texts. Throws std::bad_variant_access for others.
inline const std::vector<std::string>& texts_in(const training::Column& column) {
  return std::get<std::vector<std::string>>(column.values);
}

}  // namespace fovea::test
