// A run goes on with the data it began with, or not at all.
#include "training/store/data_identity.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <fstream>

#include "backend/devices.h"
#include "base/error.h"
#include "tests/support/tensors.h"
#include "tests/training/toy_task.h"

using namespace fovea;
using schema::Value;

namespace {

constexpr const char* kLists =
    "{\n  \"train\": [\n    \"a\",\n    \"b\"],\n  \"val\": [\n    \"c\"]\n}\n";

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  return text.replace(text.find(what), what.size(), by);
}

}  // namespace

TEST_CASE("data of a run: written once, compared on resume, the difference is named",
          "[training]") {
  const test::Folder folder("data_identity");
  const Device device = test::cpu();
  const auto run = [&](const test::ToyValues& values, const test::ToySizes& sizes, bool resume) {
    test::ToyTask task(device, 0.3, sizes, values);
    training::TrainerSetup setup = test::toy_setup(folder.path, device);
    setup.resume = resume;
    return training::Trainer(task, std::move(setup)).run();
  };
  test::ToyTask task(device);
  const Value known = task.source().fingerprint();
  const std::string lists = task.source().sample_lists();
  CHECK(run({}, {}, false).at("data") == known);
  CHECK(io::read_text(folder.path / "splits.json") == lists);
  CHECK(run({}, {}, true).at("data") == known);
  const auto files = training::Trainer(task, test::toy_setup(folder.path, device)).dry_run().files;
  CHECK(std::count(files.begin(), files.end(), "splits.json") == 1);

  const auto refused = [&](const test::ToyValues& values, const test::ToySizes& sizes,
                           const std::string& message) {
    INFO(message);
    CHECK_THROWS_WITH(run(values, sizes, true),
                      Catch::Contains(message) && Catch::Contains("train into a new folder"));
    CHECK_THROWS_AS(run(values, sizes, true), FileError);
    CHECK(io::read_text(folder.path / "splits.json") == lists);
  };
  refused({.recipe = "other"}, {}, "as many samples, but other files or other content");
  refused({}, {.train = 17}, "train has 17 samples, it had 18");
  refused({}, {.test = false}, "there is no test part any more");
  refused({.names = {{"3", "d"}}}, {}, "train has 18 samples, it had 18; d is new");

  // A run of an older version says nothing of its data: it goes on and says so from then on.
  io::remove_all(folder.path / "splits.json");
  CHECK(run({}, {}, true).at("data") == known);
  CHECK(io::read_text(folder.path / "splits.json") == lists);
  CHECK_NOTHROW(training::refuse_other_data(Value(), known, folder.path));
  CHECK_NOTHROW(training::refuse_other_data(known, Value(), folder.path));
  // Damage to the list itself is no difference of data.
  std::ofstream(folder.path / "splits.json") << "{\"train\": [";
  CHECK_THROWS_WITH(run({}, {}, true), Catch::Contains("splits.json: damaged"));
}

TEST_CASE("data of a run: the first difference of two lists of samples is named", "[training]") {
  const test::Folder folder("sample_lists");
  const auto keep = [&](const std::string& lists) {
    training::keep_sample_lists(lists, folder.path);
  };
  keep(kLists);
  CHECK_NOTHROW(keep(kLists));
  const auto refused = [&](const std::string& lists, const std::string& message) {
    INFO(message);
    CHECK_THROWS_WITH(keep(lists),
                      Catch::Contains(message) && Catch::Contains("train into a new folder"));
    CHECK(io::read_text(folder.path / "splits.json") == kLists);
  };
  refused(replaced(kLists, "\"b\"", "\"d\""), "train has 2 samples, it had 2; d is new");
  refused(replaced(kLists, ",\n    \"b\"", ""), "train has 1 samples, it had 2; b is gone");
  refused(replaced(kLists, "\"val\"", "\"test\""), "there is no val part any more");
  refused(replaced(replaced(kLists, "\"a\"", "\"x\""), "\"b\"", "\"a\""), "x is new");
}
