#include "experiment/tables/text_table.h"

#include <catch2/catch.hpp>

using namespace fovea::experiment;

TEST_CASE("text table: widths are columns of the terminal, not bytes", "[experiment]") {
  CHECK(display_width("abc") == 3);
  CHECK(display_width("77.5 ± 0.4 ↑ λ") == 14);
  CHECK(display_width("表") == 2);
  CHECK(display_width("e\u0301") == 1);
  CHECK(display_width("\xff\xfe") == 2);  // not UTF-8
  CHECK(display_width("") == 0);
}

TEST_CASE("text table: columns line up", "[experiment]") {
  const TextTable table{{"row", "x"}, {{"λ=0.8", "1.0 ± 0.1"}, {"表", "-"}}};
  CHECK(plain_table(table) ==
        "row            x\n"
        "-----  ---------\n"
        "λ=0.8  1.0 ± 0.1\n"
        "表             -\n");
  CHECK(markdown_table({{"a|b", "x"}, {{"c", "1"}}}) ==
        "| a\\|b |   x |\n"
        "|:-----|----:|\n"
        "| c    |   1 |\n");
}
