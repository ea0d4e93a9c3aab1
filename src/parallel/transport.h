// How bytes travel between the processes of a run.
#pragma once

#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"

namespace fovea::parallel {

using Seconds = std::chrono::duration<double>;

struct Outgoing {
  int to = 0;
  std::span<const std::byte> bytes;
};
struct Incoming {
  int from = 0;
  std::span<std::byte> bytes;
};

/// Ranks did not answer within the limit.
class RankError : public Error {
 public:
  using Error::Error;
};

class Transport {
 public:
  Transport() = default;
  virtual ~Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Sends and receives all of it. Between two ranks messages keep their order, and both agree on
  /// the length of each. Returns the ranks from which something is still missing after `limit` of
  /// waiting; the transport is then of no more use than to abort().
  virtual std::vector<int> exchange(const std::vector<Outgoing>& sent,
                                    const std::vector<Incoming>& received, Seconds limit) = 0;
  /// The end of a run that went well, for all ranks together.
  virtual void leave() = 0;
  /// Ends the processes of all ranks.
  [[noreturn]] virtual void abort(int code) = 0;
};

}  // namespace fovea::parallel
