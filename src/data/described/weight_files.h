// The files of a data set that lie beside weights and stand for it where it is not: its
// description (data.json), a vocabulary, a tokeniser, the plan of volumes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "schema/json/value.h"

namespace fovea::data {

/// Name of the description in run folders and checkpoints.
inline constexpr const char* kDescriptionFile = "data.json";

struct WeightFiles {
  std::map<std::string, std::string> files;  // texts by name
  std::filesystem::path folder;              // where they lie, for messages

  /// Null for a file that is not there.
  const std::string* find(const std::string& name) const;
  /// Where it lies.
  std::string path_of(const std::string& name) const { return (folder / name).string(); }
  bool describe() const { return find(kDescriptionFile) != nullptr; }
  /// What Dataset::description() gave. Throws FileError.
  schema::Value description() const;
};

/// The text of data.json.
std::string description_text(const schema::Value& description);

/// The member of a description that a kind of data set reads, e.g. "images". Throws FileError for a
/// description of another kind.
const schema::Value& described_as(const schema::Value& description, std::string_view kind);

/// "0", "1", ...: of classes whose names nobody knows.
std::vector<std::string> numbered_classes(std::int64_t count);

}  // namespace fovea::data
