#include "explain/scored/score_table.h"

#include <catch2/catch.hpp>

#include "base/error.h"

using namespace fovea;
using explain::Judges;
using explain::ScoredRow;
using metrics::Verdict;
using Numbers = std::vector<double>;

namespace {

explain::AskedScore asked(const std::string& name) {
  const explain::ScoreEntry& score = explain::scores().find(name);
  return {&score, {name, {}}};
}

// Deletion (lower is better) and effective (no direction) of two methods on eight samples.
explain::ScoredRuns two_methods() {
  const Numbers chance = {5, 5, 5, 5, 5, 5, 5, 5}, size = {1, 2, 3, 4, 5, 6, 7, 8};
  explain::ScoredRuns scored{.scores = {asked("deletion"), asked("effective")},
                             .split = "test",
                             .available = 8,
                             .samples = std::vector<std::string>(8, "sample"),
                             .runs = {{.name = "run",
                                       .title = "run",
                                       .weights = "",
                                       .targets = std::vector<std::string>(8, "cat"),
                                       .methods = {},
                                       .random = {}}}};
  const auto row = [&](const std::string& method, Numbers deletion) {
    return ScoredRow{method, {std::move(deletion), size}, {{}, {}}};
  };
  scored.runs[0].methods = {row("rollout", {1, 2, 1, 2, 1, 2, 1, 2}),
                            row("grad_cam", {9, 8, 9, 8, 9, 8, 9, 8})};
  // Their mean is 5 everywhere.
  scored.runs[0].random = {row("random", {4, 4, 4, 4, 4, 4, 4, 4}),
                           row("random", {6, 6, 6, 6, 6, 6, 6, 6})};
  return scored;
}

}  // namespace

TEST_CASE("score table: tests against random and the first row, adjusted", "[explain]") {
  const explain::ScoredRuns scored = two_methods();
  const auto rows = explain::score_table(scored);
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].method == "rollout");
  CHECK(rows[2].method == "random");
  const auto& first = rows[0].cells[0];
  CHECK(first.value.mean == Approx(1.5));
  REQUIRE(first.random);
  CHECK(first.random->difference.mean == Approx(3.5));
  // All eight differences have one sign: 2 of 256 patterns, twice for two rows.
  CHECK(first.random->p == Approx(2.0 / 256));
  CHECK(first.random->p_holm == Approx(4.0 / 256));
  CHECK(first.random->verdict() == Verdict::kBetter);
  CHECK(!first.first);
  CHECK(rows[1].cells[0].random->verdict() == Verdict::kWorse);
  CHECK(rows[1].cells[0].first->difference.mean == Approx(-7));
  CHECK(rows[1].cells[0].first->verdict() == Verdict::kWorse);
  CHECK(!rows[2].cells[0].random);
  CHECK(rows[2].cells[0].first->difference.mean == Approx(-3.5));
  CHECK(rows[2].cells[0].value.mean == Approx(5));
  // Without a direction there is no test.
  CHECK(rows[0].cells[1].value.mean == Approx(4.5));
  CHECK(!rows[0].cells[1].random);
  CHECK(!rows[1].cells[1].first);
}

TEST_CASE("score table: mean curves over samples, of random over its seeds", "[explain]") {
  explain::ScoredRuns scored = two_methods();
  const auto curve = [](double at_0, double at_1) {
    return explain::Scored(0, {0, 1}, {at_0, at_1});
  };
  scored.runs[0].methods[0].curves[0] = {curve(1, 0), curve(3, 0)};
  scored.runs[0].random[0].curves[0] = {curve(1, 0), curve(2, 0)};
  scored.runs[0].random[1].curves[0] = {curve(3, 1), curve(4, 1)};
  const auto rows = explain::score_table(scored);
  const auto mean = explain::mean_curve(scored, rows[0], 0);
  REQUIRE(mean);
  CHECK(mean->mean == Numbers{2, 0});
  // t(0.975, 1) sqrt(2) / sqrt(2).
  CHECK(mean->half_width[0] == Approx(12.7062).epsilon(1e-5));
  CHECK(explain::mean_curve(scored, rows[2], 0)->mean == Numbers{2.5, 0.5});
  CHECK(!explain::mean_curve(scored, rows[0], 1));
  // Of samples with different units there is no mean.
  scored.runs[0].methods[0].curves[0][1].shares = {0, 0.5};
  CHECK(!explain::mean_curve(scored, rows[0], 0));
}

TEST_CASE("asked scores: all that are defined, options, refusals", "[explain]") {
  std::vector<std::string> left_out;
  const auto names = [&](Judges judges) {
    std::vector<std::string> found;
    for (const auto& one : explain::asked_scores({"all"}, {}, judges, left_out))
      found.push_back(one.score->name);
    return found;
  };
  using Names = std::vector<std::string>;
  CHECK(names(Judges::kTexts) == Names{"pnr", "comprehensiveness", "sufficiency", "mprt", "emprt",
                                       "entropy", "gini", "effective"});
  CHECK(names(Judges::kTexts).size() + left_out.size() / 2 == explain::scores().size());
  CHECK(names(Judges::kSegmentations).front() == "pnr");
  const auto ask = [&](const Names& scores, const Names& options) {
    return explain::asked_scores(scores, options, Judges::kImages, left_out);
  };
  const auto deletion = ask({"deletion"}, {"deletion.step=3"});
  CHECK(deletion.front().options.options.at("step").as_int() == 3);
  CHECK_THROWS_WITH(ask({"energy"}, {}), Catch::Contains("needs masks of objects"));
  CHECK_THROWS_WITH(ask({"saco", "saco"}, {}), Catch::Contains("given twice"));
  CHECK_THROWS_WITH(ask({"saco"}, {"saco.group=3"}), Catch::Contains("groups"));
  CHECK_THROWS_WITH(ask({"saco", "all"}, {}), Catch::Contains("expected it alone"));
}
