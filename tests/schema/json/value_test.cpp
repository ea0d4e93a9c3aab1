#include "schema/json/value.h"

#include <catch2/catch.hpp>

#include <sys/resource.h>
#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <fstream>
#include <limits>
#include <new>
#include <string>

#include "base/error.h"
#include "schema/json/parse.h"

using namespace fovea;
using schema::parse;
using schema::Value;

TEST_CASE("value: dump reads back as the same kinds with every bit", "[schema]") {
  const Value value = Value::object(
      {{"integer", 1},
       {"whole", 1.0},
       {"minus zero", -0.0},
       {"third", 1.0 / 3.0},
       {"tiny", std::numeric_limits<double>::denorm_min()},
       {"huge", std::numeric_limits<double>::max()},
       {"float", 0.1F},
       {"text", "quote \" slash \\ tab \t bell \x07 del \x7F é"},
       {"list", Value::array({1, "two", nullptr, true, Value::array(), Value::object()})},
       {"nested", Value::array({Value::object({{"a", Value::array({1, 2})}})})},
       {"empty", Value::object()}});
  for (const int indent : {0, 2, 4}) {
    const std::string text = value.dump(indent);
    INFO(text);
    CHECK(parse(text, "x") == value);
    CHECK(parse(text, "x").dump(indent) == text);
  }
  CHECK(std::signbit(parse(value.dump(), "x").at("minus zero").as_double()));
}

TEST_CASE("value: dump keeps arrays of scalars on one line", "[schema]") {
  const Value value = Value::object(
      {{"a", Value::array({1, 2.0})}, {"b", Value::array({Value::object({{"c", 1}})})}});
  CHECK(value.dump(2) == "{\n  \"a\": [1, 2.0],\n  \"b\": [\n    {\n      \"c\": 1\n    }\n  ]\n}");
  CHECK(value.dump(0) == R"({"a":[1,2.0],"b":[{"c":1}]})");
}

TEST_CASE("value: non-finite numbers become null and bad bytes a mark", "[schema]") {
  const double inf = std::numeric_limits<double>::infinity();
  CHECK(Value::array({std::nan(""), inf, -inf}).dump(0) == "[null,null,null]");
  CHECK(Value("a\xFFz").dump(0) == "\"a\xEF\xBF\xBDz\"");
}

TEST_CASE("value: equality ignores origins and order but tells 1 from 1.0", "[schema]") {
  CHECK(parse("{\"a\": 1, \"b\": [2]}", "x") == parse("\n{\"b\": [2],\n\"a\": 1}", "y"));
  CHECK_FALSE(Value(1) == Value(1.0));
  CHECK_FALSE(parse("{\"a\": 1}", "x") == parse("{\"b\": 1}", "x"));
  CHECK_FALSE(parse("[1, 2]", "x") == parse("[2, 1]", "x"));
}

TEST_CASE("value: accessors name the place, what was expected and what was given", "[schema]") {
  const Value value = parse("{\"lr\": \"fast\", \"steps\": 3}", "x.json");
  CHECK_THROWS_WITH(value.at("lr").as_double(),
                    "x.json:1:8: expected number, got \"fast\" (string)");
  CHECK(value.at("steps").as_double() == 3.0);
  CHECK_THROWS_WITH(value.at("step"),
                    "x.json:1:1: no key \"step\"; did you mean \"steps\"? (known: lr, steps)");
  CHECK_THROWS_AS(Value::array({1}).at(1), ConfigError);
  CHECK(value.find("none") == nullptr);
}

TEST_CASE("value: set keeps order, erase removes, copies are independent", "[schema]") {
  Value value;
  value.set("b", 1);
  value.set("a", 2);
  Value copy = value;
  copy.set("b", 3);
  CHECK(value.dump(0) == R"({"b":1,"a":2})");
  CHECK(copy.dump(0) == R"({"b":3,"a":2})");
  CHECK(copy.erase("b"));
  CHECK_FALSE(copy.erase("b"));
  CHECK(copy.dump(0) == R"({"a":2})");
  CHECK(Value::array(std::vector<double>{1, 2.5}).dump(0) == "[1.0,2.5]");
}

// (Sanitizers need more memory than a limit leaves.)
TEST_CASE("value: a copy that runs out of memory leaves nothing behind", "[schema][long]") {
  const Value value =
      Value::object({{"list", Value::array({1, std::string(std::size_t{64} << 20, 'x')})}});
  std::int64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  REQUIRE(pages > 0);
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_AS, &before) == 0);
  rlimit limited = before;
  limited.rlim_cur = static_cast<rlim_t>(pages * getpagesize()) + (rlim_t{16} << 20);
  REQUIRE(setrlimit(RLIMIT_AS, &limited) == 0);
  bool threw = false;
  try {
    const Value copy = value;
  } catch (const std::bad_alloc&) {
    threw = true;
  }
  setrlimit(RLIMIT_AS, &before);
  CHECK(threw);
  const Value copy = value;
  CHECK(copy == value);
}
