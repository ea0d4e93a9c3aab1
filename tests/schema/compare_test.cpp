#include "schema/compare.h"

#include <catch2/catch.hpp>

#include "schema/fields.h"
#include "schema/load.h"

using namespace fovea;
using schema::parse;
using schema::Value;

TEST_CASE("content_hash: is stable, ignores order and origin, sees every change", "[schema]") {
  // Written down so that jobs keep their names from version to version.
  CHECK(schema::content_hash(parse(R"({"b": [1, 2.5], "a": {"x": "y", "n": null}})", "x")) ==
        "2cb9f927d6913dda0625ab73f59392aa");
  CHECK(schema::content_hash(Value()) == "692d4a7bd3757277b806e961fef351c4");
  const std::string hash = schema::content_hash(parse(R"({"a": 1, "b": {"c": 2, "d": 3}})", "x"));
  CHECK(hash.size() == 32);
  CHECK(hash == schema::content_hash(parse("\n{\"b\": {\"d\": 3, \"c\": 2}, \"a\": 1}", "y")));
  for (const char* other :
       {R"({"a": 1.0, "b": {"c": 2, "d": 3}})", R"({"a": 1, "b": {"c": 3, "d": 2}})",
        R"({"a": 1, "b": {"c": 2}})", R"({"a": "1", "b": {"c": 2, "d": 3}})"}) {
    CHECK(hash != schema::content_hash(parse(other, "x")));
  }
}

TEST_CASE("diff: names paths with both values", "[schema]") {
  const Value a = parse(R"({"train": {"epochs": 100, "lr": 0.1}, "seed": 1,
                            "augment": [{"type": "flip"}, {"type": "crop"}], "dims": [1, 2]})",
                        "a");
  const Value b = parse(R"({"dims": [1, 3], "train": {"epochs": 90, "lr": 0.1, "ema": 0.9},
                            "augment": [{"type": "flip"}, {"type": "cut"}]})",
                        "b");
  CHECK(schema::diff(a, b) ==
        std::vector<std::string>{"train.epochs: 100 -> 90", "train.ema: (none) -> 0.9",
                                 "seed: 1 -> (none)", "augment.1.type: \"crop\" -> \"cut\"",
                                 "dims: [1,2] -> [1,3]"});
  CHECK(schema::diff(a, a).empty());
}

TEST_CASE("provenance: each setting has the place that gave it, or is a default", "[schema]") {
  struct Train {
    int epochs = 3;
    double lr = 0.1;
    std::vector<int> dims = {1, 2};
  };
  const auto fields = schema::Fields<Train>{}
                          .add("epochs", &Train::epochs, "passes")
                          .add("lr", &Train::lr, "rate")
                          .add("dims", &Train::dims, "sizes");
  Value given = parse("{\n  \"lr\": 1}", "x.json");
  schema::apply_override(given, "epochs=7");
  const auto settings = schema::provenance(fields.resolve(given));
  REQUIRE(settings.size() == 3);
  CHECK(settings[0].path == "epochs");
  CHECK(settings[0].value == "7");
  CHECK(schema::to_string(settings[0].origin) == "--set epochs=7");
  CHECK(settings[1].value == "1.0");
  CHECK(schema::to_string(settings[1].origin) == "x.json:2:9");
  CHECK(settings[2].value == "[1,2]");
  CHECK(schema::to_string(settings[2].origin) == "default");
}
