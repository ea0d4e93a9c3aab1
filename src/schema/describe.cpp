#include "schema/describe.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

namespace fovea::schema {
namespace {

// In a table cell `|` would start a new column.
std::string cell(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '|') result.push_back('\\');
    result.push_back(c == '\n' ? ' ' : c);
  }
  return result;
}

class Markdown {
 public:
  void section(const Description& description, const std::string& title, const std::string& intro,
               int level) {
    text_ += fmt::format("{} {}\n\n", std::string(static_cast<std::size_t>(level), '#'), title);
    if (!intro.empty()) text_ += intro + "\n\n";
    if (!description.fields().empty()) table(description);
    for (const Field& field : description.fields()) below(field, level + 1);
  }

  std::string take() { return std::move(text_); }

 private:
  void table(const Description& description) {
    text_ += "| key | type | default | meaning |\n|---|---|---|---|\n";
    for (const Field& field : description.fields()) {
      const std::string shown = field.default_text();
      const bool is_json = shown != "required" && shown != "see below";
      text_ += fmt::format("| `{}` | {} | {} | {} |\n", field.key, cell(field.expected()),
                           is_json ? fmt::format("`{}`", cell(shown)) : shown,
                           cell(field.documentation()));
    }
    text_ += "\n";
  }

  void below(const Field& field, int level) {
    const Type& type = field.type.innermost();
    const std::string each = field.type.kind == Type::Kind::kArray ? " (each item)" : "";
    if (type.kind == Type::Kind::kObject) {
      section(*type.object, fmt::format("`{}`{}", field.key, each), "", std::min(level, 6));
    } else if (type.kind == Type::Kind::kComponent) {
      registry(type.choices, level);
    }
  }

  void registry(const Choices& choices, int level) {
    if (!described_.insert(choices.kind).second) return;
    for (const Choice& choice : choices.list()) {
      const Description none;
      section(choice.fields ? *choice.fields : none,
              fmt::format("{} `{}`", choices.kind, choice.name), choice.help, std::min(level, 6));
    }
  }

  std::string text_;
  std::set<std::string> described_;
};

struct Row {
  std::string key, type, preset, help;
};

void collect_rows(const Description& description, const std::string& indent,
                  std::vector<Row>& rows) {
  for (const Field& field : description.fields()) {
    const Type& type = field.type.innermost();
    std::string help = field.documentation();
    if (type.kind == Type::Kind::kComponent) {
      std::string names;
      for (const Choice& choice : type.choices.list()) {
        names += (names.empty() ? "" : ", ") + choice.name;
      }
      help += fmt::format(" ({})", names);
    }
    const std::string preset = field.default_text() == "see below" ? "" : field.default_text();
    rows.push_back({indent + field.key, field.expected(), preset, help});
    if (type.kind == Type::Kind::kObject) collect_rows(*type.object, indent + "  ", rows);
  }
}

}  // namespace

std::string describe_markdown(const Description& description, const std::string& title, int level) {
  Markdown markdown;
  markdown.section(description, title, "", level);
  return markdown.take();
}

std::string describe_text(const Description& description, int indent) {
  constexpr std::size_t kWidest = 36;  // a longer cell moves its own line only
  std::vector<Row> rows;
  collect_rows(description, std::string(static_cast<std::size_t>(std::max(indent, 0)), ' '), rows);
  std::array<std::size_t, 3> width{};
  for (const Row& row : rows) {
    width[0] = std::max(width[0], std::min(kWidest, row.key.size()));
    width[1] = std::max(width[1], std::min(kWidest, row.type.size()));
    width[2] = std::max(width[2], std::min(kWidest, row.preset.size()));
  }
  std::string text;
  for (const Row& row : rows) {
    text += fmt::format("{:<{}}  {:<{}}  {:<{}}  {}\n", row.key, width[0], row.type, width[1],
                        row.preset, width[2], row.help);
  }
  return text;
}

}  // namespace fovea::schema
