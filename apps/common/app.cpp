#include "common/app.h"

#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <iostream>
#include <new>

#include "base/error.h"
#include "base/suggest.h"
#include "base/version.h"

namespace fovea::apps {
namespace {

volatile std::sig_atomic_t signals_seen = 0;

void on_stop_signal(int number) {
  stop_requested().store(true, std::memory_order_relaxed);
  signals_seen = signals_seen + 1;
  if (signals_seen > 1) std::_Exit(128 + number);
}

std::string one_line(std::string text) {
  for (char& c : text) {
    if (c == '\n') c = ' ';
  }
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

std::vector<std::string> flag_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  for (const CLI::App* sub : app.get_subcommands({})) {
    for (const std::string& name : flag_names(*sub)) names.push_back(name);
  }
  return names;
}

}  // namespace

std::atomic<bool>& stop_requested() {
  static std::atomic<bool> stop{false};
  return stop;
}

void install_stop_handlers() {
  stop_requested();  // made before a handler may touch it
  struct sigaction action {};
  action.sa_handler = on_stop_signal;
  for (const int number : {SIGINT, SIGTERM, SIGUSR1}) sigaction(number, &action, nullptr);
}

bool stderr_is_terminal() {
  const char* term = std::getenv("TERM");
  return isatty(STDERR_FILENO) != 0 && term != nullptr && std::string_view(term) != "dumb";
}

Program::Program(std::string name, const std::string& description)
    : name_(std::move(name)), cli_(description, name_) {
  cli_.set_version_flag("--version", [this] {
    return fmt::format("{} {} ({}), {}", name_, version(), commit(), compiler());
  });
  cli_.get_formatter()->column_width(34);
}

void Program::add_verbosity() {
  cli_.add_flag("-q,--quiet", common.quiet, "no progress, only errors");
  cli_.add_flag("-v,--verbose", common.verbose, "more detail");
}

void Program::add_json() {
  cli_.add_flag("--json", common.json, "print one JSON object on stdout");
}

void Program::add_overrides(std::vector<std::string>& overrides) {
  cli_.add_option("--set", overrides, "override a key, e.g. --set train.epochs=1; repeatable")
      ->allow_extra_args(false)
      ->type_name("KEY=VALUE");
}

int Program::usage_error(const CLI::ParseError& error, int argc, char** argv) {
  if (error.get_exit_code() == 0) return cli_.exit(error);  // --help, --version
  std::string hint;
  for (int i = 1; i < argc; ++i) {
    const std::string given = std::string(argv[i]).substr(0, std::string_view(argv[i]).find('='));
    const auto known = flag_names(cli_);
    const bool unknown =
        given.rfind("--", 0) == 0 && std::find(known.begin(), known.end(), given) == known.end();
    if (unknown) hint = did_you_mean(given, known);
  }
  std::cerr << fmt::format("{}: {}{}{} see {} --help\n", name_, one_line(error.what()), hint,
                           hint.empty() ? ";" : "", name_);
  return kUsageError;
}

int Program::run(int argc, char** argv, const std::function<int()>& body) {
  // Both come back as errors of the write instead.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    cli_.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return usage_error(error, argc, argv);
  }
  const auto fail = [&](const std::string& message, int code) {
    std::cerr << name_ << ": " << one_line(message) << "\n";
    return code;
  };
  try {
    const int code = body();
    std::cout.flush();
    return code;
  } catch (const Interrupted& stop) {
    return fail(stop.what(), kStopped);
  } catch (const ConfigError& error) {
    return fail(error.what(), kUsageError);
  } catch (const Error& error) {
    return fail(error.what(), kRunTimeError);
  } catch (const std::bad_alloc&) {
    return fail("out of memory; lower train.batch_size or the sizes of the model", kRunTimeError);
  } catch (const std::exception& error) {
    return fail(error.what(), kRunTimeError);
  }
}

}  // namespace fovea::apps
