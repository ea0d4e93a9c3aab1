// Verdicts through the code that makes tables.
#include <catch2/catch.hpp>

#include <cmath>
#include <vector>

#include "experiment/tables/results_layout.h"
#include "metrics/power.h"
#include "metrics/verdict.h"
#include "tensor/random.h"

using namespace fovea;
using namespace fovea::experiment;

namespace {

// A table of rows whose values of one metric are `mean` plus standard normal noise.
Results drawn_table(const std::vector<double>& means, std::int64_t seeds, RandomStream random) {
  Results results;
  results.columns = {{"test_top1", {"test", "top1"}, {.name = "top1"}}};
  std::uint64_t draw = 0;
  for (std::size_t r = 0; r < means.size(); ++r) {
    ResultRow row;
    row.name = std::string(1, static_cast<char>('a' + r));
    MetricResult metric;
    metric.name = "test_top1";
    for (std::int64_t seed = 0; seed < seeds; ++seed)
      metric.by_run[seed] = means[r] + random.normal(draw++);
    row.metrics.push_back(metric);
    results.rows.push_back(row);
  }
  return results;
}

double share_of_verdicts(const std::vector<double>& means, std::int64_t seeds, int tables) {
  int claims = 0;
  for (int k = 0; k < tables; ++k) {
    const RandomStream random = RandomStream(7).fork(static_cast<std::uint64_t>(k));
    bool any = false;
    for (const Difference& d : differences(drawn_table(means, seeds, random)))
      any = any || d.verdict == metrics::Verdict::kBetter || d.verdict == metrics::Verdict::kWorse;
    claims += any ? 1 : 0;
  }
  return static_cast<double>(claims) / tables;
}

}  // namespace

TEST_CASE("results: tables without a difference say so in 95 of 100 cases", "[experiment][long]") {
  const double share = share_of_verdicts({0, 0, 0, 0}, 9, 10000);
  CHECK(share <= 0.05);
  CHECK(share > 0.01);  // the test can say something at all
}

TEST_CASE("results: power is that which is said", "[experiment]") {
  // Differences of two runs have a standard deviation of sqrt(2).
  const double effect = *metrics::detectable_effect(9, metrics::kAlpha);
  CHECK(share_of_verdicts({0, effect * std::sqrt(2)}, 9, 3000) ==
        Approx(metrics::kPower).margin(0.02));
}

TEST_CASE("results: what was asked for stands below the table", "[experiment]") {
  Results results = drawn_table({0, 3, 0}, 8, RandomStream(3));
  results.rows[2] = results.rows[0];
  results.rows[2].name = "c";
  for (auto& [seed, value] : results.rows[2].metrics[0].by_run) value += seed % 2 == 0 ? 0.1 : -0.1;
  results.detect["test_top1"] = 2;
  results.equivalent["test_top1"] = 0.5;
  results.differences = differences(results);
  const std::string text = to_text(results);
  CHECK_THAT(text, Catch::Contains("better") &&
                       Catch::Contains("not distinguishable, equivalent within 0.5"));
  CHECK_THAT(text, Catch::Contains("To show a difference of 2 in test_top1: b ") &&
                       Catch::Contains(", c 7 seeds (power 100 %)."));
  CHECK_THAT(to_json(results),
             Catch::Contains("\"margin\": 0.5") && Catch::Contains("\"verdict\": \"better\""));
}
