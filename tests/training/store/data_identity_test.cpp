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

// A task that says what its data are.
struct KnownData final : test::ToyTask {
  using test::ToyTask::ToyTask;
  Value fingerprint() const override { return data; }
  std::string sample_lists() const override { return lists; }
  Value data;
  std::string lists;
};

Value known_data(const std::string& hash, std::int64_t train, std::int64_t val) {
  return Value::object(
      {{"hash", hash}, {"samples", Value::object({{"train", train}, {"val", val}})}});
}

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
  const auto run = [&](const Value& what, const std::string& lists, bool resume) {
    KnownData task(device);
    task.data = what;
    task.lists = lists;
    training::TrainerSetup setup = test::toy_setup(folder.path, device);
    setup.resume = resume;
    return training::Trainer(task, std::move(setup)).run();
  };
  const Value known = known_data("0011", 2, 1);
  const Value summary = run(known, kLists, false);
  CHECK(summary.at("data") == known);
  CHECK(io::read_text(folder.path / "splits.json") == kLists);
  CHECK(run(known, kLists, true).at("data") == known);

  KnownData promising(device);
  promising.lists = kLists;
  const auto files =
      training::Trainer(promising, test::toy_setup(folder.path, device)).dry_run().files;
  CHECK(std::count(files.begin(), files.end(), "splits.json") == 1);

  const auto refused = [&](const Value& what, const std::string& lists,
                           const std::string& message) {
    INFO(message);
    CHECK_THROWS_WITH(run(what, lists, true),
                      Catch::Contains(message) && Catch::Contains("train into a new folder"));
    CHECK_THROWS_AS(run(what, lists, true), FileError);
    CHECK(io::read_text(folder.path / "splits.json") == kLists);
  };
  refused(known_data("0012", 2, 1), kLists, "as many samples, but other files or other content");
  refused(known_data("0012", 3, 1), kLists, "train has 3 samples, it had 2");
  refused(Value::object({{"hash", "0011"}, {"samples", Value::object({{"train", 2}})}}), kLists,
          "there is no val part any more");
  refused(known, replaced(kLists, "\"b\"", "\"d\""), "train has 2 samples, it had 2; d is new");
  refused(known, replaced(kLists, ",\n    \"b\"", ""), "train has 1 samples, it had 2; b is gone");
  refused(known, replaced(kLists, "\"val\"", "\"test\""), "there is no val part any more");
  refused(known, replaced(replaced(kLists, "\"a\"", "\"x\""), "\"b\"", "\"a\""), "x is new");

  // A run of an older version says nothing of its data: it goes on and says so from then on.
  io::remove_all(folder.path / "splits.json");
  CHECK(run(known, kLists, true).at("data") == known);
  CHECK(io::read_text(folder.path / "splits.json") == kLists);
  CHECK_NOTHROW(training::refuse_other_data(Value(), known, folder.path));
  CHECK_NOTHROW(training::refuse_other_data(known, Value(), folder.path));
  // Damage to the list itself is no difference of data.
  std::ofstream(folder.path / "splits.json") << "{\"train\": [";
  CHECK_THROWS_WITH(run(known, kLists, true), Catch::Contains("splits.json: damaged"));
}
