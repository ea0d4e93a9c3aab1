// Several `ablate` at work in one folder, and job arrays of SLURM.
#include <catch2/catch.hpp>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include <sys/stat.h>

#include <string>
#include <vector>

#include "base/file.h"
#include "tests/support/paths.h"
#include "tests/support/run_cli.h"

using namespace fovea;
using namespace fovea::test;
using nlohmann::json;

namespace {

constexpr const char* kTinySweep = R"({{"name": "two", "seeds": [0, 1], "metrics": ["test_top1"],
  "base": {{
    "name": "tiny",
    "dataset": {{"type": "digits", "root": "{}/datasets/digits",
                 "limit": {{"train": 40, "test": 20}}}},
    "model": {{"type": "vit", "patch_size": 4, "embed_dim": 16, "depth": 1,
               "attention": {{"num_heads": 2}}, "ffn": {{"expansion": 2}}}},
    "optimizer": {{"type": "adamw", "lr": 1e-3}},
    "train": {{"epochs": 1, "batch_size": 10, "select_on": "test", "num_workers": 0}}}},
  "rows": [{{"name": "a"}}, {{"name": "b", "set": {{"optimizer.lr": 0.002}}}}]}})";

CliResult in_bash(const std::string& script) { return run_cli("/bin/bash", {"-c", script}); }

std::string stress(const std::string& script, const std::string& arguments) {
  return fmt::format("'{}/tools/stress/{}' {} '{}'", source_dir(), script, arguments, bin_dir());
}

}  // namespace

TEST_CASE("ablate: sweeps killed at random do every job once and leave one table", "[cli]") {
  const CliResult result = in_bash(stress("sweep", "12 3 5"));
  INFO(result.err);
  CHECK(result.code == 0);
  CHECK_THAT(result.out, Catch::StartsWith("12 jobs by 3 sweeps, ") &&
                             Catch::Contains("each done once, the table of one sweep, nothing "
                                             "left"));
}

TEST_CASE("ablate --list: the name first, then what is known of each job", "[cli]") {
  const TestFolder folder("cli-claims");
  const std::string file = folder.write("sweep.json", fmt::format(kTinySweep, source_dir()));
  const std::string out = folder.path("out").string();
  REQUIRE(run_cli("ablate", {file, "--out", out, "--only", "a", "--seeds", "0", "--quiet"}).code ==
          0);
  const CliResult listed = run_cli("ablate", {file, "--out", out, "--list"});
  CHECK_THAT(listed.out, Catch::Matches("a-s0-[0-9a-f]+ +finished\nb-s0-[0-9a-f]+ +missing\n"
                                        "a-s1-[0-9a-f]+ +missing\nb-s1-[0-9a-f]+ +missing\n"));
  const json value = json::parse(run_cli("ablate", {file, "--out", out, "--list", "--json"}).out);
  REQUIRE(value.size() == 4);
  CHECK(value[0]["state"] == "finished");
  CHECK(value[0]["holder"].is_null());
  CHECK(value[3]["seed"] == 1);
}

TEST_CASE("ablate --slurm: an array for the jobs that are left", "[cli]") {
  const TestFolder folder("cli-slurm");
  folder.write("sweep.json", fmt::format(kTinySweep, source_dir()));
  folder.write("bin/sbatch",
               "#!/bin/sh\n[ ! -e refuse ] || { echo 'sbatch: error: no' >&2; exit 1; }\n"
               "echo \"$@\" > submitted\necho '4711;cluster'\n");
  REQUIRE(::chmod(folder.path("bin/sbatch").c_str(), 0755) == 0);
  const auto ablate = [&](const std::string& arguments, bool has_slurm = true) {
    return in_bash(fmt::format(
        "cd '{0}' && PATH={1}/nowhere '{2}/ablate' sweep.json {3}", folder.path().string(),
        has_slurm ? "'" + folder.path("bin").string() + "':" : "", bin_dir(), arguments));
  };
  const std::string script = folder.path("out/slurm.sh").string();

  const CliResult none = ablate("--out out --slurm --threads 1", false);
  CHECK(none.code == 1);
  CHECK_THAT(none.err,
             Catch::EndsWith("ablate: sbatch is not installed here; submit the array, where it is, "
                             "with: sbatch out/slurm.sh\n"));
  const std::string text = io::read_text(script);
  CHECK_THAT(text, Catch::Contains("\n#SBATCH --array=1-4\n"));
  CHECK_THAT(text, Catch::Contains("/ablate sweep.json --out out --threads 1 --no-wait &\n"));

  const CliResult some = ablate("--slurm --slurm-tasks=3 --out out --jobs 2 --json");
  INFO(some.err);
  REQUIRE(some.code == 0);
  const json value = json::parse(some.out);
  CHECK(value["slurm"] == "4711");
  CHECK(value["jobs"] == 4);
  CHECK(value["tasks"] == 2);
  CHECK(io::read_text(folder.path("submitted")) == "--parsable out/slurm.sh\n");

  folder.write("gpu.sh", "#!/bin/bash\n@OPTIONS@\n#SBATCH --gres=gpu:1\n@WORK@\n");
  CHECK_THAT(ablate("--out out --slurm gpu.sh").out,
             Catch::StartsWith("job 4711 of SLURM: 4 tasks for 4 jobs, as in out/slurm.sh\n"));
  CHECK_THAT(io::read_text(script), Catch::Contains("#SBATCH --gres=gpu:1\ncd ") &&
                                        Catch::Contains("/ablate sweep.json --out out --no-wait"));

  const auto refused = [&](const std::string& arguments, int code, const std::string& message) {
    const CliResult result = ablate(arguments);
    CHECK(result.code == code);
    CHECK_THAT(result.err, Catch::Contains(message));
  };
  folder.write("empty.sh", "#!/bin/bash\n");
  refused("--out out --slurm empty.sh", 2, "empty.sh: has no @OPTIONS@");
  refused("--out out --slurm missing.sh", 1, "missing.sh: not found");
  refused("--out out --slurm --slurm-tasks 0", 2, "expected a number from 1 to 1000");
  refused("--out out --takeover-after 1", 2, "expected a number from 15 to 86400");
  folder.write("refuse", "");
  refused("--out out --slurm", 1, "out/slurm.sh: sbatch refused the array, for the reason above");

  // What the script does, without SLURM: the whole sweep.
  const CliResult run = in_bash(fmt::format("cd /; bash '{}'", script));
  INFO(run.err);
  CHECK(run.code == 0);
  CHECK_THAT(ablate("--out out --slurm").out, Catch::Contains("out: nothing is left to do"));
}

TEST_CASE("ablate --launcher: jobs of two ranks are saved, go on, and make the same table",
          "[cli]") {
  if (in_bash("command -v mpirun").code != 0) {
    WARN("mpirun is not installed: sweeps of several ranks are not tested");
    return;
  }
  const TestFolder folder("cli-launcher");
  folder.write("sweep.json", fmt::format(kTinySweep, source_dir()));
  const CliResult result = in_bash(fmt::format(
      R"sh(cd '{}' && PATH='{}':$PATH
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
sweep="ablate sweep.json --only a --seeds 0 --quiet --threads 1 --set train.epochs=100
       --set train.grad_accum_steps=2"
$sweep --out one --json > one.json || exit 1
$sweep --out two --launcher "mpirun -q -n 2" &
until cat two/runs/*/metrics.jsonl 2>/dev/null | grep -q train; do
  kill -0 $! || exit 2
  sleep 0.02
done
kill -TERM $!
wait $!
echo "stopped: $?"
ablate sweep.json --only a --seeds 0 --out two --list --set train.epochs=100 \
  --set train.grad_accum_steps=2 | cut -d' ' -f3
$sweep --out two --launcher "mpirun -q -n 2" --json > two.json || exit 3
cmp <(sed -E 's/"(time_s|min_per_epoch)": .*//' one.json) \
    <(sed -E 's/"(time_s|min_per_epoch)": .*//' two.json))sh",
      folder.path().string(), bin_dir()));
  INFO(result.err);
  CHECK(result.code == 0);
  CHECK(result.out == "stopped: 75\npartial\n");
}

TEST_CASE("ablate --slurm: a real SLURM with pre-emption makes the table of one machine",
          "[cli][slow]") {
  const CliResult result = in_bash(stress("slurm", "8 2"));
  if (result.code == 77) {
    WARN(result.err << "job arrays are not tested on a real SLURM");
    return;
  }
  INFO(result.err);
  CHECK(result.code == 0);
  CHECK_THAT(result.out, Catch::Contains("8 jobs by an array on 2 nodes: ") &&
                             Catch::Contains("the table of one machine, nothing left"));
}
