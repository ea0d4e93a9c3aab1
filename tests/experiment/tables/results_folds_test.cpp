// Rows that are cross-validated: means over folds, tests over the cases of all folds.
#include <catch2/catch.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "experiment/tables/results.h"
#include "experiment/tables/results_layout.h"
#include "schema/json/parse.h"
#include "tests/experiment/fixture.h"

using namespace fovea;
using namespace fovea::experiment;
using namespace fovea::experiment::test;

namespace {

Ablation two_rows() {
  write("a.json", R"({"name": "a", "base": {}, "folds": 2, "rows": [
    {"name": "x"}, {"name": "y", "set": {"model.depth": 3}}]})");
  return load_ablation("a.json", kind());
}

// A finished fold with these samples in val, of which so many are right, from the first on.
void score(const Job& job, const std::vector<std::string>& names, int right,
           const std::string& data = "d") {
  std::vector<int> index, values;
  for (int i = 0; i < std::ssize(names); ++i) {
    index.push_back(i);
    values.push_back(i < right ? 100 : 0);
  }
  const double top1 = 100.0 * right / static_cast<double>(names.size());
  finish("out", job, fmt::format(R"({{"val": {{"top1": {}}}, "test": {{"top1": 50}}}})", top1),
         fmt::format(R"(, "data": {{"hash": "{}"}}, "selected_on": "val")", data));
  const io::fs::path run = paths_of("out", job).run;
  write(run / "splits.json", fmt::format(R"({{"val": ["{}"]}})", fmt::join(names, "\", \"")));
  write(run / "eval/val/results.json",
        fmt::format(R"({{"metrics": {{"top1": {}}}, "cases": {{"index": [{}], "top1": [{}]}}}})",
                    top1, fmt::join(index, ","), fmt::join(values, ",")));
}

const std::vector<std::string> kFirst = {"d", "a", "f", "b"}, kSecond = {"e", "c", "g"};

}  // namespace

TEST_CASE("results: means are over folds, pairs are the cases of all folds", "[experiment]") {
  const Folder folder("folds-results");
  const Ablation ablation = two_rows();
  // x is right on d and e, y on d, a, f, e and c.
  score(ablation.jobs[0], kFirst, 1);
  score(ablation.jobs[1], kFirst, 3);
  score(ablation.jobs[2], kSecond, 1);
  score(ablation.jobs[3], kSecond, 2);
  const Results results = collect_results(ablation, "out");
  CHECK(results.complete);
  REQUIRE(results.columns.size() == 1);  // of val, though there is a test part
  CHECK(results.columns[0].name == "val_top1");
  const MetricResult& y = results.rows[1].metrics[0];
  CHECK(y.estimate.n == 2);
  CHECK(y.estimate.mean == Approx((75 + 200.0 / 3) / 2));
  CHECK(std::isnan(y.estimate.low));
  CHECK(y.cases->volumes == std::vector<std::string>{"a", "b", "c", "d", "e", "f", "g"});
  CHECK(y.cases->values == std::vector<double>{100, 0, 100, 100, 100, 100, 0});
  const std::vector<Difference>& all = results.differences;
  REQUIRE(all.size() == 1);
  CHECK(all[0].by == PairedBy::kCase);
  CHECK(all[0].paired.difference.n == 7);
  CHECK(all[0].paired.difference.mean == Approx(300.0 / 7));
  CHECK(all[0].paired.p == Approx(0.25));

  const schema::Value row = schema::parse(to_json(results), "results.json").at(1);
  CHECK(row.at("folds") == schema::Value::array({0, 1}));
  CHECK(row.at("seeds") == schema::Value::array({0}));
  CHECK(row.at("metrics").at("val_top1").at("ci95_low").is_null());
  CHECK(row.at("metrics").at("val_top1").at("values").size() == 2);
  CHECK(row.at("differences").at("val_top1").at("paired_by").as_string() == "case");
  for (const std::string& text : {to_text(results), to_markdown(results), to_latex(results)}) {
    CHECK_THAT(text, Catch::Contains("sample standard deviation over n = 2 folds, not seeds (seed "
                                     "0).") &&
                         Catch::Contains("chosen on the fold that it is scored on") &&
                         Catch::Contains("paired by case") &&
                         Catch::Contains("Paired over 7 cases: each scored once, by the run whose "
                                         "fold holds it out"));
  }
  const std::string csv = to_csv(results);
  CHECK_THAT(csv,
             Catch::Contains(",folds,verdict,") && Catch::Contains(",0 1,not distinguishable,"));
}

TEST_CASE("results: cases of folds are compared only where each is held out once", "[experiment]") {
  const Folder folder("folds-pairs");
  const Ablation ablation = two_rows();
  score(ablation.jobs[0], kFirst, 1);
  score(ablation.jobs[1], kFirst, 3);
  score(ablation.jobs[2], kSecond, 1);
  const auto pairs = [&] { return collect_results(ablation, "out").differences.size(); };
  CHECK(pairs() == 0);  // a fold is missing
  CHECK_THAT(to_text(collect_results(ablation, "out")), Catch::Contains("n = 1 to 2 of 2 folds"));
  score(ablation.jobs[3], kSecond, 2);
  CHECK(pairs() == 1);
  SECTION("in two folds") { score(ablation.jobs[3], {"e", "c", "d"}, 2); }
  SECTION("other cases") { score(ablation.jobs[3], {"e", "c", "h"}, 2); }
  SECTION("other data") { score(ablation.jobs[3], kSecond, 2, "other"); }
  CHECK(pairs() == 0);
}

TEST_CASE("results: folds are no pairs of what they do not hold out", "[experiment]") {
  const Folder folder("folds-test");
  Ablation ablation = two_rows();
  ablation.metrics = {"test_top1"};
  for (const Job& job : ablation.jobs) score(job, job.fold == 0 ? kFirst : kSecond, 1);
  const Results results = collect_results(ablation, "out");
  CHECK(results.rows[0].metrics[0].estimate.n == 2);
  CHECK(results.differences.empty());
}
