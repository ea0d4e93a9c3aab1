// Keys that have another name today. Files, overrides and stored configurations with the old one go
// on working; everything behind this sees today's keys only. And keys that older programs did not
// have and whose default is not what those did.
#pragma once

#include <span>
#include <string>

#include "schema/describe/description.h"
#include "schema/json/value.h"
#include "schema/notes.h"

namespace fovea::schema {

struct RenamedKey {
  std::string kind;  // of the component that has it ("dataset"); "" for the root
  std::string type;  // only of this entry of the registry; "" for all
  std::string from;  // path inside the component
  std::string to;
};

/// A key that stored configurations of older programs lack, and what they mean by that.
struct LaterKey {
  std::string kind;  // as of RenamedKey
  std::string type;
  std::string key;
  Value before;
};

/// All of them.
std::span<const LaterKey> later_keys();

/// All of them. A line holds where the schema has the new key and lacks the old one.
std::span<const RenamedKey> renamed_keys();

/// How the old keys of an object relate to the new ones in it.
enum class OldKeys {
  kBeside,  // of one writer: both with different values contradict each other
  kLater,   // set after the others, which it replaces
  kStored,  // as kBeside, of a stored configuration, which has all keys there were
};

/// Moves what stands under old keys of `root`, an object of `description` that need not be
/// complete, to the new ones, and notes `dataset.val_fraction is now dataset.split.val`. A stored
/// configuration gets the later_keys() that it lacks. Throws ConfigError where two keys of one
/// writer contradict each other.
void rename_keys(const Description& description, Value& root, OldKeys old_keys, Notes& notes,
                 std::span<const RenamedKey> table = renamed_keys(),
                 std::span<const LaterKey> later = later_keys());

}  // namespace fovea::schema
