#include "schema/codec.h"

namespace fovea::schema {

template Codec scalar_codec<bool>();
template Codec scalar_codec<std::int64_t>();
template Codec scalar_codec<double>();
template Codec scalar_codec<std::string>();
template struct Lift<std::optional<bool>>;
template struct Lift<std::optional<std::int64_t>>;
template struct Lift<std::optional<double>>;
template struct Lift<std::vector<std::int64_t>>;
template struct Lift<std::vector<double>>;
template struct Lift<std::vector<std::string>>;

Codec component_codec(Choices choices) {
  Type type;
  type.kind = Type::Kind::kComponent;
  type.choices = std::move(choices);
  const auto to = [](const Component& component) {
    if (component.type.empty()) return Value();
    Value object = Value::object({{"type", component.type}});
    if (component.options.is_object()) {
      for (const auto& member : component.options.members()) {
        if (member.key != "type") object.set(member.key, member.value);
      }
    }
    return object;
  };
  return codec_of<Component>(type, to, [](const Value& value, Component& component) {
    component = {value.at("type").as_string(), value};
  });
}

Codec any_codec() {
  return codec_of<Value>(
      Type(), [](const Value& object) { return object; },
      [](const Value& value, Value& object) { object = value; });
}

}  // namespace fovea::schema
