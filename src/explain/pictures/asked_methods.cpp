#include "explain/pictures/asked_methods.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "base/suggest.h"
#include "schema/load.h"

namespace fovea::explain {
namespace {

using Kind = schema::Type::Kind;

std::vector<std::string> keys_of(const schema::Choice& method) {
  std::vector<std::string> keys;
  for (const schema::Field& field : method.fields->fields()) keys.push_back(field.key);
  return keys;
}

// Words for options that are words, and for lists of them.
schema::Value fitted(const schema::Value& value, const schema::Type& type,
                     const std::string& text) {
  if (type.kind == Kind::kString && !value.is_string()) return schema::Value(text);
  if (type.kind != Kind::kArray || value.is_array()) return value;
  schema::Value list = schema::Value::array();
  if (type.innermost().kind != Kind::kString) {
    list.push_back(value);
    return list;
  }
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    list.push_back(schema::Value(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return list;
}

}  // namespace

std::string name_in(const std::string& assignment) {
  const std::size_t dot = assignment.find('.'), equals = assignment.find('=');
  FOVEA_CHECK(
      dot != std::string::npos && equals != std::string::npos && dot < equals, ConfigError,
      fmt::format("--option {}: expected METHOD.KEY=VALUE, or SCORE.KEY=VALUE", assignment));
  return assignment.substr(0, dot);
}

void set_option(const schema::Choice& choice, const std::string& assignment,
                schema::Value& options) {
  const std::size_t dot = name_in(assignment).size(), equals = assignment.find('=');
  const std::string key = assignment.substr(dot + 1, equals - dot - 1);
  const schema::Field* field = choice.fields->find(key);
  FOVEA_CHECK(
      field != nullptr, ConfigError,
      fmt::format("--option {}: {} has no option {}{} (known: {})", assignment, choice.name, key,
                  did_you_mean(key, keys_of(choice)), fmt::join(keys_of(choice), ", ")));
  schema::Value parsed = schema::Value::object();
  schema::apply_override(parsed, assignment.substr(dot + 1));
  schema::Value value = fitted(parsed.at(key), field->type, assignment.substr(equals + 1));
  value.set_origin_deep({"--option " + assignment, 0, 0});
  options.set(key, std::move(value));
}

std::vector<AskedMethod> asked_methods(const std::vector<std::string>& names,
                                       const std::vector<std::string>& assignments) {
  std::vector<AskedMethod> asked;
  for (const std::string& name : names) {
    const Method* method = &methods().find(name, "--method");
    const bool twice = std::any_of(asked.begin(), asked.end(),
                                   [&](const AskedMethod& one) { return one.method == method; });
    FOVEA_CHECK(!twice, ConfigError, fmt::format("--method: {} is given twice", name));
    asked.push_back({method, schema::Value::object()});
  }
  for (const std::string& assignment : assignments) {
    const std::string name = name_in(assignment);
    const Method& method = methods().find(name, "--option " + assignment);
    const auto found = std::find_if(asked.begin(), asked.end(),
                                    [&](const AskedMethod& one) { return one.method == &method; });
    FOVEA_CHECK(found != asked.end(), ConfigError,
                fmt::format("--option {}: {} is not among the methods; add it to --method",
                            assignment, name));
    set_option(method, assignment, found->options);
  }
  return asked;
}

std::string method_lines() {
  std::string lines;
  for (const Method& method : methods()) {
    lines += fmt::format("  {:<21} {}\n", method.name, method.help);
    if (!method.fields->fields().empty())
      lines += fmt::format("  {:<21} options: {}\n", "", fmt::join(keys_of(method), ", "));
  }
  return lines;
}

}  // namespace fovea::explain
