// What was done to a configuration on the way that its writer should know, one sentence an item.
// The library collects; an app prints.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace fovea::schema {

class Notes {
 public:
  /// Each note once, however many rows or files give rise to it.
  void add(std::string note) {
    if (std::find(list_.begin(), list_.end(), note) == list_.end())
      list_.push_back(std::move(note));
  }
  const std::vector<std::string>& list() const { return list_; }

 private:
  std::vector<std::string> list_;
};

}  // namespace fovea::schema
