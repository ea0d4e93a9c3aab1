#include "inspect/settings.h"

#include <fmt/format.h>

#include <algorithm>

#include "schema/compare.h"
#include "schema/load.h"

namespace fovea::apps {

Options add_config(Options cli, std::string& experiment) {
  Options config =
      cli.add_subcommand("config", "every setting with the file and line it came from");
  config.add_option("EXPERIMENT", experiment, "experiment file").required().value("EXPERIMENT");
  return config;
}

int print_config(const schema::Value& resolved, bool json) {
  if (json) {
    fmt::print("{}\n", resolved.dump());
    return 0;
  }
  std::size_t width = 0;
  const auto rows = schema::provenance(resolved);
  for (const auto& row : rows) width = std::max(width, row.path.size() + row.value.size() + 3);
  width = std::min<std::size_t>(width, 70);
  for (const auto& row : rows) {
    fmt::print("{:<{}}  {}\n", fmt::format("{} = {}", row.path, row.value), width,
               schema::to_string(row.origin));
  }
  return 0;
}

Options add_diff(Options cli, std::string& experiment, std::string& other) {
  Options diff = cli.add_subcommand("diff", "settings in which two experiments differ");
  diff.add_option("A", experiment, "experiment file or config.json of a run")
      .required()
      .value("EXPERIMENT");
  diff.add_option("B", other, "another").required().value("EXPERIMENT");
  return diff;
}

int print_difference(const schema::Value& a, const schema::Value& b) {
  for (const std::string& line : schema::diff(a, b)) fmt::print("{}\n", line);
  return 0;
}

}  // namespace fovea::apps
