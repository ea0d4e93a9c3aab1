// What in the folder of a run is not the run's own stays as it is, and what ended before anything
// was trained does not stand in the way of the next try.
#include <catch2/catch.hpp>

#include <map>

#include "base/error.h"
#include "tests/support/tensors.h"
#include "tests/training/run_bytes.h"
#include "tests/training/toy_task.h"

using namespace fovea;
using training::TrainerSetup;

namespace {

// "" or the message.
std::string train_toy(const io::fs::path& folder, bool resume = false, double drop = 0.0) {
  test::ToyTask task(test::cpu(), drop);
  TrainerSetup setup = test::toy_setup(folder, test::cpu());
  setup.train.epochs = 2;
  setup.resume = resume;
  try {
    training::Trainer(task, setup).run();
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

std::string train_on_bad_picture(const io::fs::path& folder) {
  test::ToyTask task(test::cpu(), 0.0);
  task.values().unreadable = "images/7.png: cannot be decoded";
  TrainerSetup setup = test::toy_setup(folder, test::cpu());
  setup.train.epochs = 2;
  try {
    training::Trainer(task, setup).run();
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace

TEST_CASE("foreign files: a new run writes over nobody's file and through nobody's link",
          "[training]") {
  const std::string name =
      GENERATE("log.txt", "summary.json", "metrics.csv", "splits.json", "curves.png");
  INFO(name);
  const test::Folder folder("foreign_new");
  const io::fs::path run = folder.path / "run", diary = folder.path / "diary";
  io::make_directories(run);
  io::write_atomic(diary, "dear diary");
  SECTION("a file") {
    io::write_atomic(run / name, "dear diary");
    CHECK_THAT(train_toy(run), Catch::Contains(name) && Catch::Contains("is there already"));
    CHECK(io::read_text(run / name) == "dear diary");
  }
  SECTION("a link") {
    io::fs::create_symlink(diary, run / name);
    CHECK_THAT(train_toy(run), Catch::Contains(name) && Catch::Contains("is there already"));
  }
  SECTION("a link that leads nowhere") {
    io::fs::create_symlink(folder.path / "nowhere", run / name);
    CHECK_THAT(train_toy(run), Catch::Contains("is there already"));
    CHECK_FALSE(io::fs::exists(folder.path / "nowhere"));
  }
  CHECK(io::read_text(diary) == "dear diary");
  CHECK_FALSE(io::fs::exists(run / "config.json"));
  CHECK_FALSE(io::fs::exists(run / "checkpoints"));
}

TEST_CASE("foreign files: the lock of a run is not written through a link", "[training]") {
  const test::Folder folder("foreign_lock");
  const io::fs::path run = folder.path / "run", diary = folder.path / "diary";
  io::make_directories(run);
  io::write_atomic(diary, "");
  io::fs::create_symlink(diary, run / "run.lock");
  CHECK_THAT(train_toy(run), Catch::Contains("run.lock"));
  CHECK(io::fs::exists(diary));
  CHECK(io::read_text(diary).empty());
}

TEST_CASE("foreign files: resuming removes its own litter and nothing else", "[training]") {
  const test::Folder folder("foreign_resume");
  const io::fs::path run = folder.path / "run", checkpoints = run / "checkpoints";
  REQUIRE(train_toy(run).empty());
  std::map<io::fs::path, std::string> own = {
      {run / "notes.tmp", "1"},
      {run / "draft.12.tmp", "2"},
      {run / "eval/test/results.json.77.tmp", "of an eval that is running"},
      {checkpoints / "ideas.tmp", "3"},
      {checkpoints / "step-1/notes.txt", "4"},
      {checkpoints / "step-00000001/notes.txt", "5"},
      {checkpoints / "step-before-the-change/model.safetensors", "6"}};
  // A checkpoint kept by hand under the number of another step.
  const io::fs::path last = training::CheckpointStore(run).folder_of("last");
  for (const auto& [path, text] : own) {
    io::make_directories(path.parent_path());
    io::write_atomic(path, text);
  }
  io::fs::copy(last, checkpoints / "step-00000002", io::fs::copy_options::recursive);
  const io::fs::path litter = run / "config.json.99.tmp", half = checkpoints / "step-00000003";
  io::write_atomic(litter, "cut");
  io::make_directories(half);
  io::write_atomic(half / "model.safetensors", "cut");

  CHECK(train_toy(run, true).empty());
  for (const auto& [path, text] : own) {
    INFO(path.string());
    REQUIRE(io::fs::exists(path));
    CHECK(io::read_text(path) == text);
  }
  CHECK(io::fs::exists(checkpoints / "step-00000002/state.json"));
  CHECK_FALSE(io::fs::exists(litter));
  CHECK_FALSE(io::fs::exists(half));
}

TEST_CASE("foreign files: a folder where a checkpoint will be written is refused before training",
          "[training]") {
  const test::Folder folder("foreign_step");
  const io::fs::path run = folder.path / "run";
  REQUIRE(train_toy(run).empty());
  const io::fs::path notes = run / "checkpoints/step-00000900/notes.txt";
  io::make_directories(notes.parent_path());
  io::write_atomic(notes, "mine");
  CHECK_THAT(train_toy(run, true), Catch::Contains("step-00000900: is no checkpoint of this run"));
  CHECK(io::read_text(notes) == "mine");
}

TEST_CASE("retry: the same command begins a run again in which nothing was trained", "[training]") {
  const test::Folder straight("retry_straight"), folder("retry");
  REQUIRE(train_toy(straight.path / "run").empty());
  const io::fs::path run = folder.path / "run";
  CHECK_THAT(train_on_bad_picture(run), Catch::Contains("images/7.png"));
  CHECK(io::fs::exists(run / "checkpoints/last"));
  CHECK(training::is_untrained(run));
  io::write_atomic(run / "notes.txt", "mine");
  CHECK(train_toy(run).empty());
  CHECK(io::read_text(run / "notes.txt") == "mine");
  io::fs::remove(run / "notes.txt");
  CHECK(test::run_bytes(run) == test::run_bytes(straight.path / "run"));
  // What has been trained is not begun again.
  CHECK_FALSE(training::is_untrained(run));
  CHECK_THAT(train_toy(run), Catch::Contains("holds a run already"));
}

TEST_CASE("retry: a config.json of another program is not taken for a run", "[training]") {
  const test::Folder folder("retry_foreign");
  io::write_atomic(folder.path / "config.json", R"({"mine": true})");
  CHECK_THAT(train_toy(folder.path), Catch::Contains("holds a run already"));
  CHECK(io::read_text(folder.path / "config.json") == R"({"mine": true})");
}

TEST_CASE("resume: a log that was damaged or changed is refused before anything is cut",
          "[training]") {
  const test::Folder folder("resume_log");
  const io::fs::path run = folder.path / "run", log = run / "metrics.jsonl";
  REQUIRE(train_toy(run).empty());
  std::string text = io::read_text(log);
  std::string message;
  SECTION("a line that is no JSON") {
    text[text.find('\n') + 1] = '#';
    message = "metrics.jsonl, line 2";
  }
  SECTION("another digit") {
    const std::size_t at = text.find("\"loss\":") + 7;
    text[at] = text[at] == '1' ? '2' : '1';
    message = "are not those that the checkpoint counts on";
  }
  SECTION("cut short") {
    text.resize(text.size() / 2);
    message = "it was changed since: bring the file back from a copy";
  }
  io::write_atomic(log, text);
  io::write_atomic(run / "log.txt", io::read_text(run / "log.txt") + "one more line\n");
  const std::string said = io::read_text(run / "log.txt");
  CHECK_THAT(train_toy(run, true), Catch::Contains(message));
  CHECK(io::read_text(log) == text);
  CHECK(io::read_text(run / "log.txt") == said);
}

TEST_CASE("resume: checkpoints of older programs have no hash of the log", "[training]") {
  training::RunState state;
  state.metrics_hash = "abc";
  state.event_file = "events.out.tfevents.1.host";
  schema::Value value = training::to_value(state);
  CHECK(training::run_state_from(value) == state);
  value.erase("metrics_hash");
  value.erase("event_file");
  CHECK(training::run_state_from(value).metrics_hash.empty());
}
