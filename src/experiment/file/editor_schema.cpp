#include "experiment/file/editor_schema.h"

#include "experiment/file/experiment.h"
#include "experiment/sweep/ablation_file.h"
#include "schema/describe/json_schema.h"

namespace fovea::experiment {

using schema::Value;

Value editor_schema() {
  const auto reference = [](const char* definition) {
    return Value::object({{"$ref", std::string("#/definitions/") + definition}});
  };
  const auto has = [](const char* key) {
    return Value::object({{"required", Value::array({key})}});
  };
  Value experiment = schema::json_schema(experiment_fields());
  experiment.find("properties")
      ->set("extends", Value::object({{"type", "string"},
                                      {"description",
                                       "file that gives what is not given here, "
                                       "relative to this one"}}));
  Value definitions = Value::object({{"experiment", experiment}, {"ablation", ablation_schema()}});
  const Value registries = schema::json_definitions(experiment_fields());
  for (const auto& member : registries.members()) definitions.set(member.key, member.value);
  return Value::object({{"$schema", "http://json-schema.org/draft-07/schema#"},
                        {"title", "Fovea experiment or ablation"},
                        {"if", Value::object({{"anyOf", Value::array({has("base"), has("rows"),
                                                                      has("axes"), has("set")})}})},
                        {"then", reference("ablation")},
                        {"else", reference("experiment")},
                        {"definitions", definitions}});
}

}  // namespace fovea::experiment
