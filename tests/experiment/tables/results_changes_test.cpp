// What a table says about how its numbers were made.
#include <catch2/catch.hpp>

#include "experiment/tables/results.h"
#include "tests/experiment/fixture.h"

using namespace fovea;
using namespace fovea::experiment;
using namespace fovea::experiment::test;

TEST_CASE("results: what was changed stands beside the published numbers and below the table",
          "[experiment]") {
  const Folder folder("changed");
  write("../paper/published.json", R"({"tables": [{"table": "T", "protocol": {"epochs": 300},
    "rows": [{"row": "x", "values": {"A": {"mean": 80, "std": 1}}}]}]})");
  write("a.json", R"({"name": "a", "published": "paper", "base": {"train": {"epochs": 300}},
    "seeds": [0, 1, 2], "metrics": ["test_top1"], "rows": [
    {"name": "x", "published": {"table": "T", "row": "x", "columns": {"test_top1": "A"}}},
    {"name": "y", "set": {"model.depth": 2}},
    {"name": "z", "set": {"model.depth": 3, "train.epochs": 12}}]})");
  const Ablation ablation = load_ablation("a.json", kind(), {{"train.epochs=12"}, {1}});
  for (const Job& job : ablation.jobs) finish("out", job, R"({"test": {"top1": 75}})");
  const Results results = collect_results(ablation, "out");
  CHECK(to_text(results) ==
        R"x(row  test_top1 (%) ↑       published  difference
---  ---------------  --------------  ----------
x          75.00 (1)  80.00 ± 1.00 †       -5.00
y †        75.00 (1)               -           -
z ‡        75.00 (1)               -           -

Mean ± sample standard deviation, n = 1 seed (1).
Published: paper, T; difference: ours - published.
† 12 of 300 epochs; 1 of 3 seeds; --set train.epochs=12.
‡ 1 of 3 seeds.
)x");
  CHECK_THAT(to_markdown(results), Catch::Contains("| 80.00 ± 1.00 † |") &&
                                       Catch::Contains("† 12 of 300 epochs; 1 of 3 seeds; "));
  CHECK_THAT(
      to_latex(results),
      Catch::Contains("x & $75.00$ & $80.00_{\\pm 1.00}$$\\dagger$ & $-5.00$") &&
          Catch::Contains("y $\\dagger$ &") &&
          Catch::Contains("$\\dagger$ 12 of 300 epochs; 1 of 3 seeds; -{}-set train.epochs=12."));
  const std::string json = to_json(results);
  CHECK_THAT(json, Catch::Contains("\"12 of 300 epochs\", \"1 of 3 seeds\", "
                                   "\"--set train.epochs=12\""));
  CHECK_THAT(to_csv(results),
             Catch::Contains(",12 of 300 epochs; 1 of 3 seeds; --set train.epochs=12,"));
}

namespace {

std::string joined(const std::vector<std::string>& lines) {
  std::string all;
  for (const std::string& line : lines) all += line + "\n";
  return all;
}

}  // namespace

TEST_CASE("results: differences of recipe, size of costs, time of an epoch and NaN",
          "[experiment]") {
  const Folder folder("differs");
  write("../paper/published.json", R"({"tables": [
    {"table": "T", "rows": [{"row": "a", "values": {"top1": "NaN", "min_per_epoch": 0.5}}]}]})");
  write("a.json", R"({"name": "tiny", "published": "paper", "base": {}, "seeds": [0],
    "metrics": ["test_top1"], "differs": ["The warm-up is shorter."], "rows": [
    {"name": "a", "differs": ["by the recipe of b"],
     "published": {"table": "T", "row": "a",
                   "columns": {"test_top1": "top1", "min_per_epoch": "min_per_epoch"}}},
    {"name": "b", "set": {"model.depth": 3}}]})");
  const Ablation ablation = load_ablation("a.json", kind());
  CHECK(ablation.rows[0].changes == std::vector<std::string>{"by the recipe of b"});
  CHECK(ablation.rows[1].changes.empty());
  const std::string costs = R"(, "macs": 1000, "time_s": 240.0, "epochs": 2, "macs_size": )";
  finish("out", ablation.jobs[0], R"({"test": {"top1": 75.5}})", costs + "\"224 x 224\"");
  finish("out", ablation.jobs[1], R"({"test": {"top1": 75.0}})", costs + "\"224 x 224\"");
  const Results results = collect_results(ablation, "out");
  CHECK(results.remarks ==
        std::vector<std::string>{"The warm-up is shorter.",
                                 "MACs are counted at 224 x 224, not at the size of the data."});
  CHECK(results.rows[0].min_per_epoch == Approx(2));
  const std::string text = to_text(results);
  CHECK_THAT(text, Catch::Contains("minutes an epoch") && Catch::Contains("0.5") &&
                       Catch::Contains("nan") && Catch::Contains("by the recipe of b"));
  const std::string json = to_json(results);
  CHECK_THAT(json, Catch::Contains("\"mean\": null") && Catch::Contains("\"nonfinite\""));
  finish("out", ablation.jobs[1], R"({"test": {"top1": 75.0}})", R"(, "macs": 10)");
  CHECK(collect_results(ablation, "out").remarks.back() ==
        "MACs are counted at different sizes: 224 x 224 (a); the size of the data (b).");
}

TEST_CASE("results: selection on test, other data and other programs are said", "[experiment]") {
  const Folder folder("remarks");
  write("a.json", R"({"name": "a", "base": {}, "seeds": [0, 1], "metrics": ["test_top1"], "rows": [
    {"name": "x"}, {"name": "y", "set": {"model.depth": 2}}]})");
  const Ablation ablation = load_ablation("a.json", kind());
  const auto remarks = [&](const std::vector<std::string>& rest) {
    for (std::size_t i = 0; i < rest.size(); ++i)
      finish("out", ablation.jobs[i], R"({"test": {"top1": 75}})", ", " + rest[i]);
    return joined(collect_results(ablation, "out").remarks);
  };
  // Jobs: x, y with seed 0, then with seed 1.
  const std::string val = R"("selected_on": "val", "version": "1", "data": {"hash": "0123456789"})";
  const std::string test =
      R"("selected_on": "test", "version": "1", "data": {"hash": "0123456789"})";
  CHECK(remarks({val, val, val, val}).empty());
  CHECK(remarks({test, test, test, test}) ==
        "Selected on test: the weights were chosen by the numbers shown.\n");
  CHECK(remarks({val, test, val, test}) ==
        "Selected on test: the weights of y were chosen by the numbers shown.\n");
  CHECK(remarks({val, R"("version": "1", "data": {"hash": "abcdef0123"})", val, val}) ==
        "The data changed between runs: 01234567 (x, y seed 1); abcdef01 (y seed 0).\n");
  CHECK(remarks({R"("version": "1", "commit": "a")", R"("version": "2")",
                 R"("version": "1", "commit": "a")", R"("version": "2")"}) ==
        "Made by different programs: 1, a (x); 2 (y).\n");
  CHECK_THAT(to_text(collect_results(ablation, "out")), Catch::Contains("Made by different"));
}
