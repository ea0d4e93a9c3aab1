#include "experiment/inference/prediction.h"

#include <catch2/catch.hpp>

#include <fmt/format.h>

#include <functional>

#include "base/error.h"
#include "base/file.h"
#include "data/files/pictures/image_file.h"
#include "experiment/file/experiment.h"
#include "experiment/run/run_folder.h"
#include "tests/experiment/fixture.h"
#include "tests/support/paths.h"

using namespace fovea;
using namespace fovea::experiment;

namespace {

// Ends after `batches` batches; `then` happens when the first is done.
struct Watcher final : PredictObserver {
  std::int64_t batches = 1000;
  std::function<void()> then = [] {};
  std::vector<std::string> failures = {};

  void noted(const std::string&) override {}
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
