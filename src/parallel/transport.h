// How bytes travel between the processes of a run.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "tensor/tensor.h"

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

struct OutgoingTensor {
  int to = 0;
  Tensor values;
};
struct IncomingTensor {
  int from = 0;
  Tensor values;
};

/// Ranks did not answer within the limit.
class RankError : public Error {
 public:
  using Error::Error;
};

/// Messages that are on their way.
class Exchange {
 public:
  Exchange() = default;
  /// What has not arrived by now is given up.
  virtual ~Exchange() = default;
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  /// Ranks to or from which something is still on its way; a rank counts once for each message.
  /// Messages move on only while somebody looks.
  virtual std::vector<int> left() = 0;
};

class Transport {
 public:
  Transport() = default;
  virtual ~Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Begins to send and to receive all of it. The memory is left alone until nothing is left on its
  /// way. Between two ranks messages of one tag keep their order, and both agree on the length of
  /// each.
  virtual std::unique_ptr<Exchange> begin(const std::vector<Outgoing>& sent,
                                          const std::vector<Incoming>& received, int tag) = 0;
  /// The end of a run that went well, for all ranks together.
  virtual void leave() = 0;
  /// Ends the processes of all ranks.
  [[noreturn]] virtual void abort(int code) = 0;
};

/// How tensors travel between the memories of devices, without the host.
class DeviceLink {
 public:
  DeviceLink() = default;
  virtual ~DeviceLink() = default;
  DeviceLink(const DeviceLink&) = delete;
  DeviceLink& operator=(const DeviceLink&) = delete;

  /// As Transport::begin(), behind the work that is queued on the device. All ranks begin the
  /// exchanges of all tags in the same order.
  virtual std::unique_ptr<Exchange> begin(const std::vector<OutgoingTensor>& sent,
                                          const std::vector<IncomingTensor>& received) = 0;
};

}  // namespace fovea::parallel
