#include "base/name_pattern.h"

#include <catch2/catch.hpp>

#include <string>
#include <vector>

using namespace fovea;

TEST_CASE("name patterns: a star stands for any characters", "[base]") {
  CHECK(matches_pattern("head.weight", "head.*"));
  CHECK_FALSE(matches_pattern("heads.weight", "head.*"));
  CHECK(matches_pattern("", "*"));
  CHECK(matches_pattern("blocks.11.attn.qkv.weight", "blocks.*.attn.*"));
  CHECK_FALSE(matches_pattern("blocks.1.attn.qkv", "blocks.*.attn"));
  CHECK(matches_pattern("xxaayyab", "*a*b"));
  CHECK_FALSE(matches_pattern("x", ""));
}

TEST_CASE("name patterns: one that matches nothing is refused with the nearest", "[base]") {
  const std::vector<std::string> names = {"blocks.0.norm1.weight", "blocks.0.attn.lambda_q",
                                          "head.weight", "head.bias"};
  const auto require = [&](const std::string& pattern) {
    require_matches("train.freeze", {"head.*", pattern}, names, "parameters");
  };
  CHECK_NOTHROW(require("*.weight"));
  CHECK_THROWS_WITH(require("head.wieght"),
                    "train.freeze: \"head.wieght\" matches none of the 4 parameters; did you mean "
                    "\"head.weight\"?");
  CHECK_THROWS_WITH(require("haed.*"), Catch::Contains("did you mean \"head.*\"?"));
  CHECK_THROWS_WITH(require("*.lamda_q"), Catch::Contains("did you mean \"*.lambda_q\"?"));
  CHECK_THROWS_WITH(require("blocks.0.attn"), Catch::Contains("did you mean \"blocks.0.attn.*\"?"));
  CHECK_THROWS_WITH(require("classifier"), Catch::Contains("* stands for any characters"));
}
