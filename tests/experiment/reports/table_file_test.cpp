// Tables of reports as CSV.
#include "experiment/reports/table_file.h"

#include <catch2/catch.hpp>

#include <cmath>

using namespace fovea;

TEST_CASE("table file: numbers in full, texts in quotes where they need them", "[experiment]") {
  const training::Table table{"samples",
                              {{"index", std::vector<std::int64_t>{0, 12}},
                               {"name", std::vector<std::string>{"a.png", "b, or \"c\".png"}},
                               {"dice_left, upper", std::vector<double>{0.1 + 0.2, std::nan("")}}}};
  CHECK(experiment::csv_text(table) ==
        "index,name,\"dice_left, upper\"\n"
        "0,a.png,0.30000000000000004\n"
        "12,\"b, or \"\"c\"\".png\",\n");
}

TEST_CASE("table file: a table without rows has its heads", "[experiment]") {
  CHECK(experiment::csv_text({"none", {{"index", std::vector<std::int64_t>{}}}}) == "index\n");
}
