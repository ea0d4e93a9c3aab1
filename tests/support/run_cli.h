// Runs the real programs as a user would.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace fovea::test {

struct CliResult {
  int code = 0;  // exit status; 128 + n if killed by signal n
  std::string out;
  std::string err;
};

/// What happens to a program while it runs.
struct Trouble {
  double signal_after_s = 0;  // 0 = no signal
  int signal = 0;
  std::int64_t max_file_bytes = 0;  // 0 = no limit; larger files cannot be written (a full disk)
};

/// Runs a program of the build's bin folder, or one that is given by its whole path.
CliResult run_cli(const std::string& program, const std::vector<std::string>& arguments,
                  const Trouble& trouble = {});

/// The folder of a run's checkpoint that `which`, "last" or "best", names.
std::filesystem::path checkpoint_of(const std::filesystem::path& run,
                                    const std::string& which = "last");

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
