#include "autograd/mode.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"

namespace fovea::autograd {

Mode& mode() {
  thread_local Mode current;
  return current;
}

std::string module_path() { return fmt::format("{}", fmt::join(mode().path, ".")); }

CallNumbers::Recording::Recording(CallNumbers& to) : to_(to), outer_(mode().recorded) {
  mode().recorded = &to;
}

CallNumbers::Recording::~Recording() {
  mode().recorded = outer_;
  if (outer_ == nullptr) return;
  outer_->numbers_.insert(outer_->numbers_.end(), to_.numbers_.begin(), to_.numbers_.end());
}

CallNumbers::Replay::Replay(const CallNumbers& numbers)
    : numbers_(std::make_unique<CallNumbers>(numbers)),
      replayed_(mode().replayed, numbers_.get()),
      recorded_(mode().recorded, nullptr) {}

std::uint64_t call_number(std::uint64_t& calls) {
  std::uint64_t number = 0;
  if (CallNumbers* from = mode().replayed) {
    FOVEA_CHECK(from->next_ < from->numbers_.size(), Error,
                "checkpoint: the function that is run again draws more random numbers than before; "
                "expected the same calls of modules in the same order");
    number = from->numbers_[from->next_++];
  } else {
    number = calls++;
  }
  if (CallNumbers* to = mode().recorded) to->numbers_.push_back(number);
  return number;
}

ModuleScope::ModuleScope(const std::string& name) : named_(!name.empty()) {
  if (named_) mode().path.push_back(name);
}

ModuleScope::~ModuleScope() {
  if (named_) mode().path.pop_back();
}

}  // namespace fovea::autograd
