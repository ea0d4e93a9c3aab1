// Ranges and the names of types: the text after "expected" in messages and tables.
#include <fmt/format.h>

#include <algorithm>

#include "schema/describe/description.h"

namespace fovea::schema {
namespace {

// Whether a value lies within the bounds.
Range numeric(std::string text, Range bounds) {
  bounds.text = std::move(text);
  bounds.accepts = [low = bounds.low, high = bounds.high, above = bounds.above,
                    below = bounds.below](const Value& value) {
    if (!value.is_number()) return false;
    const double x = value.as_double();
    return (!low || (above ? x > *low : x >= *low)) && (!high || (below ? x < *high : x <= *high));
  };
  return bounds;
}

std::string expected_text(const Type& type, const Range& range) {
  std::string text;
  if (type.kind == Type::Kind::kArray) {
    text = type.length < 0 ? "array of " : fmt::format("array of {} ", type.length);
    text += expected_text(*type.item, range);
  } else {
    Type bare = type;
    bare.nullable = false;
    text = !range.names.empty() ? range.text
           : range.text.empty() ? bare.text()
                                : bare.text() + " " + range.text;
  }
  return type.nullable ? text + " or null" : text;
}

}  // namespace

Range any() { return {}; }

Range at_least(double low) { return numeric(fmt::format(">= {}", low), {.low = low}); }
Range at_most(double high) { return numeric(fmt::format("<= {}", high), {.high = high}); }
Range greater_than(double low) {
  return numeric(fmt::format("> {}", low), {.low = low, .above = true});
}
Range less_than(double high) {
  return numeric(fmt::format("< {}", high), {.high = high, .below = true});
}
Range in_range(double low, double high) {
  return numeric(fmt::format("from {} to {}", low, high), {.low = low, .high = high});
}

Range in_one_line() {
  Range range;
  range.text = "without line breaks and other control characters";
  range.accepts = [](const Value& value) {
    if (!value.is_string()) return false;
    const std::string& text = value.as_string();
    return std::none_of(text.begin(), text.end(),
                        [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
  };
  return range;
}

Range one_of(std::vector<std::string> names) {
  std::string text = "one of ";
  for (const std::string& name : names) {
    text += fmt::format("{}\"{}\"", &name == &names.front() ? "" : ", ", name);
  }
  const auto accepts = [names](const Value& value) {
    return value.is_string() &&
           std::find(names.begin(), names.end(), value.as_string()) != names.end();
  };
  return {.text = std::move(text), .accepts = accepts, .names = std::move(names)};
}

Range operator&&(Range a, Range b) {
  if (!a.accepts) return b;
  if (!b.accepts) return a;
  Range both = a.names.empty() ? b : a;
  both.text = a.text + " and " + b.text;
  both.accepts = [one = a.accepts, other = b.accepts](const Value& value) {
    return one(value) && other(value);
  };
  const bool a_low = a.low && (!b.low || *a.low > *b.low || (*a.low == *b.low && a.above));
  const bool a_high = a.high && (!b.high || *a.high < *b.high || (*a.high == *b.high && a.below));
  both.low = a_low ? a.low : b.low;
  both.above = a_low ? a.above : b.above;
  both.high = a_high ? a.high : b.high;
  both.below = a_high ? a.below : b.below;
  return both;
}

std::string Type::text() const {
  std::string text;
  switch (kind) {
    case Kind::kBool:
      text = "boolean";
      break;
    case Kind::kInteger:
      text = "integer";
      break;
    case Kind::kNumber:
      text = "number";
      break;
    case Kind::kString:
      text = "string";
      break;
    case Kind::kAny:
      text = "anything";
      break;
    case Kind::kObject:
      text = "object";
      break;
    case Kind::kComponent:
      text = choices.kind;
      break;
    case Kind::kArray:
      text = length < 0 ? "array of " : fmt::format("array of {} ", length);
      text += item->text();
      break;
  }
  return nullable ? text + " or null" : text;
}

const Type& Type::innermost() const { return kind == Kind::kArray ? item->innermost() : *this; }

bool Field::must_be_given() const {
  return required || (default_value.is_null() && !type.nullable && type.kind != Type::Kind::kAny);
}

std::string Field::expected() const { return expected_text(type, range); }

std::string Field::default_text() const {
  if (must_be_given()) return "required";
  if (type.kind == Type::Kind::kObject && !default_value.is_null()) return "see below";
  if (type.kind == Type::Kind::kComponent && default_value.is_object()) {
    return default_value.at("type").dump(0);
  }
  return default_value.dump(0);
}

std::string Field::documentation() const {
  if (effect == Effect::kNone) return help + " (changes no result)";
  if (effect == Effect::kPlace) return help + " (runs are compared by the data, not by this)";
  return effect == Effect::kFile ? help + " (runs are compared by what is in it, not by its name)"
                                 : help;
}

}  // namespace fovea::schema
