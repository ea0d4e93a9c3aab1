#include "schema/describe/markdown.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

namespace fovea::schema {
namespace {

constexpr const char* kByType = "by type";
constexpr const char* kHeaderOfEntries =
    "| key | of | type | default | meaning |\n|---|---|---|---|---|\n";
// From this number on, keys that are described under another registry become a link.
constexpr std::size_t kWorthALink = 3;

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

// A key of an object or of an inner object, by its path: "noise.train.prob".
struct Setting {
  std::string path;
  const Field* field;
};

void collect(const Description& description, const std::string& prefix,
             std::vector<Setting>& settings) {
  for (const Field& field : description.fields()) {
    const std::string path = prefix + field.key;
    settings.push_back({path, &field});
    const Type& type = field.type.innermost();
    const char* each = field.type.kind == Type::Kind::kArray ? "[]." : ".";
    if (type.kind == Type::Kind::kObject) collect(*type.object, path + each, settings);
  }
}

std::vector<Setting> settings_of(const Description& description) {
  std::vector<Setting> settings;
  collect(description, "", settings);
  return settings;
}

// Type, default and meaning.
std::string cells(const Field& field, const std::string& preset) {
  return fmt::format("{} | {} | {} |", type_cell(field), default_cell(preset),
                     cell(field.documentation()));
}

// A key that some entries of a registry share, with the same description.
struct Key {
  Setting setting;                   // of the first entry
  std::vector<std::size_t> entries;  // ascending
  std::vector<std::string> presets;  // default of each entry

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
  explicit Registry(const Choices& registry) : kind_(registry.kind), entries_(registry.list()) {
    collect_keys();
    collect_groups();
  }

  std::string text(int level, ToldRows& told) const {
    std::string rows;
    std::string elsewhere;
    for (const Group& group : groups_) {
      std::map<std::string, std::vector<const Key*>> before;  // by registry
      for (const Key* key : group.keys) {
        const auto found = told.find(row(*key));
        if (found != told.end()) before[found->second].push_back(key);
      }
      std::erase_if(before, [](const auto& keys) { return keys.second.size() < kWorthALink; });
      for (const auto& [registry, keys] : before) elsewhere += link(registry, keys);
      std::vector<const Key*> here;
      for (const Key* key : group.keys) {
        const auto [found, is_new] = told.emplace(row(*key), kind_);
        if (is_new || !before.contains(found->second)) here.push_back(key);
      }
      rows += table_rows(here);
    }
    if (!rows.empty()) rows = kHeaderOfEntries + rows + "\n";
    if (!elsewhere.empty()) elsewhere += "\n";
    return markdown_heading(kind_, level) + entry_table() + elsewhere + rows;
  }

 private:
  void collect_keys() {
    std::map<std::string, std::size_t> known;
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      if (!entries_[i].fields) continue;
      for (const Setting& setting : settings_of(*entries_[i].fields)) {
        const std::string words = setting.path + cells(*setting.field, "");
        const auto [found, is_new] = known.emplace(words, keys_.size());
        if (is_new) keys_.push_back({setting, {}, {}});
        keys_[found->second].entries.push_back(i);
        keys_[found->second].presets.push_back(setting.field->default_text());
      }
    }
  }

  // Keys that most entries share come first, then the keys of single entries in the order of the
  // entries.
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

  static std::string row(const Key& key) {
    return fmt::format("| `{}` | {}", key.setting.path,
                       cells(*key.setting.field, key.usual_preset()));
  }

  // Rows of keys that the same entries have. Keys that differ only in their names share a row.
  std::string table_rows(const std::vector<const Key*>& keys) const {
    std::vector<std::pair<std::string, std::string>> rows;  // names, the rest
    for (const Key* key : keys) {
      const std::string rest = fmt::format("{} | {}\n", owners(key->entries),
                                           cells(*key->setting.field, key->usual_preset()));
      const auto same = std::find_if(rows.begin(), rows.end(),
                                     [&](const auto& other) { return other.second == rest; });
      if (same == rows.end())
        rows.emplace_back("`" + key->setting.path + "`", rest);
      else
        same->first += ", `" + key->setting.path + "`";
    }
    std::string text;
    for (const auto& [names, rest] : rows) text += "| " + names + " | " + rest;
    return text;
  }

  std::string link(const std::string& registry, const std::vector<const Key*>& keys) const {
    std::string names;
    for (const Key* key : keys)
      names += fmt::format("{}`{}`", names.empty() ? "" : ", ", key->setting.path);
    return fmt::format("As under [{0}](#{0}), of {1}: {2}.\n", registry,
                       owners(keys.front()->entries), names);
  }

  // "`a`, `d` to `g`": a run of neighbours in the table of entries is named by its first and last.
  std::string names_of(const std::vector<std::size_t>& entries) const {
    std::string names;
    for (std::size_t first = 0, next = 0; first < entries.size(); first = next) {
      next = first + 1;
      while (next < entries.size() && entries[next] == entries[next - 1] + 1) ++next;
      if (next - first < 3) next = first + 1;
      names += fmt::format("{}`{}`", names.empty() ? "" : ", ", entries_[entries[first]].name);
      if (next - first >= 3) names += fmt::format(" to `{}`", entries_[entries[next - 1]].name);
    }
    return names;
  }

  std::string owners(const std::vector<std::size_t>& entries) const {
    std::vector<std::size_t> others;
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      if (!std::binary_search(entries.begin(), entries.end(), i)) others.push_back(i);
    }
    if (others.empty()) return "every";
    const std::string names = names_of(entries);
    const std::string inverse = "every but " + names_of(others);
    return inverse.size() < names.size() ? inverse : names;
  }

  // "`depths` `[3,3,3]`": defaults that differ from those in the tables of keys.
  std::string unusual_of(std::size_t entry) const {
    std::string text;
    for (const Key& key : keys_) {
      const auto found = std::find(key.entries.begin(), key.entries.end(), entry);
      if (found == key.entries.end()) continue;
      const std::string& preset =
          key.presets[static_cast<std::size_t>(found - key.entries.begin())];
      if (preset == key.usual_preset()) continue;
      text += fmt::format("{}`{}` {}", text.empty() ? "" : ", ", key.setting.path,
                          default_cell(preset));
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
  std::vector<Key> keys_;
  std::vector<Group> groups_;
};

}  // namespace

std::string markdown_heading(const std::string& title, int level) {
  return fmt::format("{} {}\n\n", std::string(static_cast<std::size_t>(std::min(level, 6)), '#'),
                     title);
}

std::string markdown_keys(const Description& description) {
  if (description.fields().empty()) return "";
  std::string text = "| key | type | default | meaning |\n|---|---|---|---|\n";
  for (const auto& [path, field] : settings_of(description))
    text += fmt::format("| `{}` | {}\n", path, cells(*field, field->default_text()));
  return text + "\n";
}

std::string registry_markdown(const Choices& registry, int level, ToldRows& told) {
  return Registry(registry).text(level, told);
}

}  // namespace fovea::schema
