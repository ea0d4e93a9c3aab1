// Child processes and signals for the sweep. POSIX.
#pragma once

#include <array>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace fovea::experiment {

/// While this lives, SIGINT, SIGTERM, SIGUSR1 and SIGCHLD do not interrupt the program but are
/// waited for, even if they were ignored before. Make it before any other thread starts, so that no
/// thread takes them meanwhile.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  /// The next signal, or nullopt after `timeout`.
  std::optional<int> wait(std::chrono::milliseconds timeout);
  /// The signals that were let through before; a child must start with these.
  const sigset_t& before() const { return before_; }

 private:
  static constexpr std::array<int, 4> kSignals = {SIGINT, SIGTERM, SIGUSR1, SIGCHLD};
  sigset_t waited_{};
  sigset_t before_{};
  std::array<struct sigaction, 4> actions_{};
};

/// A SIGTERM or SIGUSR1 that comes so soon after the first signal asks for the same again: batch
/// systems signal every process of a job, and parents pass signals on. A second SIGINT is
/// somebody's second Ctrl-C.
inline constexpr std::chrono::seconds kSameRequest{10};

/// How a child process ended.
struct Exit {
  int code = 0;
  int signal = 0;  // not 0: killed by it
  bool ok() const { return code == 0 && signal == 0; }
};
/// "exit status 1", "killed by signal 9 (Killed)".
std::string to_string(const Exit& exit);

/// Starts a program in a process group of its own (so that Ctrl-C reaches it only through us) with
/// stdin closed and output to files, which are replaced. On Linux it is sent SIGTERM if this
/// process dies. The child keeps the file descriptor `lock` open, and with it a kernel's lock,
/// until it ends, even if this process is killed before. A program that cannot be started ends with
/// status 127 and says so. Throws FileError for the output files.
pid_t start_process(const std::vector<std::string>& command, const std::filesystem::path& out,
                    const std::filesystem::path& err, int lock, const StopSignals& signals);

/// A child of this process that has ended, if any of these has.
std::optional<std::pair<pid_t, Exit>> reap(const std::vector<pid_t>& children);

}  // namespace fovea::experiment
