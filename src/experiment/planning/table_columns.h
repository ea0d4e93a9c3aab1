// Which columns of a table hold texts, and which one their classes.
#pragma once

#include <filesystem>
#include <string>

#include "schema/json/value.h"

namespace fovea::experiment {

/// .csv and .tsv.
bool is_table(const std::filesystem::path& file);

struct TableColumns {
  schema::Value settings =
      schema::Value::object();  // keys of text_csv that differ from its defaults
  std::string remark;           // a sentence on what was chosen
};
/// By the names of the columns, else by what they hold: the class is what has fewest different
/// values, texts are long and seldom the same. Throws FileError where that is not clear.
TableColumns find_columns(const std::filesystem::path& file);

}  // namespace fovea::experiment
