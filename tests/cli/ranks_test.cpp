// Training by several processes under mpirun: the bits of one process, and an end within a limit.
#include <catch2/catch.hpp>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "base/file.h"
#include "tests/support/paths.h"
#include "tests/support/run_cli.h"
#include "tests/training/run_bytes.h"

using namespace fovea;
using namespace fovea::test;

namespace {

// By a shell, with the programs in its path. Machines for tests may have one core, and be root's.
CliResult shell(const TestFolder& folder, const std::string& script) {
  return run_cli("/bin/bash", {"-c", fmt::format("cd '{}' && PATH='{}':$PATH\n"
                                                 "export OMPI_ALLOW_RUN_AS_ROOT=1 "
                                                 "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "
                                                 "OMPI_MCA_rmaps_base_oversubscribe=1\n{}",
                                                 folder.path().string(), bin_dir(), script)});
}

bool can_run() {
#ifdef FOVEA_WITH_MPI
  if (run_cli("/bin/bash", {"-c", "command -v mpirun"}).code == 0) return true;
  WARN("mpirun is not installed: runs by several processes are not tested");
#else
  WARN("the build has no MPI: runs by several processes are not tested");
#endif
  return false;
}

std::string tiny(const TestFolder& folder, const std::string& more = "") {
  return folder.write("tiny.json", fmt::format(R"({{"name": "tiny",
  "dataset": {{"type": "digits", "root": "{}/datasets/digits", "limit": {{"train": 70, "test": 20}}}},
  "model": {{"type": "vit", "patch_size": 4, "embed_dim": 16, "depth": 1,
             "attention": {{"num_heads": 2, "attn_drop": 0.1}}, "ffn": {{"expansion": 2}}}},
  "optimizer": {{"type": "adamw", "lr": 1e-3}},
  "train": {{"epochs": 2, "batch_size": 4, "grad_accum_steps": 5, "ema_decay": 0.9,
             "select_on": "test"{}}}}})",
                                               source_dir(), more));
}

std::size_t count_lines(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

}  // namespace

TEST_CASE("ranks: mpirun leaves the bits of one process", "[cli]") {
  if (!can_run()) return;
  const TestFolder folder("ranks");
  tiny(folder);
  const CliResult alone =
      shell(folder, "fovea train tiny.json --out alone --threads 1 --quiet --json");
  REQUIRE(alone.code == 0);
  const std::string expected = run_bytes(folder.path("alone"));
  for (const int ranks : {2, 4}) {
    const CliResult trained =
        shell(folder, fmt::format("mpirun -q -n {0} fovea train tiny.json --out run-{0} "
                                  "--threads 1 --json",
                                  ranks));
    INFO(ranks << " " << trained.err);
    REQUIRE(trained.code == 0);
    CHECK(run_bytes(folder.path(fmt::format("run-{}", ranks))) == expected);
    CHECK(nlohmann::json::parse(trained.out).contains("metrics"));  // said once
  }
}

TEST_CASE("ranks: the network is measured as words of a forecast", "[cli]") {
  if (!can_run()) return;
  const TestFolder folder("ranks");
  tiny(folder);
  const CliResult result =
      shell(folder,
            "words=$(mpirun -q -n 3 fovea bench --network | sed 's/^3 ranks: //')\n"
            "fovea inspect tiny.json --json --forecast \"ranks=3 $words\" --set train.threads=1");
  INFO(result.err);
  REQUIRE(result.code == 0);
  const auto forecast = nlohmann::json::parse(result.out);
  CHECK(forecast["net_bytes_per_s"].get<double>() > 1e6);
  CHECK(forecast["latency_s"].get<double>() < 1);
}

TEST_CASE("ranks: an error is one line", "[cli]") {
  if (!can_run()) return;
  const TestFolder folder("ranks");
  tiny(folder);
  const CliResult many = shell(folder, "mpirun -q -n 6 fovea train tiny.json --out run --quiet");
  CHECK(many.code == 2);
  CHECK(many.err ==
        "train: train.grad_accum_steps: is 5, and 6 ranks share the batches of a step; expected at "
        "least 6; try --set train.grad_accum_steps=6\n");
  CHECK_FALSE(io::fs::exists(folder.path("run")));
  const CliResult wrong =
      shell(folder, "mpirun -q -n 2 fovea train tiny.json --set train.epoch=1 --quiet");
  CHECK(wrong.code == 2);
  CHECK(count_lines(wrong.err) == 1);
  const CliResult option = shell(folder, "mpirun -q -n 3 fovea train tiny.json --epoch 1");
  CHECK(option.code != 0);
  CHECK(count_lines(option.err) == 1);
  CHECK_THAT(option.err, Catch::Contains("--epoch"));
  const CliResult help = shell(folder, "mpirun -q -n 3 fovea train --help");
  CHECK(help.code == 0);
  CHECK(help.out == shell(folder, "fovea train --help").out);
  const CliResult one_of_them = shell(
      folder,
      "mpirun -q -n 2 bash -c 'exec fovea train tiny.json --out run --quiet --threads 1 --set "
      "dataset.root=$([ ${OMPI_COMM_WORLD_RANK-$PMI_RANK} = 1 ] && echo nowhere || echo " +
          source_dir() + "/datasets/digits)'");
  CHECK(one_of_them.code != 0);
  CHECK(count_lines(one_of_them.err) == 1);
  CHECK_THAT(one_of_them.err, Catch::StartsWith("train: rank 1: "));
}

TEST_CASE("ranks: a rank that is stopped or killed ends all, and the run goes on", "[cli]") {
  if (!can_run()) return;
  const TestFolder folder("ranks");
  tiny(folder, R"(, "checkpoint_every_steps": 2, "steps": 300)");
  const std::string signal = GENERATE("STOP", "KILL");
  const CliResult ended =
      shell(folder, fmt::format(
                        R"(mpirun -q -n 3 bash -c 'echo $$ > pid-${{OMPI_COMM_WORLD_RANK-$PMI_RANK}}
                       exec fovea train tiny.json --out run --threads 1 --quiet --set train.rank_timeout=5' &
until [ -e run/checkpoints/step-00000004 ]; do kill -0 $! || exit 9; done
kill -{} $(cat pid-1)
wait $!)",
                        signal));
  INFO(ended.err);
  CHECK(ended.code != 0);
  CHECK(ended.code != 9);
  if (signal == "STOP") {
    CHECK(ended.err ==
          "train: rank 1 of 3 did not answer within 5 s (train.rank_timeout); the last "
          "checkpoint is whole: go on with --resume\n");
  }
  const CliResult resumed =
      shell(folder, "mpirun -q -n 2 fovea train tiny.json --resume --out run --threads 1 --quiet");
  INFO(resumed.err);
  REQUIRE(resumed.code == 0);
  REQUIRE(shell(folder,
                "fovea train tiny.json --out whole --threads 1 --quiet --set train.rank_timeout=5")
              .code == 0);
  CHECK(run_bytes(folder.path("run")) == run_bytes(folder.path("whole")));
}

TEST_CASE("ranks: commands of docs/cluster.md run", "[cli][documentation]") {
  if (!can_run()) return;
  const TestFolder folder("ranks");
  io::fs::create_directory_symlink(io::fs::path(source_dir()) / "experiments",
                                   folder.path("experiments"));
  io::fs::create_directory_symlink(io::fs::path(source_dir()) / "datasets",
                                   folder.path("datasets"));
  std::istringstream lines(io::read_text(io::fs::path(source_dir()) / "docs" / "cluster.md"));
  int commands = 0;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("    mpirun ")) continue;
    ++commands;
    if (line.find("--resume") == std::string::npos) line += " --set train.steps=3";
    const CliResult result = shell(folder, line + " --quiet");
    INFO(line << "\n" << result.err);
    CHECK(result.code == 0);
  }
  CHECK(commands == 3);
}
