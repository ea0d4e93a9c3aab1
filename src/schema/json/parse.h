// Strict JSON plus comments, with positions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "schema/json/value.h"

namespace fovea::schema {

/// Limits for hostile or broken files.
struct Limits {
  int depth = 64;                            // arrays and objects inside each other
  std::size_t bytes = std::size_t{4} << 20;  // length of the text
};

/// One JSON value; `//` and `/* */` comments are allowed, trailing commas are not. `file_name` is
/// used in messages and origins. Throws ConfigError `file:line:column: what, what was expected` for
/// every syntax error, duplicate key, number outside int64 or double, bad UTF-8 or crossed limit.
/// `first_line`: the number of the first line of the text.
Value parse(std::string_view text, const std::string& file_name, const Limits& limits = {},
            int first_line = 1);

}  // namespace fovea::schema
