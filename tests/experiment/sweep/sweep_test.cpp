#include "experiment/sweep/sweep.h"

#include <catch2/catch.hpp>

#include <cerrno>
#include <cmath>
#include <csignal>

#include "experiment/run/run_folder.h"
#include "experiment/tables/results.h"
#include "tests/experiment/fixture.h"
#include "tests/experiment/sweep/bench.h"

using namespace fovea;
using namespace fovea::experiment;
using namespace fovea::experiment::test;

namespace {

const char* const kTwoRows = R"({"name": "a"}, {"name": "b", "set": {"model.depth": 2}})";

}  // namespace

TEST_CASE("sweep: runs every job once, then nothing, and writes the results", "[experiment]") {
  Bench bench("once");
  const Ablation ablation = bench.ablation(kTwoRows, "[0, 1]");
  const SweepOutcome first = bench.run(ablation);
  CHECK(bench.log.text ==
        "start a-s0\nfinish a-s0 1/4\nstart b-s0\nfinish b-s0 2/4\n"
        "start a-s1\nfinish a-s1 3/4\nstart b-s1\nfinish b-s1 4/4\n");
  CHECK(first.progress.finished == 4);
  CHECK(first.skipped == 0);
  CHECK(bench.calls().find("b-s1 resume=no threads=4\n") != std::string::npos);
  CHECK(check_results(ablation, "out").empty());
  CHECK(io::read_text("out/results.csv").find("a,test_top1,2,50.5,0,") != std::string::npos);
  CHECK(there("out/ablation.json"));

  const SweepOutcome second = bench.run(ablation);
  CHECK(second.skipped == 4);
  CHECK(bench.log.text.empty());

  // A new seed and a new row run only what is missing.
  const SweepOutcome third = bench.run(bench.ablation(
      std::string(kTwoRows) + R"(, {"name": "c", "set": {"model.depth": 3}})", "[0, 1, 2]"));
  CHECK(third.skipped == 4);
  CHECK(third.progress.finished == 9);
  // A changed setting makes other jobs.
  write("a.json", R"({"name": "a", "base": {"train": {"epochs": 5}}, "seeds": [0]})");
  CHECK(bench.run(load_ablation("a.json", kind())).skipped == 0);
}

TEST_CASE("sweep: a damaged or foreign run folder is not taken for a result", "[experiment]") {
  Bench bench("damaged");
  const Ablation ablation = bench.ablation(kTwoRows);
  bench.run(ablation);
  const JobPaths a = paths_of("out", ablation.jobs[0]);
  const JobPaths b = paths_of("out", ablation.jobs[1]);
  write(a.run / "summary.json", R"({"metrics": {)");
  write(b.run / "config.json", ablation.jobs[0].config.dump());
  const SweepOutcome outcome = bench.run(ablation);
  CHECK(outcome.skipped == 0);
  CHECK(outcome.progress.finished == 2);
}

TEST_CASE("sweep: failures are listed, kept, and tried again on demand", "[experiment]") {
  Bench bench("failure");
  const Ablation ablation = bench.ablation(
      R"({"name": "bad", "set": {"mode": "fail"}}, {"name": "silent", "set": {"mode": "silent"}},
         {"name": "good"})");
  const SweepOutcome outcome = bench.run(ablation);
  REQUIRE(outcome.failed.size() == 2);
  CHECK(outcome.failed[0].id == ablation.jobs[0].id);
  CHECK(outcome.failed[0].message == "loss is nan");
  CHECK(outcome.failed[1].message == "out/runs/" + ablation.jobs[1].id +
                                         "/summary.json: missing, damaged, or of another "
                                         "configuration, although the program reported success");
  CHECK(outcome.progress.finished == 1);
  const std::vector<JobStatus> survey_before = survey_all(ablation);
  CHECK(survey_before[0].state == JobState::kFailed);
  CHECK(survey_before[0].message == "loss is nan");
  CHECK(survey_before[2].state == JobState::kFinished);

  CHECK(bench.run(ablation).failed.size() == 2);
  CHECK(bench.log.text.empty());
  write("repaired", "");
  bench.options.retry_failed = true;
  bench.options.only = {"bad"};
  CHECK(bench.run(ablation).failed.empty());
  CHECK(bench.log.text == "start bad-s0\nfinish bad-s0 1/1\n");
}

TEST_CASE("sweep: one that was killed is listed and simply done again next time", "[experiment]") {
  Bench bench("killed");
  const Ablation ablation = bench.ablation(R"({"name": "x", "set": {"mode": "die"}})");
  REQUIRE(bench.run(ablation).failed.size() == 1);
  CHECK(bench.log.text == "start x-s0\nfail x-s0: killed by signal 9 (Killed)\n");
  CHECK(survey_all(ablation)[0].state == JobState::kMissing);
}

TEST_CASE("sweep: what can be resumed is, and a run that stopped itself is no failure",
          "[experiment]") {
  Bench bench("resume");
  const Ablation ablation = bench.ablation(R"({"name": "x", "set": {"mode": "tempfail"}})");
  const SweepOutcome outcome = bench.run(ablation);
  CHECK(outcome.failed.empty());
  CHECK(outcome.interrupted == 1);
  CHECK(survey_all(ablation)[0].state == JobState::kPartial);
  CHECK(bench.run(ablation).progress.finished == 1);
  CHECK(bench.log.text == "resume x-s0\nfinish x-s0 1/1\n");
}

TEST_CASE("sweep: fail-fast starts nothing after a failure", "[experiment]") {
  Bench bench("fast");
  const Ablation ablation =
      bench.ablation(R"({"name": "bad", "set": {"mode": "fail"}}, {"name": "good"})", "[0, 1]");
  bench.options.fail_fast = true;
  const SweepOutcome outcome = bench.run(ablation);
  CHECK(outcome.failed.size() == 1);
  CHECK(outcome.not_started == 3);
  CHECK(bench.log.text == "start bad-s0\nfail bad-s0: loss is nan\nstop 0\n");
}

TEST_CASE("sweep: jobs run at once and share the threads", "[experiment]") {
  Bench bench("parallel");
  bench.options.jobs = 2;
  const Ablation ablation = bench.ablation(R"({"name": "x", "set": {"mode": "pair"}})", "[0, 1]");
  CHECK(bench.run(ablation).progress.finished == 2);
  CHECK(bench.calls().find("threads=2") != std::string::npos);
}

TEST_CASE("sweep: shards and rows choose jobs, shards share a folder", "[experiment]") {
  Bench bench("shard");
  const Ablation ablation = bench.ablation(kTwoRows, "[0, 1]");
  bench.options.shard = parse_shard("2/3");
  CHECK(bench.run(ablation).progress.total == 1);
  CHECK(bench.log.text == "start b-s0\nfinish b-s0 1/1\n");
  bench.options.shard = parse_shard("1/3");
  CHECK(bench.run(ablation).progress.total == 2);
  bench.options.shard = {};
  bench.options.only = {"a"};
  const SweepOutcome outcome = bench.run(ablation);
  CHECK(outcome.progress.total == 2);
  CHECK(outcome.skipped == 1);
  for (const char* bad : {"0/3", "4/3", "1", "1/", "/2", "1/2x", "a/b"}) {
    CHECK(complaint([&] { parse_shard(bad); }) ==
          std::string("--shard ") + bad + ": expected i/n with 1 <= i <= n, such as 2/8");
  }
}

TEST_CASE("sweep: a program that cannot be started is a failure that names it", "[experiment]") {
  Bench bench("program");
  bench.options.program = {"./no-such-train"};
  const SweepOutcome outcome = bench.run(bench.ablation(R"({"name": "x"})"));
  REQUIRE(outcome.failed.size() == 1);
  CHECK(outcome.failed[0].message ==
        "./no-such-train: cannot be started: No such file or directory");
}

TEST_CASE("sweep: folders of others are refused", "[experiment]") {
  Bench bench("folder");
  const Ablation ablation = bench.ablation(kTwoRows);
  write("out/thesis.txt", "");
  CHECK(complaint([&] { bench.run(ablation); }) ==
        "out: is not empty and holds no ablation; choose another --out");
  io::remove_all("out");
  bench.run(ablation);
  Ablation other = ablation;
  other.name = "other";
  CHECK(complaint([&] { bench.run(other); }) ==
        R"(out: holds the ablation "a", not "other"; choose another --out)");
  bench.options.only = {"aa"};
  CHECK(complaint([&] { bench.run(ablation); }) ==
        R"(--only aa: no row called so; did you mean "a"?; run with --list to see all)");
}

TEST_CASE("sweep: a signal is passed on, and the sweep can be continued", "[experiment]") {
  Bench bench("signal");
  const Ablation ablation =
      bench.ablation(R"({"name": "ok"}, {"name": "x", "set": {"mode": "wait"}}, {"name": "y",
                         "set": {"mode": "wait", "model.depth": 2}})");
  const pid_t child = run_apart(bench, ablation);
  REQUIRE(happens([] { return there("waiting"); }));

  // Meanwhile others may work on the same, and on nothing else.
  const JobStatus running = survey_all(ablation)[1];
  CHECK(running.state == JobState::kRunning);
  REQUIRE(running.held);
  CHECK(running.held->holder.process == child);
  const Ablation changed = bench.ablation(R"({"name": "ok"})", "[0, 1]");
  CHECK_THAT(complaint([&] { bench.run(changed); }),
             Catch::StartsWith("out: process " + std::to_string(child) + " on ") &&
                 Catch::Contains(" works there on this ablation as it was before (seeds: [0] -> "
                                 "[0,1]; ") &&
                 Catch::EndsWith("; wait until its jobs have ended, or choose another --out"));

  ::kill(child, SIGINT);
  CHECK(status_of_child(child) == 9);
  CHECK(io::read_text("interrupted") ==
        "stopped by Interrupt signal: 1 of 3 jobs finished, 1 saved to go on from, 0 failed; run "
        "the same command again to continue");
  CHECK(there("saved"));

  io::remove_all("waiting");
  const pid_t again = run_apart(bench, ablation);
  REQUIRE(happens([] { return there("waiting"); }));  // y, after x was resumed
  ::kill(again, SIGTERM);
  CHECK(status_of_child(again) == 9);
  CHECK(bench.run(ablation).skipped == 2);
  CHECK(bench.log.text == "resume y-s0\nfinish y-s0 3/3\n");
}

TEST_CASE("sweep: after kill -9 its children save, and the sweep can be continued",
          "[experiment]") {
  Bench bench("kill");
  const Ablation ablation = bench.ablation(R"({"name": "x", "set": {"mode": "wait"}})");
  const pid_t child = run_apart(bench, ablation);
  REQUIRE(happens([] { return there("waiting"); }));
  ::kill(child, SIGKILL);
  CHECK(status_of_child(child) == -SIGKILL);
  // The child of the killed sweep may still be at work; its job is waited for, not started twice.
  CHECK(bench.run(ablation).progress.finished == 1);
  CHECK(there("saved"));
  CHECK(bench.log.text.find("resume x-s0\nfinish x-s0 1/1\n") != std::string::npos);
  CHECK(bench.calls() == "x-s0 resume=no threads=4\nx-s0 resume=yes threads=4\n");
}

TEST_CASE("sweep: a full disk while children run leaves none behind", "[experiment]") {
  Bench bench("disk");
  const Ablation ablation =
      bench.ablation(R"({"name": "x", "set": {"mode": "wait"}}, {"name": "y"})");
  bench.options.jobs = 2;
  int renames = 0;
  // 1 ablation.json, 2 configuration of x, 3 that of y.
  io::set_fault_hook([&](std::string_view call) {
    if (call != "rename" || ++renames != 3) return 0;
    happens([] { return there("waiting"); });
    return ENOSPC;
  });
  const std::string message = complaint([&] { bench.run(ablation); });
  io::set_fault_hook({});
  CHECK(message.find("rename failed: No space left on device") != std::string::npos);
  CHECK(there("saved"));
}

TEST_CASE("sweep: summaries by split, and with numbers that are not finite", "[experiment]") {
  const Folder folder("summary");
  write(
      "run/summary.json",
      R"({"metrics": {"test": {"top1": 1.5, "loss": null, "nonfinite": ["loss"]}, "val": {"top1": 2}}, "parameters": 3,
            "version": "1", "host": "h"})");
  const RunSummary summary = read_summary("run");
  CHECK(summary.metrics.at({"test", "top1"}) == 1.5);
  CHECK(summary.metrics.at({"val", "top1"}) == 2.0);
  CHECK(std::isnan(summary.metrics.at({"test", "loss"})));
  CHECK(summary.parameters == 3);
  CHECK_FALSE(summary.macs);
  CHECK(summary.program == "1");
  write("err", "first\n  last line \n\n");
  CHECK(last_line("err") == "  last line");
  CHECK(last_line("none").empty());
}

TEST_CASE("sweep: --seeds over a finished sweep leaves the tables of the others", "[experiment]") {
  Bench bench("seeds");
  const Ablation all = bench.ablation(kTwoRows, "[0, 1, 2]");
  bench.run(all);
  const std::string table = io::read_text("out/results.csv");
  const auto again = [&](std::vector<std::int64_t> seeds) {
    const Ablation some = load_for_folder("a.json", kind(), {.set = {}, .seeds = seeds}, "out");
    bench.options.seeds = seeds;
    const SweepOutcome outcome = bench.run(some);
    return outcome.progress.total;
  };
  CHECK(again({0}) == 2);
  CHECK(bench.log.text.empty());
  CHECK(io::read_text("out/results.csv") == table);
  // One more seed is run and stands beside them.
  CHECK(again({7}) == 2);
  CHECK(bench.log.text == "start a-s7\nfinish a-s7 1/2\nstart b-s7\nfinish b-s7 2/2\n");
  CHECK(io::read_text("out/results.csv").find("a,test_top1,4,") != std::string::npos);
  // In a new folder, and with settings of which the folder has no runs, only these seeds count.
  CHECK(load_for_folder("a.json", kind(), {.set = {}, .seeds = {0}}, "new").seeds ==
        std::vector<std::int64_t>{0});
  const AblationOverrides other{.set = {"train.epochs=3"}, .seeds = {1}};
  CHECK(load_for_folder("a.json", kind(), other, "out").seeds == std::vector<std::int64_t>{1});
}

TEST_CASE("sweep: a job whose config.json is damaged says how to go on, and does", "[experiment]") {
  Bench bench("config");
  const Ablation ablation = bench.ablation(R"({"name": "x", "set": {"mode": "tempfail"}})");
  bench.run(ablation);
  const fs::path config = paths_of("out", ablation.jobs[0]).run / "config.json";
  io::write_atomic(config, "{\"name\": \"x");
  const SweepOutcome outcome = bench.run(ablation);
  REQUIRE(outcome.failed.size() == 1);
  CHECK_THAT(outcome.failed[0].message, Catch::Contains("config.json:1:") &&
                                            Catch::Contains("the file is damaged: remove it"));
  CHECK(io::read_text(config) == "{\"name\": \"x");
  fs::remove(config);
  bench.options.retry_failed = true;
  CHECK(bench.run(ablation).progress.finished == 1);
  CHECK(bench.log.text == "resume x-s0\nfinish x-s0 1/1\n");
}

TEST_CASE("sweep: a run in which nothing was trained is begun again, not resumed", "[experiment]") {
  Bench bench("untrained");
  const Ablation ablation = bench.ablation(R"({"name": "bad", "set": {"mode": "fail"}})");
  REQUIRE(bench.run(ablation).failed.size() == 1);
  write(paths_of("out", ablation.jobs[0]).run / "metrics.jsonl", "");
  write("repaired", "");
  bench.options.retry_failed = true;
  CHECK(bench.run(ablation).failed.empty());
  CHECK(bench.log.text == "start bad-s0\nfinish bad-s0 1/1\n");
}

TEST_CASE("sweep: a fold is finished when its cases are scored", "[experiment]") {
  Bench bench("folds");
  write("a.json", R"({"name": "a", "base": {}, "folds": 2, "rows": [{"name": "x"}]})");
  const Ablation ablation = load_ablation("a.json", kind());
  write("blind", "");
  REQUIRE(bench.run(ablation).failed.size() == 2);
  CHECK(bench.log.text ==
        "start x-s0-f0\nfail x-s0-f0: cannot see\nstart x-s0-f1\nfail x-s0-f1: cannot see\n");
  CHECK(survey_all(ablation)[0].state == JobState::kFailed);
  CHECK_THAT(check_results(ablation, "out")[0],
             Catch::EndsWith("the cases of the fold are not scored"));
  CHECK(bench.run(ablation).failed.size() == 2);
  CHECK(bench.log.text.empty());

  // Nothing is trained again.
  io::remove_all("blind");
  io::remove_all("calls");
  bench.options.retry_failed = true;
  CHECK(bench.run(ablation).progress.finished == 2);
  CHECK(bench.log.text ==
        "resume x-s0-f0\nfinish x-s0-f0 1/2\nresume x-s0-f1\nfinish x-s0-f1 2/2\n");
  CHECK(bench.calls().empty());
  CHECK_THAT(io::read_text("scored"),
             Catch::EndsWith("x-s0-f1 --split val --no-noise --overlays 0 --quiet --threads 4\n"));
  CHECK(check_results(ablation, "out").empty());
  CHECK(bench.run(ablation).skipped == 2);

  // One that was killed between the two is only scored.
  io::remove_all(paths_of("out", ablation.jobs[0]).run / "eval");
  CHECK(survey_all(ablation)[0].state == JobState::kPartial);
  CHECK(bench.run(ablation).progress.finished == 2);
  CHECK(bench.calls().empty());
}
