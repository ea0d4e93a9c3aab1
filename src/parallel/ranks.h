// The processes that make one run together. Each has a rank, from 0; all call the same functions in
// the same order.
#pragma once

#include <cstdint>
#include <functional>
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
  /// How long a rank waits for others while nothing arrives.
  void set_limit(Seconds limit) { limit_ = limit; }

  // All of these throw RankError, which names the ranks that did not answer.

  /// What each rank gives, in the order of ranks.
  std::vector<std::string> gather(const std::string& bytes);
  /// What one rank gives; the others' is not looked at.
  std::string from(int rank, const std::string& bytes);
  std::string from_first(const std::string& bytes) { return from(0, bytes); }
  /// Whether it is true on any rank.
  bool any(bool here);
  /// Waits until all have come here.
  void meet() { any(false); }
  /// Bytes of agreed length, one message from and to each other rank or none.
  void exchange(const std::vector<Outgoing>& sent, const std::vector<Incoming>& received);

  // The same in two parts, with other work between them.

  /// Tags keep messages apart that are on their way at the same time. All ranks take theirs in the
  /// same order.
  int new_tag() { return next_tag_++; }
  /// Null where this process is alone.
  using Pending = std::unique_ptr<Exchange>;
  Pending begin(const std::vector<Outgoing>& sent, const std::vector<Incoming>& received, int tag);
  /// Tensors of the host, or of one device that reaches() others. Of a device, messages begin in
  /// the same order on all ranks.
  Pending begin(const std::vector<OutgoingTensor>& sent,
                const std::vector<IncomingTensor>& received, int tag);
  /// Lets messages move on. True once all have arrived; it is null from then on.
  bool done(Pending& pending);
  void finish(Pending& pending);

  /// Opens ways between the memories of this device on all ranks; asked by all together. False:
  /// there are none, and its values travel by way of the host.
  using OpenLink = std::function<std::shared_ptr<DeviceLink>(Ranks& ranks, const Device& device)>;
  void set_links(OpenLink open) { open_link_ = std::move(open); }
  bool reaches(const Device& device);

  /// After meet(): ends the connection. Nothing else may be called then.
  void leave();
  /// Ends all ranks.
  [[noreturn]] void abort(int code);

 private:
  [[noreturn]] void fail(const std::vector<int>& left);

  std::shared_ptr<Transport> transport_;
  Seconds limit_{600};
  std::vector<int> missing_;
  int next_tag_ = 1;    // 0: of exchange()
  OpenLink open_link_;  // null: there are none
  std::shared_ptr<DeviceLink> link_;
  Device linked_;
};

/// Whether this rank is the one that tells of an error that others see as well.
bool speaks(int rank, const std::vector<int>& missing);

}  // namespace fovea::parallel
