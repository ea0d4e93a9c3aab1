#include "schema/codec.h"

namespace fovea::schema {

Codec<Component> component_codec(Choices choices) {
  Codec<Component> codec;
  codec.type.kind = Type::Kind::kComponent;
  codec.type.choices = std::move(choices);
  codec.to_value = [](const Component& component) {
    if (component.type.empty()) return Value();
    Value object = Value::object({{"type", component.type}});
    if (component.options.is_object()) {
      for (const auto& member : component.options.members()) {
        if (member.key != "type") object.set(member.key, member.value);
      }
    }
    return object;
  };
  codec.from_value = [](const Value& value) {
    return Component{value.at("type").as_string(), value};
  };
  return codec;
}

Codec<Value> any_codec() {
  Codec<Value> codec;
  codec.type.kind = Type::Kind::kAny;
  codec.to_value = [](const Value& value) { return value; };
  codec.from_value = [](const Value& value) { return value; };
  return codec;
}

}  // namespace fovea::schema
