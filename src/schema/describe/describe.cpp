#include "schema/describe/describe.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "schema/describe/markdown.h"

namespace fovea::schema {
namespace {

void collect(const Description& description, std::set<std::string>& known,
             std::vector<Choices>& found) {
  for (const Field& field : description.fields()) {
    const Type& type = field.type.innermost();
    if (type.kind == Type::Kind::kObject) collect(*type.object, known, found);
    if (type.kind != Type::Kind::kComponent || !known.insert(type.choices.kind).second) continue;
    found.push_back(type.choices);
    for (const Choice& choice : type.choices.list()) {
      if (choice.fields) collect(*choice.fields, known, found);
    }
  }
}

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

std::vector<Choices> registries(const Description& description) {
  std::set<std::string> known;
  std::vector<Choices> found;
  collect(description, known, found);
  return found;
}

std::string describe_markdown(const Description& description, const std::string& title, int level) {
  std::string text = markdown_heading(title, level) + markdown_keys(description);
  ToldRows told;
  for (const Choices& registry : registries(description)) {
    text += registry_markdown(registry, level, told);
  }
  return text;
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
