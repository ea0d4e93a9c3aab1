#include "backend/cpu/thread_pool.h"

#include <exception>
#include <utility>

namespace fovea::cpu {
namespace {

thread_local bool inside_piece = false;

}  // namespace

ThreadPool::ThreadPool(int threads) {
  for (int i = 1; i < threads; ++i) workers_.emplace_back([this] { work(); });
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
    for (std::int64_t i = 0; i < pieces; ++i) piece(i);
    return;
  }
  const std::lock_guard one_caller(caller_);
  {
    const std::lock_guard lock(mutex_);
    piece_ = &piece;
    pieces_ = pieces;
    next_.store(0, std::memory_order_relaxed);
    busy_ = static_cast<int>(workers_.size());
    error_ = nullptr;
    ++round_;
  }
  start_.notify_all();
  take_pieces();
  std::unique_lock lock(mutex_);
  done_.wait(lock, [&] { return busy_ == 0; });
  piece_ = nullptr;
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

void ThreadPool::take_pieces() {
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
  std::unique_lock lock(mutex_);
  for (;;) {
    start_.wait(lock, [&] { return stopping_ || round_ != seen; });
    if (stopping_) return;
    seen = round_;
    lock.unlock();
    take_pieces();
    lock.lock();
    if (--busy_ == 0) done_.notify_one();
  }
}

}  // namespace fovea::cpu
