// Scripts of job arrays.
#include "experiment/sweep/slurm.h"

#include <catch2/catch.hpp>

#include <sys/stat.h>

#include <cstdlib>
#include <string>

#include "tests/experiment/fixture.h"

using namespace fovea;
using namespace fovea::experiment;
using namespace fovea::experiment::test;

namespace {

namespace fs = io::fs;

const SlurmArray kArray{.name = "a \"b\"",
                        .out = "runs/50 %",
                        .working = "/home/o'neil",
                        .command = {"/bin/ablate", "my file.json", "--set", "x=$(rm -r /)"},
                        .tasks = 40};

}  // namespace

TEST_CASE("slurm: the script has options and work, quoted", "[experiment]") {
  const std::string script = slurm_script(standard_slurm_template(), "standard", kArray);
  CHECK_THAT(script, Catch::StartsWith("#!/bin/bash\n#SBATCH --job-name=\"a \\\"b\\\"\"\n"
                                       "#SBATCH --array=1-40\n"
                                       "#SBATCH --output=\"runs/50 %%/slurm/%A_%a.log\"\n"));
  CHECK_THAT(script, Catch::Contains("\n#SBATCH --requeue\n#SBATCH --signal=B:USR1@120\n"));
  CHECK_THAT(script, Catch::Contains("\ncd '/home/o'\\''neil' || exit 1\n"));
  CHECK_THAT(script,
             Catch::Contains("\n/bin/ablate 'my file.json' --set 'x=$(rm -r /)' &\nworker=$!\n"));
  const std::string own = slurm_script(
      "#!/bin/sh\n@OPTIONS@\n#SBATCH -p gpu\nmail=me@here.org @lower@\n@WORK@\n", "own.sh", kArray);
  CHECK_THAT(own, Catch::Contains("@120\n#SBATCH -p gpu\nmail=me@here.org @lower@\ncd "));
}

TEST_CASE("slurm: templates without what is needed are refused", "[experiment]") {
  const auto refused = [](const std::string& text) {
    return complaint([&] { slurm_script(text, "own.sh", kArray); });
  };
  CHECK(refused("#!/bin/sh\n@WORK@\n") ==
        "own.sh: has no @OPTIONS@; a template needs @OPTIONS@ and @WORK@ on lines of their own");
  CHECK_THAT(refused("#!/bin/sh\n@OPTIONS@\n"), Catch::StartsWith("own.sh: has no @WORK@"));
  CHECK(refused("#!/bin/sh\n@OPTIONS@\n@WRK@\n") ==
        "own.sh:3: unknown word @WRK@; known: @OPTIONS@, @WORK@");
  CHECK_THAT(refused(""), Catch::Contains("does not begin with #!"));
  SlurmArray array = kArray;
  array.name = "a\n#SBATCH --wrap";
  CHECK_THAT(complaint([&] { slurm_script(standard_slurm_template(), "", array); }),
             Catch::Contains("must be one line"));
}

TEST_CASE("slurm: the work passes signals on, and is begun again when its time is up",
          "[experiment]") {
  const Folder folder("slurm_work");
  // In place of ablate: saves and ends with 75 when asked to; and of scontrol.
  write("work.sh", R"sh(#!/bin/bash
trap 'echo asked >> log; exit 75' USR1 TERM
touch ready
case $1 in
  kill) kill -9 $$ ;;
  end) exit 3 ;;
esac
for i in $(seq 1000); do sleep 0.01; done
)sh");
  write("bin/scontrol", "#!/bin/sh\necho \"$@\" >> log\n");
  for (const char* program : {"work.sh", "bin/scontrol"}) ::chmod(program, 0755);
  SlurmArray array = kArray;
  array.working = fs::current_path();
  const auto ends = [&](const std::string& what, const std::string& signal) {
    array.command = {"./work.sh", what};
    write("array.sh", slurm_script(standard_slurm_template(), "", array));
    io::remove_all("log");
    io::remove_all("ready");
    const std::string asked =
        signal.empty()
            ? ""
            : "until [ -e ready ]; do sleep 0.01; done; sleep 0.05; kill -" + signal + " $!; ";
    const int status =
        std::system(("PATH=$PWD/bin:$PATH SLURM_JOB_ID=47 bash -c 'bash array.sh & " + asked +
                     "wait $!' 2>/dev/null")
                        .c_str());
    std::error_code code;
    return std::to_string(WEXITSTATUS(status)) + " " +
           (fs::exists("log", code) ? io::read_text("log") : "");
  };
  CHECK(ends("wait", "USR1") == "75 asked\nrequeue 47\n");
  CHECK(ends("wait", "TERM") == "75 asked\n");  // SLURM begins it again, or it was cancelled
  CHECK(ends("end", "") == "3 ");
  CHECK(ends("kill", "") == "137 ");
}
