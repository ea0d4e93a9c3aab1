#include "schema/markdown.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

namespace fovea::schema {
namespace {

constexpr const char* kByType = "by type";

// In a table cell `|` would start a new column.
std::string cell(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '|') result.push_back('\\');
    result.push_back(c == '\n' ? ' ' : c);
  }
  return result;
}

std::string code(const std::string& text) { return "`" + cell(text) + "`"; }

// A default is JSON, or one of a few words.
std::string default_cell(const std::string& text) {
  const bool words = text == "required" || text == "see below" || text == kByType;
  return words ? text : code(text);
}

std::string type_cell(const Field& field) {
  std::string text = cell(field.expected());
  const Type& type = field.type.innermost();
  if (type.kind != Type::Kind::kComponent) return text;
  const std::string& kind = type.choices.kind;
  return text.replace(text.find(kind), kind.size(), fmt::format("[{0}](#{0})", kind));
}

constexpr const char* kHeader = "| key | type | default | meaning |\n|---|---|---|---|\n";

std::string row(const Field& field, const std::string& preset) {
  return fmt::format("| `{}` | {} | {} | {} |\n", field.key, type_cell(field), default_cell(preset),
                     cell(field.documentation()));
}

// The section of an object inside.
std::string below(const Field& field, int level) {
  const Type& type = field.type.innermost();
  if (type.kind != Type::Kind::kObject) return "";
  const std::string each = field.type.kind == Type::Kind::kArray ? " (each item)" : "";
  return markdown_heading(fmt::format("`{}`{}", field.key, each), level) +
         markdown_keys(*type.object, level);
}

// A key as some entries of a registry have it, all in the same words.
struct Key {
  const Field* field = nullptr;      // of the first of them
  std::vector<std::size_t> entries;  // ascending
  std::vector<std::string> presets;  // of each of them

  std::string usual_preset() const {
    for (const std::string& preset : presets) {
      if (2 * std::count(presets.begin(), presets.end(), preset) >
          static_cast<std::ptrdiff_t>(presets.size()))
        return preset;
    }
    return kByType;
  }
};

// Keys that the same entries have.
struct Group {
  std::vector<std::size_t> entries;
  std::vector<const Key*> keys;
};

class Registry {
 public:
  Registry(const Choices& registry, int level)
      : kind_(registry.kind), entries_(registry.list()), level_(level) {
    collect_keys();
    collect_groups();
  }

  std::string text() const {
    std::string text = markdown_heading(kind_, level_) + entry_table();
    for (const Group& group : groups_) {
      text += markdown_heading(title_of(group), level_ + 1) + kHeader;
      for (const Key* key : group.keys) text += row(*key->field, key->usual_preset());
      text += "\n";
      for (const Key* key : group.keys) text += below(*key->field, level_ + 2);
    }
    return text;
  }

 private:
  void collect_keys() {
    std::map<std::string, std::size_t> known;
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      if (!entries_[i].fields) continue;
      for (const Field& field : entries_[i].fields->fields()) {
        const std::string words = row(field, "") + below(field, level_ + 2);
        const auto [found, is_new] = known.emplace(words, keys_.size());
        if (is_new) keys_.push_back({&field, {}, {}});
        keys_[found->second].entries.push_back(i);
        keys_[found->second].presets.push_back(field.default_text());
      }
    }
  }

  // Those of most entries first; then those of one entry, in the order of the entries.
  void collect_groups() {
    for (const Key& key : keys_) {
      auto group = std::find_if(groups_.begin(), groups_.end(),
                                [&](const Group& g) { return g.entries == key.entries; });
      if (group == groups_.end()) group = groups_.insert(group, {key.entries, {}});
      group->keys.push_back(&key);
    }
    std::stable_sort(groups_.begin(), groups_.end(), [](const Group& a, const Group& b) {
      if (a.entries.size() != b.entries.size()) return a.entries.size() > b.entries.size();
      return a.entries < b.entries;
    });
  }

  std::string names_of(const std::vector<std::size_t>& entries) const {
    std::string names;
    for (const std::size_t i : entries)
      names += fmt::format("{}`{}`", names.empty() ? "" : ", ", entries_[i].name);
    return names;
  }

  std::string title_of(const Group& group) const {
    if (group.entries.size() == 1) return fmt::format("{} {}", kind_, names_of(group.entries));
    std::vector<std::size_t> others;
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      if (!std::binary_search(group.entries.begin(), group.entries.end(), i)) others.push_back(i);
    }
    if (others.empty()) return fmt::format("Keys of every {}", kind_);
    return others.size() < group.entries.size() / 2
               ? fmt::format("Keys of every {} but {}", kind_, names_of(others))
               : "Keys of " + names_of(group.entries);
  }

  // "`depths` `[3,3,3]`": defaults that the tables of keys do not tell.
  std::string unusual_of(std::size_t entry) const {
    std::string text;
    for (const Key& key : keys_) {
      const auto found = std::find(key.entries.begin(), key.entries.end(), entry);
      if (found == key.entries.end()) continue;
      const std::string& preset =
          key.presets[static_cast<std::size_t>(found - key.entries.begin())];
      if (preset == key.usual_preset()) continue;
      text +=
          fmt::format("{}`{}` {}", text.empty() ? "" : ", ", key.field->key, default_cell(preset));
    }
    return text;
  }

  std::string entry_table() const {
    std::vector<std::string> unusual;
    for (std::size_t i = 0; i < entries_.size(); ++i) unusual.push_back(unusual_of(i));
    const bool any = std::any_of(unusual.begin(), unusual.end(),
                                 [](const std::string& text) { return !text.empty(); });
    std::string text =
        any ? "| type | meaning | defaults |\n|---|---|---|\n" : "| type | meaning |\n|---|---|\n";
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      text += fmt::format("| `{}` | {} |", entries_[i].name, cell(entries_[i].help));
      text += any ? fmt::format(" {} |\n", unusual[i]) : "\n";
    }
    return text + "\n";
  }

  std::string kind_;
  std::vector<Choice> entries_;
  int level_;
  std::vector<Key> keys_;
  std::vector<Group> groups_;
};

}  // namespace

std::string markdown_heading(const std::string& title, int level) {
  return fmt::format("{} {}\n\n", std::string(static_cast<std::size_t>(std::min(level, 6)), '#'),
                     title);
}

std::string markdown_keys(const Description& description, int level) {
  if (description.fields().empty()) return "";
  std::string text = kHeader;
  for (const Field& field : description.fields()) text += row(field, field.default_text());
  text += "\n";
  for (const Field& field : description.fields()) text += below(field, level + 1);
  return text;
}

std::string registry_markdown(const Choices& registry, int level) {
  return Registry(registry, level).text();
}

}  // namespace fovea::schema
