// Runs of learning curves: folders of sweeps, and seeds that belong together.
#include "experiment/run/curve_runs.h"

#include <catch2/catch.hpp>

#include "base/error.h"
#include "experiment/file/experiment.h"
#include "schema/json/parse.h"
#include "tests/experiment/fixture.h"

using namespace fovea;
using experiment::test::Folder;

namespace {

void write_run(const std::string& folder, const std::string& name, int seed, int depth,
               bool begun = true, const std::string& fold = "") {
  const std::string text = R"({"name": ")" + name + R"(", "seed": )" + std::to_string(seed) +
                           R"(, "dataset": {"type": "synthetic", "img_size": 16,
                                "split": {"fold": ")" +
                           fold + R"("}},
      "model": {"type": "vit", "patch_size": 4, "embed_dim": 8, "depth": )" +
                           std::to_string(depth) + "}}";
  experiment::test::write(folder + "/config.json",
                          experiment::resolve(schema::parse(text, "run.json")).dump());
  if (begun) experiment::test::write(folder + "/metrics.jsonl", "");
}

std::vector<std::pair<std::string, std::size_t>> described(const experiment::CurveRuns& runs) {
  std::vector<std::pair<std::string, std::size_t>> groups;
  for (const visualise::SeedRuns& group : runs.groups)
    groups.emplace_back(group.name, group.runs.size());
  return groups;
}

using Groups = std::vector<std::pair<std::string, std::size_t>>;

}  // namespace

TEST_CASE("curve runs: a sweep is its runs, and seeds of one row belong together", "[experiment]") {
  const Folder folder("curve_runs");
  write_run("sweep/runs/a-0", "sweep/a", 0, 1);
  write_run("sweep/runs/a-1", "sweep/a", 1, 1);
  write_run("sweep/runs/b-0", "sweep/b", 0, 2);
  write_run("sweep/runs/b-1", "sweep/b", 1, 2, false);
  const experiment::CurveRuns sweep = experiment::curve_runs({"sweep"});
  CHECK(described(sweep) == Groups{{"a", 2}, {"b", 1}});
  REQUIRE(sweep.notes.size() == 1);
  CHECK_THAT(sweep.notes[0], Catch::Contains("3 of 4 runs are drawn"));
  // Of one name but other settings, or one seed twice.
  write_run("one", "x", 0, 1);
  write_run("two", "x", 1, 2);
  write_run("three", "x", 0, 1);
  CHECK(described(experiment::curve_runs({"one", "two", "three"})) ==
        Groups{{"x (one)", 1}, {"x (two)", 1}, {"x (three)", 1}});
  CHECK(described(experiment::curve_runs({"one", "sweep"})).front().first == "x");
  CHECK_THROWS_WITH(experiment::curve_runs({"nowhere"}),
                    "nowhere: is neither the folder of a run (config.json) nor of runs, nor of a "
                    "sweep (runs/)");
  experiment::test::write("empty/runs/a/config.json", "{}");
  CHECK_THROWS_WITH(experiment::curve_runs({"empty"}), Catch::Contains("none of its 1 runs"));
}

TEST_CASE("curve runs: folds of one cross-validation belong together", "[experiment]") {
  const Folder folder("curve_folds");
  write_run("bare/f0", "x", 0, 1, true, "0/3");
  write_run("bare/f1", "x", 0, 1, true, "1/3");
  write_run("bare/other", "x", 0, 1, true, "0/2");
  // A folder of runs stands for them; another number of folds is another experiment.
  CHECK(described(experiment::curve_runs({"bare"})) == Groups{{"x (f0)", 2}, {"x (other)", 1}});
}
