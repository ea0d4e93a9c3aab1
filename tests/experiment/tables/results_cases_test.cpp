// Rows of one seed that `eval` scored on the same samples are compared sample by sample.
#include <catch2/catch.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "experiment/tables/results.h"
#include "experiment/tables/results_layout.h"
#include "schema/json/parse.h"
#include "tests/experiment/fixture.h"

using namespace fovea;
using namespace fovea::experiment;
using namespace fovea::experiment::test;

namespace {

Ablation two_rows(const std::string& seeds = "[0]") {
  write("a.json", R"({"name": "a", "base": {}, "seeds": )" + seeds + R"(, "rows": [
    {"name": "x"}, {"name": "y", "set": {"model.depth": 3}}]})");
  return load_ablation("a.json", kind());
}

// A finished run that eval scored: so many of 40 samples right, from the first or from the last on.
void score(const Job& job, int right, bool last, const std::string& data = "d", int first = 0,
           double reported = -1) {
  std::vector<int> index, values;
  for (int i = 0; i < 40; ++i) {
    index.push_back(first + i);
    values.push_back((last ? i >= 40 - right : i < right) ? 100 : 0);
  }
  const double top1 = 100.0 * right / 40;
  finish("out", job, fmt::format(R"({{"test": {{"top1": {}}}}})", reported < 0 ? top1 : reported),
         fmt::format(R"(, "data": {{"hash": "{}"}})", data));
  write(paths_of("out", job).run / "eval/test/results.json",
        fmt::format(R"({{"metrics": {{"top1": {}}}, "cases": {{"index": [{}], "top1": [{}]}}}})",
                    top1, fmt::join(index, ","), fmt::join(values, ",")));
}

}  // namespace

TEST_CASE("results: rows of one seed are paired by case", "[experiment]") {
  const Folder folder("cases");
  const Ablation ablation = two_rows();
  score(ablation.jobs[0], 10, false);
  score(ablation.jobs[1], 25, false);  // right on all of these, and on 15 more
  const Results results = collect_results(ablation, "out");
  const std::vector<Difference>& all = results.differences;
  REQUIRE(all.size() == 1);
  CHECK(all[0].by == PairedBy::kCase);
  CHECK(all[0].paired.difference.n == 40);
  CHECK(all[0].paired.difference.mean == Approx(37.5));
  CHECK(all[0].paired.p == Approx(2.0 / (1 << 15)));
  CHECK(all[0].p_signed_rank == Approx(2.0 / (1 << 15)));
  const schema::Value json = schema::parse(to_json(results), "results.json");
  const schema::Value& difference = json.at(1).at("differences").at("test_top1");
  CHECK(difference.at("paired_by").as_string() == "case");
  CHECK(difference.at("p_signed_rank").as_double() == Approx(2.0 / (1 << 15)));
  const std::string text = to_text(results);
  CHECK_THAT(text, Catch::Contains("Differences to x, paired by case:") &&
                       Catch::Contains("not of other seeds"));
}

TEST_CASE("results: volumes are cases too, without those that one network has no value for",
          "[experiment]") {
  const Folder folder("cases-volumes");
  const Ablation ablation = two_rows();
  const auto score_volumes = [&](const Job& job, const std::string& values) {
    finish("out", job, R"({"test": {"top1": 5}})", R"(, "data": {"hash": "d"})");
    write(paths_of("out", job).run / "eval/test/results.json",
          R"({"metrics": {"top1": 5}, "volumes": {"name": ["a", "b", "c", "d"], "top1": [)" +
              values + "]}}");
  };
  score_volumes(ablation.jobs[0], "5, 4, 3, 1");
  score_volumes(ablation.jobs[1], "7, 5, null, 2");
  const Results results = collect_results(ablation, "out");
  const std::vector<Difference>& all = results.differences;
  REQUIRE(all.size() == 1);
  CHECK(all[0].by == PairedBy::kCase);
  CHECK(all[0].left_out == 1);
  CHECK(all[0].paired.difference.n == 3);
  CHECK(all[0].paired.difference.mean == Approx(4.0 / 3));
  CHECK(all[0].paired.p == Approx(0.25));
  CHECK(all[0].p_signed_rank == Approx(0.25));
  const schema::Value json = schema::parse(to_json(results), "results.json");
  CHECK(json.at(1).at("differences").at("test_top1").at("left_out").as_int() == 1);
  for (const std::string& text : {to_text(results), to_markdown(results)}) {
    CHECK_THAT(text, Catch::Contains("Paired over 3 cases: one run each") &&
                         Catch::Contains("Up to 1 cases are left out") &&
                         Catch::Contains("p of Wilcoxon's signed-rank test over these cases: y "
                                         "test_top1 0.25."));
  }
  score_volumes(ablation.jobs[1], "7, null, null, null");
  // Too few for a test are said, not passed over.
  const std::vector<Difference> few = collect_results(ablation, "out").differences;
  REQUIRE(few.size() == 1);
  CHECK(few[0].left_out == 3);
  CHECK(few[0].paired.difference.n == 1);
  CHECK_THAT(to_text(collect_results(ablation, "out")), Catch::Contains("left out"));
  score_volumes(ablation.jobs[1], "null, null, null, null");
  REQUIRE(collect_results(ablation, "out").differences.size() == 1);
  CHECK(collect_results(ablation, "out").differences[0].left_out == 4);
}

TEST_CASE("results: cases are compared only where they are the same", "[experiment]") {
  const Folder folder("cases-differ");
  const Ablation ablation = two_rows();
  score(ablation.jobs[0], 10, false);
  const auto pairs = [&] { return collect_results(ablation, "out").differences.size(); };
  score(ablation.jobs[1], 20, true);
  CHECK(pairs() == 1);
  SECTION("other data") { score(ablation.jobs[1], 20, true, "other"); }
  SECTION("unknown data") { score(ablation.jobs[1], 20, true, ""); }
  SECTION("other samples") { score(ablation.jobs[1], 20, true, "d", 5); }
  SECTION("weights that the run does not report") { score(ablation.jobs[1], 20, true, "d", 0, 51); }
  SECTION("never scored") { io::remove_all(paths_of("out", ablation.jobs[1]).run / "eval"); }
  CHECK(pairs() == 0);
}

TEST_CASE("results: several seeds are paired by seed, whatever eval scored", "[experiment]") {
  const Folder folder("cases-seeds");
  const Ablation ablation = two_rows("[0, 1]");
  for (const Job& job : ablation.jobs) score(job, 10 + static_cast<int>(job.row), false);
  const std::vector<Difference> all = collect_results(ablation, "out").differences;
  REQUIRE(all.size() == 1);
  CHECK(all[0].by == PairedBy::kSeed);
  CHECK(all[0].paired.difference.n == 2);
}
