// inspect dataset: what a data set holds, and what cannot be read.
#pragma once

#include <string>

#include "common/options.h"
#include "schema/json/value.h"

namespace fovea::apps {

struct DatasetArguments {
  bool plan = false;
  double memory_gib = 8;  // that the plan is for
};
/// Adds the subcommand; `experiment` is the word behind it.
Options add_dataset(Options cli, std::string& experiment, DatasetArguments& arguments);

/// Reads every sample of the data set of a resolved experiment and prints what was found, and what
/// it proposes for an experiment file.
int inspect_dataset(const schema::Value& resolved, const DatasetArguments& arguments, bool json);

}  // namespace fovea::apps
