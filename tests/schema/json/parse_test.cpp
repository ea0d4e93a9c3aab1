#include "schema/json/parse.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <random>
#include <string>

#include "base/error.h"

using namespace fovea;
using schema::parse;
using schema::Value;

namespace {

std::string complaint(std::string_view text, const schema::Limits& limits = {}) {
  try {
    parse(text, "x.json", limits);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "(accepted)";
}

constexpr const char* kDocument = R"({
  // a comment
  "name": "dgvit \u00e9\ud83d\ude00 \"q\" \\ \n", /* another */
  "model": {"depth": 8, "lr": 3e-4, "on": true, "off": false, "none": null},
  "list": [1, -2, 3.5, [], {}, [[0]]]
})";

}  // namespace

TEST_CASE("parse: kinds, values and positions of keys and values", "[schema]") {
  const Value value = parse(kDocument, "x.json");
  CHECK(value.at("name").as_string() == "dgvit \xC3\xA9\xF0\x9F\x98\x80 \"q\" \\ \n");
  const Value& model = value.at("model");
  CHECK(model.at("depth").as_int() == 8);
  CHECK(model.at("lr").as_double() == 3e-4);
  CHECK(model.at("on").as_bool());
  CHECK(model.at("none").is_null());
  CHECK(schema::to_string(value.origin()) == "x.json:1:1");
  CHECK(schema::to_string(model.at("depth").origin()) == "x.json:4:22");
  CHECK(schema::to_string(model.members()[0].key_origin) == "x.json:4:13");
  CHECK(schema::to_string(value.at("list").at(2).origin()) == "x.json:5:19");
}

TEST_CASE("parse: columns count characters, not bytes", "[schema]") {
  const Value value = parse("{\"\xC3\xA9\xC3\xA9\": 1}", "x.json");
  CHECK(value.members()[0].value.origin().column == 8);
}

TEST_CASE("parse: every truncation of a document is refused", "[schema]") {
  const std::string document = kDocument;
  for (std::size_t length = 0; length < document.size(); ++length) {
    INFO("length " << length);
    CHECK_THROWS_AS(parse(document.substr(0, length), "x.json"), ConfigError);
  }
  CHECK_NOTHROW(parse(document, "x.json"));
}

TEST_CASE("parse: damaged bytes are parsed or refused, and agree with another parser", "[schema]") {
  const std::string document = kDocument;
  std::mt19937 random(7);
  int accepted = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string damaged = document;
    for (int i = 0; i < 2; ++i) {
      damaged[random() % damaged.size()] = static_cast<char>(random() % 256);
    }
    INFO("seed 7, round " << round);
    const bool other = nlohmann::json::accept(damaged, true);
    bool ours = true;
    try {
      const Value value = parse(damaged, "x.json");
      CHECK(nlohmann::json::parse(value.dump()) ==
            nlohmann::json::parse(damaged, nullptr, true, true));
      ++accepted;
    } catch (const ConfigError&) {
      ours = false;
    }
    if (ours) CHECK(other);
  }
  CHECK(accepted > 100);
}

TEST_CASE("parse: syntax errors say where, what and what was expected", "[schema]") {
  CHECK(complaint("") ==
        "x.json:1:1: unexpected end of file, expected a value (object, array, string, number, "
        "true, false or null)");
  CHECK(complaint("{\n  \"a\": 1,\n}") ==
        "x.json:3:1: unexpected '}', expected a key after the comma");
  CHECK(complaint("[1, ]") == "x.json:1:5: unexpected ']', expected a value after the comma");
  CHECK(complaint("{a: 1}") == "x.json:1:2: unexpected \"a\", expected a key in double quotes");
  CHECK(complaint("{\"a\" 1}") == "x.json:1:6: unexpected \"1\", expected ':' after the key \"a\"");
  CHECK(complaint("{\"a\": 1 \"b\": 2}") == "x.json:1:9: unexpected '\"', expected ',' or '}'");
  CHECK(complaint("[1 2]") == "x.json:1:4: unexpected \"2\", expected ',' or ']'");
  CHECK(complaint("{} {}") == "x.json:1:4: unexpected '{', expected the end of the file");
  CHECK(complaint("['a']") == "x.json:1:2: unexpected ''', expected a string in double quotes");
  CHECK_THAT(complaint("[True]"),
             Catch::StartsWith("x.json:1:2: unexpected \"True\", expected a value"));
  CHECK_THAT(complaint("[NaN]"),
             Catch::StartsWith("x.json:1:2: unexpected \"NaN\", expected a value"));
  CHECK_THAT(complaint("[nullx]"), Catch::StartsWith("x.json:1:2: unexpected \"nullx\""));
  CHECK(complaint("[\"a\n\"]") == "x.json:1:2: string is not closed, expected '\"'");
  CHECK(complaint("[1] /* x") == "x.json:1:5: comment is not closed, expected */");
  CHECK_THAT(complaint("[\"\\x\"]"), Catch::StartsWith("x.json:1:3: unknown escape"));
  CHECK_THAT(complaint("[\"\\u12g4\"]"), Catch::StartsWith("x.json:1:3: bad escape"));
  CHECK_THAT(complaint("[\"\\ud800\"]"), Catch::StartsWith("x.json:1:3: half of a surrogate"));
  CHECK_THAT(complaint("[\"\\ud800\\u0041\"]"),
             Catch::StartsWith("x.json:1:3: half of a surrogate"));
  CHECK(complaint("[\"\xC3(\"]") == "x.json:1:3: unexpected byte 0xc3, expected UTF-8 text");
  CHECK_THAT(complaint("[\"\t\"]"),
             Catch::StartsWith("x.json:1:3: unexpected byte 0x09, expected an escape"));
}

TEST_CASE("parse: numbers outside their range or form are refused", "[schema]") {
  CHECK(complaint("[1e999]") == "x.json:1:2: number out of range: 1e999, expected a double");
  CHECK(complaint("[99999999999999999999]") ==
        "x.json:1:2: integer out of range: 99999999999999999999, expected at most 64 bits");
  CHECK(parse("9223372036854775807", "x").as_int() == INT64_MAX);
  CHECK(parse("-9223372036854775808", "x").as_int() == INT64_MIN);
  CHECK_THAT(complaint("[01]"), Catch::Contains("starts with 0"));
  CHECK_THAT(complaint("[1.]"), Catch::Contains("expected a digit"));
  CHECK_THAT(complaint("[-]"), Catch::Contains("expected a digit"));
  CHECK_THAT(complaint("[1e]"), Catch::Contains("expected a digit"));
  CHECK_THAT(complaint("[+1]"), Catch::Contains("unexpected '+'"));
}

TEST_CASE("parse: duplicate keys are refused with both places and the path", "[schema]") {
  CHECK(complaint("{\"model\": {\n  \"depth\": 1,\n  \"depth\": 2}}") ==
        "x.json:3:3: model.depth: given twice (first at 2:3)");
  CHECK(complaint("[{\"a\": 1, \"a\": 1}]") == "x.json:1:11: 0.a: given twice (first at 1:3)");
}

TEST_CASE("parse: depth and length are capped", "[schema]") {
  const auto nested = [](int depth) {
    return std::string(static_cast<std::size_t>(depth), '[') +
           std::string(static_cast<std::size_t>(depth), ']');
  };
  CHECK_NOTHROW(parse(nested(64), "x.json"));
  CHECK(complaint(nested(65)) == "x.json:1:65: nested too deep, expected at most 64 levels");
  CHECK_THAT(complaint(std::string(1000000, '[')), Catch::Contains("nested too deep"));
  CHECK(complaint("[1, 2]", {.depth = 64, .bytes = 5}) ==
        "x.json: too long: 6 bytes, expected at most 5");
}
