#include "explain/scored/over_seeds.h"

#include <catch2/catch.hpp>

using namespace fovea;
using explain::ScoredRow;
using Numbers = std::vector<double>;

namespace {

// A run of a configuration whose one method has this deletion (lower is better) on every sample,
// beside random relevance of 5.
explain::ScoredRun run_of(const std::string& configuration, const std::string& draw, double value) {
  const auto row = [](const std::string& method, double deletion) {
    return ScoredRow{method, {{deletion - 1, deletion + 1}}, {{}}};
  };
  return {.name = configuration + draw,
          .title = configuration + draw,
          .weights = "",
          .configuration = {configuration, "settings of " + configuration, draw},
          .targets = {"cat", "dog"},
          .methods = {row("rollout", value)},
          .random = {row("random", 5)}};
}

explain::ScoredRuns scored(std::vector<explain::ScoredRun> runs) {
  return {.scores = {{&explain::scores().find("deletion"), {"deletion", {}}}},
          .split = "test",
          .available = 2,
          .samples = {"a", "b"},
          .runs = std::move(runs)};
}

std::vector<explain::SeedRow> rows_of(const explain::ScoredRuns& runs) {
  return explain::over_seeds(runs, explain::score_table(runs));
}

}  // namespace

TEST_CASE("over seeds: mean and deviation of runs, tests by draw", "[explain]") {
  // The runs of B come in another order.
  const auto rows = rows_of(scored(
      {run_of("A", "1", 1), run_of("A", "2", 3), run_of("B", "2", 4), run_of("B", "1", 1.5)}));
  REQUIRE(rows.size() == 4);
  CHECK(rows[0].configuration == "A");
  CHECK(rows[0].method == "rollout");
  CHECK(rows[0].runs == std::vector<std::size_t>{0, 1});
  const explain::ScoreCell& a = rows[0].cells[0];
  CHECK(a.value.mean == Approx(2));
  CHECK(a.value.std == Approx(1.414213562));
  REQUIRE(a.random);
  CHECK(a.random->difference.mean == Approx(3));  // 5 - 1 and 5 - 3
  CHECK(a.random->p == Approx(0.5));
  CHECK(!a.first);
  CHECK(rows[1].method == "random");
  CHECK(!rows[1].cells[0].random);
  const explain::ScoreCell& b = rows[2].cells[0];
  REQUIRE(b.first);
  CHECK(b.first->difference.mean == Approx(-0.75));  // of draws 1 and 2: -0.5 and -1
  CHECK(b.first->difference.std == Approx(0.353553391));
  CHECK(rows[3].cells[0].first->difference.mean == Approx(0));
}

TEST_CASE("over seeds: a draw that is missing or comes twice", "[explain]") {
  const auto rows =
      rows_of(scored({run_of("A", "1", 1), run_of("A", "2", 3), run_of("B", "2", 4)}));
  REQUIRE(rows.size() == 4);
  CHECK(rows[2].runs.size() == 1);
  CHECK(rows[2].cells[0].first->difference.n == 1);
  CHECK(rows[2].cells[0].first->difference.mean == Approx(-1));
  // The same run twice, as of two checkpoints, is no second seed.
  CHECK(rows_of(scored({run_of("A", "1", 1), run_of("A", "1", 2)})).empty());
  CHECK(rows_of(scored({run_of("A", "1", 1), run_of("B", "1", 2)})).empty());
}

TEST_CASE("over seeds: curves are means over runs", "[explain]") {
  explain::ScoredRuns runs = scored({run_of("A", "1", 1), run_of("A", "2", 3)});
  const auto curve = [](double at_0, double at_1) {
    return explain::Scored(0, {0, 1}, {at_0, at_1});
  };
  runs.runs[0].methods[0].curves[0] = {curve(1, 0), curve(3, 2)};  // mean 2, 1
  runs.runs[1].methods[0].curves[0] = {curve(4, 1), curve(4, 1)};
  const auto rows = rows_of(runs);
  const auto mean = explain::mean_curve(runs, rows[0], 0);
  REQUIRE(mean);
  CHECK(mean->mean == Numbers{3, 1});
  // t(0.975, 1) sqrt(2) / sqrt(2), over the runs.
  CHECK(mean->half_width[0] == Approx(12.7062).epsilon(1e-5));
  CHECK(mean->half_width[1] == Approx(0).margin(1e-12));
  CHECK(!explain::mean_curve(runs, rows[1], 0));  // random has no curves here
}
