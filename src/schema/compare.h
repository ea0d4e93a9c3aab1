// Names, differences and provenance of resolved configurations.
#pragma once

#include <string>
#include <vector>

#include "schema/json/value.h"

namespace fovea::schema {

/// 32 hexadecimal digits: 128-bit FNV-1a of the one-line dump with sorted keys. Equal values have
/// equal hashes whatever their origins and the order of their members, on every machine.
std::string content_hash(const Value& value);

/// One line for each difference, `train.epochs: 100 -> 90`, in the order of `a`, then the keys that
/// only `b` has. A side without the key reads `(none)`.
std::vector<std::string> diff(const Value& a, const Value& b);

/// One setting of a resolved configuration.
struct Provenance {
  std::string path;   // "model.attention.num_heads"
  std::string value;  // as JSON on one line
  Origin origin;      // "default" where nobody set it
};

/// All settings in order. An array without objects is one setting.
std::vector<Provenance> provenance(const Value& resolved);

}  // namespace fovea::schema
