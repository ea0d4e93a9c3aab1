#include "experiment/sweep/slurm.h"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string_view>

#include "base/error.h"
#include "base/file.h"
#include "experiment/sweep/sweep_folder.h"

namespace fovea::experiment {
namespace {

constexpr const char* kOptionsWord = "@OPTIONS@";
constexpr const char* kWorkWord = "@WORK@";

// One word for the shell, whatever is in it.
std::string quoted(const std::string& word) {
  const bool plain = !word.empty() && std::all_of(word.begin(), word.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string_view("_-+=./:,%@").find(static_cast<char>(c)) != std::string_view::npos;
  });
  if (plain) return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

// A value of sbatch's, which knows names such as %A in paths.
std::string value_of_option(const std::string& text, bool is_path) {
  std::string value;
  for (const char c : text) {
    if (c == '"' || c == '\\') value += '\\';
    if (c == '%' && is_path) value += '%';
    value += c;
  }
  return "\"" + value + "\"";
}

std::string options_of(const SlurmArray& array) {
  const std::string logs = value_of_option((array.out / "slurm").string() + "/", true);
  return fmt::format(
      R"(#SBATCH --job-name={}
#SBATCH --array=1-{}
#SBATCH --output={}%A_%a.log"
#SBATCH --open-mode=append
#SBATCH --requeue
#SBATCH --signal=B:USR1@120)",
      value_of_option(array.name, false), array.tasks, logs.substr(0, logs.size() - 1));
}

std::string work_of(const SlurmArray& array) {
  std::string command;
  for (const std::string& word : array.command)
    command += (command.empty() ? "" : " ") + quoted(word);
  return fmt::format(R"(cd {} || exit 1
# SLURM tells this shell when the time is nearly up (USR1), or when the task has to make room (TERM).
# ablate then has its jobs saved, and exits with 75.
asked=
trap 'asked=USR1; kill -USR1 $worker 2>/dev/null' USR1
trap 'asked=TERM; kill -TERM $worker 2>/dev/null' TERM
{} &
worker=$!
[ -z "$asked" ] || kill -$asked $worker
wait $worker
while [ $? -gt 128 ] && kill -0 $worker 2>/dev/null; do
  wait $worker  # once more: a signal ends `wait`, not the work
done
wait $worker
code=$?
# A task that makes room is begun again by SLURM itself; one that was cancelled is not.
if [ $code = 75 ] && [ "$asked" != TERM ]; then
  scontrol requeue "$SLURM_JOB_ID"
fi
exit $code)",
                     quoted(array.working.string()), command);
}

// Words of the form @WORD@ that mean nothing.
void refuse_other_words(const std::string& text, const std::string& from) {
  std::istringstream lines(text);
  int number = 1;
  for (std::string line; std::getline(lines, line); ++number) {
    for (std::size_t at = line.find('@'); at != std::string::npos; at = line.find('@', at + 1)) {
      std::size_t end = at + 1;
      while (end < line.size() && line[end] >= 'A' && line[end] <= 'Z') ++end;
      if (end == at + 1 || end == line.size() || line[end] != '@') continue;
      const std::string word = line.substr(at, end + 1 - at);
      FOVEA_CHECK(word == kOptionsWord || word == kWorkWord, ConfigError,
                  fmt::format("{}:{}: unknown word {}; known: {}, {}", from, number, word,
                              kOptionsWord, kWorkWord));
      at = end;
    }
  }
}

std::string with_word(std::string text, const std::string& from, const std::string& word,
                      const std::string& meaning) {
  const std::size_t at = text.find(word);
  FOVEA_CHECK(at != std::string::npos, ConfigError,
              fmt::format("{}: has no {}; a template needs {} and {} on lines of their own", from,
                          word, kOptionsWord, kWorkWord));
  return text.replace(at, word.size(), meaning);
}

bool is_in_path(const std::string& program) {
  const char* const path = std::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (::access((std::filesystem::path(folder) / program).c_str(), X_OK) == 0) return true;
  }
  return false;
}

}  // namespace

std::string standard_slurm_template() {
  return fmt::format("#!/bin/bash\n{}\n\n{}\n", kOptionsWord, kWorkWord);
}

std::string slurm_script(const std::string& text, const std::string& from,
                         const SlurmArray& array) {
  refuse_other_words(text, from);
  FOVEA_CHECK(
      text.starts_with("#!"), ConfigError,
      fmt::format("{}: does not begin with #!; expected a script, such as #!/bin/bash", from));
  FOVEA_CHECK(array.name.find('\n') == std::string::npos &&
                  array.out.string().find('\n') == std::string::npos,
              ConfigError, "--slurm: the names of the ablation and of its folder must be one line");
  // The work last: a command may hold any text.
  return with_word(with_word(text, from, kOptionsWord, options_of(array)), from, kWorkWord,
                   work_of(array));
}

std::filesystem::path write_slurm_script(const Ablation& ablation, const std::filesystem::path& out,
                                         const std::string& script) {
  io::make_directories(out);
  open_sweep_folder(ablation, out);
  io::make_directories(out / "slurm");
  io::write_atomic(out / "slurm.sh", script);
  return out / "slurm.sh";
}

std::string submit_to_slurm(const std::filesystem::path& script) {
  const std::string command = "sbatch --parsable " + quoted(script.string());
  FOVEA_CHECK(is_in_path("sbatch"), FileError,
              fmt::format("sbatch is not installed here; submit the array, where it is, with: "
                          "sbatch {}",
                          quoted(script.string())));
  std::FILE* const answer = ::popen(command.c_str(), "r");
  FOVEA_CHECK(answer != nullptr, FileError,
              fmt::format("sbatch cannot be started: {}", std::strerror(errno)));
  std::array<char, 256> line{};
  const bool answered = std::fgets(line.data(), line.size(), answer) != nullptr;
  const int status = ::pclose(answer);
  FOVEA_CHECK(answered && status == 0, FileError,
              fmt::format("{}: sbatch refused the array, for the reason above", script.string()));
  // "4711", or "4711;cluster".
  const std::string job = line.data();
  return job.substr(0, job.find_first_of(";\n"));
}

}  // namespace fovea::experiment
