// Rows of tables as CSV and as JSON.
#include <catch2/catch.hpp>

#include <limits>

#include "base/error.h"
#include "experiment/reports/result_line.h"

using namespace fovea;
using namespace fovea::experiment;

TEST_CASE("result line: texts, numbers and nothing", "[experiment]") {
  const ResultHeads heads{{"name", "label", "index", "p"}, {"a, b", "c"}};
  const ResultRow row{std::string("x \"y\""),
                      {},
                      std::int64_t{7},
                      0.25,
                      0.1f,
                      std::numeric_limits<float>::quiet_NaN()};
  CHECK(csv_line(heads) == "name,label,index,p,\"a, b\",c\n");
  CHECK(csv_line(row) == "\"x \"\"y\"\"\",,7,0.25,0.1,nan\n");
  CHECK(json_line(heads, row) ==
        "{\"name\":\"x \\\"y\\\"\",\"label\":null,\"index\":7,\"p\":0.25,"
        "\"probabilities\":{\"a, b\":0.1,\"c\":null}}\n");
}

TEST_CASE("result line: formats by their endings", "[experiment]") {
  CHECK(table_format("csv", "--format") == TableFormat::kCsv);
  CHECK(table_format("jsonl", "--format") == TableFormat::kJsonl);
  CHECK_THROWS_WITH(table_format("jsnl", "--format"),
                    "--format jsnl: no format of that name; did you mean \"jsonl\"? (known: csv, "
                    "jsonl)");
}
