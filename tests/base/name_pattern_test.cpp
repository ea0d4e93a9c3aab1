#include "base/name_pattern.h"

#include <catch2/catch.hpp>

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
