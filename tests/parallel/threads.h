// Threads in place of the processes of a run.
#pragma once

#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "parallel/ranks.h"

namespace fovea::test {

/// What has been sent and not yet received.
struct Mailboxes {
  std::mutex mutex;
  std::condition_variable arrived;
  std::map<std::pair<int, int>, std::deque<std::string>> messages;  // by sender and receiver
};

class ThreadTransport final : public parallel::Transport {
 public:
  ThreadTransport(std::shared_ptr<Mailboxes> boxes, int rank, int size)
      : boxes_(std::move(boxes)), rank_(rank), size_(size) {}
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  std::vector<int> exchange(const std::vector<parallel::Outgoing>& sent,
                            const std::vector<parallel::Incoming>& received,
                            parallel::Seconds limit) override {
    std::unique_lock lock(boxes_->mutex);
    for (const auto& [to, bytes] : sent) {
      if (bytes.empty()) continue;
      boxes_->messages[{rank_, to}].emplace_back(reinterpret_cast<const char*>(bytes.data()),
                                                 bytes.size());
    }
    boxes_->arrived.notify_all();
    std::vector<int> missing;
    const auto end = std::chrono::steady_clock::now() + limit;
    for (const auto& [from, room] : received) {
      if (room.empty()) continue;
      auto& queue = boxes_->messages[{from, rank_}];
      if (!boxes_->arrived.wait_until(lock, end, [&] { return !queue.empty(); })) {
        missing.push_back(from);
        continue;
      }
      if (queue.front().size() != room.size()) throw Error("a message of another length");
      std::memcpy(room.data(), queue.front().data(), room.size());
      queue.pop_front();
    }
    return missing;
  }
  void leave() override {}
  [[noreturn]] void abort(int) override { std::terminate(); }

 private:
  std::shared_ptr<Mailboxes> boxes_;
  int rank_, size_;
};

/// Runs `body` once for each rank, and rethrows what the first of them threw.
inline void run_ranks(int size, const std::function<void(parallel::Ranks&)>& body) {
  const auto boxes = std::make_shared<Mailboxes>();
  std::vector<std::exception_ptr> errors(static_cast<std::size_t>(size));
  {
    std::vector<std::jthread> threads;
    for (int r = 0; r < size; ++r) {
      threads.emplace_back([&, r] {
        try {
          parallel::Ranks ranks(std::make_shared<ThreadTransport>(boxes, r, size));
          ranks.set_limit(parallel::Seconds(60));
          body(ranks);
        } catch (...) {
          errors[static_cast<std::size_t>(r)] = std::current_exception();
        }
      });
    }
  }
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

}  // namespace fovea::test
