// Data sets from the JSON that a user would write.
#pragma once

#include <memory>
#include <string>

#include "data/registry.h"
#include "schema/parse.h"

namespace fovea::data::test {

inline schema::Component component(const std::string& json) {
  schema::Value value = schema::parse(json, "test.json");
  return {value.at("type").as_string(), value};
}

/// {"type": TYPE, "root": ROOT, MORE}
inline schema::Component component(const std::string& type, const std::filesystem::path& root,
                                   const std::string& more = "") {
  schema::Value value = schema::parse("{" + more + "}", "test.json");
  value.set("type", type);
  value.set("root", root.string());
  return {type, value};
}

}  // namespace fovea::data::test
