// Runs the real programs as a user would.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace fovea::test {

struct CliResult {
  int code = 0;  // exit status; 128 + n if killed by signal n
  std::string out;
  std::string err;
};

/// Runs a program of the build's bin folder. `kill_after_s` > 0 sends SIGKILL after that time.
CliResult run_cli(const std::string& program, const std::vector<std::string>& arguments,
                  double kill_after_s = 0);

/// A folder of its own for one test, removed at the end.
class TestFolder {
 public:
  explicit TestFolder(const std::string& name);
  ~TestFolder();
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;
  std::filesystem::path path(const std::string& name = "") const {
    return name.empty() ? path_ : path_ / name;
  }
  std::string write(const std::string& name, const std::string& text) const;

 private:
  std::filesystem::path path_;
};

}  // namespace fovea::test
