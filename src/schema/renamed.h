// Keys that have another name today. Files, overrides and stored configurations with the old one go
// on working; everything behind this sees today's keys only.
#pragma once

#include <span>
#include <string>

#include "schema/description.h"
#include "schema/notes.h"
#include "schema/value.h"

namespace fovea::schema {

struct RenamedKey {
  std::string kind;  // of the component that has it ("dataset"); "" for the root
  std::string type;  // only of this entry of the registry; "" for all
  std::string from;  // path inside the component
  std::string to;
};

/// All of them. A line holds where the schema has the new key and lacks the old one.
std::span<const RenamedKey> renamed_keys();

/// How the old keys of an object relate to the new ones in it.
enum class OldKeys {
  kBeside,  // of one writer: both with different values contradict each other
  kLater,   // set after the others, which it replaces
};

/// Moves what stands under old keys of `root`, an object of `description` that need not be
/// complete, to the new ones, and notes `dataset.val_fraction is now dataset.split.val`. Throws
/// ConfigError where two keys of one writer contradict each other.
void rename_keys(const Description& description, Value& root, OldKeys old_keys, Notes& notes,
                 std::span<const RenamedKey> table = renamed_keys());

}  // namespace fovea::schema
