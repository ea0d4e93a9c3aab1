// Options of figures on the command line: what there are, and from words to values.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/error.h"
#include "visualise/figures/figure_list.h"
#include "visualise/figures/shared/given_options.h"

namespace fovea::visualise {
namespace {

using Kind = schema::Type::Kind;

// The same words of several figures once.
void add_words(const std::vector<std::string>& names, schema::Range& to) {
  for (const std::string& name : names) {
    if (std::find(to.names.begin(), to.names.end(), name) == to.names.end())
      to.names.push_back(name);
  }
}

// What an option is to figures, those with the same help together.
std::string joined_help(const std::string& key) {
  std::vector<std::pair<std::string, std::vector<std::string>>> parts;  // help, figures
  for (const Figure& figure : figures()) {
    const schema::Field* field = figure.fields->find(key);
    if (field == nullptr) continue;
    const auto same = std::find_if(parts.begin(), parts.end(),
                                   [&](const auto& part) { return part.first == field->help; });
    if (same == parts.end())
      parts.push_back({field->help, {figure.name}});
    else
      same->second.push_back(figure.name);
  }
  std::vector<std::string> texts;
  for (const auto& [help, names] : parts)
    texts.push_back(fmt::format("{}: {}", fmt::join(names, ", "), help));
  return fmt::format("{}", fmt::join(texts, "; "));
}

template <class Number>
bool read_number(const std::string& word, Number& number) {
  const char* const end = word.data() + word.size();
  const auto [rest, error] = std::from_chars(word.data(), end, number);
  return error == std::errc() && rest == end;
}

// A word that is no number stays one: the schema says what was expected.
schema::Value value_of(const schema::Type& type, const std::string& word) {
  std::int64_t integer = 0;
  double number = 0;
  const bool numeric = type.kind == Kind::kInteger || type.kind == Kind::kNumber;
  if (numeric && read_number(word, integer)) return schema::Value(integer);
  if (numeric && read_number(word, number)) return schema::Value(number);
  return schema::Value(word);
}

}  // namespace

std::vector<FigureOption> figure_options() {
  std::vector<FigureOption> options;
  for (const Figure& figure : figures()) {
    for (const schema::Field& field : figure.fields->fields()) {
      auto known = std::find_if(options.begin(), options.end(), [&](const FigureOption& option) {
        return option.key == field.key;
      });
      if (known == options.end()) {
        options.push_back({field.key,
                           flag_of(field.key),
                           field.type,
                           field.range,
                           joined_help(field.key),
                           {figure.name}});
        continue;
      }
      FOVEA_CHECK(known->type.text() == field.type.text(), ConfigError,
                  fmt::format("figure {}: {} is {}; of {} it is {}", figure.name, field.key,
                              field.type.text(), known->owners.front(), known->type.text()));
      known->owners.push_back(figure.name);
      add_words(field.range.names, known->range);
    }
  }
  return options;
}

schema::Value values_of(const Figure& figure, const GivenOptions& given) {
  schema::Value values = schema::Value::object();
  for (const auto& [key, words] : given) {
    const schema::Field* field = figure.fields->find(key);
    if (field == nullptr) continue;
    schema::Value value;
    if (field->type.kind == Kind::kBool) {
      value = schema::Value(true);
    } else if (field->type.kind == Kind::kArray) {
      value = schema::Value::array();
      for (const std::string& word : words) value.push_back(value_of(*field->type.item, word));
    } else {
      value = value_of(field->type, words.front());
    }
    value.set_origin_deep({fmt::format("{} {}", flag_of(key), fmt::join(words, ",")), 0, 0});
    values.set(key, std::move(value));
  }
  return values;
}

std::vector<std::string> unknown_to(const std::vector<const Figure*>& candidates,
                                    const GivenOptions& given) {
  std::vector<std::string> keys;
  for (const auto& [key, words] : given) {
    const bool known = std::any_of(
        candidates.begin(), candidates.end(),
        [&key = key](const Figure* figure) { return figure->fields->find(key) != nullptr; });
    if (!known) keys.push_back(key);
  }
  return keys;
}

std::string owners_text(const std::string& key) {
  std::vector<std::string> owners;
  for (const Figure& figure : figures()) {
    if (figure.fields->find(key) != nullptr) owners.push_back(figure.asked_by());
  }
  return fmt::format("{}: is an option of {}", flag_of(key), fmt::join(owners, ", "));
}

}  // namespace fovea::visualise
