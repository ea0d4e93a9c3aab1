#include "schema/renamed.h"

#include <catch2/catch.hpp>

#include "base/error.h"
#include "schema/fields.h"
#include "schema/json/parse.h"
#include "schema/load.h"

using namespace fovea;
using namespace fovea::schema;

namespace {

struct Split {
  double val = 0;
  double test = 0;
  std::int64_t seed = 0;
};
struct Data {
  std::string root = "data";
  Split split;
};
struct OldData {
  double val_fraction = 0;
};
struct Train {
  std::int64_t epochs = 1;
};
struct RenamedRoot {
  Component dataset{"pictures", {}};
  Train train;
};

Fields<RenamedRoot> renamed_fields() {
  const auto list = [] {
    const auto split = Fields<Split>{}
                           .add("val", &Split::val, in_range(0, 1), "share")
                           .add("test", &Split::test, in_range(0, 1), "share")
                           .add("seed", &Split::seed, "seed");
    const auto data =
        std::make_shared<Fields<Data>>(Fields<Data>{}
                                           .add("root", &Data::root, "folder")
                                           .add_object("split", &Data::split, split, "parts"));
    const auto old = std::make_shared<Fields<OldData>>(
        Fields<OldData>{}.add("val_fraction", &OldData::val_fraction, "share"));
    return std::vector<Choice>{{"pictures", "", data}, {"pairs", "", data}, {"old", "", old}};
  };
  return Fields<RenamedRoot>{}
      .add_component("dataset", &RenamedRoot::dataset, {"dataset", list}, "data")
      .add_object("train", &RenamedRoot::train, Fields<Train>{}.add("epochs", &Train::epochs, "n"),
                  "t");
}

const std::vector<RenamedKey> kTable = {
    {"dataset", "", "val_fraction", "split.val"},
    {"dataset", "", "val_seed", "split.seed"},
    {"dataset", "pairs", "test_fraction", "split.test"},
    {"dataset", "pairs", "test_seed", "split.seed"},
    {"", "", "train.iterations", "train.epochs"},
};

struct Renamed {
  std::string text;
  std::vector<std::string> notes;
};

Renamed renamed(Value value, OldKeys old_keys = OldKeys::kBeside) {
  Notes notes;
  try {
    rename_keys(renamed_fields(), value, old_keys, notes, kTable);
    return {value.dump(0), notes.list()};
  } catch (const ConfigError& error) {
    return {error.what(), notes.list()};
  }
}

}  // namespace

TEST_CASE("renamed: old keys of components and of the root become today's", "[schema]") {
  const Renamed outcome = renamed(parse(R"({"train": {"iterations": 3},
      "dataset": {"type": "pairs", "val_fraction": 0.1, "test_fraction": 0.2, "root": "x"}})",
                                        "x.json"));
  CHECK(outcome.text == R"({"train":{"epochs":3},)"
                        R"("dataset":{"type":"pairs","root":"x","split":{"val":0.1,"test":0.2}}})");
  CHECK(outcome.notes ==
        std::vector<std::string>{"train.iterations is now train.epochs",
                                 "dataset.val_fraction is now dataset.split.val",
                                 "dataset.test_fraction is now dataset.split.test"});
}

TEST_CASE("renamed: lines hold for their type, and where the schema has the new key only",
          "[schema]") {
  const std::string pictures = R"({"dataset":{"test_fraction":0.2}})";
  CHECK(renamed(parse(pictures, "x")).text == pictures);
  const std::string old = R"({"dataset":{"type":"old","val_fraction":0.2}})";
  CHECK(renamed(parse(old, "x")).text == old);
  CHECK(renamed(parse(old, "x")).notes.empty());
}

TEST_CASE("renamed: stored configurations get what the lack of a later key meant", "[schema]") {
  const std::vector<LaterKey> later = {{"dataset", "pairs", "root", Value("where it was")}};
  const auto with = [&](const char* text, OldKeys old_keys) {
    Value value = parse(text, "x");
    Notes notes;
    rename_keys(renamed_fields(), value, old_keys, notes, kTable, later);
    return value.dump(0);
  };
  const char* const pairs = R"({"dataset":{"type":"pairs"}})";
  CHECK(with(pairs, OldKeys::kStored) == R"({"dataset":{"type":"pairs","root":"where it was"}})");
  CHECK(with(pairs, OldKeys::kBeside) == pairs);
  CHECK(with(pairs, OldKeys::kLater) == pairs);
  for (const char* same : {R"({"dataset":{"type":"pairs","root":"x"}})",
                           R"({"dataset":{"type":"pictures"}})", R"({"dataset":{"type":"old"}})"})
    CHECK(with(same, OldKeys::kStored) == same);
  CHECK(later_keys().size() >= 2);
}

TEST_CASE("renamed: a value keeps its place, so that what is wrong with it is found", "[schema]") {
  Value value = parse("{\"dataset\": {\"val_fraction\": 7}}", "x.json");
  Notes notes;
  rename_keys(renamed_fields(), value, OldKeys::kBeside, notes, kTable);
  CHECK_THROWS_WITH(renamed_fields().resolve(value),
                    Catch::StartsWith("x.json:1:30: dataset.split.val: expected number from 0"));
}

TEST_CASE("renamed: two keys of one writer must not contradict each other", "[schema]") {
  CHECK(renamed(parse(R"({"dataset": {"val_fraction": 0.1, "split": {"val": 0.2}}})", "x.json"))
            .text ==
        "x.json:1:14: dataset.val_fraction: is now dataset.split.val, which is given too: 0.1 and "
        "0.2; give one of them");
  CHECK(renamed(parse(R"({"dataset": {"type": "pairs", "val_seed": 1, "test_seed": 2}})", "x.json"))
            .text ==
        "x.json:1:46: dataset.test_seed: is now dataset.split.seed as dataset.val_seed is: 2 and "
        "1; give one of them");
  CHECK(renamed(parse(R"({"dataset": {"type": "pairs", "val_seed": 1, "test_seed": 1}})", "x.json"))
            .text == R"({"dataset":{"type":"pairs","split":{"seed":1}}})");
}

TEST_CASE("renamed: an override with the old key replaces the new one", "[schema]") {
  Value root = parse(R"({"dataset": {"split": {"val": 0.2}}})", "x.json");
  apply_override(root, "dataset.val_fraction=0.3");
  const Renamed outcome = renamed(root, OldKeys::kLater);
  CHECK(outcome.text == R"({"dataset":{"split":{"val":0.3}}})");
  CHECK(outcome.notes == std::vector<std::string>{"dataset.val_fraction is now dataset.split.val"});
}
