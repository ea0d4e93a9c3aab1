// The picture of the curves of scores.
#include "experiment/reports/explanations/score_curves.h"

#include <catch2/catch.hpp>

#include "base/file.h"

using namespace fovea;
using explain::Scored;

namespace {

explain::ScoredRuns with_curves(const std::vector<std::string>& scores) {
  explain::ScoredRuns scored{.scores = {}, .split = "test", .samples = {"a", "b"}, .runs = {}};
  explain::ScoredRow row;
  for (const std::string& name : scores) {
    scored.scores.push_back({&explain::scores().find(name), {name, {}}});
    row.values.push_back({0.5, 0.5});
    row.curves.push_back({Scored(0.5, {0, 1}, {1, 0}), Scored(0.5, {0, 1}, {1, 0.5})});
  }
  explain::ScoredRun& run = scored.runs.emplace_back();
  run.title = "run";
  run.methods = run.random = {row};
  run.methods[0].method = "rollout";
  return scored;
}

std::size_t count_of(const std::string& text, const std::string& word) {
  std::size_t count = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1))
    ++count;
  return count;
}

}  // namespace

TEST_CASE("score curves: several plots share one legend", "[experiment]") {
  const auto one = with_curves({"deletion"}), two = with_curves({"deletion", "insertion"});
  for (const auto& scored : {one, two}) {
    REQUIRE(experiment::write_score_curves("score-curves.svg", scored, explain::score_table(scored),
                                           {}));
    const std::string picture = io::read_text("score-curves.svg");
    for (const char* method : {">rollout<", ">random<"}) CHECK(count_of(picture, method) == 1);
  }
  io::remove_all("score-curves.svg");
}

TEST_CASE("score curves: runs that differ by their seed share a plot", "[experiment]") {
  explain::ScoredRuns scored = with_curves({"deletion"});
  scored.runs.push_back(scored.runs.front());
  scored.runs[0].configuration = {"soft", "settings", "1"};
  scored.runs[1].configuration = {"soft", "settings", "2"};
  const auto rows = explain::score_table(scored);
  REQUIRE(experiment::write_score_curves("score-curves.svg", scored, rows,
                                         explain::over_seeds(scored, rows)));
  const std::string picture = io::read_text("score-curves.svg");
  CHECK(count_of(picture, "soft: deletion") == 1);
  CHECK(count_of(picture, "mean over runs") == 1);
  io::remove_all("score-curves.svg");
}
