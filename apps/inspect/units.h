// How D-Former cuts a grid of tokens into units.
#pragma once

#include <string>
#include <vector>

#include "common/options.h"

namespace fovea::apps {

struct UnitArguments {
  std::vector<std::int64_t> grid = {6, 6, 6}, unit = {2, 2, 2}, token = {0, 0, 0};
  std::vector<std::string> schemes = {"local", "global"};
  std::int64_t interval = 0;  // 0: none
  std::string out = "units.png";
};

/// The subcommand "units". `args` must outlive the parsing.
Options add_units(Options cli, UnitArguments& args);
/// Draws them (visualise/layouts/unit_drawing.h) and prints their numbers; returns the exit status.
int draw_units(const UnitArguments& args);

}  // namespace fovea::apps
