// A fixed set of worker threads that share out numbered pieces of work.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace fovea::cpu {

/// Threads without work spin for up to some 200 microseconds before they sleep: the next kernel of
/// a network mostly comes sooner than a sleeping thread would wake.
///
/// Which thread runs a piece is not determined; what a piece computes must depend on its number
/// alone. Inside a piece subnormal numbers count as zero. One caller at a time; a run() from inside
/// a piece runs its pieces in the calling thread.
class ThreadPool {
 public:
  /// The caller takes part, so `threads` - 1 workers are started.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return static_cast<int>(workers_.size()) + 1; }
  /// Calls piece(i) for every i in [0, pieces). Rethrows the first exception of a piece.
  void run(std::int64_t pieces, const std::function<void(std::int64_t)>& piece);

 private:
  void work();
  void take_pieces();

  const int turns_;  // of spinning
  std::vector<std::thread> workers_;
  std::mutex caller_;
  std::mutex mutex_;
  std::condition_variable start_;
  std::condition_variable done_;
  const std::function<void(std::int64_t)>* piece_ = nullptr;
  std::int64_t pieces_ = 0;
  std::atomic<std::int64_t> next_{0};
  std::atomic<std::uint64_t> round_{0};
  std::atomic<int> busy_{0};
  std::atomic<bool> stopping_{false};
  std::exception_ptr error_;
};

}  // namespace fovea::cpu
