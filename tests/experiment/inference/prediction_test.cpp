#include "experiment/inference/prediction.h"

#include <catch2/catch.hpp>

#include <fmt/format.h>

#include <functional>
#include <map>

#include "base/error.h"
#include "base/file.h"
#include "data/files/pictures/image_file.h"
#include "experiment/file/experiment.h"
#include "experiment/run/run_folder.h"
#include "schema/load.h"
#include "tests/experiment/fixture.h"
#include "tests/support/paths.h"

using namespace fovea;
using namespace fovea::experiment;

namespace {

// Ends after `batches` batches; `then` happens when the first is done.
struct Watcher final : PredictObserver {
  std::int64_t batches = 1000;
  std::function<void()> then = [] {};
  std::vector<std::string> failures = {}, notes = {};

  void noted(const std::string& note) override { notes.push_back(note); }
  void failed(const std::string& message) override { failures.push_back(message); }
  void progressed(std::int64_t, std::int64_t) override { then(); }
  bool stops() override { return --batches <= 0; }
};

schema::Value classifier() {
  const std::string here = fovea::test::source_dir();
  return resolve(load_unresolved(here + "/experiments/smoke/vit.json",
                                 {"dataset.root=" + here + "/datasets/digits"}));
}

void write_pictures(int count) {
  io::make_directories("own");
  for (int i = 0; i < count; ++i)
    data::write_png(fmt::format("own/{}.png", i),
                    {8, 8, 3, std::vector<std::uint8_t>(8 * 8 * 3, static_cast<std::uint8_t>(i))});
}

}  // namespace

TEST_CASE("predict: of a pass that ends early, all inputs are counted", "[experiment]") {
  const experiment::test::Folder folder("predict_stopped");
  write_pictures(5);
  Run run(classifier(), {});
  Watcher watcher;
  watcher.batches = 1;
  const PredictCounts counts =
      predict({&run}, {.inputs = {"own"}, .out = "out", .batch_size = 2}, watcher);
  CHECK(counts.stopped);
  CHECK(counts.predicted == 2);
  CHECK(counts.inputs == 5);
  Watcher whole;
  const PredictCounts all =
      predict({&run}, {.inputs = {"own"}, .out = "all", .batch_size = 2}, whole);
  CHECK_FALSE(all.stopped);
  CHECK(all.predicted == 5);
}

TEST_CASE("predict: an unreadable input hides no other error", "[experiment]") {
  const experiment::test::Folder folder("predict_errors");
  write_pictures(4);
  experiment::test::write("own/0.png", "no picture");
  Run run(classifier(), {});
  Watcher watcher;
  watcher.then = [] { throw FileError("out: no space left"); };
  CHECK_THROWS_WITH(predict({&run}, {.inputs = {"own"}, .out = "out", .batch_size = 2}, watcher),
                    Catch::Contains("no space left"));
  // Where none can be read, each is said.
  io::remove_all("own");
  experiment::test::write("own/0.png", "no picture");
  Watcher told;
  CHECK(predict({&run}, {.inputs = {"own"}, .out = "none"}, told).failed == 1);
  CHECK(told.failures.size() == 1);
}

namespace {

// Every file of a folder, by its path in it.
std::map<std::string, std::string> content_of(const io::fs::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : io::fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file())
      files[io::fs::relative(entry.path(), folder).string()] = io::read_text(entry.path());
  return files;
}

// What a program that is killed may leave behind the last step: rows, whole or cut, and half a line
// of the journal.
void append(const io::fs::path& file, const std::string& text) {
  io::File(file, io::File::Mode::kAppend).write(text);
}

schema::Value detector() {
  return resolve(load_unresolved(fovea::test::source_dir() + "/experiments/smoke/retinanet.json",
                                 {"dataset.train_size=16", "dataset.test_size=8"}));
}

schema::Value text_classifier() {
  experiment::test::write("data/train.csv", "label,text\nyes,a good film\nno,a bad film\n");
  experiment::test::write("data/test.csv", "label,text\nyes,good\nno,bad\n");
  experiment::test::write("texts.json", R"({
    "name": "texts", "task": "text_classification", "dataset": {"type": "text_csv", "root": "data", "min_freq": 1},
    "model": {"type": "dgt", "embed_dim": 16, "depth": 1, "attention": {"num_heads": 2}}})");
  return resolve(load_unresolved("texts.json", {}));
}

}  // namespace

TEST_CASE("predict: texts that are predicted are written when a pass is stopped", "[experiment]") {
  const experiment::test::Folder folder("predict_texts_stopped");
  Run run(text_classifier(), {});
  Watcher watcher;
  watcher.batches = 1;
  const PredictCounts counts =
      predict({&run}, {.inputs = {}, .texts = {"good", "bad", "a film"}, .out = "out"}, watcher);
  CHECK(counts.stopped);
  CHECK(counts.predicted == 3);
  CHECK(io::read_text("out/predictions.csv").find("text 3") != std::string::npos);
}

TEST_CASE("predict: of texts, unknown words and words that are cut are counted", "[experiment]") {
  const experiment::test::Folder folder("predict_lost_words");
  schema::Value config = text_classifier();
  schema::set_path(config, "dataset.max_len", std::int64_t{3});
  Run run(config, {});
  Watcher watcher;
  predict({&run},
          {.inputs = {},
           .texts = {"a good film", "a brave new film about a film", "bad"},
           .out = "out"},
          watcher);
  REQUIRE(watcher.notes.size() == 1);
  CHECK(watcher.notes[0] ==
        "2 of 11 words are not in the vocabulary, in 1 of 3 texts; 1 of 3 texts are longer than "
        "dataset.max_len: 4 words were cut");
  Watcher silent;
  predict({&run}, {.inputs = {}, .texts = {"a good film", "bad"}, .out = "known"}, silent);
  CHECK(silent.notes.empty());
  experiment::test::write("empty.txt", "\n");
  Watcher told;
  CHECK(predict({&run}, {.inputs = {"empty.txt"}, .out = "none"}, told).predicted == 0);
  CHECK(told.notes == std::vector<std::string>{"empty.txt: holds no text"});
}

namespace {

// Ends passes after every number of steps, and continues them.
void check_continues(const schema::Value& config, PredictRequest request) {
  Run run(config, {});
  Watcher straight;
  request.out = "straight";
  const PredictCounts all = predict({&run}, request, straight);
  const auto expected = content_of("straight");
  CHECK(expected.contains("predict.json"));
  CHECK_FALSE(expected.contains("predict.journal"));
  request.out = "broken";
  request.continues = true;
  for (int steps = 1; steps < 4; ++steps) {
    CAPTURE(steps);
    PredictCounts counts;
    int passes = 0;
    do {
      Watcher watcher;
      int left = steps;
      watcher.then = [&] {
        if (--left == 0 && passes < 10) throw FileError("killed");
      };
      try {
        counts = predict({&run}, request, watcher);
        ++passes;
        break;
      } catch (const FileError&) {
        for (const char* growing : {"predictions.csv", "boxes.json", "masks.json"})
          if (io::fs::exists(request.out / growing)) append(request.out / growing, "a,b\n\"half a");
        append(request.out / "predict.journal", "{\"done\": 1");
      }
    } while (++passes < 100);
    CHECK(passes > 1);
    CHECK(counts.predicted == all.predicted);
    CHECK(counts.failed == all.failed);
    CHECK(content_of("broken") == expected);
    // Nothing is missing.
    Watcher nothing;
    nothing.then = [] { throw FileError("something was done"); };
    CHECK(predict({&run}, request, nothing).predicted == all.predicted);
    CHECK(content_of("broken") == expected);
    io::remove_all("broken");
  }
}

}  // namespace

TEST_CASE("predict --continue: the bytes are those of an uninterrupted pass", "[experiment]") {
  const experiment::test::Folder folder("predict_continue");
  write_pictures(7);
  experiment::test::write("own/3.png", "no picture");
  SECTION("pictures") {
    check_continues(classifier(), {.inputs = {"own"}, .probabilities = true, .batch_size = 2});
  }
  SECTION("objects") { check_continues(detector(), {.inputs = {"own"}}); }
  SECTION("texts") {
    std::string lines;
    for (int i = 0; i < 150; ++i) lines += fmt::format("a film {} of {}\n", i % 7, i % 3);
    experiment::test::write("lines.txt", lines);
    check_continues(text_classifier(),
                    {.inputs = {"lines.txt"}, .texts = {"a text", "", "another"}, .batch_size = 1});
  }
}

TEST_CASE("predict --continue: other settings, other inputs, other folders", "[experiment]") {
  const experiment::test::Folder folder("predict_continue_other");
  write_pictures(4);
  Run run(classifier(), {});
  Watcher watcher;
  watcher.batches = 1;
  PredictRequest request{.inputs = {"own"}, .out = "out", .batch_size = 2, .continues = true};
  CHECK(predict({&run}, request, watcher).stopped);
  const auto refused = [&](const PredictRequest& other, const std::string& message) {
    Watcher told;
    CHECK_THROWS_WITH(predict({&run}, other, told), Catch::Contains(message));
  };
  request.probabilities = true;
  refused(request,
          "--continue: out/predict.json is of a pass with other settings: probabilities: false -> "
          "true");
  request.probabilities = false;
  write_pictures(5);
  refused(request, "inputs.files: 4 -> 5");
  io::remove_all("own/4.png");
  request.inputs = {"own/0.png"};
  refused(request, "inputs.files: 4 -> 1");
  request.inputs = {"own"};
  experiment::test::write("other/notes.txt", "notes");
  request.out = "other";
  refused(request, "other/predict.json: not found; the folder holds something else");
  // Files that are shorter than the journal says: what is there counts.
  request.out = "out";
  io::File("out/predictions.csv", io::File::Mode::kAppend).truncate(20);
  Watcher whole;
  CHECK(predict({&run}, request, whole).predicted == 4);
  Watcher straight;
  PredictRequest all = request;
  all.out = "all";
  predict({&run}, all, straight);
  CHECK(content_of("out") == content_of("all"));
}
