#include "parallel/mpi/mpi.h"

#include <mpi.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <string>
#include <thread>

namespace fovea::parallel {
namespace {

class Mpi final : public Transport {
 public:
  Mpi() {
    int given = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &given);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  std::vector<int> exchange(const std::vector<Outgoing>& sent,
                            const std::vector<Incoming>& received, Seconds limit) override {
    std::vector<MPI_Request> requests;
    std::vector<int> peers;
    // A message has at most 2^31 - 1 elements.
    const auto in_pieces = [&](int peer, std::size_t bytes, auto&& start) {
      for (std::size_t at = 0; at < bytes; at += kPiece) {
        requests.push_back(MPI_REQUEST_NULL);
        start(at, static_cast<int>(std::min(kPiece, bytes - at)), &requests.back());
        peers.push_back(peer);
      }
    };
    for (const Incoming& one : received) {
      in_pieces(one.from, one.bytes.size(), [&](std::size_t at, int count, MPI_Request* request) {
        MPI_Irecv(one.bytes.data() + at, count, MPI_BYTE, one.from, kTag, MPI_COMM_WORLD, request);
      });
    }
    for (const Outgoing& one : sent) {
      in_pieces(one.to, one.bytes.size(), [&](std::size_t at, int count, MPI_Request* request) {
        MPI_Isend(one.bytes.data() + at, count, MPI_BYTE, one.to, kTag, MPI_COMM_WORLD, request);
      });
    }
    if (complete(requests, limit)) return {};
    std::set<int> missing;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      if (requests[i] != MPI_REQUEST_NULL) missing.insert(peers[i]);
    }
    return {missing.begin(), missing.end()};
  }

  void leave() override { MPI_Finalize(); }

  [[noreturn]] void abort(int code) override {
    MPI_Abort(MPI_COMM_WORLD, code);
    std::_Exit(code);
  }

 private:
  static constexpr std::size_t kPiece = std::size_t{1} << 30;
  static constexpr int kTag = 1;

  // False if the limit has passed. (MPI's own waiting has none, and keeps a core busy.)
  static bool complete(std::vector<MPI_Request>& requests, Seconds limit) {
    using Clock = std::chrono::steady_clock;
    constexpr Seconds kMost{1};  // that counts between two looks: a job may have been suspended
    constexpr int kBusy = 2000;  // looks before it sleeps between them
    Seconds waited{0};
    Clock::time_point before = Clock::now();
    for (int look = 0;; ++look) {
      int done = 0;
      for (MPI_Request& request : requests) {
        if (request != MPI_REQUEST_NULL) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
      }
      if (std::ranges::all_of(requests, [](MPI_Request r) { return r == MPI_REQUEST_NULL; }))
        return true;
      const Clock::time_point now = Clock::now();
      waited += std::min(Seconds(now - before), kMost);
      before = now;
      if (waited > limit) return false;
      if (look < kBusy) {
        std::this_thread::yield();
      } else {
        std::this_thread::sleep_for(std::chrono::microseconds(50));
      }
    }
  }

  int rank_ = 0;
  int size_ = 1;
};

}  // namespace

std::shared_ptr<Transport> join() {
  if (!is_launched()) return nullptr;
  return std::make_shared<Mpi>();
}

}  // namespace fovea::parallel
