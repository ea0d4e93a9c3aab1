// inspect config and diff: the settings of experiments.
#pragma once

#include <string>

#include "common/options.h"
#include "schema/json/value.h"

namespace fovea::apps {

/// The subcommand "config"; `experiment` is the word behind it.
Options add_config(Options cli, std::string& experiment);
/// Prints every setting with the place it came from; returns the exit status.
int print_config(const schema::Value& resolved, bool json);

/// The subcommand "diff" and its two words.
Options add_diff(Options cli, std::string& experiment, std::string& other);
/// Prints the settings in which two resolved experiments differ.
int print_difference(const schema::Value& a, const schema::Value& b);

}  // namespace fovea::apps
