// Changes to a configuration that its writer should know about, one sentence each. The library
// collects them; programs print them.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace fovea::schema {

class Notes {
 public:
  /// Keeps each note once, however many rows or files cause it.
  void add(std::string note) {
    if (std::find(list_.begin(), list_.end(), note) == list_.end())
      list_.push_back(std::move(note));
  }
  const std::vector<std::string>& list() const { return list_; }

 private:
  std::vector<std::string> list_;
};

}  // namespace fovea::schema
