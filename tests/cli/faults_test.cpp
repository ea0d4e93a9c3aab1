// What users' commands and files may do to a program: a full disk behind stdout, names that lead
// out of a folder, pipes instead of files, limits of the system.
#include <catch2/catch.hpp>

#include <fmt/format.h>

#include <sys/stat.h>

#include "base/file.h"
#include "tests/cli/refusal.h"
#include "tests/support/paths.h"

using namespace fovea;
using namespace fovea::test;

namespace {

// A command of a shell, where the programs are found by their names. It is killed after a minute.
CliResult in_shell(const std::string& command) {
  return run_cli("/bin/sh", {"-c", fmt::format("PATH={}:$PATH; {}", bin_dir(), command)});
}

// A network that trains in a moment.
std::string tiny_run() {
  return fmt::format(R"({{"dataset": {{"type": "digits", "root": "{}/datasets/digits",
                              "limit": {{"train": 32, "test": 16}}}},
  "model": {{"type": "vit", "patch_size": 4, "embed_dim": 8, "depth": 1,
            "attention": {{"num_heads": 2}}}},
  "train": {{"epochs": 1, "batch_size": 16}}}})",
                     source_dir());
}

}  // namespace

TEST_CASE("full disk: every program says so and ends with 1", "[cli]") {
  const std::string command =
      GENERATE(as<std::string>(), "fovea --help", "fovea --version", "fovea completion bash",
               "fovea completion zsh", "train --help", "train --version", "ablate --list-options",
               "inspect --list attention", "inspect --list dataset digits --json",
               "inspect --devices", "inspect schema", "inspect docs", "inspect SMOKE",
               "inspect SMOKE --json", "inspect config SMOKE", "ablate SWEEP --list",
               "bench --help", "verify --help", "predict --help", "visualise-attention --help",
               "fovea eval --version", "train SMOKE --dry-run --json");
  std::string line = command;
  for (const auto& [word, file] :
       {std::pair{"SMOKE", "smoke/dgvit.json"}, std::pair{"SWEEP", "smoke/ablation.json"}}) {
    if (const std::size_t at = line.find(word); at != std::string::npos)
      line.replace(at, 5, source_dir() + "/experiments/" + file);
  }
  INFO(line);
  const CliResult good = in_shell("cd " + source_dir() + " && " + line + " > /dev/null");
  REQUIRE(good.code == 0);
  const CliResult full = in_shell("cd " + source_dir() + " && " + line + " > /dev/full");
  CHECK(full.code == 1);
  CHECK_THAT(full.err, Catch::Contains("standard output: cannot be written") ||
                           Catch::Contains("No space left on device"));
}

TEST_CASE("full disk: verify and diff, too", "[cli]") {
  const std::string fixtures = source_dir() + "/tests/fixtures/mala";
  CHECK(in_shell("verify " + fixtures + " > /dev/full").code == 1);
  const std::string smoke = source_dir() + "/experiments/smoke/";
  CHECK(in_shell(fmt::format("inspect diff {0}dgvit.json {0}vit.json > /dev/full", smoke)).code ==
        1);
  // Who stops reading has seen enough.
  const CliResult cut = in_shell("inspect docs | head -n 1 > /dev/null");
  CHECK(cut.code == 0);
  CHECK(cut.err.empty());
}

TEST_CASE("names: what is no name of a folder is refused, an empty one is the file's", "[cli]") {
  const TestFolder folder("cli-names");
  folder.write("tiny.json", tiny_run());
  const auto train = [&](const std::string& name) {
    return in_shell(fmt::format("cd {} && train tiny.json --quiet --set 'name={}'",
                                folder.path().string(), name));
  };
  for (const char* name : {"../elsewhere", "a/b", "..", ".", "a\\\\b", "\" \""}) {
    INFO(name);
    check_refusal(train(name), 2, "cannot be the name of a folder in runs/; give a folder with");
  }
  check_refusal(train("a\nb"), 2, "name: expected string without line breaks");
  CHECK_FALSE(io::fs::exists(folder.path("runs")));
  const CliResult empty = train("");
  INFO(empty.err);
  CHECK(empty.code == 0);
  CHECK(io::fs::exists(folder.path("runs/tiny/summary.json")));
  CHECK_FALSE(io::fs::exists(folder.path("runs/config.json")));
  folder.write("sweep.json", R"({"name": "../out", "base": "tiny.json"})");
  check_refusal(in_shell(fmt::format("cd {} && ablate sweep.json --list", folder.path().string())),
                2, "cannot be the name of a folder");
}

TEST_CASE("numbers: options say their limits in a few digits", "[cli]") {
  const std::string smoke = source_dir() + "/experiments/smoke/dgvit.json";
  check_refusal(run_cli("train", {smoke, "--overfit", "0"}), 2,
                "--overfit: 0: expected a number > 0");
  check_refusal(run_cli("bench", {smoke, "--steps", "0"}), 2, "expected a number");
  check_refusal(run_cli("bench", {smoke, "--batch-size", "-4"}), 2,
                "--batch-size: -4: expected a number > 0");
  check_refusal(run_cli("bench", {smoke, "--threads", "-3"}), 2,
                "--threads: -3: expected a number from 0 to 1024");
  check_refusal(run_cli("verify", {source_dir() + "/tests/fixtures/dgsa", "--threads", "100000"}),
                2, "--threads: 100000: expected a number from 0 to 1024");
  check_refusal(run_cli("train", {smoke, "--threads", "5000"}), 2,
                "--threads: 5000: expected a number from 0 to 1024");
  const CliResult many = run_cli("train", {smoke, "--set", "train.threads=100000", "--dry-run"});
  check_refusal(many, 2, "train.threads: expected integer from 0 to 1024, got 100000");
  CHECK(many.err.size() < 400);
}

TEST_CASE("ablate: --list obeys --only, --shard and --seeds", "[cli]") {
  const std::string sweep = source_dir() + "/experiments/smoke/ablation.json";
  const auto count = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments = {sweep, "--list", "--out",
                                          source_dir() + "/no-such-sweep"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const CliResult listed = run_cli("ablate", arguments);
    INFO(listed.err);
    REQUIRE(listed.code == 0);
    return std::count(listed.out.begin(), listed.out.end(), '\n');
  };
  const auto all = count({});
  REQUIRE(all >= 4);
  CHECK(count({"--shard", "1/2"}) + count({"--shard", "2/2"}) == all);
  CHECK(count({"--shard", "1/2"}) < all);
  CHECK(count({"--seeds", "5"}) < all);
  check_refusal(run_cli("ablate", {sweep, "--list", "--only", "nothing"}), 2, "no row called so");
  check_refusal(run_cli("ablate", {sweep, "--list", "--shard", "3/2"}), 2, "--shard 3/2");
}

TEST_CASE("pipes and devices: refused at once, whichever file they stand for", "[cli]") {
  const TestFolder folder("cli-pipes");
  const std::string pipe = folder.path("pipe").string();
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  const std::string smoke = source_dir() + "/experiments/smoke/dgvit.json";
  const auto refused = [&](const std::string& command, const std::string& what) {
    INFO(command);
    const CliResult result =
        in_shell(fmt::format("cd {} && timeout -s KILL 20 {}", source_dir(), command));
    CHECK((result.code == 1 || result.code == 2));
    CHECK_THAT(result.err, Catch::Contains(what));
    CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
  };
  refused("train " + pipe, "is a pipe, expected a file");
  refused("inspect /dev/null", "is a device, expected a file");
  refused("ablate " + pipe + " --list", "is a pipe");
  refused("train " + smoke + " --dry-run --init " + pipe, "is a pipe");
  refused("eval " + smoke + " --weights " + pipe, "is a pipe");
  refused("inspect " + smoke + " --across-depth 2 --picture " + pipe, "pipe");
}

TEST_CASE("limits: fewer threads than asked for are said, nothing hangs", "[cli]") {
  const TestFolder folder("cli-limits");
  folder.write("tiny.json", tiny_run());
  // Of memory: stacks of threads no longer fit.
  for (const int mib : {400, 600, 650, 675, 690, 700, 710, 725, 750, 1000, 2000}) {
    const CliResult result = in_shell(
        fmt::format("cd {}; rm -rf run; ulimit -v {}; timeout -s KILL 60 train tiny.json --out run "
                    "--threads 64 --quiet --json > /dev/null",
                    folder.path().string(), mib * 1024));
    INFO(mib << " MiB, " << result.code << ": " << result.err);
    CHECK(result.code < 126);  // by no signal, in time
  }
}

TEST_CASE("long names: messages stay short", "[cli]") {
  const TestFolder folder("cli-long");
  const std::string name(400'000, 'x');
  const std::string file = folder.write("long.json", "{\"" + name + "\": 1}");
  const CliResult result = run_cli("inspect", {file});
  check_refusal(result, 2, "unknown key");
  CHECK(result.err.size() < 2000);
  const CliResult set = run_cli("inspect", {source_dir() + "/experiments/smoke/dgvit.json", "--set",
                                            "model." + name.substr(0, 100'000) + "=1"});
  check_refusal(set, 2, "unknown key");
  CHECK(set.err.size() < 2000);
}
