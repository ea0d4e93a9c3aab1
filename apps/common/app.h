// What all apps share: flags, exit codes, errors in one line, signals.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "common/options.h"

namespace fovea::apps {

// Exit codes: 0 done, 1 error at run time, 2 wrong usage or configuration, 75 stopped by a signal
// with everything saved (a batch system may start the job again).
inline constexpr int kRunTimeError = 1;
inline constexpr int kUsageError = 2;
inline constexpr int kStopped = 75;

/// Flags that every app has.
struct Common {
  bool quiet = false;
  bool verbose = false;
  bool json = false;
};

/// An app with --version and help that keeps the layout of `description` (usage and example).
class Program {
 public:
  Program(std::string name, const std::string& description);
  Options options() { return line_.options(); }
  Common common;
  /// Adds --quiet and --verbose.
  void add_verbosity();
  /// Adds --json.
  void add_json();
  /// Adds --set, repeatable.
  void add_overrides(std::vector<std::string>& overrides);

  /// Called with what prints the line of an error, behind a prefix, and the exit code that goes
  /// with it, in place of printing; returns the exit code.
  using Failure =
      std::function<int(const std::function<void(const std::string& prefix)>& say, int code)>;
  void on_failure(Failure failure) { failure_ = std::move(failure); }

  /// Parses and runs `body`; every error becomes one line "name: message" on stderr and an exit
  /// code.
  int run(int argc, char** argv, const std::function<int()>& body);

 private:
  std::string name_;
  CommandLine line_;
  Failure failure_ = [](const auto& say, int code) {
    say("");
    return code;
  };
};

/// Set by the first SIGINT, SIGTERM or SIGUSR1 after begin_work(); the second ends the process at
/// once, unless it belongs to the same request (experiment::kSameRequest).
std::atomic<bool>& stop_requested();
/// From here on these signals end the program with a message and kStopped: data are opened, a
/// network is built, and nothing is there that could be kept. `silent`: without the message.
void install_stop_handlers(const std::string& program, bool silent = false);
/// From here on they ask it to stop: stop_requested().
void begin_work();

/// True if stderr is a terminal that can redraw a line.
bool stderr_is_terminal();
/// Its columns, as they are now; 80 where they are not known.
std::size_t terminal_columns();

}  // namespace fovea::apps
