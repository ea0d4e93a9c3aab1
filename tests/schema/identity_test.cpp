#include "schema/identity.h"

#include <catch2/catch.hpp>

#include "schema/describe/describe.h"
#include "schema/fields.h"
#include "schema/json/parse.h"

using namespace fovea::schema;

namespace {

struct Part {
  double rate = 0.5;
  bool verbose = false;
};
struct Run {
  std::string name = "run";
  std::string root = "here";
  std::int64_t depth = 2;
  Part inner;
  Component part{"one", {}};
  std::vector<Component> parts;
  std::optional<std::int64_t> limit;
};

Fields<Part> part_fields() {
  return Fields<Part>{}
      .add("rate", &Part::rate, "share")
      .add("verbose", &Part::verbose, "talks")
      .no_effect();
}

Fields<Run> run_fields() {
  const auto choices = [] {
    return std::vector<Choice>{{"one", "", std::make_shared<Fields<Part>>(part_fields())},
                               {"two", "", nullptr}};
  };
  return Fields<Run>{}
      .add("name", &Run::name, "shown")
      .no_effect()
      .add("root", &Run::root, "folder")
      .is_place()
      .add("depth", &Run::depth, "blocks")
      .add_object("inner", &Run::inner, part_fields(), "in")
      .add_component("part", &Run::part, {"part", choices}, "it")
      .add_component("parts", &Run::parts, {"part", choices}, "more")
      .add("limit", &Run::limit, "most");
}

std::string identity_of(const std::string& text, Counted counted = {}) {
  return identity(run_fields(), run_fields().resolve(parse(text, "x")), counted).dump(0);
}

}  // namespace

TEST_CASE("identity: settings without effect are left out at every depth", "[schema]") {
  const std::string plain = identity_of(R"({"parts": ["two", "one"]})");
  CHECK(plain == R"({"depth":2,"inner":{"rate":0.5},"part":{"type":"one","rate":0.5},)"
                 R"("parts":[{"type":"two"},{"type":"one","rate":0.5}],"limit":null})");
  CHECK(identity_of(R"({"name": "x", "root": "there", "inner": {"verbose": true},
                        "part": {"verbose": true},
                        "parts": ["two", {"type": "one", "verbose": true}]})") == plain);
  CHECK(identity_of(R"({"parts": ["two", {"type": "one", "rate": 0.1}]})") != plain);
}

TEST_CASE("identity: places count where they are asked for", "[schema]") {
  CHECK(identity_of(R"({"root": "a"})", {.places = Places::kCounted}) !=
        identity_of(R"({"root": "b"})", {.places = Places::kCounted}));
  CHECK(identity_of(R"({"name": "a"})", {.places = Places::kCounted}) ==
        identity_of(R"({"name": "b"})", {.places = Places::kCounted}));
}

TEST_CASE("identity: the documentation says what has no effect", "[schema]") {
  const std::string page = describe_markdown(run_fields(), "Run");
  CHECK_THAT(page, Catch::Contains("| shown (changes no result) |"));
  CHECK_THAT(page, Catch::Contains("| folder (runs are compared by the data, not by this) |"));
  CHECK_THAT(page, Catch::Contains("| blocks |"));
  CHECK_THAT(describe_text(run_fields()), Catch::Contains("shown (changes no result)"));
}
