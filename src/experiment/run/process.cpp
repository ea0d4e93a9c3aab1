#include "experiment/run/process.h"

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace fovea::experiment {
namespace {

namespace fs = std::filesystem;

constexpr int kCannotStart = 127;

int open_output(const fs::path& path) {
  constexpr int kFlags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  const int fd = ::open(path.c_str(), kFlags, 0644);
  FOVEA_CHECK(fd >= 0, FileError,
              fmt::format("{}: open failed: {}", path.string(), std::strerror(errno)));
  return fd;
}

// Runs in the child between fork and exec: system calls only.
[[noreturn]] void become(char* const* arguments, int out, int err, int lock, const sigset_t& mask,
                         pid_t parent) {
  ::setpgid(0, 0);
  ::fcntl(lock, F_SETFD, 0);  // only this child keeps it, not those that are started meanwhile
#ifdef __linux__
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(kCannotStart);  // it died before the line above
#else
  (void)parent;
#endif
  const int nothing = ::open("/dev/null", O_RDONLY);
  if (nothing >= 0) ::dup2(nothing, STDIN_FILENO);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(err, STDERR_FILENO);
  ::sigprocmask(SIG_SETMASK, &mask, nullptr);
  ::execvp(arguments[0], arguments);
  const char* reason = std::strerror(errno);
  for (const char* text :
       {static_cast<const char*>(arguments[0]), ": cannot be started: ", reason, "\n"}) {
    if (::write(STDERR_FILENO, text, std::strlen(text)) < 0) break;
  }
  ::_exit(kCannotStart);
}

}  // namespace

StopSignals::StopSignals() {
  sigemptyset(&waited_);
  // A shell's background jobs are born with SIGINT ignored, and ignored children would be reaped by
  // the kernel, their exit status lost.
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    ::sigaction(kSignals[i], &standard, &actions_[i]);
    sigaddset(&waited_, kSignals[i]);
  }
  ::pthread_sigmask(SIG_BLOCK, &waited_, &before_);
}

StopSignals::~StopSignals() {
  // One that came too late to be forwarded must not kill a program that has already stopped.
  while (wait(std::chrono::milliseconds(0))) {
  }
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    ::sigaction(kSignals[i], &actions_[i], nullptr);
  }
}

std::optional<int> StopSignals::wait(std::chrono::milliseconds timeout) {
  const auto count = timeout.count();
  const timespec limit{static_cast<time_t>(count / 1000),
                       static_cast<long>(count % 1000) * 1000000};
  const int number = ::sigtimedwait(&waited_, nullptr, &limit);
  return number > 0 ? std::optional<int>(number) : std::nullopt;
}

std::string to_string(const Exit& exit) {
  if (exit.signal != 0) {
    return fmt::format("killed by signal {} ({})", exit.signal, ::strsignal(exit.signal));
  }
  return fmt::format("exit status {}", exit.code);
}

pid_t start_process(const std::vector<std::string>& command, const fs::path& out,
                    const fs::path& err, int lock, const StopSignals& signals) {
  std::vector<std::string> texts = command;
  std::vector<char*> arguments;
  for (std::string& text : texts) arguments.push_back(text.data());
  arguments.push_back(nullptr);
  const int out_fd = open_output(out);
  const int err_fd = open_output(err);
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child == 0) {
    become(arguments.data(), out_fd, err_fd, lock, signals.before(), parent);
  }
  const int reason = errno;
  ::close(out_fd);
  ::close(err_fd);
  FOVEA_CHECK(child > 0, FileError,
              fmt::format("{}: fork failed: {}", command.front(), std::strerror(reason)));
  return child;
}

std::optional<std::pair<pid_t, Exit>> reap(const std::vector<pid_t>& children) {
  for (const pid_t child : children) {
    int status = 0;
    if (::waitpid(child, &status, WNOHANG) != child) continue;
    Exit exit;
    if (WIFSIGNALED(status)) exit.signal = WTERMSIG(status);
    if (WIFEXITED(status)) exit.code = WEXITSTATUS(status);
    return std::pair(child, exit);
  }
  return std::nullopt;
}

}  // namespace fovea::experiment
