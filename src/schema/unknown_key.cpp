// Which key was meant: a sibling, a synonym of one, a key further down, a key anywhere.
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <set>

#include "base/shown.h"
#include "schema/resolve.h"
#include "schema/synonyms.h"

namespace fovea::schema {
namespace {

struct Candidate {
  std::shared_ptr<const Description> owner;  // keeps a registry's entry alive
  const Description* description;
  std::string path;
};

// An object and all objects below it, nearest first; each kind of registry once, since registries
// may contain themselves.
std::vector<Candidate> all_below(const Description& root, const std::string& path) {
  std::vector<Candidate> found;
  std::deque<Candidate> queue{{nullptr, &root, path}};
  std::set<std::string> entered;
  while (!queue.empty()) {
    const Candidate next = queue.front();
    queue.pop_front();
    for (const Field& field : next.description->fields()) {
      const std::string at = join_path(next.path, field.key);
      if (field.type.object) queue.push_back({field.type.object, field.type.object.get(), at});
      if (field.type.kind != Type::Kind::kComponent) continue;
      if (!entered.insert(field.type.choices.kind).second) continue;
      for (const Choice& choice : field.type.choices.list()) {
        if (choice.fields) queue.push_back({choice.fields, choice.fields.get(), at});
      }
    }
    found.push_back(next);
  }
  return found;
}

// `self` is the path of the unknown key, which other types of the registry may have.
std::string exact_match(const std::vector<Candidate>& candidates, const std::string& key,
                        const std::string& self) {
  for (const Candidate& candidate : candidates) {
    std::string path = join_path(candidate.path, key);
    if (candidate.description->find(key) != nullptr && path != self) return path;
  }
  return "";
}

std::string near_match(const std::vector<Candidate>& candidates, const std::string& key) {
  for (const Candidate& candidate : candidates) {
    const std::string meant = suggest_key(key, candidate.description->keys());
    if (!meant.empty()) return join_path(candidate.path, meant);
  }
  return "";
}

std::string message(const UnknownKeyParts& parts) {
  const std::string path = join_path(parts.parent, shown(parts.key));
  const bool override_form = is_override(parts.origin);
  std::string text = override_form ? fmt::format("{}unknown key {}", where(parts.origin, ""), path)
                                   : fmt::format("{}unknown key", where(parts.origin, path));
  if (!parts.suggestion.empty()) {
    const std::string sibling = join_path(parts.parent, "");
    const bool beside = parts.suggestion.substr(0, sibling.size()) == sibling &&
                        parts.suggestion.find('.', sibling.size() + 1) == std::string::npos;
    const std::size_t cut = beside && !sibling.empty() ? sibling.size() + 1 : 0;
    text += override_form ? fmt::format("; did you mean {}?", parts.suggestion)
                          : fmt::format("; did you mean \"{}\"?", parts.suggestion.substr(cut));
  }
  if (!override_form || parts.suggestion.empty()) {
    text += fmt::format(" (known: {})", parts.known);
  }
  return text + parts.hint;
}

}  // namespace

bool is_override(const Origin& origin) {
  constexpr std::string_view kPrefix = "--set ";
  return origin.line == 0 && std::string_view(origin.file).substr(0, kPrefix.size()) == kPrefix;
}

UnknownKey::UnknownKey(UnknownKeyParts parts)
    : ConfigError(message(parts)), parts_(std::move(parts)) {}

UnknownKey unknown_key(const Description& description, const Value::Member& member,
                       const std::string& path, bool component, const Value* type) {
  UnknownKeyParts parts{member.key_origin, path, member.key, "", "", ""};
  std::vector<std::string> known = description.keys();
  if (component) known.insert(known.begin(), "type");
  parts.known = fmt::format("{}", fmt::join(known, ", "));
  if (const std::string meant = suggest_key(member.key, known); !meant.empty()) {
    parts.suggestion = join_path(path, meant);
  } else {
    const auto below = all_below(description, path);
    parts.suggestion = exact_match(below, member.key, join_path(path, member.key));
    if (parts.suggestion.empty()) parts.suggestion = near_match(below, member.key);
  }
  // The key belongs to another type than the one that another file, or an override, chose.
  const bool elsewhere = type != nullptr && !type->origin().is_default() &&
                         type->origin().file != member.key_origin.file;
  if (elsewhere && parts.suggestion.empty() && !is_override(member.key_origin)) {
    parts.hint = fmt::format("; {} is chosen at {}", type->dump(0), to_string(type->origin()));
  }
  return UnknownKey(std::move(parts));
}

UnknownKey searched(const UnknownKey& error, const Description& root) {
  UnknownKeyParts parts = error.parts();
  if (parts.suggestion.empty() && parts.hint.empty()) {
    const std::string self = join_path(parts.parent, parts.key);
    parts.suggestion = exact_match(all_below(root, ""), parts.key, self);
  }
  return UnknownKey(std::move(parts));
}

}  // namespace fovea::schema
