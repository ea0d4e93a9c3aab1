// From the words of golden cases to the options of registries.
#pragma once

#include <initializer_list>
#include <utility>

#include "schema/describe/description.h"
#include "verify/case.h"

namespace fovea::verify {

using Keys = std::initializer_list<std::pair<const char*, const char*>>;

/// Copies the options that a configuration has under their own or another name.
void take(const Config& config, schema::Value& to, Keys keys);
void take(const Case& c, schema::Value& to, Keys keys);
/// Those that are not null, under their own names.
void take_given(const Config& config, schema::Value& to, std::initializer_list<const char*> keys);

/// Validates the options and fills in defaults, as an experiment file would. Throws ConfigError
/// where the schema refuses a name or a value: such a case is not implemented.
schema::Component resolved(const schema::Choices& choices, const schema::Value& value);

}  // namespace fovea::verify
