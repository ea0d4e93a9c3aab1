#include "training/store/class_names.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "schema/json/parse.h"

namespace fovea::training {
namespace {

using schema::Value;

std::vector<std::string> parse_names(const std::string& text, const std::string& file) {
  std::vector<std::string> names;
  try {
    const Value list = schema::parse(text, file);
    for (const Value& name : list.items()) names.push_back(name.as_string());
  } catch (const ConfigError& error) {
    throw FileError(fmt::format("{}: damaged: {}", file, error.what()));
  }
  return names;
}

std::string name_at(const std::vector<std::string>& names, std::size_t i) {
  return i < names.size() ? Value(names[i]).dump(0) : "nothing";
}

// A few names from `first` on; a list may have a thousand.
std::string excerpt(const std::vector<std::string>& names, std::size_t first) {
  constexpr std::size_t kShown = 8;
  // What is before a difference is shown while there is room.
  const std::size_t begin = names.size() <= kShown || first < kShown ? 0 : first;
  const std::size_t end = std::min(begin + kShown, names.size());
  std::vector<std::string> shown;
  for (std::size_t i = std::min(begin, end); i < end; ++i) shown.push_back(names[i]);
  return fmt::format("{}{}{}", begin > 0 ? "..., " : "", fmt::join(shown, ", "),
                     end < names.size() ? ", ..." : "");
}

bool same_set(std::vector<std::string> a, std::vector<std::string> b) {
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  return a == b;
}

}  // namespace

std::string classes_text(const std::vector<std::string>& names) {
  return Value::array(names).dump() + "\n";
}

void check_classes(const std::string& text, const std::vector<std::string>& given,
                   const std::string& file) {
  const std::vector<std::string> stored = parse_names(text, file);
  // As they would be written: names that are not UTF-8 change on the way.
  const std::vector<std::string> names = parse_names(classes_text(given), file);
  if (stored == names) return;
  std::size_t first = 0;
  while (first < stored.size() && first < names.size() && stored[first] == names[first]) ++first;
  const bool reordered = same_set(stored, names);
  throw FileError(fmt::format(
      "{}: {}: class {} is {} for the weights, {} in the data set; the weights have {} ({}), the "
      "data set has {} ({}); {}",
      file,
      reordered ? "the data set has the same classes in another order"
                : "does not fit the data set",
      first, name_at(stored, first), name_at(names, first), stored.size(), excerpt(stored, first),
      names.size(), excerpt(names, first),
      reordered ? "bring them into the order of the weights"
                : "give the classes the names and the order that the weights were trained with"));
}

}  // namespace fovea::training
