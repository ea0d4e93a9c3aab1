#include "inspect/registries.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "base/suggest.h"
#include "experiment/file/experiment.h"
#include "explain/methods/method.h"
#include "explain/scores/score.h"
#include "schema/describe/describe.h"
#include "schema/describe/json_schema.h"
#include "training/tasks/task_registry.h"
#include "visualise/figures/figure_list.h"

namespace fovea::apps {
namespace {

// The registry of that kind among those an experiment file leads to, and tasks and figures.
schema::Choices find_registry(const std::string& kind) {
  std::vector<schema::Choices> registries = schema::registries(experiment::experiment_fields());
  registries.push_back(training::tasks().choices());
  registries.push_back(visualise::figures().choices());
  registries.push_back(explain::methods().choices());
  registries.push_back(explain::scores().choices());
  std::vector<std::string> kinds;
  for (const schema::Choices& registry : registries) {
    kinds.push_back(registry.kind);
    if (registry.kind == kind) return registry;
  }
  throw ConfigError(fmt::format("--list {}: no registry of that name{} (known: {})", kind,
                                did_you_mean(kind, kinds), fmt::join(kinds, ", ")));
}

int list_entries(const schema::Choices& registry, bool json) {
  schema::Value names = schema::Value::array();
  const std::vector<schema::Choice> choices = registry.list();
  std::size_t width = 0;
  for (const schema::Choice& choice : choices) width = std::max(width, choice.name.size());
  for (const schema::Choice& choice : choices) {
    names.push_back(schema::Value::object({{"name", choice.name}, {"help", choice.help}}));
    if (!json) fmt::print("{:<{}}  {}\n", choice.name, width, choice.help);
  }
  if (json) fmt::print("{}\n", names.dump());
  return 0;
}

int list_keys(const schema::Choice& entry, bool json) {
  const schema::Description none;
  const schema::Description& keys = entry.fields ? *entry.fields : none;
  if (json) {
    fmt::print("{}\n", schema::Value::object({{"name", entry.name},
                                              {"help", entry.help},
                                              {"keys", schema::json_schema(keys)}})
                           .dump());
  } else {
    fmt::print("{}: {}\n{}", entry.name, entry.help, schema::describe_text(keys));
  }
  return 0;
}

}  // namespace

int list_registry(const std::vector<std::string>& words, bool json) {
  const schema::Choices registry = find_registry(words[0]);
  if (words.size() == 1) return list_entries(registry, json);
  return list_keys(schema::find_choice(registry, words[1], "--list"), json);
}

}  // namespace fovea::apps
