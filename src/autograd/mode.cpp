#include "autograd/mode.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace fovea::autograd {

Mode& mode() {
  thread_local Mode current;
  return current;
}

std::string module_path() { return fmt::format("{}", fmt::join(mode().path, ".")); }

ModuleScope::ModuleScope(const std::string& name) : named_(!name.empty()) {
  if (named_) mode().path.push_back(name);
}

ModuleScope::~ModuleScope() {
  if (named_) mode().path.pop_back();
}

}  // namespace fovea::autograd
