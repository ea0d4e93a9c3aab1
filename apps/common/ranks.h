// How a program ends that several processes run together.
#pragma once

#include <functional>
#include <sstream>
#include <string>

#include "parallel/ranks.h"

namespace fovea::apps {

/// For what all ranks would say alike before they have joined, such as help: while it lives, what a
/// rank that is not the first one writes to std::cout and std::cerr goes nowhere.
class OneSpeaks {
 public:
  explicit OneSpeaks(int rank);
  /// Where this rank has been silent about an error, time for the first one to say it goes by.
  ~OneSpeaks();
  OneSpeaks(const OneSpeaks&) = delete;
  OneSpeaks& operator=(const OneSpeaks&) = delete;
  /// All have joined, or go their own ways.
  void end();
  void failed() { failed_ = silent_; }

 private:
  int rank_;
  bool silent_, failed_ = false;
  std::stringbuf nowhere_;
  std::streambuf *out_ = nullptr, *err_ = nullptr;
};

/// After an error on this rank: one rank says it, and all end. `say` prints the line of the error
/// behind a prefix. Returns the exit code, or does not return.
int end_of_rank(parallel::Ranks& ranks, const std::function<void(const std::string& prefix)>& say,
                int code);

}  // namespace fovea::apps
