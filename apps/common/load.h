// Experiment files as apps read them.
#pragma once

#include <string>
#include <vector>

#include "schema/json/value.h"
#include "schema/notes.h"

namespace fovea::apps {

/// One line each on stderr, as "name: note".
void print_notes(const std::string& program, const schema::Notes& notes);

/// A validated experiment with every default; says on stderr what was renamed or dropped on the
/// way.
schema::Value load_experiment(const std::string& program, const std::string& file,
                              const std::vector<std::string>& overrides);

}  // namespace fovea::apps
