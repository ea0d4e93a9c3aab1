// Used by description.cpp only: resolving one field, and the message about an unknown key.
#pragma once

#include <string>
#include <utility>

#include "base/error.h"
#include "schema/describe/description.h"

namespace fovea::schema {

/// `given` checked against the field and completed; null only where the field allows it.
Value resolve_value(const Field& field, const Value& given, const std::string& path);

/// True for a value that came from apply_override.
bool is_override(const Origin& origin);

/// The parts of the message about an unknown key.
struct UnknownKeyParts {
  Origin origin;
  std::string parent;  // path of the object
  std::string key;
  std::string suggestion;  // path from the root of the key that was probably meant; "" if none
  std::string known;       // "type, num_heads, ..."
  std::string hint;
};

/// `x.json:14:7: model.attention.heads: unknown key; did you mean "num_heads"? (known: ...)`, or
/// for overrides `--set train.epoch=3: unknown key train.epoch; did you mean train.epochs?`.
class UnknownKey : public ConfigError {
 public:
  explicit UnknownKey(UnknownKeyParts parts);
  const UnknownKeyParts& parts() const { return parts_; }

 private:
  UnknownKeyParts parts_;
};

/// `type` is the chosen type if the object is a component that names it, else nullptr.
UnknownKey unknown_key(const Description& description, const Value::Member& member,
                       const std::string& path, bool component, const Value* type);

/// The same message with a suggestion from anywhere in the file, if it had none.
UnknownKey searched(const UnknownKey& error, const Description& root);

}  // namespace fovea::schema
