#include "schema/json/value.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/shown.h"
#include "base/suggest.h"
#include "schema/json/utf8.h"

namespace fovea::schema {
namespace {

[[noreturn]] void wrong_kind(const Value& value, const char* expected) {
  throw ConfigError(
      fmt::format("{}expected {}, got {}", where(value.origin(), ""), expected, describe(value)));
}

}  // namespace

std::string to_string(const Origin& origin) {
  if (origin.is_default()) return "default";
  if (origin.line == 0) return origin.file;
  return fmt::format("{}:{}:{}", origin.file, origin.line, origin.column);
}

Value::Value() : data_(nullptr) {}
Value::Value(std::nullptr_t) : data_(nullptr) {}
Value::Value(const char* text) : data_(std::string(text)) {}
Value::Value(std::string text) : data_(std::move(text)) {}
Value::Value(std::string_view text) : data_(std::string(text)) {}
Value::Value(const Value& other) = default;
Value::Value(Value&& other) noexcept = default;
Value& Value::operator=(const Value& other) = default;
Value& Value::operator=(Value&& other) noexcept = default;
Value::~Value() = default;

Value Value::array(std::initializer_list<Value> items) {
  Value result;
  result.data_ = Array(items);
  return result;
}

Value Value::object(std::initializer_list<std::pair<std::string, Value>> members) {
  Value result;
  result.data_ = Object();
  for (const auto& [key, value] : members) result.set(key, value);
  return result;
}

const char* Value::kind_name() const {
  switch (kind()) {
    case Kind::kNull:
      return "null";
    case Kind::kBool:
      return "boolean";
    case Kind::kInteger:
      return "integer";
    case Kind::kNumber:
      return "number";
    case Kind::kString:
      return "string";
    case Kind::kArray:
      return "array";
    case Kind::kObject:
      return "object";
  }
  return "unknown";
}

bool Value::as_bool() const {
  if (!is_bool()) wrong_kind(*this, "boolean");
  return std::get<bool>(data_);
}

std::int64_t Value::as_int() const {
  if (!is_integer()) wrong_kind(*this, "integer");
  return std::get<std::int64_t>(data_);
}

double Value::as_double() const {
  if (is_integer()) return static_cast<double>(std::get<std::int64_t>(data_));
  if (!is_number()) wrong_kind(*this, "number");
  return std::get<double>(data_);
}

const std::string& Value::as_string() const {
  if (!is_string()) wrong_kind(*this, "string");
  return std::get<std::string>(data_);
}

const Value::Array& Value::items() const {
  if (!is_array()) wrong_kind(*this, "array");
  return std::get<Array>(data_);
}

Value::Array& Value::items() {
  if (!is_array()) wrong_kind(*this, "array");
  return std::get<Array>(data_);
}

const Value::Object& Value::members() const {
  if (!is_object()) wrong_kind(*this, "object");
  return std::get<Object>(data_);
}

Value::Object& Value::members() {
  if (!is_object()) wrong_kind(*this, "object");
  return std::get<Object>(data_);
}

std::size_t Value::size() const {
  if (is_array()) return items().size();
  return is_object() ? members().size() : 0;
}

const Value* Value::find(std::string_view key) const {
  if (!is_object()) return nullptr;
  for (const Member& member : members()) {
    if (member.key == key) return &member.value;
  }
  return nullptr;
}

Value* Value::find(std::string_view key) {
  return const_cast<Value*>(std::as_const(*this).find(key));
}

const Value& Value::at(std::string_view key) const {
  if (const Value* found = find(key)) return *found;
  std::vector<std::string> known;
  for (const Member& member : members()) known.push_back(shown(member.key));
  throw ConfigError(fmt::format("{}no key \"{}\"{} (known: {})", where(origin_, ""), key,
                                did_you_mean(key, known), fmt::join(known, ", ")));
}

const Value& Value::at(std::size_t index) const {
  FOVEA_CHECK(index < items().size(), ConfigError,
              fmt::format("{}no item {} in an array of {}", where(origin_, ""), index, size()));
  return items()[index];
}

Value& Value::set(std::string key, Value value) {
  if (is_null()) data_ = Object();
  if (Value* found = find(key)) {
    *found = std::move(value);
    return *found;
  }
  Origin key_origin = value.origin();
  members().push_back({std::move(key), std::move(value), std::move(key_origin)});
  return members().back().value;
}

Value& Value::push_back(Value value) {
  if (is_null()) data_ = Array();
  items().push_back(std::move(value));
  return items().back();
}

bool Value::erase(std::string_view key) {
  if (!is_object()) return false;
  return std::erase_if(members(), [&](const Member& member) { return member.key == key; }) > 0;
}

void Value::set_origin_deep(const Origin& origin) {
  origin_ = origin;
  if (is_array()) {
    for (Value& item : items()) item.set_origin_deep(origin);
  } else if (is_object()) {
    for (Member& member : members()) {
      member.key_origin = origin;
      member.value.set_origin_deep(origin);
    }
  }
}

bool Value::scalar_equal(const Value& other) const {
  switch (kind()) {
    case Kind::kBool:
      return as_bool() == other.as_bool();
    case Kind::kInteger:
      return as_int() == other.as_int();
    case Kind::kNumber:
      return as_double() == other.as_double();
    case Kind::kString:
      return as_string() == other.as_string();
    default:
      return true;
  }
}

bool Value::operator==(const Value& other) const {
  if (kind() != other.kind() || size() != other.size()) return false;
  if (is_array()) return items() == other.items();
  if (!is_object()) return scalar_equal(other);
  // Members are mostly in the same order; looking there first keeps the comparison linear.
  for (std::size_t i = 0; i < size(); ++i) {
    const Member& member = members()[i];
    const Member& beside = other.members()[i];
    const Value* found = beside.key == member.key ? &beside.value : other.find(member.key);
    if (found == nullptr || !(member.value == *found)) return false;
  }
  return true;
}

std::string describe(const Value& value) {
  if (value.is_null()) return "null";
  if (value.is_object()) return "object";
  if (value.is_array()) return fmt::format("array of {}", value.size());
  if (!value.is_string()) return fmt::format("{} ({})", value.dump(0), value.kind_name());
  constexpr std::size_t kShown = 60;
  const std::string& text = value.as_string();
  if (text.size() <= kShown) return fmt::format("{} (string)", value.dump(0));
  std::size_t cut = kShown;
  while (cut > 0 && (static_cast<unsigned char>(text[cut]) & 0xC0U) == 0x80U) --cut;
  return fmt::format("{}... (string)", Value(text.substr(0, cut)).dump(0));
}

std::string where(const Origin& origin, const std::string& path) {
  std::string result;
  if (!origin.is_default()) result = to_string(origin) + ": ";
  constexpr std::size_t kLongest = 300;
  if (!path.empty()) result += shown(path, kLongest) + ": ";
  return result;
}

std::string join_path(const std::string& path, std::string_view key) {
  if (path.empty() || key.empty()) return path + std::string(key);
  return fmt::format("{}.{}", path, key);
}

}  // namespace fovea::schema
