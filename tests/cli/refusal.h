// How a program refuses: one line on stderr, nothing on stdout.
#pragma once

#include <catch2/catch.hpp>

#include <algorithm>
#include <string>

#include "tests/support/run_cli.h"

namespace fovea::test {

inline void check_refusal(const CliResult& result, int code, const std::string& message) {
  CHECK(result.code == code);
  CHECK(result.out.empty());
  CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
  CHECK_THAT(result.err, Catch::Contains(message));
}

}  // namespace fovea::test
