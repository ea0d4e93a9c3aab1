// More epochs for a run that is over.
#include <catch2/catch.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "base/error.h"
#include "schema/load.h"
#include "tests/support/tensors.h"
#include "tests/training/run_bytes.h"
#include "tests/training/toy_task.h"

using namespace fovea;
using schema::Value;
using training::TrainerSetup;

namespace {

constexpr const char* kConstant = R"({"type": "constant"})";

TrainerSetup setup_of(const io::fs::path& folder, const Device& device, std::int64_t epochs,
                      const std::string& schedule = kConstant) {
  TrainerSetup setup = test::toy_setup(folder, device);
  setup.schedule = test::component(schedule);
  setup.train.epochs = epochs;
  setup.train.ema_decay = 0.9;
  setup.train.monitor_averages = true;
  schema::set_path(setup.config, "train.epochs", epochs);
  return setup;
}

Value train(TrainerSetup setup) {
  test::ToyTask task(setup.host);
  return training::Trainer(task, std::move(setup)).run();
}

Value extend(const io::fs::path& folder, const Device& device, std::int64_t more, std::int64_t to) {
  TrainerSetup setup = setup_of(folder, device, to);
  setup.resume = true;
  setup.extend = more;
  return train(std::move(setup));
}

// run_bytes() without the lines of log.txt, which say that the run was extended, and the length of
// the event file, which has the configuration again.
std::string bytes_of(const io::fs::path& run) {
  std::string text;
  std::istringstream lines(test::run_bytes(run));
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("events ") && line.find("goes on from epoch") == std::string::npos)
      text += line + "\n";
  }
  return text;
}

std::string config_of(const io::fs::path& run) { return io::read_text(run / "config.json"); }

}  // namespace

TEST_CASE("extend: at a constant rate, the bytes of one long run", "[training]") {
  const test::Folder whole("extend_whole"), parts("extend_parts");
  train(setup_of(whole.path, test::cpu(), 6));
  train(setup_of(parts.path, test::cpu(), 2));
  extend(parts.path, test::cpu(), 3, 5);
  CHECK(bytes_of(whole.path) != bytes_of(parts.path));
  const Value summary = extend(parts.path, test::cpu(), 1, 6);
  CHECK(bytes_of(whole.path) == bytes_of(parts.path));
  CHECK(config_of(whole.path) == config_of(parts.path));
  CHECK(summary.at("epochs").as_int() == 6);
  CHECK_THAT(io::read_text(parts.path / "log.txt"),
             Catch::Contains("step 10: goes on from epoch 2 to epoch 5; the learning rate was 0.01 "
                             "in the last step and is 0.01 in the next\n"));
  // TensorBoard knows both configurations, the settings that the run began with, and one end.
  for (const auto& entry : io::fs::directory_iterator(parts.path)) {
    if (!entry.path().filename().string().starts_with("events.")) continue;
    const std::string events = io::read_text(entry.path());
    const auto count = [&](const std::string& word) {
      std::size_t found = 0;
      for (std::size_t at = events.find(word); at != std::string::npos;
           at = events.find(word, at + 1))
        ++found;
      return found;
    };
    CHECK(count("\n\x06"
                "configB") == 3);
    CHECK(count("_hparams_/session_start_info") == 1);
    CHECK(count("_hparams_/session_end_info") == 1);
  }
}

TEST_CASE("extend: the schedule is that of the longer run", "[training]") {
  const test::Folder folder("extend_cosine");
  const std::string cosine = R"({"type": "cosine", "unit": "step"})";
  train(setup_of(folder.path, test::cpu(), 2, cosine));
  TrainerSetup setup = setup_of(folder.path, test::cpu(), 4, cosine);
  setup.resume = true;
  setup.extend = 2;
  train(setup);
  CHECK_THAT(io::read_text(folder.path / "log.txt"),
             Catch::Contains("the learning rate was 0.0002447 in the last step and is 0.005 in the "
                             "next"));
}

TEST_CASE("extend: a run that is not over, ended early or counts steps is refused", "[training]") {
  const test::Folder folder("extend_refused");
  TrainerSetup setup = setup_of(folder.path, test::cpu(), 8);
  SECTION("there is none") {
    CHECK_THROWS_WITH(extend(folder.path, test::cpu(), 2, 10),
                      Catch::Contains("there is no run to resume"));
  }
  SECTION("not over") {
    const std::atomic<bool> stop = true;
    setup.stop = &stop;
    CHECK_THROWS_AS(train(setup), Interrupted);
    CHECK_THROWS_WITH(extend(folder.path, test::cpu(), 2, 10),
                      Catch::Contains("stands after 0 of 8 epochs; finish it with --resume first"));
  }
  SECTION("ended early") {
    setup.train.patience = 1;
    setup.train.min_delta = 1e6;
    train(setup);
    CHECK_THROWS_WITH(extend(folder.path, test::cpu(), 2, 10),
                      Catch::Contains("ended by early stopping: val"));
  }
  SECTION("another configuration") {
    train(setup);
    TrainerSetup other = setup_of(folder.path, test::cpu(), 10);
    schema::set_path(other.config, "train.num_workers", 7);
    other.resume = true;
    other.extend = 2;
    CHECK_THROWS_WITH(train(other), Catch::Contains("began with another configuration: "
                                                    "train.num_workers"));
    other = setup_of(folder.path, test::cpu(), 11);
    other.resume = true;
    other.extend = 2;
    CHECK_THROWS_WITH(train(other), Catch::Contains("another configuration: train.epochs"));
  }
  SECTION("counts steps") {
    setup.train.steps = 7;
    train(setup);
    TrainerSetup longer = setup;
    longer.resume = true;
    longer.extend = 2;
    longer.train.epochs += 2;
    CHECK_THROWS_WITH(train(longer), Catch::Contains("is train.steps=7 long"));
  }
  if (io::fs::exists(folder.path / "summary.json")) {
    // Nothing has changed.
    const std::string before = config_of(folder.path);
    CHECK(before == setup.config.dump() + "\n");
  }
}

// Killed at any system call on files: the same command again, or --resume where config.json has the
// new length, ends with the bytes of a run that nobody killed.
TEST_CASE("extend: killed anywhere at its beginning, it goes on", "[training]") {
  const test::Folder whole("extend_straight");
  train(setup_of(whole.path, test::cpu(), 1));
  extend(whole.path, test::cpu(), 1, 2);
  const std::string straight = bytes_of(whole.path);
  for (int fatal = 0; fatal < 60; fatal += 4) {
    INFO("killed at call " << fatal);
    const test::Folder folder("extend_killed");
    train(setup_of(folder.path, test::cpu(), 1));
    const pid_t child = ::fork();
    if (child == 0) {
      int calls = 0;
      io::set_fault_hook([&](std::string_view) {
        if (calls++ == fatal) ::kill(::getpid(), SIGKILL);
        return 0;
      });
      extend(folder.path, make_cpu(1), 1, 2);  // threads do not survive a fork
      ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    const Value config = schema::parse(config_of(folder.path), "config");
    if (schema::find_path(config, "train.epochs")->as_int() == 1) {
      extend(folder.path, test::cpu(), 1, 2);
    } else {
      TrainerSetup resumed = setup_of(folder.path, test::cpu(), 2);
      resumed.resume = true;
      train(resumed);
    }
    CHECK(bytes_of(folder.path) == straight);
  }
}
