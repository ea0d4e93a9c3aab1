// JSON with comments, as people write it: for experiment files that programs begin.
#pragma once

#include <string>
#include <vector>

#include "schema/json/value.h"

namespace fovea::experiment {

/// A key of the outermost object with what is said about it.
struct CommentedKey {
  std::vector<std::string> sentences;  // above it; may be empty
  std::string key;
  schema::Value value;
};

/// An object. Comments are broken into lines; a value that is too long for a line has a line for
/// each of its members.
std::string commented_json(const std::vector<std::string>& sentences,
                           const std::vector<CommentedKey>& keys);

}  // namespace fovea::experiment
