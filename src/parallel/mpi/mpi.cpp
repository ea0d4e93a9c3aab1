#include "parallel/mpi/mpi.h"

#include <mpi.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

namespace fovea::parallel {
namespace {

// A message has at most 2^31 - 1 elements.
constexpr std::size_t kPiece = std::size_t{1} << 30;

class MpiExchange final : public Exchange {
 public:
  MpiExchange(const std::vector<Outgoing>& sent, const std::vector<Incoming>& received, int tag) {
    const auto in_pieces = [&](int peer, std::size_t bytes, auto&& start) {
      for (std::size_t at = 0; at < bytes; at += kPiece) {
        requests_.push_back(MPI_REQUEST_NULL);
        start(at, static_cast<int>(std::min(kPiece, bytes - at)), &requests_.back());
        peers_.push_back(peer);
      }
    };
    for (const Incoming& one : received) {
      in_pieces(one.from, one.bytes.size(), [&](std::size_t at, int count, MPI_Request* request) {
        MPI_Irecv(one.bytes.data() + at, count, MPI_BYTE, one.from, tag, MPI_COMM_WORLD, request);
      });
    }
    for (const Outgoing& one : sent) {
      in_pieces(one.to, one.bytes.size(), [&](std::size_t at, int count, MPI_Request* request) {
        MPI_Isend(one.bytes.data() + at, count, MPI_BYTE, one.to, tag, MPI_COMM_WORLD, request);
      });
    }
  }

  ~MpiExchange() override {
    for (MPI_Request& request : requests_) {
      if (request == MPI_REQUEST_NULL) continue;
      MPI_Cancel(&request);
      MPI_Request_free(&request);
    }
  }

  std::vector<int> left() override {
    std::vector<int> peers;
    for (std::size_t i = 0; i < requests_.size(); ++i) {
      int done = 0;
      if (requests_[i] != MPI_REQUEST_NULL) MPI_Test(&requests_[i], &done, MPI_STATUS_IGNORE);
      if (requests_[i] != MPI_REQUEST_NULL) peers.push_back(peers_[i]);
    }
    return peers;
  }

 private:
  std::vector<MPI_Request> requests_;
  std::vector<int> peers_;  // of each request
};

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
  std::unique_ptr<Exchange> begin(const std::vector<Outgoing>& sent,
                                  const std::vector<Incoming>& received, int tag) override {
    return std::make_unique<MpiExchange>(sent, received, tag);
  }
  void leave() override { MPI_Finalize(); }
  [[noreturn]] void abort(int code) override {
    MPI_Abort(MPI_COMM_WORLD, code);
    std::_Exit(code);
  }

 private:
  int rank_ = 0;
  int size_ = 1;
};

}  // namespace

std::shared_ptr<Transport> join() {
  if (!is_launched()) return nullptr;
  return std::make_shared<Mpi>();
}

}  // namespace fovea::parallel
