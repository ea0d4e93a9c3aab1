// A table of what is costly to make, with as many entries as may be kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <span>
#include <unordered_map>

namespace fovea {

/// Hash of a few numbers.
struct HashOfNumbers {
  std::size_t operator()(std::span<const std::int64_t> numbers) const {
    std::size_t seed = 0;
    for (const std::int64_t number : numbers)
      seed = seed * 0x9E3779B97F4A7C15ull + static_cast<std::size_t>(number);
    return seed ^ (seed >> 29);
  }
};

/// Keeps the values that were asked for last, at most `most` (at least 1). Used by one thread at a
/// time.
template <class Key, class Value, class Hash = std::hash<Key>>
class RecentTable {
 public:
  explicit RecentTable(std::size_t most = 1024) : most_(most) {}

  /// The value of a key, or what make() returns where there is none, which is never copied or
  /// moved. It stays until `most` other keys have been asked for. Where make() throws, the table
  /// stays as it is.
  template <class Make>
  Value& get(const Key& key, const Make& make) {
    if (const auto found = places_.find(key); found != places_.end()) {
      entries_.splice(entries_.begin(), entries_, found->second);
      return entries_.front().value;
    }
    std::list<Entry> made;
    made.emplace_front(key, make);
    places_.emplace(key, made.begin());
    entries_.splice(entries_.begin(), made);
    if (entries_.size() > most_) {
      places_.erase(entries_.back().key);
      entries_.pop_back();
    }
    return entries_.front().value;
  }

  std::size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    template <class Make>
    Entry(const Key& of, const Make& make) : key(of), value(make()) {}
    Key key;
    Value value;
  };

  std::size_t most_;
  std::list<Entry> entries_;  // the last one asked for first
  std::unordered_map<Key, typename std::list<Entry>::iterator, Hash> places_;
};

}  // namespace fovea
