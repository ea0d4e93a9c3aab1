// Runners of golden cases by the name of the operator.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "base/error.h"
#include "verify/case.h"

namespace fovea::verify {

using Runner = std::function<void(const Case&, Checker&)>;

/// Runners by operator.
class Table {
 public:
  /// A place for the runner of `name`. Throws Error if there is one already, which would never run.
  Runner& add(const std::string& name);
  /// Takes in all runners of another table. Throws Error like add().
  void merge(const Table& other);
  /// Null for an operator without runner.
  const Runner* find(const std::string& name) const;

 private:
  std::map<std::string, Runner> runners_;
};

}  // namespace fovea::verify
