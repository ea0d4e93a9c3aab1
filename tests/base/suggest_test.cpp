#include "base/suggest.h"

#include <catch2/catch.hpp>

using namespace fovea;

TEST_CASE("edit_distance: insertions, substitutions and swaps of neighbours cost one", "[base]") {
  CHECK(edit_distance("", "abc") == 3);
  CHECK(edit_distance("kitten", "sitting") == 3);
  CHECK(edit_distance("ab", "ba") == 1);
  CHECK(edit_distance("same", "same") == 0);
}

TEST_CASE("nearest: at most three edits and at most a third of the length", "[base]") {
  const std::vector<std::string> known = {"num_heads", "depth", "m_dgsa"};
  CHECK(nearest("num_head", known) == "num_heads");
  CHECK(nearest("mdgsa", known) == "m_dgsa");
  CHECK(nearest("heads", known).empty());
  CHECK(did_you_mean("dept", known) == "; did you mean \"depth\"?");
  CHECK(did_you_mean("zzz", known).empty());
}
