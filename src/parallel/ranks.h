// The processes that make one run together. Each has a rank, from 0; all call the same functions in
// the same order.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "parallel/transport.h"

namespace fovea::parallel {

class Ranks {
 public:
  /// One process alone: nothing is sent, nothing is waited for.
  Ranks() = default;
  explicit Ranks(std::shared_ptr<Transport> transport);

  int rank() const { return transport_ ? transport_->rank() : 0; }
  int size() const { return transport_ ? transport_->size() : 1; }
  bool alone() const { return size() == 1; }
  /// The one that writes files and speaks.
  bool first() const { return rank() == 0; }
  /// Those that did not answer, after RankError.
  const std::vector<int>& missing() const { return missing_; }
  /// How long a rank waits for another one.
  void set_limit(Seconds limit) { limit_ = limit; }

  // All of these throw RankError, which names the ranks that did not answer.

  /// What each rank gives, in the order of ranks.
  std::vector<std::string> gather(const std::string& bytes);
  /// What rank 0 gives; the others' is not looked at.
  std::string from_first(const std::string& bytes);
  /// Whether it is true on any rank.
  bool any(bool here);
  /// Waits until all have come here.
  void meet() { any(false); }
  /// Bytes of agreed length, one message from and to each other rank or none.
  void exchange(const std::vector<Outgoing>& sent, const std::vector<Incoming>& received);

  /// After meet(): ends the connection. Nothing else may be called then.
  void leave();
  /// Ends all ranks.
  [[noreturn]] void abort(int code);

 private:
  std::shared_ptr<Transport> transport_;
  Seconds limit_{600};
  std::vector<int> missing_;
};

/// Whether this rank is the one that tells of an error that others see as well.
bool speaks(int rank, const std::vector<int>& missing);

}  // namespace fovea::parallel
