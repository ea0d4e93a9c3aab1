#include "schema/describe/json_schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "schema/describe/describe.h"

namespace fovea::schema {
namespace {

Value reference(const std::string& definition) {
  return Value::object({{"$ref", "#/definitions/" + definition}});
}

Value strings(const std::vector<std::string>& names) { return Value::array(names); }

Value number(double x, Type::Kind kind) {
  return kind == Type::Kind::kInteger ? Value(static_cast<std::int64_t>(x)) : Value(x);
}

const char* name_of(Type::Kind kind) {
  switch (kind) {
    case Type::Kind::kBool:
      return "boolean";
    case Type::Kind::kInteger:
      return "integer";
    case Type::Kind::kNumber:
      return "number";
    default:
      return "string";
  }
}

void add_bounds(Value& schema, const Type& type, const Range& range) {
  if (range.low)
    schema.set(range.above ? "exclusiveMinimum" : "minimum", number(*range.low, type.kind));
  if (range.high)
    schema.set(range.below ? "exclusiveMaximum" : "maximum", number(*range.high, type.kind));
  if (type.kind != Type::Kind::kInteger) return;
  using Widest = std::numeric_limits<std::int64_t>;
  if (!range.low && type.min != Widest::min()) schema.set("minimum", type.min);
  if (!range.high && type.max != Widest::max()) schema.set("maximum", type.max);
}

Value of_type(const Type& type, const Range& range, bool nullable);

Value of_array(const Type& type, const Range& range, bool nullable) {
  Value schema = Value::object({{"items", of_type(*type.item, range, type.item->nullable)}});
  if (type.length < 0) {
    schema.set("type", nullable ? strings({"array", "null"}) : Value("array"));
    return schema;
  }
  schema.set("type", "array");
  schema.set("minItems", type.length);
  schema.set("maxItems", type.length);
  // One value may stand for all items.
  return Value::object({{"anyOf", Value::array({schema, of_type(*type.item, range, nullable)})}});
}

Value of_type(const Type& type, const Range& range, bool nullable) {
  switch (type.kind) {
    case Type::Kind::kAny:
      return Value::object();
    case Type::Kind::kArray:
      return of_array(type, range, nullable);
    case Type::Kind::kObject:
      return json_schema(*type.object);
    case Type::Kind::kComponent:
      // Draft 7 ignores what stands beside a bare reference.
      return Value::object({{"allOf", Value::array({reference(type.choices.kind)})}});
    default:
      break;
  }
  Value schema = Value::object();
  if (!range.names.empty()) {
    Value names = strings(range.names);
    if (nullable) names.push_back(Value());
    schema.set("enum", names);
    return schema;
  }
  const char* name = name_of(type.kind);
  schema.set("type", nullable ? strings({name, "null"}) : Value(name));
  add_bounds(schema, type, range);
  return schema;
}

Value property(const Field& field) {
  Value schema = of_type(field.type, field.range, true);
  const bool required = field.must_be_given();
  schema.set("description", field.documentation() + (required ? " (required)" : ""));
  const bool component = field.type.kind == Type::Kind::kComponent;
  if (component && field.default_value.is_object()) {
    schema.set("default", field.default_value.at("type"));
  } else if (!required && field.type.kind != Type::Kind::kObject) {
    schema.set("default", field.default_value);
  }
  return schema;
}

Value properties_of(const Description& description) {
  Value properties = Value::object();
  for (const Field& field : description.fields()) properties.set(field.key, property(field));
  return properties;
}

// Without a type, that of the default or of the extended file applies. All keys of all entries are
// then allowed, with whatever the entries that have a key agree on.
Value properties_of_any(const std::vector<Choice>& entries) {
  Value properties = Value::object();
  for (const Choice& entry : entries) {
    if (!entry.fields) continue;
    for (const Field& field : entry.fields->fields()) {
      Value schema = property(field);
      schema.erase("default");
      const Value* known = properties.find(field.key);
      if (known != nullptr && !(*known == schema)) schema = Value::object();
      properties.set(field.key, std::move(schema));
    }
  }
  return properties;
}

Value when(Value condition, Value then) {
  return Value::object({{"if", std::move(condition)}, {"then", std::move(then)}});
}

// {"type": "m_dgsa", ...}, or "m_dgsa" alone.
Value definition_of(const Choices& registry) {
  const std::vector<Choice> entries = registry.list();
  std::vector<std::string> names, help;
  for (const Choice& entry : entries) {
    names.push_back(entry.name);
    help.push_back(entry.help);
  }
  const Value name = Value::object({{"enum", strings(names)}, {"enumDescriptions", strings(help)}});
  const Value has_type = Value::object({{"required", strings({"type"})}});
  Value rules = Value::array({when(Value::object({{"type", "string"}}), name)});
  for (const Choice& entry : entries) {
    const Value is = Value::object({{"const", entry.name}});
    rules.push_back(when(Value::object({{"type", "object"},
                                        {"required", strings({"type"})},
                                        {"properties", Value::object({{"type", is}})}}),
                         reference(fmt::format("{}.{}", registry.kind, entry.name))));
  }
  rules.push_back(when(Value::object({{"type", "object"}, {"not", has_type}}),
                       Value::object({{"properties", properties_of_any(entries)},
                                      {"additionalProperties", false}})));
  return Value::object({{"type", strings({"object", "string", "null"})},
                        {"properties", Value::object({{"type", name}})},
                        {"allOf", rules}});
}

Value definition_of(const Choice& entry) {
  Value properties = Value::object(
      {{"type", Value::object({{"const", entry.name}, {"description", entry.help}})}});
  if (entry.fields) {
    const Value own = properties_of(*entry.fields);
    for (const auto& member : own.members()) properties.set(member.key, member.value);
  }
  return Value::object({{"properties", properties}, {"additionalProperties", false}});
}

}  // namespace

Value json_schema(const Description& description) {
  return Value::object({{"type", strings({"object", "null"})},
                        {"properties", properties_of(description)},
                        {"additionalProperties", false}});
}

Value json_definitions(const Description& description) {
  Value definitions = Value::object();
  for (const Choices& registry : registries(description)) {
    definitions.set(registry.kind, definition_of(registry));
    for (const Choice& entry : registry.list()) {
      definitions.set(fmt::format("{}.{}", registry.kind, entry.name), definition_of(entry));
    }
  }
  return definitions;
}

}  // namespace fovea::schema
