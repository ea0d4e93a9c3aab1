// What a transform of transforms.def is to the list of them. Sources of transforms end in
// FOVEA_TRANSFORM.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "data/augment/transforms.h"
#include "schema/fields.h"
#include "schema/registry.h"

namespace fovea::data {

struct TransformEntry : schema::Choice {
  static constexpr const char* kKind = "transform";
  std::function<std::unique_ptr<const Transform>(const schema::Component&, const std::string&)>
      make;
};

template <class Options>
TransformEntry make_transform_entry(std::string name, std::string help,
                                    std::unique_ptr<Transform> (*make)(const Options&),
                                    const schema::Fields<Options>& fields) {
  const auto shared = std::make_shared<const schema::Fields<Options>>(fields);
  return {{std::move(name), std::move(help), shared},
          [shared, make](const schema::Component& component, const std::string& path) {
            return make(shared->parse(component, path));
          }};
}

}  // namespace fovea::data

/// FOVEA_TRANSFORM(name, help, Fields<Options>{}...): defines the entry that a line of
/// transforms.def refers to, made by make_<name>(const Options&). Inside namespace fovea::data.
#define FOVEA_TRANSFORM(name, help, ...)                                  \
  TransformEntry transform_entry_##name() {                               \
    return make_transform_entry(#name, help, make_##name, (__VA_ARGS__)); \
  }
