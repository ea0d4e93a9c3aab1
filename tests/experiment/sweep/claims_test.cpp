// Several sweeps in one folder: who runs what, who takes over, and the table in the end.
#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <ctime>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "base/holder.h"
#include "experiment/run/run_folder.h"
#include "experiment/sweep/job_list.h"
#include "experiment/sweep/sweep.h"
#include "experiment/sweep/sweep_folder.h"
#include "experiment/tables/results.h"
#include "tests/experiment/fixture.h"
#include "tests/experiment/sweep/bench.h"
#include "training/store/run_lock.h"

using namespace fovea;
using namespace fovea::experiment;
using namespace fovea::experiment::test;

namespace {

using std::chrono::milliseconds;

constexpr io::ClaimTimes kImpatient{milliseconds(5), milliseconds(150)};

// A claim of a process of another machine.
void write_far(const fs::path& claim) {
  write(claim,
        "process 12\nhost elsewhere\nboot b\nsince 2026-01-02T03:04:05Z\nslurm 7_3\n"
        "token 0123456789abcdef\n");
}

// Makes the claim of a process here one of another machine.
void seem_far(const fs::path& claim) {
  const std::string text = io::read_text(claim);
  const int file = ::open(claim.c_str(), O_WRONLY | O_TRUNC);
  const std::string far = "process 12\nhost elsewhere\nboot b\n" + text.substr(text.find("token "));
  (void)!::write(file, far.data(), far.size());
  ::close(file);
}

std::string rows_of(int count, const std::string& more = "") {
  std::string rows;
  for (int i = 1; i <= count; ++i) {
    rows += (i == 1 ? "" : ", ") + std::string(R"({"name": "r)") + std::to_string(i) +
            R"(", "set": {"model.depth": )" + std::to_string(i) + more + "}}";
  }
  return rows;
}

std::size_t files_in(const fs::path& folder, const std::string& part) {
  return static_cast<std::size_t>(std::count_if(
      fs::directory_iterator(folder), fs::directory_iterator(),
      [&](const auto& e) { return e.path().filename().string().find(part) != std::string::npos; }));
}

}  // namespace

TEST_CASE("claims: sweeps that are killed at random do every job once", "[experiment]") {
  Bench bench("workers");
  const Ablation ablation = bench.ablation(rows_of(12), "[0, 1]");
  constexpr std::size_t kWorkers = 4;
  std::vector<pid_t> workers;
  while (workers.size() < kWorkers) workers.push_back(run_apart(bench, ablation));
  std::mt19937 random(3);
  for (int kills = 0; kills < 12; ++kills) {
    std::this_thread::sleep_for(milliseconds(random() % 60));
    pid_t& victim = workers[random() % kWorkers];
    ::kill(victim, SIGKILL);
    status_of_child(victim);
    victim = run_apart(bench, ablation);
  }
  for (const pid_t worker : workers) CHECK(status_of_child(worker) == 0);
  for (const JobStatus& status : survey_all(ablation)) {
    CHECK(status.state == JobState::kFinished);
    CHECK_FALSE(status.held);
  }
  CHECK(check_results(ablation, "out").empty());
  CHECK(files_in("out/jobs", ".claim") == 0);
  CHECK(files_in("out", ".tmp") == 0);
  // None was begun anew by one sweep while another's child ran it: what was cut short is begun
  // again only after a kill.
  std::istringstream calls(bench.calls());
  std::map<std::string, int> begun;
  for (std::string line; std::getline(calls, line);) ++begun[line.substr(0, line.find(' '))];
  CHECK(begun.size() == 24);
  int again = 0;
  for (const auto& [job, times] : begun) again += times - 1;
  CHECK(again <= 12);
}

TEST_CASE("claims: a job that another machine runs is waited for, or left", "[experiment]") {
  Bench bench("far");
  const Ablation ablation = bench.ablation(rows_of(2));
  const JobPaths first = paths_of("out", ablation.jobs[0]);
  const bool run_alone = GENERATE(false, true);  // by `train`, without a sweep
  const fs::path claim = run_alone ? training::run_lock_of(first.run) : first.claim;
  write("out/ablation.json", to_value(ablation).dump() + "\n");
  write_far(claim);

  bench.options.wait = false;
  SweepOutcome outcome = bench.run(ablation);
  CHECK(bench.log.text == "start r2-s0\nfinish r2-s0 1/2\n");
  CHECK(outcome.elsewhere == 1);
  CHECK(outcome.not_started == 0);
  CHECK(there(claim));

  // It shows signs of life, then its machine loses power.
  bench.options.wait = true;
  bench.options.claims = kImpatient;
  const auto start = std::chrono::steady_clock::now();
  std::thread beats([&] {
    for (int i = 0; i < 60; ++i) {
      ::utimensat(AT_FDCWD, claim.c_str(), nullptr, 0);
      std::this_thread::sleep_for(milliseconds(10));
    }
  });
  outcome = bench.run(ablation);
  beats.join();
  CHECK(std::chrono::steady_clock::now() - start > milliseconds(600));
  CHECK(outcome.progress.finished == 2);
  CHECK(bench.log.text ==
        "wait r1-s0: process 12 on elsewhere, job 7_3 of SLURM\nstart r1-s0\nfinish r1-s0 2/2\n");
  CHECK_FALSE(there(claim));
  CHECK(check_results(ablation, "out").empty());
}

TEST_CASE("claims: a sweep that was suspended finds its job another's and stops its child",
          "[experiment]") {
  Bench bench("suspended");
  const Ablation ablation = bench.ablation(R"({"name": "x", "set": {"mode": "wait"}})");
  const JobPaths paths = paths_of("out", ablation.jobs[0]);
  bench.options.claims = {milliseconds(20), milliseconds(3'600'000)};
  const pid_t slow = run_apart(bench, ablation);
  REQUIRE(happens([] { return there("waiting"); }));
  ::kill(slow, SIGSTOP);
  seem_far(paths.claim);
  const fs::path checkpoint = paths.run / "checkpoints/last";
  io::make_directories(checkpoint);  // so that the job goes on, and ends at once
  bench.options.claims = kImpatient;
  CHECK(bench.run(ablation).progress.finished == 1);
  CHECK_THAT(bench.log.text, Catch::EndsWith("resume x-s0\nfinish x-s0 1/1\n"));
  const std::string table = io::read_text("out/results.json");
  const std::string summary = io::read_text(paths.run / "summary.json");

  ::kill(slow, SIGCONT);
  CHECK(status_of_child(slow) == 0);  // the job is finished, whoever did it
  CHECK_FALSE(there("saved"));        // its child was killed, not asked to save
  CHECK(io::read_text("out/results.json") == table);
  CHECK(io::read_text(paths.run / "summary.json") == summary);
  CHECK_FALSE(there(paths.failed));
  CHECK(files_in("out/jobs", ".claim") == 0);
}

TEST_CASE("claims: what fails is tried again once, by one of those who are asked to",
          "[experiment]") {
  Bench bench("retry");
  const Ablation ablation = bench.ablation(R"({"name": "x", "set": {"mode": "fail"}})");
  bench.run(ablation);
  bench.options.retry_failed = true;
  std::vector<pid_t> workers;
  for (int i = 0; i < 3; ++i) workers.push_back(run_apart(bench, ablation));
  for (const pid_t worker : workers) CHECK(status_of_child(worker) == 0);
  const std::string calls = bench.calls();
  const auto tries = std::count(calls.begin(), calls.end(), '\n');
  CHECK(tries >= 2);  // and once more for each that began after the failure
  CHECK(tries <= 4);
  CHECK(survey_all(ablation)[0].state == JobState::kFailed);
}

TEST_CASE("claims: --list and --check say who does what, and what was left", "[experiment]") {
  Bench bench("list");
  const Ablation ablation =
      bench.ablation(R"({"name": "bad", "set": {"mode": "fail"}}, {"name": "good"},
          {"name": "far", "set": {"model.depth": 1}}, {"name": "killed", "set": {"model.depth": 2}},
          {"name": "new", "set": {"model.depth": 3}})");
  bench.options.only = {"bad", "good"};
  bench.run(ablation);
  const auto claim_of = [&](std::size_t job) { return paths_of("out", ablation.jobs[job]).claim; };
  write_far(claim_of(2));
  Holder gone = this_holder();
  gone.start = "1";
  gone.since.clear();
  write(claim_of(3), to_text(gone) + "token 0123456789abcdef\n");
  write("out/jobs/other-s0-12345678.claim", "process 12\nhost elsewhere\ntoken 0123456789abcdef\n");
  write("out/jobs/old-s0-12345678.claim.0123456789abcdef.tmp", "");

  const std::vector<const Job*> jobs = chosen_jobs(ablation, {});
  const std::vector<JobStatus> statuses = survey_all(ablation);
  REQUIRE(statuses[2].held);
  const std::string text = job_list_text(jobs, statuses, statuses[2].held->last_sign + 7);
  const std::string left = "left by " + described(gone) + ", which is gone";
  std::istringstream lines(text);
  std::vector<std::string> list;
  for (std::string line; std::getline(lines, line);) list.push_back(line);
  REQUIRE(list.size() == 5);
  for (std::size_t i = 0; i < list.size(); ++i) CHECK_THAT(list[i], Catch::StartsWith(jobs[i]->id));
  CHECK_THAT(list[0], Catch::EndsWith("  failed    loss is nan"));
  CHECK_THAT(list[1], Catch::EndsWith("  finished"));
  CHECK_THAT(list[2],
             Catch::EndsWith("  running   process 12 on elsewhere, job 7_3 of SLURM, since "
                             "2026-01-02T03:04:05Z, sign of life 7 s ago"));
  CHECK_THAT(list[3], Catch::EndsWith("  missing   " + left));
  CHECK_THAT(list[4], Catch::EndsWith("  missing"));

  const schema::Value value = job_list_value(jobs, statuses);
  CHECK(value.items()[2].at("state").as_string() == "running");
  CHECK(value.items()[2].at("holder").at("slurm").as_string() == "7_3");
  CHECK_FALSE(value.items()[2].at("holder").at("gone").as_bool());
  CHECK(value.items()[3].at("holder").at("gone").as_bool());
  CHECK(value.items()[4].at("holder").is_null());

  std::string all;
  for (const std::string& line : check_results(ablation, "out")) all += line + "\n";
  CHECK_THAT(all, Catch::Contains("out/runs/" + ablation.jobs[2].id +
                                  ": not finished; process 12 on elsewhere, job 7_3 of SLURM runs "
                                  "it\n"));
  CHECK_THAT(all, Catch::Contains(claim_of(3).string() + ": was " + left +
                                  "; the next ablate removes it\n"));
  CHECK_THAT(all, Catch::Contains("out/jobs/other-s0-12345678.claim: of no job of this ablation; "
                                  "process 12 on elsewhere runs it\n"));
  CHECK_THAT(all, Catch::Contains("out/jobs/old-s0-12345678.claim.0123456789abcdef.tmp: was left"));

  // The next sweep puts the folder in order; what may be alive stays.
  bench.options.only = {"good"};
  bench.run(ablation);
  CHECK_FALSE(there(claim_of(3)));
  CHECK(files_in("out/jobs", ".claim") == 2);

  // The same of files that were written when a process was killed, here.
  const std::string digits = process_digits();
  const std::string machine = digits.substr(digits.size() - 10);
  const pid_t ended = run_apart(bench, ablation);
  status_of_child(ended);
  const std::string gone_file = "out/results.md." + std::to_string(ended) + machine + ".tmp";
  const std::string far_file = "out/results.md." + std::to_string(ended) + "0123456789.tmp";
  write(gone_file, "half a ta");
  write(far_file, "half a ta");
  bench.run(ablation);
  CHECK_FALSE(there(gone_file));
  CHECK(there(far_file));
}

TEST_CASE("claims: an older table does not stay over a newer one", "[experiment]") {
  Bench bench("race");
  const Ablation ablation = bench.ablation(rows_of(2));
  bench.options.only = {"r1"};
  bench.run(ablation);
  io::remove_all("out/results.json");
  // After this process has read the runs, another one is finished and its table written.
  int renames = 0;
  io::set_fault_hook([&](std::string_view call) {
    if (call != "rename" || ++renames != 2) return 0;
    const pid_t other = ::fork();
    if (other == 0) {
      const fs::path run = paths_of("out", ablation.jobs[1]).run;
      write(run / "config.json", ablation.jobs[1].config.dump());
      write(run / "summary.json", R"({"metrics": {"test": {"top1": 70}}})");
      update_results(ablation, "out");
      ::_exit(0);
    }
    status_of_child(other);
    return 0;
  });
  try {
    update_results(ablation, "out");
  } catch (...) {
    io::set_fault_hook({});
    throw;
  }
  io::set_fault_hook({});
  CHECK(check_results(ablation, "out").empty());
  CHECK_THAT(io::read_text("out/results.csv"), Catch::Contains("r2,test_top1,1,70,"));
}

TEST_CASE("claims: many may begin in one empty folder at once", "[experiment]") {
  Bench bench("begin");
  const Ablation ablation = bench.ablation(rows_of(1));
  for (int round = 0; round < 3; ++round) {
    io::remove_all("out");
    std::vector<pid_t> workers;
    for (int i = 0; i < 4; ++i) workers.push_back(run_apart(bench, ablation));
    for (const pid_t worker : workers) CHECK(status_of_child(worker) == 0);
    CHECK(check_results(ablation, "out") == std::vector<std::string>{});
  }
}
