#include "verify/options.h"

namespace fovea::verify {

void take(const Case& c, schema::Value& to,
          std::initializer_list<std::pair<const char*, const char*>> keys) {
  for (const auto& [from, name] : keys) {
    const schema::Value* value = c.config().find(from);
    if (value != nullptr) to.set(name, *value);
  }
}

schema::Component resolved(const schema::Choices& choices, const schema::Value& value) {
  const schema::Choice choice = schema::find_choice(choices, value.at("type"), choices.kind);
  return {choice.name, choice.fields->resolve_component(value, choices.kind)};
}

}  // namespace fovea::verify
