// The methods that a user asks for, with their options.
#pragma once

#include <string>
#include <vector>

#include "explain/methods/method.h"

namespace fovea::explain {

struct AskedMethod {
  const Method* method;
  schema::Value options;
};

/// `names` of methods, and `assignments` as "smoothgrad.samples=50". Throws ConfigError for unknown
/// methods and options, with the nearest known ones, for a method that is named twice, and for
/// options of methods that are not asked for.
std::vector<AskedMethod> asked_methods(const std::vector<std::string>& names,
                                       const std::vector<std::string>& assignments);

/// The method or score that an assignment "smoothgrad.samples=50" is of. Throws ConfigError for
/// another form.
std::string name_in(const std::string& assignment);
/// Sets what an assignment "smoothgrad.samples=50" says of this method or score among its options.
/// Throws ConfigError for what it has not, with the nearest known option.
void set_option(const schema::Choice& choice, const std::string& assignment,
                schema::Value& options);

/// For a help: every method with what it is and its options.
std::string method_lines();

}  // namespace fovea::explain
