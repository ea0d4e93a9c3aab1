#include "parallel/mpi/mpi.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <mpi.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "parallel/launched.h"

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

// Ends this process where MPI itself waits for others without a limit.
class Watch {
 public:
  Watch(Seconds limit, std::string message, int code)
      : thread_([this, limit, message = std::move(message), code] {
          std::unique_lock lock(mutex_);
          if (over_.wait_for(lock, limit, [&] { return is_over_; })) return;
          std::fputs(message.c_str(), stderr);
          std::_Exit(code);
        }) {}
  ~Watch() {
    {
      const std::scoped_lock lock(mutex_);
      is_over_ = true;
    }
    over_.notify_all();
    thread_.join();
  }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable over_;
  bool is_over_ = false;
  std::thread thread_;
};

constexpr Seconds kStart{600}, kEnd{600}, kAbort{20};

// mpirun waits for its daemons on other hosts before it ends, for ever where a dead network keeps
// them from answering. So a process of our own ends it some time after an abort. It may do no more
// than calls of the system: it is a copy of a process with threads.
void end_launcher_later() {
  constexpr int kLooks = 150;  // of a tenth of a second between them
  constexpr std::array<std::string_view, 4> kLaunchers = {"mpirun", "mpiexec", "orterun",
                                                          "prterun"};
  const pid_t launcher = ::getppid();
  // Readable until this process of that number has ended, whatever gets the number next.
  const std::string place = "/proc/" + std::to_string(launcher);
  const int process = ::open(place.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  std::string name;
  std::ifstream(place + "/comm") >> name;
  if (process < 0 || std::ranges::find(kLaunchers, name) == kLaunchers.end()) return;
  if (::fork() != 0) return;
  ::setsid();
  for (int fd = 0; fd < 1024; ++fd) {  // so that nobody waits for what it might print
    if (fd != process) ::close(fd);
  }
  constexpr timespec kBetween{0, 100'000'000};
  for (int look = 0; look < kLooks; ++look) {
    ::nanosleep(&kBetween, nullptr);
    if (::faccessat(process, "comm", F_OK, 0) != 0) ::_exit(0);  // it has ended by itself
  }
  ::kill(launcher, SIGKILL);  // (SIGTERM would let it try the same again, or crash.)
  ::_exit(0);
}

class Mpi final : public Transport {
 public:
  Mpi() {
    const Watch watch(kStart,
                      fmt::format("rank {}: the other ranks did not begin within {:.0f} s\n",
                                  launched_rank(), kStart.count()),
                      1);
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
  void leave() override {
    const Watch watch(kEnd,
                      fmt::format("rank {}: all is written, and the other ranks did not end within "
                                  "{:.0f} s\n",
                                  rank_, kEnd.count()),
                      1);
    MPI_Finalize();
  }
  [[noreturn]] void abort(int code) override {
    end_launcher_later();
    const Watch watch(kAbort, "", code);
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
