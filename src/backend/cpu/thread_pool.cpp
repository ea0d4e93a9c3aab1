#include "backend/cpu/thread_pool.h"

#include <exception>
#include <new>
#include <system_error>
#include <utility>

#include "base/cores.h"

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace fovea::cpu {
namespace {

thread_local bool inside_piece = false;

// Subnormal numbers count as zero in this thread while this lives. Processors take a hundred times
// as long for each, and deep networks and momenta that decay to zero are full of them.
class SubnormalsAsZero {
 public:
  SubnormalsAsZero() : before_(control()) { set_control(before_ | kResults | kOperands); }
  ~SubnormalsAsZero() { set_control(before_); }
  SubnormalsAsZero(const SubnormalsAsZero&) = delete;
  SubnormalsAsZero& operator=(const SubnormalsAsZero&) = delete;

 private:
  static constexpr unsigned kResults = 1u << 15, kOperands = 1u << 6;
#if defined(__SSE__)
  static unsigned control() { return _mm_getcsr(); }
  static void set_control(unsigned value) { _mm_setcsr(value); }
#else
  static unsigned control() { return 0; }
  static void set_control(unsigned) {}
#endif
  unsigned before_;
};

// Spins until done() and returns true, or false after `turns`, twenty of which take about a
// microsecond. (No yielding: a thread that yields to programs that do not hardly runs again.)
template <class Done>
bool spin_until(int turns, const Done& done) {
  for (int i = 0; i < turns; ++i) {
    if (done()) return true;
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }
  return false;
}

// Waking a thread costs tens of microseconds, and a training step waits hundreds of times. Threads
// that share cores spin less, so as not to keep each other from working.
int turns_of(int threads) {
  constexpr int kAlone = 4000, kShared = 500;
  return threads <= usable_cores() ? kAlone : kShared;
}

}  // namespace

ThreadPool::ThreadPool(int threads) : turns_(turns_of(threads)) {
  // A limit of processes or of memory may allow fewer threads. Results do not depend on their
  // number, which host_threads() returns.
  try {
    for (int i = 1; i < threads; ++i) workers_.emplace_back([this] { work(); });
  } catch (const std::system_error&) {
  } catch (const std::bad_alloc&) {
  }
}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  start_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::run(std::int64_t pieces, const std::function<void(std::int64_t)>& piece) {
  if (pieces <= 0) return;
  if (workers_.empty() || pieces == 1 || inside_piece) {
    const SubnormalsAsZero zero;
    for (std::int64_t i = 0; i < pieces; ++i) piece(i);
    return;
  }
  const std::lock_guard one_caller(caller_);
  {
    const std::lock_guard lock(mutex_);
    piece_ = &piece;
    pieces_ = pieces;
    next_.store(0, std::memory_order_relaxed);
    busy_.store(static_cast<int>(workers_.size()), std::memory_order_relaxed);
    error_ = nullptr;
    round_.fetch_add(1, std::memory_order_release);
  }
  start_.notify_all();
  take_pieces();
  const auto all_done = [&] { return busy_.load(std::memory_order_acquire) == 0; };
  if (!spin_until(turns_, all_done)) {
    std::unique_lock lock(mutex_);
    done_.wait(lock, all_done);
  }
  piece_ = nullptr;
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

void ThreadPool::take_pieces() {
  const SubnormalsAsZero zero;
  inside_piece = true;
  try {
    for (;;) {
      const std::int64_t i = next_.fetch_add(1, std::memory_order_relaxed);
      if (i >= pieces_) break;
      (*piece_)(i);
    }
  } catch (...) {
    next_.store(pieces_, std::memory_order_relaxed);
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = std::current_exception();
  }
  inside_piece = false;
}

void ThreadPool::work() {
  std::uint64_t seen = 0;
  const auto called = [&] {
    return stopping_.load(std::memory_order_acquire) ||
           round_.load(std::memory_order_acquire) != seen;
  };
  for (;;) {
    if (!spin_until(turns_, called)) {
      std::unique_lock lock(mutex_);
      start_.wait(lock, called);
    }
    if (stopping_.load(std::memory_order_acquire)) return;
    seen = round_.load(std::memory_order_acquire);
    take_pieces();
    if (busy_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      // The lock lets a caller that is about to wait do so before it is woken.
      const std::lock_guard lock(mutex_);
      done_.notify_one();
    }
  }
}

}  // namespace fovea::cpu
