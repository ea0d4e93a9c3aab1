// The front of all programs, and what the documentation says to type.
#include <catch2/catch.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include "base/file.h"
#include "tests/support/paths.h"
#include "tests/support/run_cli.h"

using namespace fovea;
using namespace fovea::test;

namespace {

const std::vector<std::string> kPrograms = {"init",     "train",   "eval",   "predict",
                                            "generate", "export",  "ablate", "visualise-attention",
                                            "explain",  "inspect", "bench",  "verify"};

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

// Options of every program, as the completion of shells sees them.
std::map<std::string, std::set<std::string>> known_options() {
  std::map<std::string, std::set<std::string>> options;
  for (const std::string& program : kPrograms) {
    const CliResult listed = run_cli(program, {"--list-options"});
    REQUIRE(listed.code == 0);
    std::istringstream lines(listed.out);
    for (std::string line; std::getline(lines, line);) {
      const std::size_t names = line.find('\t') + 1;
      std::string list = line.substr(names, line.find('\t', names) - names);
      std::replace(list.begin(), list.end(), ',', ' ');
      for (const std::string& name : words_of(list)) options[program].insert(name);
    }
  }
  return options;
}

// A line a user could paste: "fovea train ... --out ..." with options that exist.
void check_command(const std::string& line,
                   const std::map<std::string, std::set<std::string>>& options) {
  const std::vector<std::string> words = words_of(line.substr(0, line.find('#')));
  INFO(line);
  REQUIRE(words.size() > 1);
  if (words[1] == "completion" || words[1] == "COMMAND" || words[1].front() == '-') return;
  REQUIRE(options.count(words[1]) == 1);
  for (const std::string& word : words) {
    if (word == "|" || word == ">") break;
    if (word.size() < 2 || word.front() != '-') continue;
    CHECK(options.at(words[1]).count(word.substr(0, word.find('='))) == 1);
  }
}

// What bash offers for a line whose last word is the one under the cursor.
std::vector<std::string> completed(const std::vector<std::string>& words,
                                   const std::string& folder) {
  const std::string script = fmt::format(
      "cd '{}' && source <('{}/fovea' completion bash) && COMP_WORDS=({}) && COMP_CWORD={} && "
      "_fovea && printf '%s\\n' \"${{COMPREPLY[@]}}\"",
      folder, bin_dir(), fmt::format("'{}'", fmt::join(words, "' '")), words.size() - 1);
  const CliResult result = run_cli("/bin/bash", {"-c", script});
  INFO(result.err);
  CHECK(result.err.empty());
  std::istringstream lines(result.out);
  std::vector<std::string> found;
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty()) found.push_back(line);
  }
  std::sort(found.begin(), found.end());
  return found;
}

bool has(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

}  // namespace

TEST_CASE("fovea: becomes the program of a command, exit code and all", "[cli]") {
  const CliResult list = run_cli("fovea", {"inspect", "--list", "attention"});
  CHECK(list.code == 0);
  CHECK(list.out == run_cli("inspect", {"--list", "attention"}).out);
  CHECK(run_cli("fovea", {"inspect", "--list", "atention"}).code == 2);
  CHECK(run_cli("fovea", {"eval", "/nonexistent/run"}).code == 1);
  CHECK_THAT(run_cli("fovea", {"--version"}).out, Catch::StartsWith("fovea 0."));
  CHECK(run_cli("fovea", {"help", "train"}).out == run_cli("train", {"--help"}).out);
}

TEST_CASE("fovea: help names every command, misspelt ones are corrected", "[cli]") {
  const CliResult help = run_cli("fovea", {"--help"});
  CHECK(help.code == 0);
  for (const std::string& program : kPrograms)
    CHECK_THAT(help.out, Catch::Contains("fovea " + program));
  CHECK(run_cli("fovea", {}).code == 2);
  const CliResult wrong = run_cli("fovea", {"trian", "x.json"});
  CHECK(wrong.code == 2);
  CHECK(wrong.out.empty());
  CHECK(wrong.err ==
        "fovea: no command called \"trian\"; did you mean \"train\"? see fovea --help\n");
  CHECK_THAT(run_cli("fovea", {"completion", "fish"}).err, Catch::Contains("expected bash or zsh"));
}

TEST_CASE("fovea: a program that was not built is named with the way to build it", "[cli]") {
  const TestFolder folder("fovea-alone");
  const auto alone = folder.path("fovea");
  io::fs::copy_file(bin_dir() + "/fovea", alone);
  const CliResult result = run_cli(alone.string(), {"eval", "runs/x"});
  CHECK(result.code == 2);
  CHECK_THAT(result.err, Catch::Contains("eval is not built") && Catch::Contains("--target eval"));
}

TEST_CASE("fovea completion bash: commands, options, words and files", "[cli]") {
  const TestFolder folder("fovea-completion");
  folder.write("experiments/my vit.json", "{}");
  folder.write("experiments/notes.txt", "");
  const std::string here = folder.path().string();
  CHECK(completed({"fovea", "tr"}, here) == std::vector<std::string>{"train"});
  CHECK(has(completed({"fovea", ""}, here), "visualise-attention"));
  CHECK(completed({"fovea", "train", "--dry"}, here) == std::vector<std::string>{"--dry-run"});
  CHECK(completed({"fovea", "train", "exp"}, here) == std::vector<std::string>{"experiments"});
  CHECK(completed({"fovea", "train", "experiments/"}, here) ==
        std::vector<std::string>{"experiments/my vit.json"});
  CHECK(completed({"fovea", "train", "x.json", "--out", ""}, here) ==
        std::vector<std::string>{"experiments"});
  CHECK(completed({"fovea", "train", "--init", "experiments/n"}, here) ==
        std::vector<std::string>{"experiments/notes.txt"});
  CHECK(completed({"fovea", "visualise-attention", "--fusion", "m"}, here) ==
        std::vector<std::string>{"max", "mean", "min"});
  CHECK(completed({"fovea", "visualise-attention", "--figure", "p"}, here) ==
        std::vector<std::string>{"pca", "predictions"});
  CHECK(has(completed({"fovea", "visualise-attention", "--"}, here), "--start-layer"));
  CHECK(completed({"fovea", "train", "--set", "tr"}, here).empty());
  CHECK(completed({"fovea", "inspect", "rob"}, here) == std::vector<std::string>{"robustness"});
  CHECK(has(completed({"fovea", "inspect", "robustness", "--"}, here), "--split"));
  CHECK_FALSE(has(completed({"fovea", "inspect", "robustness", "--"}, here), "--profile"));
  CHECK(completed({"fovea", "completion", ""}, here) == std::vector<std::string>{"bash", "zsh"});
}

TEST_CASE("fovea completion zsh: loads where there is a zsh, and names every option", "[cli]") {
  const CliResult script = run_cli("fovea", {"completion", "zsh"});
  REQUIRE(script.code == 0);
  for (const auto& [program, options] : known_options()) {
    CHECK_THAT(script.out, Catch::Contains(fmt::format("'{}')", program)));
    for (const std::string& option : options)
      if (option.front() == '-') CHECK_THAT(script.out, Catch::Contains(option + "["));
  }
  if (!io::fs::exists("/bin/zsh")) {
    WARN("no zsh: its completion is not loaded");
    return;
  }
  const TestFolder folder("fovea-zsh");
  const std::string file = folder.write("_fovea", script.out);
  const CliResult loaded = run_cli(
      "/bin/zsh",
      {"-fc",
       fmt::format("autoload -U compinit && compinit -D && source '{}' && print $_comps[fovea]",
                   file)});
  CHECK(loaded.err.empty());
  CHECK(loaded.out == "_fovea\n");
}

TEST_CASE("documentation: commands to type exist with their options", "[cli]") {
  const auto options = known_options();
  std::vector<io::fs::path> pages = {source_dir() + "/README.md"};
  for (const char* folder : {"/docs", "/experiments", "/datasets"}) {
    for (const auto& entry : io::fs::recursive_directory_iterator(source_dir() + folder))
      if (entry.path().extension() == ".md") pages.push_back(entry.path());
  }
  int checked = 0;
  for (const auto& page : pages) {
    INFO(page.string());
    std::istringstream lines(io::read_text(page));
    for (std::string line; std::getline(lines, line);) {
      // Alone on a line, or in back quotes.
      const std::size_t first = line.find_first_not_of(' ');
      if (first != std::string::npos && line.compare(first, 6, "fovea ") == 0) {
        check_command(line.substr(first), options);
        ++checked;
      }
      for (std::size_t at = line.find("`fovea "); at != std::string::npos;
           at = line.find("`fovea ", at + 1)) {
        check_command(line.substr(at + 1, line.find('`', at + 1) - at - 1), options);
        ++checked;
      }
    }
  }
  CHECK(checked > 40);
  for (const std::string& program : kPrograms) {
    const CliResult help = run_cli(program, {"--help"});
    CHECK_THAT(help.out, Catch::Contains("Usage: fovea " + program));
    const std::size_t begin = help.out.find("Example: ");
    REQUIRE(begin != std::string::npos);
    std::istringstream lines(help.out.substr(begin + 9, help.out.find("\n\n", begin) - begin - 9));
    for (std::string line; std::getline(lines, line);) {
      const std::size_t first = line.find("fovea ");
      REQUIRE(first != std::string::npos);
      check_command(line.substr(first), options);
    }
  }
}
