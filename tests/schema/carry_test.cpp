#include "schema/carry.h"

#include <catch2/catch.hpp>

#include "base/error.h"
#include "schema/fields.h"
#include "schema/json/parse.h"
#include "schema/load.h"

using namespace fovea;
using namespace fovea::schema;

namespace {

struct Options {
  std::int64_t num_heads = 8;
  double drop = 0;
  std::int64_t rank = 4;
};

std::vector<Choice> parts() {
  using F = Fields<Options>;
  const auto plain = std::make_shared<F>(
      F{}.add("num_heads", &Options::num_heads, "heads").add("drop", &Options::drop, "share"));
  const auto gated = std::make_shared<F>(F{}.add("num_heads", &Options::num_heads, "heads")
                                             .add("rank", &Options::rank, "of the gate"));
  return {{"plain", "", plain}, {"gated", "", gated}, {"none", "", nullptr}};
}

struct CarriedRoot {
  Component attention{"plain", {}};
  std::vector<Component> list;
  Value paper;
  Options inner;
};

Fields<CarriedRoot> carried_fields() {
  return Fields<CarriedRoot>{}
      .add_component("attention", &CarriedRoot::attention, {"attention", parts}, "it")
      .add_component("list", &CarriedRoot::list, {"attention", parts}, "more")
      .add_any("paper", &CarriedRoot::paper, "free")
      .add_object("inner", &CarriedRoot::inner, Fields<Options>{}.add("rank", &Options::rank, "r"),
                  "in");
}

struct Carried {
  std::string config;
  std::vector<std::string> notes;
};

Carried settled(Value value) {
  Notes notes;
  drop_foreign_options(carried_fields(), value, notes);
  try {
    const Value resolved = carried_fields().resolve(value);
    return {resolved.at("attention").dump(0) + resolved.at("list").dump(0) +
                resolved.at("paper").dump(0),
            notes.list()};
  } catch (const ConfigError& error) {
    return {error.what(), notes.list()};
  }
}

Value with_override(const std::string& text, const std::string& assignment) {
  Value root = parse(text, "x.json");
  apply_override(root, assignment);
  return root;
}

const char* const kPlain = R"({"attention": {"type": "plain", "num_heads": 2, "drop": 0.5}})";

}  // namespace

TEST_CASE("carry: a type chosen by its name keeps the options both types know", "[schema]") {
  const Carried outcome = settled(with_override(kPlain, "attention=gated"));
  CHECK(outcome.config == R"({"type":"gated","num_heads":2,"rank":4}[]null)");
  CHECK(outcome.notes ==
        std::vector<std::string>{"attention: dropped drop, which gated does not have"});
  // The same where the name stands behind "type", and where the old type is the default.
  CHECK(settled(with_override(kPlain, "attention.type=gated")).config == outcome.config);
  CHECK(settled(with_override(R"({"attention": {"num_heads": 2, "drop": 0.5}})", "attention=gated"))
            .config == outcome.config);
  const Carried none = settled(with_override(kPlain, "attention=none"));
  CHECK(none.config == R"({"type":"none"}[]null)");
  CHECK(none.notes ==
        std::vector<std::string>{"attention: dropped num_heads, drop, which none does not have"});
}

TEST_CASE("carry: nothing is dropped, and nothing said, where the type stays", "[schema]") {
  const Carried outcome = settled(with_override(kPlain, "attention=plain"));
  CHECK(outcome.config == R"({"type":"plain","num_heads":2,"drop":0.5}[]null)");
  CHECK(outcome.notes.empty());
}

TEST_CASE("carry: an object replaces the whole", "[schema]") {
  const Carried outcome = settled(with_override(kPlain, R"(attention={"type":"gated"})"));
  CHECK(outcome.config == R"({"type":"gated","num_heads":8,"rank":4}[]null)");
  CHECK(outcome.notes.empty());
}

TEST_CASE("carry: files that extend files follow the same rule", "[schema]") {
  const Value base = parse(kPlain, "base.json");
  const std::string kept = R"({"type":"gated","num_heads":2,"rank":9}[]null)";
  const Value object = parse(R"({"attention": {"type": "gated", "rank": 9}})", "child.json");
  CHECK(settled(merge(base, object)).config == kept);
  Value name = merge(base, parse(R"({"attention": "gated"})", "child.json"));
  apply_override(name, "attention.rank=9");
  CHECK(settled(name).config == kept);
  CHECK(settled(name).notes ==
        std::vector<std::string>{"attention: dropped drop, which gated does not have"});
  // What the child says of itself is no left-over.
  const Value wrong = parse(R"({"attention": {"type": "gated", "drop": 0.1}})", "child.json");
  CHECK_THAT(settled(merge(base, wrong)).config,
             Catch::Contains("child.json:1:33: attention.drop: unknown key"));
  // Back again, nothing was lost.
  Value there = parse(kPlain, "base.json");
  apply_override(there, "attention=gated");
  apply_override(there, "attention=plain");
  CHECK(settled(there).config == R"({"type":"plain","num_heads":2,"drop":0.5}[]null)");
}

TEST_CASE("carry: what no type knows is refused, not dropped", "[schema]") {
  const Carried outcome =
      settled(with_override(R"({"attention": {"type": "plain", "dorp": 1}})", "attention=gated"));
  CHECK_THAT(outcome.config, Catch::Contains("x.json:1:33: attention.dorp: unknown key"));
}

TEST_CASE("carry: items of a list, free values and plain objects", "[schema]") {
  const Carried item = settled(with_override(
      R"({"list": [{"type": "plain", "num_heads": 3, "drop": 0.5}]})", "list.0=gated"));
  CHECK_THAT(item.config, Catch::Contains(R"([{"type":"gated","num_heads":3,"rank":4}])"));
  CHECK(item.notes == std::vector<std::string>{"list.0: dropped drop, which gated does not have"});
  CHECK_THAT(settled(with_override(R"({"paper": {"key": "x"}})", "paper=none")).config,
             Catch::EndsWith(R"("none")"));
  CHECK(settled(with_override(R"({"inner": {"rank": 1}})", "inner=abc")).config ==
        "--set inner=abc: inner: expected object, got \"abc\" (string)");
}
