// A JSON value that remembers where it was written, so that every later complaint about it can name
// the file, line and column (or the command-line override) it came from.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/variant.h"

namespace fovea::schema {

/// Where a value was written. Lines and columns count from 1, columns in characters. Line 0: `file`
/// is the whole place, such as "--set train.epochs=1". An empty file: the value is a default.
struct Origin {
  std::string file;
  int line = 0;
  int column = 0;
  bool is_default() const { return file.empty(); }
  bool operator==(const Origin&) const = default;
};

/// "file:line:column", "--set a.b=c" or "default".
std::string to_string(const Origin& origin);

/// null, bool, integer (int64), number (double), string, array or object (members keep their
/// order). Value semantics; comparison ignores origins and the order of members, and tells 1
/// from 1.0.
class Value {
 public:
  enum class Kind { kNull, kBool, kInteger, kNumber, kString, kArray, kObject };
  struct Member;
  using Array = std::vector<Value>;
  using Object = std::vector<Member>;

  Value();
  Value(std::nullptr_t);
  Value(const char* text);
  Value(std::string text);
  Value(std::string_view text);
  template <std::same_as<bool> T>  // a template so that pointers do not turn into bool
  Value(T flag);
  template <std::integral T>
  requires(!std::same_as<T, bool>) Value(T integer);
  template <std::floating_point T>
  Value(T number);
  Value(const Value& other);
  Value(Value&& other) noexcept;
  Value& operator=(const Value& other);
  Value& operator=(Value&& other) noexcept;
  ~Value();

  /// Value::array({1, "two", nullptr}), Value::array(some_vector), Value::object({{"lr", 0.1}}).
  static Value array(std::initializer_list<Value> items = {});
  template <class T>
  static Value array(const std::vector<T>& items);
  static Value object(std::initializer_list<std::pair<std::string, Value>> members = {});

  Kind kind() const { return static_cast<Kind>(data_.index()); }
  bool is_null() const { return kind() == Kind::kNull; }
  bool is_bool() const { return kind() == Kind::kBool; }
  bool is_integer() const { return kind() == Kind::kInteger; }
  bool is_number() const { return kind() == Kind::kNumber || is_integer(); }
  bool is_string() const { return kind() == Kind::kString; }
  bool is_array() const { return kind() == Kind::kArray; }
  bool is_object() const { return kind() == Kind::kObject; }
  /// "null", "boolean", "integer", "number", "string", "array", "object".
  const char* kind_name() const;

  /// Each throws ConfigError with the position if the value is of another kind; as_double also
  /// takes integers.
  bool as_bool() const;
  std::int64_t as_int() const;
  double as_double() const;
  const std::string& as_string() const;
  const Array& items() const;
  Array& items();
  const Object& members() const;
  Object& members();

  /// Number of items of an array or members of an object, else 0.
  std::size_t size() const;
  /// A member, or nullptr if it is missing or this is not an object.
  const Value* find(std::string_view key) const;
  Value* find(std::string_view key);
  /// A member or item; ConfigError naming the key and the known ones if it is missing.
  const Value& at(std::string_view key) const;
  const Value& at(std::size_t index) const;
  /// Adds or replaces a member (null becomes an object first). The key's origin is kept when
  /// replacing, else taken from `value`. Returns the stored value.
  Value& set(std::string key, Value value);
  /// Appends to an array (null becomes an array first).
  Value& push_back(Value value);
  /// Removes a member; false if there was none.
  bool erase(std::string_view key);

  const Origin& origin() const { return origin_; }
  void set_origin(Origin origin) { origin_ = std::move(origin); }
  /// Gives this value, all inside it and all their keys one origin.
  void set_origin_deep(const Origin& origin);
  /// True for a null that replaced an inherited value (load.h), which is then as if never given.
  bool clears() const { return clears_; }
  void set_clears(bool clears) { clears_ = clears; }
  /// True for an option that was kept when the type beside it changed (carry.h).
  bool carried() const { return carried_; }
  void set_carried(bool carried) { carried_ = carried; }
  /// For a type chosen by its name alone: the object that it replaced, whose options it may keep
  /// (carry.h). Null where there was none.
  const Value* covered() const { return covered_.get(); }
  void set_covered(std::shared_ptr<const Value> covered) { covered_ = std::move(covered); }
  const std::shared_ptr<const Value>& shared_covered() const { return covered_; }

  /// Valid UTF-8 JSON. `indent` 0 gives one line without spaces; otherwise arrays of scalars stay
  /// on one line. Doubles have full precision and always a point or an exponent; non-finite ones
  /// become null; bytes that are not UTF-8 become U+FFFD.
  std::string dump(int indent = 2) const;

  bool operator==(const Value& other) const;

 private:
  bool scalar_equal(const Value& other) const;

  Variant<std::nullptr_t, bool, std::int64_t, double, std::string, Array, Object> data_;
  Origin origin_;
  std::shared_ptr<const Value> covered_;
  bool clears_ = false;
  bool carried_ = false;
};

struct Value::Member {
  std::string key;
  Value value;
  Origin key_origin;
};

template <std::same_as<bool> T>
Value::Value(T flag) : data_(flag) {}
template <std::integral T>
requires(!std::same_as<T, bool>) Value::Value(T integer)
    : data_(static_cast<std::int64_t>(integer)) {}
template <std::floating_point T>
Value::Value(T number) : data_(static_cast<double>(number)) {}

template <class T>
Value Value::array(const std::vector<T>& items) {
  Value result = array();
  for (const auto& item : items) result.push_back(Value(static_cast<T>(item)));
  return result;
}

/// A value as messages show it: `"128" (string)`, `3.5 (number)`, `array of 2`, `null`.
std::string describe(const Value& value);

/// `file:line:column: path: ` in front of a complaint about a value, without the parts that are
/// unknown.
std::string where(const Origin& origin, const std::string& path);

/// "a" and "b" give "a.b"; an empty part is left out.
std::string join_path(const std::string& path, std::string_view key);

}  // namespace fovea::schema
