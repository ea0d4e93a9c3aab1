// Keys that were renamed: files, overrides and stored configurations with the old name still work,
// and everything after this step sees current names only. And keys that older programs did not
// have, whose default is not what those programs did.
#pragma once

#include <span>
#include <string>

#include "schema/describe/description.h"
#include "schema/json/value.h"
#include "schema/notes.h"

namespace fovea::schema {

struct RenamedKey {
  std::string kind;  // of the component that has it ("dataset"); "" for the root
  std::string type;  // only for this entry of the registry; "" for all
  std::string from;  // path inside the component
  std::string to;
};

/// A key that stored configurations of older programs lack, and the value that this means.
struct LaterKey {
  std::string kind;  // as in RenamedKey
  std::string type;
  std::string key;
  Value before;
};

/// All of them.
std::span<const LaterKey> later_keys();

/// All of them. A line holds where the schema has the new key and lacks the old one.
std::span<const RenamedKey> renamed_keys();

/// How old keys of an object relate to new keys in it.
enum class OldKeys {
  kBeside,  // from one writer: different values contradict each other
  kLater,   // set later than the new keys, which they replace
  kStored,  // as kBeside, for a stored configuration, which has all keys of its time
};

/// Moves the values of old keys in `root`, an object of `description` that need not be complete, to
/// the new keys, and notes `dataset.val_fraction is now dataset.split.val`. A stored configuration
/// gets the later_keys() that it lacks. Throws ConfigError where two keys of one writer contradict
/// each other.
void rename_keys(const Description& description, Value& root, OldKeys old_keys, Notes& notes,
                 std::span<const RenamedKey> table = renamed_keys(),
                 std::span<const LaterKey> later = later_keys());

}  // namespace fovea::schema
