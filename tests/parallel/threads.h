// Threads in place of the processes of a run.
#pragma once

#include <cstring>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "parallel/ranks.h"

namespace fovea::test {

/// What has been sent and not yet received.
struct Mailboxes {
  std::mutex mutex;
  std::map<std::tuple<int, int, int>, std::deque<std::string>>
      messages;                      // by sender, receiver, tag
  std::size_t bytes = 0, count = 0;  // of all that was sent
};

class ThreadExchange final : public parallel::Exchange {
 public:
  ThreadExchange(std::shared_ptr<Mailboxes> boxes, int rank,
                 std::vector<parallel::Incoming> received, int tag)
      : boxes_(std::move(boxes)), rank_(rank), tag_(tag), received_(std::move(received)) {
    std::erase_if(received_, [](const parallel::Incoming& one) { return one.bytes.empty(); });
  }
  std::vector<int> left() override {
    const std::scoped_lock lock(boxes_->mutex);
    std::erase_if(received_, [&](const parallel::Incoming& one) {
      auto& queue = boxes_->messages[{one.from, rank_, tag_}];
      if (queue.empty()) return false;
      if (queue.front().size() != one.bytes.size()) throw Error("a message of another length");
      std::memcpy(one.bytes.data(), queue.front().data(), one.bytes.size());
      queue.pop_front();
      return true;
    });
    std::vector<int> peers;
    for (const parallel::Incoming& one : received_) peers.push_back(one.from);
    return peers;
  }

 private:
  std::shared_ptr<Mailboxes> boxes_;
  int rank_, tag_;
  std::vector<parallel::Incoming> received_;
};

class ThreadTransport final : public parallel::Transport {
 public:
  ThreadTransport(std::shared_ptr<Mailboxes> boxes, int rank, int size)
      : boxes_(std::move(boxes)), rank_(rank), size_(size) {}
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  std::unique_ptr<parallel::Exchange> begin(const std::vector<parallel::Outgoing>& sent,
                                            const std::vector<parallel::Incoming>& received,
                                            int tag) override {
    const std::scoped_lock lock(boxes_->mutex);
    for (const auto& [to, bytes] : sent) {
      if (bytes.empty()) continue;
      boxes_->bytes += bytes.size();
      boxes_->count += 1;
      boxes_->messages[{rank_, to, tag}].emplace_back(reinterpret_cast<const char*>(bytes.data()),
                                                      bytes.size());
    }
    return std::make_unique<ThreadExchange>(boxes_, rank_, received, tag);
  }
  void leave() override {}
  [[noreturn]] void abort(int) override { std::terminate(); }

 private:
  std::shared_ptr<Mailboxes> boxes_;
  int rank_, size_;
};

/// Runs `body` once for each rank, and rethrows what the first of them threw.
inline void run_ranks(int size, const std::function<void(parallel::Ranks&)>& body,
                      const std::shared_ptr<Mailboxes>& boxes = std::make_shared<Mailboxes>()) {
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
