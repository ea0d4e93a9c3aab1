// A run that is killed anywhere and resumed writes the same bytes as one that was not.
#include <catch2/catch.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <set>
#include <sstream>

#include "backend/devices.h"
#include "base/error.h"
#include "schema/parse.h"
#include "tests/support/tensors.h"
#include "tests/training/toy_task.h"

using namespace fovea;
using schema::Value;
using training::TrainerSetup;

namespace {

TrainerSetup hard_setup(const io::fs::path& folder, const Device& device) {
  TrainerSetup setup = test::toy_setup(folder, device);
  setup.train.epochs = 6;
  setup.train.ema_decay = 0.9;
  setup.train.grad_accum_steps = 2;
  setup.train.checkpoint_every_steps = 2;
  setup.train.keep_every = 4;
  setup.train.patience = 100;
  setup.train.log_every = 4;
  return setup;
}

// What a run leaves, without times.
std::string fingerprint(const io::fs::path& run) {
  std::string text;
  for (const char* name : {"model", "optimiser", "ema"}) {
    for (const char* which : {"last", "best"}) {
      text += training::hash_bytes(io::read_text(run / "checkpoints" / which /
                                                 (std::string(name) + ".safetensors"))) +
              "\n";
    }
  }
  std::istringstream lines(io::read_text(run / "metrics.jsonl"));
  for (std::string line; std::getline(lines, line);) {
    Value value = schema::parse(line, "metrics.jsonl");
    value.erase("time_s");
    value.erase("samples_per_s");
    text += value.dump(0) + "\n";
  }
  Value state =
      schema::parse(io::read_text(run / "checkpoints/last/state.json"), "state").at("state");
  state.erase("time_s");
  state.erase("metrics_bytes");  // times have different lengths
  state.erase("text_bytes");
  state.erase("event_bytes");
  text += state.dump() + io::read_text(run / "log.txt") + io::read_text(run / "metrics.csv");
  std::set<std::string> names;
  for (const auto& entry : io::fs::recursive_directory_iterator(run)) {
    std::string name = io::fs::relative(entry.path(), run).string();
    if (name.starts_with("events.out.tfevents.")) {
      // Of the same length, since every number in it has a fixed width.
      name = "events " + std::to_string(io::fs::file_size(entry.path()));
    }
    names.insert(name);
  }
  for (const std::string& name : names) text += name + "\n";
  return text;
}

std::string straight_run(const std::string& name) {
  const test::Folder folder(name);
  test::ToyTask task(test::cpu());
  training::Trainer(task, hard_setup(folder.path, test::cpu())).run();
  return fingerprint(folder.path);
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
  CHECK(fingerprint(folder.path) == expected);
}

TEST_CASE("resume: killed at any system call, the run writes the same bytes", "[training]") {
  const std::string expected = straight_run("resume_straight2");
  const RandomStream random(11);
  int kills = 0;
  for (std::uint64_t round = 0; round < 3; ++round) {
    const test::Folder folder("resume_kill");
    for (std::uint64_t attempt = 0;; ++attempt) {
      REQUIRE(attempt < 500);
      const std::int64_t fatal = random.fork(round).below(150, attempt);
      if (run_until_killed(folder.path, static_cast<int>(fatal))) break;
      ++kills;
    }
    CHECK(fingerprint(folder.path) == expected);
  }
  CHECK(kills >= 10);
}

TEST_CASE("resume: a finished run is left as it is", "[training]") {
  const test::Folder folder("resume_finished");
  test::ToyTask task(test::cpu());
  TrainerSetup setup = hard_setup(folder.path, test::cpu());
  training::Trainer(task, setup).run();
  const std::string before = fingerprint(folder.path);
  setup.resume = true;
  test::ToyTask again(test::cpu());
  const Value summary = training::Trainer(again, setup).run();
  CHECK(summary.at("steps").as_int() == 18);
  CHECK(fingerprint(folder.path) == before);
}
