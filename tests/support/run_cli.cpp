#include "tests/support/run_cli.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "base/file.h"
#include "tests/support/paths.h"

namespace fovea::test {
namespace {

// Folders in memory where the system has them: tests of checkpoints fsync a lot.
std::filesystem::path scratch() {
  return std::filesystem::exists("/dev/shm") ? std::filesystem::path("/dev/shm")
                                             : std::filesystem::temp_directory_path();
}

int open_for_writing(const std::filesystem::path& path) {
  return ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
}

}  // namespace

TestFolder::TestFolder(const std::string& name)
    : path_(scratch() / fmt::format("fovea-{}-{}", name, ::getpid())) {
  io::fs::remove_all(path_);
  io::make_directories(path_);
}

TestFolder::~TestFolder() {
  std::error_code ignored;
  io::fs::remove_all(path_, ignored);
}

std::string TestFolder::write(const std::string& name, const std::string& text) const {
  io::make_directories((path_ / name).parent_path());
  io::write_atomic(path_ / name, text);
  return (path_ / name).string();
}

std::filesystem::path checkpoint_of(const std::filesystem::path& run, const std::string& which) {
  std::string name = io::read_text(run / "checkpoints" / which);
  name.resize(name.find_last_not_of('\n') + 1);
  return run / "checkpoints" / name;
}

CliResult run_cli(const std::string& program, const std::vector<std::string>& arguments,
                  const Trouble& trouble) {
  const TestFolder output("cli-output");
  const auto out = output.path("out");
  const auto err = output.path("err");
  // (A whole path stays one.)
  std::vector<std::string> words{(io::fs::path(bin_dir()) / program).string()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(::open("/dev/null", O_RDONLY), STDIN_FILENO);
    ::dup2(open_for_writing(out), STDOUT_FILENO);
    ::dup2(open_for_writing(err), STDERR_FILENO);
    if (trouble.max_file_bytes > 0) {
      const auto bytes = static_cast<rlim_t>(trouble.max_file_bytes);
      const rlimit limit{bytes, bytes};
      ::setrlimit(RLIMIT_FSIZE, &limit);
    }
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  if (trouble.signal_after_s > 0) {
    std::this_thread::sleep_for(std::chrono::duration<double>(trouble.signal_after_s));
    ::kill(child, trouble.signal);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return {WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status), io::read_text(out),
          io::read_text(err)};
}

}  // namespace fovea::test
