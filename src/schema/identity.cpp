#include "schema/identity.h"

#include <algorithm>

namespace fovea::schema {
namespace {

Value identity_of(const Type& type, const Value& value, Places places) {
  if (value.is_null()) return value;
  if (type.kind == Type::Kind::kArray) {
    Value result = Value::array();
    for (const Value& item : value.items()) result.push_back(identity_of(*type.item, item, places));
    return result;
  }
  if (type.kind == Type::Kind::kObject) return identity(*type.object, value, places);
  if (type.kind != Type::Kind::kComponent) return value;
  const Choice choice = find_choice(type.choices, value.at("type"), "");
  Value result = Value::object({{"type", value.at("type")}});
  if (choice.fields == nullptr) return result;
  const Value options = identity(*choice.fields, value, places);
  for (const Value::Member& member : options.members()) result.set(member.key, member.value);
  return result;
}

}  // namespace

Value identity(const Description& description, const Value& resolved, Places places) {
  Value result = Value::object();
  for (const Field& field : description.fields()) {
    if (field.effect == Effect::kNone) continue;
    if (field.effect == Effect::kPlace && places == Places::kIgnored) continue;
    result.set(field.key, identity_of(field.type, resolved.at(field.key), places));
  }
  return result;
}

}  // namespace fovea::schema
