#include "common/load.h"

#include <fmt/format.h>

#include <iostream>

#include "experiment/file/experiment.h"

namespace fovea::apps {

void print_notes(const std::string& program, const schema::Notes& notes) {
  for (const std::string& note : notes.list()) std::cerr << fmt::format("{}: {}\n", program, note);
}

schema::Value load_experiment(const std::string& program, const std::string& file,
                              const std::vector<std::string>& overrides) {
  schema::Notes notes;
  const schema::Value unresolved = experiment::load_unresolved(file, overrides, notes);
  schema::Value resolved = experiment::resolve(unresolved, notes);
  print_notes(program, notes);
  return resolved;
}

}  // namespace fovea::apps
