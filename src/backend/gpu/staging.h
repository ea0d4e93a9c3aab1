// Copies between host and device that nobody waits for.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <mutex>

#include "backend/gpu/runtime.h"

namespace fovea::gpu {

/// Pieces of host memory that the device reads and writes by itself, in the order of its queue,
/// while the host goes on. They are kept and used again. Thread-safe.
class Staging {
 public:
  explicit Staging(std::shared_ptr<Runtime> runtime) : runtime_(std::move(runtime)) {}
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  /// `from` may be changed as soon as this returns. What is larger than kMost bytes is waited for.
  void upload(const void* from, Buffer to, std::int64_t bytes);
  /// As MemorySource::read_later; the result keeps `staging`.
  static std::function<void(void* to)> read(const std::shared_ptr<Staging>& staging, Buffer from,
                                            std::int64_t bytes);

 private:
  static constexpr std::int64_t kMost = 256 << 20;  // bytes of all pieces together
  struct Piece {
    void* memory;
    std::int64_t size;
    Moment done;         // the device is through with it
    bool taken = false;  // somebody is going to read it
  };
  /// One that nobody uses, at the end of pieces_.
  Piece& take(std::int64_t bytes);

  std::shared_ptr<Runtime> runtime_;
  std::mutex mutex_;
  std::list<Piece> pieces_;  // the one that was used longest ago first
  std::int64_t size_ = 0;    // of all of them
};

}  // namespace fovea::gpu
