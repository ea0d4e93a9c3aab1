// Overrides: apply_override, set_path, find_path of load.h.
#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <system_error>
#include <vector>

#include "base/error.h"
#include "base/shown.h"
#include "schema/carry.h"
#include "schema/json/utf8.h"
#include "schema/load.h"

namespace fovea::schema {
namespace {

std::vector<std::string> split_path(const std::string& path, const std::string& place) {
  std::vector<std::string> keys;
  std::size_t begin = 0;
  for (;;) {
    const std::size_t end = std::min(path.find('.', begin), path.size());
    keys.push_back(path.substr(begin, end - begin));
    FOVEA_CHECK(
        !keys.back().empty(), ConfigError,
        fmt::format("{}empty key in \"{}\", expected a path such as train.epochs", place, path));
    FOVEA_CHECK(keys.size() <= static_cast<std::size_t>(Limits().depth), ConfigError,
                fmt::format("{}path is too deep, expected at most {} keys", place, Limits().depth));
    if (end == path.size()) return keys;
    begin = end + 1;
  }
}

std::optional<std::size_t> array_index(const std::string& key, std::size_t size) {
  std::size_t index = 0;
  const auto [end, status] = std::from_chars(key.data(), key.data() + key.size(), index);
  const bool whole = status == std::errc() && end == key.data() + key.size();
  return whole && index < size ? std::optional<std::size_t>(index) : std::nullopt;
}

// The child of `node` called `key`, made if it is missing. `path` is that of the node.
Value& descend(Value& node, const std::string& key, const std::string& path, const Origin& origin) {
  const auto fail = [&](const std::string& message) {
    throw ConfigError(fmt::format("{}{}", where(origin, ""), message));
  };
  if (node.is_array()) {
    const auto index = array_index(key, node.size());
    if (!index)
      fail(fmt::format("{} has {} items, no item \"{}\"; items count from 0", path, node.size(),
                       key));
    return node.items()[*index];
  }
  if (node.is_null()) {
    node = Value::object();
    node.set_origin(origin);
  }
  if (node.is_string()) node = expand_shorthand(std::move(node));
  if (!node.is_object()) {
    fail(fmt::format("{} is {}, not an object; it has no key \"{}\"", path, describe(node), key));
  }
  if (Value* found = node.find(key)) return *found;
  Value made;
  made.set_origin(origin);
  return node.set(key, std::move(made));
}

Value right_side(const std::string& text, const Origin& origin) {
  Value value;
  const bool must_be_json = !text.empty() && (text[0] == '{' || text[0] == '[' || text[0] == '"');
  try {
    value = parse(text, origin.file);
  } catch (const ConfigError&) {
    if (must_be_json) throw;
    FOVEA_CHECK(is_utf8(text), ConfigError, fmt::format("{}not UTF-8 text", where(origin, "")));
    value = Value(text);
  }
  value.set_origin_deep(origin);
  return value;
}

}  // namespace

void set_path(Value& root, const std::string& path, Value value) {
  const Origin origin = value.origin();
  Value* node = &root;
  Value* holder = nullptr;
  std::string walked;
  bool inherited = true;  // whether the slot held something before
  const std::vector<std::string> keys = split_path(path, where(origin, ""));
  for (const std::string& key : keys) {
    inherited = node->is_array() || node->find(key) != nullptr;
    holder = node;
    node = &descend(*node, key, walked, origin);
    node->set_carried(false);
    walked = join_path(walked, key);
  }
  value.set_clears(value.is_null() && inherited);
  if (value.is_string()) value = laid_over(std::move(value), *node);
  // A type chosen by its key: the options beside it belong to the old type.
  const bool new_type = keys.back() == "type" && holder->is_object() && !(value == *node);
  if (new_type) mark_carried(*holder);
  *node = std::move(value);
}

void apply_override(Value& root, const std::string& assignment) {
  const Origin origin{"--set " + shown(assignment, 400), 0, 0};
  const std::size_t equals = assignment.find('=');
  FOVEA_CHECK(
      equals != std::string::npos, ConfigError,
      fmt::format("{}no '=', expected key=value such as train.epochs=1", where(origin, "")));
  set_path(root, assignment.substr(0, equals), right_side(assignment.substr(equals + 1), origin));
}

const Value* find_path(const Value& root, const std::string& path) {
  const Value* node = &root;
  for (const std::string& key : split_path(path, "")) {
    if (node->is_array()) {
      const auto index = array_index(key, node->size());
      if (!index) return nullptr;
      node = &node->items()[*index];
    } else {
      node = node->find(key);
      if (node == nullptr) return nullptr;
    }
  }
  return node;
}

}  // namespace fovea::schema
