// What an object of an experiment file may contain: keys, types, ranges, defaults, help,
// independent of the C++ type it is read into. Validation, documentation and the registries of
// components (attention variants, models, optimisers, ...) are built on it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "schema/json/value.h"

namespace fovea::schema {

class Description;

/// A choice of one registered part with its options: {"type": "m_dgsa", "num_heads": 4}, or the
/// bare string "m_dgsa". After parsing, `options` is the whole object, "type" included, validated
/// and with all defaults filled in; Fields::parse(component) reads it. As a default of a struct the
/// type alone is enough: `Component attention{"m_dgsa"}`.
struct Component {
  std::string type;
  Value options;
  /// The options. For a component made in code without any: the type alone, which stands for all
  /// defaults.
  Value object() const { return options.is_null() ? Value::object({{"type", type}}) : options; }
  bool operator==(const Component&) const = default;
};

/// A component with these options besides the defaults.
Component with_options(const std::string& type,
                       std::initializer_list<std::pair<std::string, Value>> options);

/// One entry of a registry. `fields` is null for an entry without options.
struct Choice {
  std::string name;
  std::string help;
  std::shared_ptr<const Description> fields;
};

/// A registry as the schema sees it. `kind` is the word for one entry ("attention"), used in
/// messages and in `fovea inspect --list attention`; if empty the key of the field is used.
struct Choices {
  Choices() = default;
  Choices(std::string kind_name, std::function<std::vector<Choice>()> entries)
      : kind(std::move(kind_name)), list(std::move(entries)) {}
  template <class Function>
  requires std::is_invocable_r_v<std::vector<Choice>, Function> Choices(Function entries)
      : list(std::move(entries)) {}

  std::string kind;
  std::function<std::vector<Choice>()> list;
  /// For choices that are only a part of a registry: why another name of the registry is not among
  /// them; "" for an unknown name.
  std::function<std::string(const std::string& name)> misfit = {};
};

/// The entry called `type` (a string value). Throws ConfigError with its position:
/// `model.attention.type: no attention called "mdgsa"; did you mean "m_dgsa"? run: fovea inspect
/// --list attention`.
Choice find_choice(const Choices& choices, const Value& type, const std::string& path);

/// A condition on a scalar, or on each item of an array. `text` completes "expected integer ...".
struct Range {
  std::string text = {};
  std::function<bool(const Value&)> accepts = {};
  std::vector<std::string> names = {};  // of one_of
  std::optional<double> low = {};       // of numbers
  std::optional<double> high = {};
  bool above = false;  // low itself is excluded
  bool below = false;  // high itself is excluded
};
Range any();
Range at_least(double low);
Range at_most(double high);
Range greater_than(double low);
Range less_than(double high);
Range in_range(double low, double high);  // both ends included
/// Text that stays in one line, such as a name.
Range in_one_line();
Range one_of(std::vector<std::string> names);
Range operator&&(Range a, Range b);

/// What kind of value a field takes.
struct Type {
  enum class Kind { kBool, kInteger, kNumber, kString, kAny, kArray, kObject, kComponent };
  Kind kind = Kind::kAny;
  bool nullable = false;
  std::int64_t min = std::numeric_limits<std::int64_t>::min();  // integers: as the member
  std::int64_t max = std::numeric_limits<std::int64_t>::max();
  std::int64_t length = -1;                   // arrays: how many items, -1 for any number
  std::shared_ptr<const Type> item;           // arrays
  std::shared_ptr<const Description> object;  // objects
  Choices choices;                            // components

  /// "integer", "array of 3 number", "string or null", "attention".
  std::string text() const;
  /// The type of the innermost items.
  const Type& innermost() const;
};

/// Whether the results of a run depend on a setting; decides what is left out when runs are
/// compared (identity.h).
enum class Effect {
  kResult,
  kNone,     // threads, logging: two runs that differ in it give equal weights and scores
  kPlace,    // where data lie; runs are compared by the content of the data
  kFile,     // the name of a file; it counts only where the content is not known
  kContent,  // the hashes of such files (contents.h)
};

struct Field {
  std::string key;
  Type type;
  Range range;
  Value default_value;
  std::string help;
  bool required = false;
  Effect effect = Effect::kResult;
  std::vector<std::string> for_every_type = {};  // components: see Fields::for_every_type
  /// The files that the setting names, from the resolved object that contains it. Empty for
  /// settings that name no files.
  std::function<std::vector<std::filesystem::path>(const Value& object)> files = {};

  bool must_be_given() const;
  /// "`integer >= 1`"-like text without quotes, e.g. `integer >= 1`.
  std::string expected() const;
  /// The default as JSON on one line, of a component its name; "required" without a default.
  std::string default_text() const;
  /// The help, with a remark where results do not depend on the field.
  std::string documentation() const;
};

/// The fields of one object. Fields<Options> (fields.h) builds it.
class Description {
 public:
  const std::vector<Field>& fields() const { return fields_; }
  const Field* find(std::string_view key) const;
  std::vector<std::string> keys() const;

  /// Validates an object and fills in defaults: every key in the order of the fields, given values
  /// with their origins, defaults without. null for a field that is not optional means "not given".
  /// `path` is the dotted path of the object ("" for the root).
  /// Throws ConfigError for unknown keys, wrong types, values out of range, missing required keys.
  Value resolve(const Value& object, const std::string& path = "") const;

  /// As resolve(), for the options of a component, which also have the key "type".
  Value resolve_component(const Value& object, const std::string& path) const;

 protected:
  Value resolve_members(const Value& object, const std::string& path, bool component) const;

  std::vector<Field> fields_;
  // Conditions on several fields at once: a complaint about a resolved object, or "".
  std::vector<std::function<std::string(const Value&)>> checks_;
};

}  // namespace fovea::schema
