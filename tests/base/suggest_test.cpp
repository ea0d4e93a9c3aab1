#include "base/suggest.h"

#include <catch2/catch.hpp>

#include "base/shown.h"

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

TEST_CASE("nearest: a name as long as a file is compared with nothing", "[base]") {
  const std::string name(400'000, 'x'), other = name + "y";
  CHECK(nearest(name, {other, "x"}).empty());  // its table would have 160 billion numbers
  CHECK(nearest("num_head", {std::string(400'000, 'n'), "num_heads"}) == "num_heads");
}

TEST_CASE("shown: long names are cut, control characters are visible", "[base]") {
  CHECK(shown("num_heads") == "num_heads");
  CHECK(shown(std::string("a\nb\t\x1b[31m\0c", 11)) == "a\\nb\\t\\x1b[31m\\x00c");
  CHECK(shown(std::string(400'000, 'x')) == std::string(100, 'x') + "... (400000 bytes)");
  CHECK(shown("ääää", 5) == "ää... (8 bytes)");  // never in the middle of a letter
}
