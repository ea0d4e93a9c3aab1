// A registry of parts that experiment files choose by name: attention variants, models, data sets.
#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "schema/describe/description.h"

namespace fovea::schema {

/// `Entry` derives from Choice, and its kKind is the word for one entry, as in Choices. Registries
/// live as long as the program, since choices() refers to them. Entries are in the order of the
/// .def file.
template <class Entry>
class Registry {
 public:
  Registry(std::initializer_list<Entry> entries) : entries_(entries) {}
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }
  std::size_t size() const { return entries_.size(); }

  /// Throws ConfigError for an unknown name, with the nearest known one (find_choice). `path` is
  /// that of the name in its file, for messages; "": kKind.
  const Entry& find(const std::string& name, const std::string& path = "") const {
    const auto found = named(name);
    if (found == end()) find_choice(choices(), name, path.empty() ? Entry::kKind : path);
    return *found;
  }
  /// For Fields::add_component and for listings.
  Choices choices() const {
    return {Entry::kKind, [this] { return std::vector<Choice>(begin(), end()); }};
  }
  /// Adds an entry at run time, before any experiment is read. For tests, whose entries are not
  /// part of the library. Throws ConfigError for a name that is taken.
  void add(Entry entry) {
    FOVEA_CHECK(named(entry.name) == end(), ConfigError,
                std::string(Entry::kKind) + ": there are two called \"" + entry.name + "\"");
    entries_.push_back(std::move(entry));
  }

 private:
  auto named(const std::string& name) const {
    return std::find_if(begin(), end(), [&](const Entry& entry) { return entry.name == name; });
  }

  std::vector<Entry> entries_;
};

}  // namespace fovea::schema
