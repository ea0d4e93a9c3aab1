// inspect EXPERIMENT --forecast: what a training run on more ranks would be like.
#pragma once

#include <string>
#include <vector>

#include "common/options.h"
#include "schema/json/value.h"

namespace fovea::apps {

/// Adds --forecast. `words` must outlive the parsing.
Option add_forecast(Options cli, std::vector<std::string>& words);
/// Measures or calculates a training step of a resolved experiment, and prints a row for 1, 2, 4,
/// ... ranks; returns the exit status.
int print_forecast(const schema::Value& resolved, const std::vector<std::string>& words, bool json);

}  // namespace fovea::apps
