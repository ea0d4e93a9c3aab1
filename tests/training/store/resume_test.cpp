// A run that is killed anywhere and resumed writes the same bytes as one that was not.
#include <catch2/catch.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <map>
#include <set>
#include <sstream>

#include "backend/devices.h"
#include "base/error.h"
#include "schema/json/parse.h"
#include "schema/load.h"
#include "tests/support/tensors.h"
#include "tests/training/run_bytes.h"
#include "tests/training/toy_task.h"

using namespace fovea;
using schema::Value;
using training::TrainerSetup;

namespace {

TrainerSetup hard_setup(const io::fs::path& folder, const Device& device) {
  TrainerSetup setup = test::toy_setup(folder, device);
  setup.train.epochs = 6;
  setup.train.ema_decay = 0.9;
  setup.train.monitor_averages = true;
  setup.train.grad_accum_steps = 2;
  setup.train.checkpoint_every_steps = 2;
  setup.train.keep_every = 4;
  setup.train.patience = 100;
  setup.train.log_every = 4;
  schema::set_path(setup.config, "train.device", "cpu");
  return setup;
}

// calls: set to how many system calls on files the run makes.
std::string straight_run(const std::string& name, std::int64_t* calls = nullptr) {
  const test::Folder folder(name);
  test::ToyTask task(test::cpu());
  if (calls != nullptr) {
    *calls = 0;
    io::set_fault_hook([=](std::string_view) {
      ++*calls;
      return 0;
    });
  }
  training::Trainer(task, hard_setup(folder.path, test::cpu())).run();
  io::set_fault_hook({});
  return test::run_bytes(folder.path);
}

// Runs or resumes in a child that kills itself at its `fatal`-th system call on files. True when
// the run got to its end.
bool run_until_killed(const io::fs::path& folder, int fatal) {
  const pid_t child = ::fork();
  if (child == 0) {
    int calls = 0;
    io::set_fault_hook([&](std::string_view) {
      if (calls++ == fatal) ::kill(::getpid(), SIGKILL);
      return 0;
    });
    int code = 0;
    try {
      const Device device = make_cpu(1);  // threads do not survive a fork
      test::ToyTask task(device);
      TrainerSetup setup = hard_setup(folder, device);
      setup.resume = io::fs::exists(folder / "config.json");
      training::Trainer(task, setup).run();
    } catch (const std::exception& error) {
      ::write(2, error.what(), std::string(error.what()).size());
      code = 1;
    }
    ::_exit(code);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) return false;
  REQUIRE(WEXITSTATUS(status) == 0);
  return true;
}

}  // namespace

TEST_CASE("resume: stopped after every single step, the run writes the same bytes", "[training]") {
  const std::string expected = straight_run("resume_straight");
  const test::Folder folder("resume_stop");
  std::atomic<bool> stop{true};
  int interruptions = 0;
  for (bool done = false; !done;) {
    test::ToyTask task(test::cpu(), 0.3);
    TrainerSetup setup = hard_setup(folder.path, test::cpu());
    setup.resume = interruptions > 0;
    setup.stop = &stop;
    try {
      training::Trainer(task, setup).run();
      done = true;
    } catch (const Interrupted&) {
      ++interruptions;
    }
  }
  CHECK(interruptions == 6 * 3 - 1);
  CHECK(test::run_bytes(folder.path) == expected);
}

TEST_CASE("resume: killed at any system call, the run writes the same bytes", "[training]") {
  std::int64_t calls = 0;
  const std::string expected = straight_run("resume_straight2", &calls);
  const RandomStream random(11);
  int kills = 0;
  for (std::uint64_t round = 0; round < 3 || kills < 10; ++round) {
    REQUIRE(round < 20);
    const test::Folder folder("resume_kill");
    for (std::uint64_t attempt = 0;; ++attempt) {
      REQUIRE(attempt < 500);
      const std::int64_t fatal = random.fork(round).below(calls, attempt);
      if (run_until_killed(folder.path, static_cast<int>(fatal))) break;
      ++kills;
    }
    CHECK(test::run_bytes(folder.path) == expected);
  }
}

// An older program counted epochs from 0 in metrics.jsonl and in checkpoints, and did not say so.
TEST_CASE("resume: a run that counted epochs from 0 goes on as it began", "[training]") {
  const test::Folder folder("resume_from_zero"), other("resume_from_one");
  const auto run = [](const test::Folder& in, bool resume) {
    test::ToyTask task(test::cpu());
    TrainerSetup setup = hard_setup(in.path, test::cpu());
    std::atomic<bool> stop{true};
    if (!resume) setup.stop = &stop;
    setup.resume = resume;
    return training::Trainer(task, setup).run();
  };
  for (const test::Folder* in : {&folder, &other}) CHECK_THROWS_AS(run(*in, false), Interrupted);
  {
    training::CheckpointStore store(folder.path);
    training::Checkpoint checkpoint = store.load("last", test::cpu());
    CHECK(checkpoint.state.epochs_from == 1);
    checkpoint.state.epochs_from = 0;
    store.save(checkpoint);
  }
  const Value old = run(folder, true), now = run(other, true);
  const auto epochs = [](const test::Folder& in) {
    std::set<std::int64_t> found;
    std::istringstream lines(io::read_text(in.path / "metrics.jsonl"));
    for (std::string line; std::getline(lines, line);)
      found.insert(schema::parse(line, "metrics.jsonl").at("epoch").as_int());
    return found;
  };
  CHECK(epochs(folder) == std::set<std::int64_t>{0, 1, 2, 3, 4, 5});
  CHECK(epochs(other) == std::set<std::int64_t>{1, 2, 3, 4, 5, 6});
  // What is made of them counts from 1.
  CHECK(old.at("best").at("epoch") == now.at("best").at("epoch"));
  CHECK(io::read_text(folder.path / "metrics.csv") == io::read_text(other.path / "metrics.csv"));
}

TEST_CASE("resume: a finished run is left as it is", "[training]") {
  const test::Folder folder("resume_finished");
  test::ToyTask task(test::cpu());
  TrainerSetup setup = hard_setup(folder.path, test::cpu());
  training::Trainer(task, setup).run();
  const std::string before = test::run_bytes(folder.path);
  setup.resume = true;
  test::ToyTask again(test::cpu());
  const Value summary = training::Trainer(again, setup).run();
  CHECK(summary.at("steps").as_int() == 18);
  CHECK(test::run_bytes(folder.path) == before);
}

namespace {

// A run that was stopped after `steps` steps, or one that is finished.
void stopped_run(const io::fs::path& folder, int steps) {
  std::atomic<bool> stop{false};
  struct StopAfter final : training::ProgressSink {
    std::atomic<bool>* stop = nullptr;
    int steps = 0;
    void update(const training::Progress& p) override {
      if (p.step == steps) *stop = true;
    }
    void message(const std::string&) override {}
  } progress;
  progress.stop = &stop;
  progress.steps = steps;
  test::ToyTask task(test::cpu());
  TrainerSetup setup = hard_setup(folder, test::cpu());
  setup.stop = &stop;
  setup.progress = &progress;
  try {
    training::Trainer(task, setup).run();
  } catch (const Interrupted&) {
  }
}

struct Said final : training::ProgressSink {
  std::string text;
  void update(const training::Progress&) override {}
  void message(const std::string& line) override { text += line + "\n"; }
};

// What --resume says, or the error it ends in.
std::string resumed(const io::fs::path& folder, const std::string& device = "cpu") {
  Said said;
  test::ToyTask task(test::cpu());
  TrainerSetup setup = hard_setup(folder, test::cpu());
  schema::set_path(setup.config, "train.device", device);
  setup.resume = true;
  setup.progress = &said;
  try {
    training::Trainer(task, setup).run();
  } catch (const Error& error) {
    return std::string("error: ") + error.what();
  }
  return said.text;
}

// Every file of a folder with its content.
std::map<std::string, std::string> all_files(const io::fs::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : io::fs::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file() || entry.path().filename() == "run.lock") continue;
    files[io::fs::relative(entry.path(), folder).string()] = io::read_text(entry.path());
  }
  return files;
}

// The folder as an older program left it, copied in one of the usual ways.
void copy_as(const std::string& how, const io::fs::path& run) {
  const io::fs::path checkpoints = run / "checkpoints";
  for (const char* name : {"last", "best"}) {
    const io::fs::path target = training::CheckpointStore(run).folder_of(name);
    io::fs::remove(checkpoints / name);
    if (how == "symlinks") io::fs::create_symlink(target.filename(), checkpoints / name);
    if (how == "folders") io::fs::copy(target, checkpoints / name, io::fs::copy_options::recursive);
  }
}

}  // namespace

TEST_CASE("resume: any copy of a run goes on from where it was", "[training]") {
  const std::string expected = straight_run("resume_copies_straight");
  // rsync -r, cp -rL or zip, and what older programs made.
  const std::string how = GENERATE("nothing", "folders", "symlinks");
  const int steps = GENERATE(4, 7, 11, 18);  // the last one is the end
  const test::Folder folder("resume_copies");
  stopped_run(folder.path, steps);
  copy_as(how, folder.path);
  INFO(how << " after " << steps << " steps");
  const std::string text = resumed(folder.path);
  CHECK_THAT(text, !Catch::Contains("error") && !Catch::Contains("begins again"));
  CHECK((how == "nothing") == Catch::Contains("the newest complete checkpoint").match(text));
  CHECK(test::run_bytes(folder.path) == expected);
}

TEST_CASE("resume: a run may go on on another device, and says so once a move", "[training]") {
  const std::string expected = straight_run("resume_moved_straight");
  const test::Folder folder("resume_moved");
  const int steps = GENERATE(7, 18);  // the last one is the end
  stopped_run(folder.path, steps);
  const std::string text = resumed(folder.path, "cuda:1");
  CHECK_THAT(text, !Catch::Contains("error"));
  const std::string line = "step 7: goes on on cuda:1; so far the run was on cpu\n";
  CHECK((steps == 7) == Catch::Contains(line).match(text));
  CHECK((steps == 7) == Catch::Contains(line).match(io::read_text(folder.path / "log.txt")));
  CHECK_THAT(resumed(folder.path, "cuda:1"), !Catch::Contains("goes on"));
  if (steps == 18) CHECK(test::run_bytes(folder.path) == expected);
}

TEST_CASE("resume: a run that has lost its checkpoints is refused and left as it is",
          "[training]") {
  const test::Folder folder("resume_lost");
  const int steps = GENERATE(7, 18);
  stopped_run(folder.path, steps);
  const io::fs::path checkpoints = folder.path / "checkpoints";
  SECTION("all of them") {
    io::fs::remove_all(checkpoints);
    const auto before = all_files(folder.path);
    CHECK_THAT(resumed(folder.path), Catch::Contains("error") &&
                                         Catch::Contains("there is no checkpoint") &&
                                         Catch::Contains("copy it again"));
    CHECK(all_files(folder.path) == before);
  }
  SECTION("every folder is cut") {
    io::fs::remove(checkpoints / "last");
    for (const auto& entry : io::fs::directory_iterator(checkpoints)) {
      if (entry.is_directory()) io::write_atomic(entry.path() / "model.safetensors", "cut");
    }
    const auto before = all_files(folder.path);
    CHECK_THAT(resumed(folder.path),
               Catch::Contains("error") && Catch::Contains("no checkpoint is complete"));
    CHECK(all_files(folder.path) == before);
  }
  SECTION("the best one") {
    if (steps == 18) return;  // the best are the last
    io::fs::remove_all(training::CheckpointStore(folder.path).folder_of("best"));
    const auto before = all_files(folder.path);
    CHECK_THAT(resumed(folder.path),
               Catch::Contains("error") && Catch::Contains("the best weights of the run"));
    CHECK(all_files(folder.path) == before);
  }
  SECTION("a log that is shorter than the checkpoint says") {
    io::write_atomic(folder.path / "metrics.jsonl", "");
    const auto before = all_files(folder.path);
    CHECK_THAT(resumed(folder.path), Catch::Contains("error") && Catch::Contains("counts on"));
    CHECK(all_files(folder.path) == before);
  }
}

TEST_CASE("resume: a run stopped before its first checkpoint begins again and says so",
          "[training]") {
  const std::string expected = straight_run("resume_first_straight");
  const test::Folder folder("resume_first");
  // Killed while the first checkpoint was written: no state.json yet.
  const io::fs::path first = folder.path / "checkpoints/step-00000000";
  io::make_directories(first);
  io::write_atomic(first / "model.safetensors", "cut");
  io::write_atomic(folder.path / "config.json",
                   hard_setup(folder.path, test::cpu()).config.dump() + "\n");
  CHECK_THAT(resumed(folder.path), Catch::Contains("begins again"));
  CHECK(test::run_bytes(folder.path) == expected);
}

TEST_CASE("resume: an unfinished folder of another kind is not taken for a new one", "[training]") {
  const test::Folder folder("resume_logs");
  io::write_atomic(folder.path / "metrics.jsonl", "{\"step\": 1, \"split\": \"val\"}\n");
  test::ToyTask task(test::cpu());
  CHECK_THROWS_WITH(training::Trainer(task, hard_setup(folder.path, test::cpu())).run(),
                    Catch::Contains("holds a run already"));
  CHECK(io::fs::file_size(folder.path / "metrics.jsonl") > 0);
}
