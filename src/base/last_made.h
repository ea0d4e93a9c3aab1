// What a module derives from the shape of its input alone and keeps for the next call.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <utility>

namespace fovea {

/// Keeps the value that was made last, for any number of threads: passes of one network may run
/// side by side. A Key has ==; a Value is cheap to copy.
template <class Key, class Value>
class LastMade {
 public:
  /// The value for this key: the one that is kept, or a new one of make().
  template <class Make>
  Value of(const Key& key, const Make& make) {
    const std::scoped_lock lock(state_->mutex);
    std::optional<std::pair<Key, Value>>& kept = state_->kept;
    if (!kept || !(kept->first == key)) kept.emplace(key, make());
    return kept->second;
  }

 private:
  struct State {
    std::mutex mutex;
    std::optional<std::pair<Key, Value>> kept;
  };
  std::unique_ptr<State> state_ = std::make_unique<State>();  // (a mutex cannot be moved)
};

}  // namespace fovea
