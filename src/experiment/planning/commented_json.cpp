#include "experiment/planning/commented_json.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstddef>

namespace fovea::experiment {
namespace {

constexpr std::size_t kWidth = 100;

// "// ..." in lines no longer than kWidth.
std::string comment(const std::vector<std::string>& sentences, const std::string& indent) {
  std::string text, line;
  const auto finish = [&] {
    if (!line.empty()) text += indent + "//" + line + "\n";
    line.clear();
  };
  for (const std::string& sentence : sentences) {
    std::string word;
    for (const char c : sentence + " ") {
      if (c != ' ' && c != '\n') {
        word += c;
        continue;
      }
      if (indent.size() + 2 + line.size() + 1 + word.size() > kWidth) finish();
      if (!word.empty()) line += " " + word;
      word.clear();
    }
    finish();
  }
  return text;
}

// A value in one line. In JSON a line break is never inside of a string.
std::string one_line(const schema::Value& value) {
  const std::string lines = value.dump();
  std::string text;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i] != '\n') {
      text += lines[i];
      continue;
    }
    while (i + 1 < lines.size() && lines[i + 1] == ' ') ++i;
    const bool opens = text.back() == '{' || text.back() == '[';
    const bool closes = i + 1 < lines.size() && (lines[i + 1] == '}' || lines[i + 1] == ']');
    if (!opens && !closes) text += ' ';
  }
  return text;
}

std::string key_text(const std::string& key) { return schema::Value(key).dump() + ": "; }

std::string value_text(const CommentedKey& one) {
  const std::string line = one_line(one.value);
  if (!one.value.is_object() || 2 + key_text(one.key).size() + line.size() + 1 <= kWidth)
    return line;
  std::string text;
  for (const auto& member : one.value.members())
    text += fmt::format("{}\n    {}{}", text.empty() ? "" : ",", key_text(member.key),
                        one_line(member.value));
  return "{" + text + "\n  }";
}

}  // namespace

std::string commented_json(const std::vector<std::string>& sentences,
                           const std::vector<CommentedKey>& keys) {
  std::vector<std::string> all;
  for (std::size_t k = 0; k < keys.size(); ++k) {
    all.push_back(comment(keys[k].sentences, "  ") + "  " + key_text(keys[k].key) +
                  value_text(keys[k]) + (k + 1 < keys.size() ? "," : ""));
  }
  return fmt::format("{}{{\n{}\n}}\n", comment(sentences, ""), fmt::join(all, "\n"));
}

}  // namespace fovea::experiment
