#include "verify/options.h"

namespace fovea::verify {

void take(const Config& config, schema::Value& to, Keys keys) {
  for (const auto& [from, name] : keys) {
    if (config.has(from)) to.set(name, config.value(from));
  }
}

void take(const Case& c, schema::Value& to, Keys keys) { take(c.config(), to, keys); }

void take_given(const Config& config, schema::Value& to, std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    if (config.given(key)) to.set(key, config.value(key));
  }
}

schema::Component resolved(const schema::Choices& choices, const schema::Value& value) {
  const schema::Choice choice = schema::find_choice(choices, value.at("type"), choices.kind);
  return {choice.name, choice.fields->resolve_component(value, choices.kind)};
}

}  // namespace fovea::verify
