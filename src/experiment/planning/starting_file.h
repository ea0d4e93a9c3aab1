// An experiment file to start from, for a folder of a user's own data: network, recipe, parts and
// metrics by what the data are and by what the device can do.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "data/survey.h"
#include "experiment/planning/layouts.h"

namespace fovea::experiment {

/// A kind of folder that `fovea init` begins with.
struct StartKind {
  const char* name;  // "images"
  const char* help;  // of its subcommand, with the layouts
  FoundData (*find)(const std::filesystem::path& folder);
};
const std::vector<StartKind>& start_kinds();

struct StartOptions {
  std::string device = "cpu";  // train.device
  std::string name;            // of the experiment; empty: the folder's
  data::SurveyProgress progress;
};

struct StartingFile {
  std::string name;
  std::string text;  // JSON with comments
  schema::Value resolved;
  std::string summary;            // a line on data and network
  std::filesystem::path example;  // what `fovea predict` may be given, or empty
};

/// Looks at the folder and its samples. Throws FileError for a folder that is not of this kind,
/// ConfigError where nothing of the kind can be trained on this machine.
StartingFile starting_file(const StartKind& kind, const std::filesystem::path& folder,
                           const StartOptions& options);

}  // namespace fovea::experiment
