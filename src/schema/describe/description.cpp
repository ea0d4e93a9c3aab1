#include "schema/describe/description.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/suggest.h"
#include "schema/load.h"
#include "schema/resolve.h"

namespace fovea::schema {
namespace {

[[noreturn]] void wrong(const Value& given, const std::string& path, const Field& expected) {
  std::string message = fmt::format("{}expected {}, got {}", where(given.origin(), path),
                                    expected.expected(), describe(given));
  if (given.is_string()) message += did_you_mean(given.as_string(), expected.range.names);
  throw ConfigError(message);
}

// `--set name=123` gives an integer before anyone knows that `name` is a string.
Value override_text(const Value& given) {
  const std::string& assignment = given.origin().file;
  Value text(assignment.substr(assignment.find('=') + 1));
  text.set_origin(given.origin());
  return text;
}

bool takes_null(const Type& type) { return type.nullable || type.kind == Type::Kind::kAny; }

bool fits(const Type& type, const Value& given) {
  switch (type.kind) {
    case Type::Kind::kBool:
      return given.is_bool();
    case Type::Kind::kInteger:
      return given.is_integer() && given.as_int() >= type.min && given.as_int() <= type.max;
    case Type::Kind::kNumber:
      return given.is_number();
    case Type::Kind::kString:
      return given.is_string();
    default:
      return true;
  }
}

Value resolve_scalar(const Field& field, Value given, const std::string& path) {
  const Type& type = field.type;
  if (type.kind == Type::Kind::kString && is_override(given.origin()) &&
      (given.is_number() || given.is_bool())) {
    const Value text = override_text(given);
    if (text.as_string().find_first_of("{[") != 0) given = text;
  }
  if (type.kind == Type::Kind::kInteger && given.is_integer() && !fits(type, given)) {
    throw ConfigError(fmt::format("{}expected integer from {} to {}, got {}",
                                  where(given.origin(), path), type.min, type.max, given.as_int()));
  }
  const bool accepted = fits(type, given) && (!field.range.accepts || field.range.accepts(given));
  if (!accepted) wrong(given, path, field);
  if (type.kind != Type::Kind::kNumber) return given;
  Value number(given.as_double());
  number.set_origin(given.origin());
  return number;
}

// A bare scalar stands for all items of an array of fixed length: "img_size": 32.
Value spread(const Field& field, const Value& given) {
  const bool scalar = given.is_number() || given.is_string() || given.is_bool();
  if (!scalar || field.type.length <= 0) return given;
  Value array = Value::array();
  array.set_origin(given.origin());
  for (std::int64_t i = 0; i < field.type.length; ++i) array.push_back(given);
  return array;
}

Value resolve_array(const Field& field, const Value& written, const std::string& path) {
  const Value given = spread(field, written);
  const bool fits_length =
      given.is_array() &&
      (field.type.length < 0 || static_cast<std::size_t>(field.type.length) == given.size());
  if (!fits_length) wrong(given, path, field);
  Field item = field;
  item.type = *field.type.item;
  item.default_value = Value();
  Value result = Value::array();
  result.set_origin(given.origin());
  for (std::size_t i = 0; i < given.size(); ++i) {
    result.push_back(resolve_value(item, given.at(i), join_path(path, std::to_string(i))));
  }
  return result;
}

Value resolve_choice(const Field& field, Value given, const std::string& path) {
  if (given.is_string()) given = expand_shorthand(std::move(given));
  if (!given.is_object()) wrong(given, path, field);
  const Value* fallback = field.default_value.find("type");
  if (given.find("type") == nullptr) {
    if (fallback == nullptr) {
      std::vector<std::string> names;
      for (const Choice& choice : field.type.choices.list()) names.push_back(choice.name);
      throw ConfigError(fmt::format(
          "{}no type, expected {{\"type\": ...}} with one of {}; run: "
          "fovea inspect --list {}",
          where(given.origin(), path), fmt::join(names, ", "), field.type.choices.kind));
    }
    given.set("type", *fallback);
  }
  const Value type = *given.find("type");
  const Choice choice = find_choice(field.type.choices, type, join_path(path, "type"));
  if (fallback != nullptr) {
    const auto holds = [&](const std::string& key) {
      if (*fallback == type) return true;
      const auto& keys = field.for_every_type;
      return choice.fields != nullptr && choice.fields->find(key) != nullptr &&
             std::find(keys.begin(), keys.end(), key) != keys.end();
    };
    for (const auto& member : field.default_value.members()) {
      if (given.find(member.key) == nullptr && holds(member.key))
        given.set(member.key, member.value);
    }
  }
  return choice.fields ? choice.fields->resolve_component(given, path)
                       : Description().resolve_component(given, path);
}

}  // namespace

Component with_options(const std::string& type,
                       std::initializer_list<std::pair<std::string, Value>> options) {
  Value object = Value::object({{"type", type}});
  for (const auto& [key, option] : options) object.set(key, option);
  return {type, std::move(object)};
}

Choice find_choice(const Choices& choices, const Value& type, const std::string& path) {
  FOVEA_CHECK(type.is_string(), ConfigError,
              fmt::format("{}expected the name of one {}, got {}; run: fovea inspect --list {}",
                          where(type.origin(), path), choices.kind, describe(type), choices.kind));
  std::vector<std::string> names;
  for (Choice& choice : choices.list()) {
    if (choice.name == type.as_string()) return std::move(choice);
    names.push_back(choice.name);
  }
  if (choices.misfit) {
    const std::string reason = choices.misfit(type.as_string());
    FOVEA_CHECK(reason.empty(), ConfigError, where(type.origin(), path) + reason);
  }
  const std::string suggestion = did_you_mean(type.as_string(), names);
  throw ConfigError(fmt::format(
      "{}no {} called {}{} run: fovea inspect --list {}", where(type.origin(), path), choices.kind,
      type.dump(0), suggestion.empty() ? std::string_view(";") : suggestion, choices.kind));
}

Value resolve_value(const Field& field, const Value& given, const std::string& path) {
  if (given.is_null() && takes_null(field.type)) return given;
  switch (field.type.kind) {
    case Type::Kind::kAny:
      return given;
    case Type::Kind::kArray:
      return resolve_array(field, given, path);
    case Type::Kind::kComponent:
      return resolve_choice(field, given, path);
    case Type::Kind::kObject:
      if (!given.is_object()) wrong(given, path, field);
      return field.type.object->resolve(given, path);
    default:
      return resolve_scalar(field, given, path);
  }
}

const Field* Description::find(std::string_view key) const {
  const auto found = std::find_if(fields_.begin(), fields_.end(),
                                  [&](const Field& field) { return field.key == key; });
  return found == fields_.end() ? nullptr : &*found;
}

std::vector<std::string> Description::keys() const {
  std::vector<std::string> keys;
  for (const Field& field : fields_) keys.push_back(field.key);
  return keys;
}

Value Description::resolve(const Value& object, const std::string& path) const {
  if (!path.empty()) return resolve_members(object, path, false);
  try {
    return resolve_members(object, path, false);
  } catch (const UnknownKey& error) {
    // Nothing similar beside it or below it; the whole file may have the key elsewhere.
    throw searched(error, *this);
  }
}

Value Description::resolve_component(const Value& object, const std::string& path) const {
  return resolve_members(object.is_null() ? Value::object() : object, path, true);
}

Value Description::resolve_members(const Value& object, const std::string& path,
                                   bool component) const {
  FOVEA_CHECK(
      object.is_object(), ConfigError,
      fmt::format("{}expected object, got {}", where(object.origin(), path), describe(object)));
  const Value* type = component ? object.find("type") : nullptr;
  for (const auto& member : object.members()) {
    if (find(member.key) != nullptr || (component && member.key == "type")) continue;
    if (member.value.clears()) continue;  // takes an inherited key away
    throw unknown_key(*this, member, path, component, type);
  }
  Value result = Value::object();
  result.set_origin(object.origin());
  if (type != nullptr) result.set("type", *type);
  for (const Field& field : fields_) {
    const Value* given = object.find(field.key);
    if (given != nullptr && given->is_null() && !takes_null(field.type)) given = nullptr;
    const std::string at = join_path(path, field.key);
    FOVEA_CHECK(given != nullptr || !field.must_be_given(), ConfigError,
                fmt::format("{}missing key \"{}\", expected {}: {}", where(object.origin(), path),
                            field.key, field.expected(), field.help));
    result.set(field.key, resolve_value(field, given ? *given : field.default_value, at));
  }
  for (const auto& check : checks_) {
    if (const std::string complaint = check(result); !complaint.empty()) {
      throw ConfigError(where(object.origin(), path) + complaint);
    }
  }
  return result;
}

}  // namespace fovea::schema
