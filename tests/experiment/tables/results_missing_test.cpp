// Means over different sets of cases are told apart in every form of the table.
#include <catch2/catch.hpp>

#include <fmt/format.h>

#include "experiment/tables/results.h"
#include "experiment/tables/results_layout.h"
#include "schema/json/parse.h"
#include "tests/experiment/fixture.h"

using namespace fovea;
using namespace fovea::experiment;
using namespace fovea::experiment::test;

namespace {

Ablation three_rows() {
  write("a.json", R"({"name": "a", "base": {}, "seeds": [0], "metrics": ["test_hd95"], "rows": [
    {"name": "x"}, {"name": "y", "set": {"model.depth": 3}}, {"name": "z", "set": {"model.depth": 5}}]})");
  return load_ablation("a.json", kind());
}

// A finished run whose mean is over `defined` of 12 values; `set` tells which.
void measured(const Job& job, const std::string& value, int defined, const std::string& set) {
  const std::string compared =
      defined == 12
          ? ""
          : fmt::format(R"(, "compared": {{"hd95": {{"defined": {}, "of": 12, "set": "{}"}}}})",
                        defined, set);
  const std::string nonfinite = value == "null" ? R"(, "nonfinite": ["hd95"])" : "";
  finish("out", job, fmt::format(R"({{"test": {{"hd95": {}{}{}}}}})", value, nonfinite, compared),
         R"(, "data": {"hash": "d"})");
}

}  // namespace

TEST_CASE("results: means over different sets of values carry n/N, and none is the best",
          "[experiment]") {
  const Folder folder("missing");
  const Ablation ablation = three_rows();
  measured(ablation.jobs[0], "3.5", 12, "");
  measured(ablation.jobs[1], "2.5", 3, "aaaa");  // found little, and that well
  measured(ablation.jobs[2], "null", 0, "bbbb");
  const Results results = collect_results(ablation, "out");
  const std::string markdown = to_markdown(results), latex = to_latex(results);
  CHECK_THAT(markdown, Catch::Contains("2.5000 (1) [3/12]") && Catch::Contains("nan (1) [0/12]") &&
                           Catch::Contains("[n/N]: n of N values") &&
                           Catch::Contains("test_hd95: the rows' means are over different sets"));
  CHECK_THAT(markdown, !Catch::Contains("**") && !Catch::Contains("<u>"));
  CHECK_THAT(latex, Catch::Contains("{[}3/12]") && !Catch::Contains("\\textbf"));
  CHECK_THAT(to_text(results), Catch::Contains("[3/12]"));
  const schema::Value json = schema::parse(to_json(results), "results.json");
  const auto metric = [&](std::size_t row) { return json.at(row).at("metrics").at("test_hd95"); };
  CHECK(metric(0).at("defined").is_null());
  CHECK(metric(1).at("defined").as_int() == 3);
  CHECK(metric(1).at("compared").as_int() == 12);
  CHECK(metric(0).at("std").is_null());  // one run has no spread
  const std::string csv = to_csv(results);
  CHECK_THAT(csv,
             Catch::Contains(",defined,compared,left_out,folds,") && Catch::Contains(",3,12,"));
}

TEST_CASE("results: a difference of means over different sets says so", "[experiment]") {
  const Folder folder("missing-paired");
  write("b.json", R"({"name": "b", "base": {}, "seeds": [0, 1], "metrics": ["test_hd95"], "rows": [
    {"name": "x"}, {"name": "y", "set": {"model.depth": 3}}]})");
  const Ablation ablation = load_ablation("b.json", kind());
  REQUIRE(ablation.jobs.size() == 4);
  for (const Job& job : ablation.jobs) measured(job, "2.5", 11, "aaaa");
  const std::string remark = "Means over different sets of values: test_hd95 of y;";
  CHECK_THAT(to_markdown(collect_results(ablation, "out")), !Catch::Contains(remark));
  measured(ablation.jobs[1], "1.5", 3, "bbbb");
  CHECK_THAT(to_markdown(collect_results(ablation, "out")), Catch::Contains(remark));
}

TEST_CASE("results: means over the same values are ranked as ever", "[experiment]") {
  const Folder folder("missing-alike");
  const Ablation ablation = three_rows();
  measured(ablation.jobs[0], "3.5", 11, "aaaa");
  measured(ablation.jobs[1], "2.5", 11, "aaaa");
  measured(ablation.jobs[2], "1.5", 11, "aaaa");
  CHECK_THAT(to_markdown(collect_results(ablation, "out")), Catch::Contains("**"));
  measured(ablation.jobs[2], "1.5", 11, "cccc");  // as many, but others
  CHECK_THAT(to_markdown(collect_results(ablation, "out")), !Catch::Contains("**"));
}

TEST_CASE("results: runs whose weights different metrics chose are told apart", "[experiment]") {
  const Folder folder("chosen-by");
  const Ablation ablation = three_rows();
  const auto chosen_by = [&](std::size_t job, const std::string& metric) {
    finish("out", ablation.jobs[job], R"({"test": {"hd95": 1}})",
           fmt::format(R"(, "selected_on": "val", "best": {{"metric": "{}"}})", metric));
  };
  for (const std::size_t job : {0, 1, 2}) chosen_by(job, "loss");
  CHECK(collect_results(ablation, "out").remarks.empty());
  chosen_by(2, "pooled_dice");
  const auto remarks = collect_results(ablation, "out").remarks;
  REQUIRE(remarks.size() == 1);
  CHECK(remarks[0] ==
        "The weights were chosen by different metrics: val_loss (x, y); val_pooled_dice (z).");
}
