#include "common/app.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <new>
#include <string_view>
#include <system_error>

#include "base/error.h"
#include "common/one_line.h"
#include "common/output.h"
#include "experiment/run/process.h"

namespace fovea::apps {
namespace {

volatile std::sig_atomic_t first_signal_s = -1;  // on a clock that never goes back
volatile std::sig_atomic_t works = 0;
// Made before a handler may read it.
std::string& stopped_early() {
  static std::string message;
  return message;
}

std::sig_atomic_t seconds_now() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::sig_atomic_t>(now.tv_sec);
}

void on_stop_signal(int number) {
  if (works == 0) {
    const std::string& message = stopped_early();
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, message.data(), message.size());
    std::_Exit(kStopped);
  }
  stop_requested().store(true, std::memory_order_relaxed);
  if (first_signal_s < 0) {
    first_signal_s = seconds_now();
  } else if (number == SIGINT ||
             seconds_now() - first_signal_s >= experiment::kSameRequest.count()) {
    std::_Exit(128 + number);
  }
}

}  // namespace

std::atomic<bool>& stop_requested() {
  static std::atomic<bool> stop{false};
  return stop;
}

void install_stop_handlers(const std::string& program, bool silent) {
  stop_requested();  // made before a handler may touch it
  stopped_early() = silent ? "" : program + ": stopped before it began; nothing was written\n";
  struct sigaction action {};
  action.sa_handler = on_stop_signal;
  for (const int number : {SIGINT, SIGTERM, SIGUSR1}) sigaction(number, &action, nullptr);
}

void begin_work() { works = 1; }

bool stderr_is_terminal() {
  const char* term = std::getenv("TERM");
  return isatty(STDERR_FILENO) != 0 && term != nullptr && std::string_view(term) != "dumb";
}

std::size_t terminal_columns() {
  constexpr std::size_t kUsual = 80;
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : kUsual;
}

Program::Program(std::string name, const std::string& description)
    : name_(std::move(name)), line_(name_, description) {}

void Program::add_verbosity() {
  options().add_flag("-q,--quiet", common.quiet, "no progress, only errors");
  options().add_flag("-v,--verbose", common.verbose, "more detail");
}

void Program::add_json() {
  options().add_flag("--json", common.json, "print one JSON object on stdout");
}

void Program::add_overrides(std::vector<std::string>& overrides) {
  options()
      .add_option("--set", overrides, "override a key, e.g. --set train.epochs=1; repeatable")
      .value("KEY=VALUE");
}

int Program::run(int argc, char** argv, const std::function<int()>& body) {
  // Both come back as errors of the write instead.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  prepare_children();
  const auto fail = [&](const std::string& message, int code) {
    const auto say = [&](const std::string& prefix) {
      std::fflush(stdout);
      std::cerr << name_ << ": " << prefix << one_line(message) << "\n";
    };
    return failure_(say, code);
  };
  try {
    if (const std::optional<int> code = line_.parse(argc, argv, kUsageError))
      return finish_output(name_, *code);
    return finish_output(name_, body());
  } catch (const Interrupted& stop) {
    return fail(stop.what(), kStopped);
  } catch (const ConfigError& error) {
    return fail(error.what(), kUsageError);
  } catch (const Error& error) {
    return fail(error.what(), kRunTimeError);
  } catch (const std::system_error& error) {
    // Nobody reads on, as behind `| head`: nothing to be said, but not all was done.
    if (error.code().value() == EPIPE) return kRunTimeError;
    return fail(error.what(), kRunTimeError);
  } catch (const std::bad_alloc&) {
    return fail("out of memory; lower train.batch_size or the sizes of the model", kRunTimeError);
  } catch (const std::exception& error) {
    return fail(error.what(), kRunTimeError);
  }
}

}  // namespace fovea::apps
