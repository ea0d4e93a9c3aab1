#include "visualise/drawing/ticks.h"

#include <catch2/catch.hpp>

using namespace fovea::visualise;

namespace {

std::vector<std::string> labels(const std::vector<Tick>& ticks) {
  std::vector<std::string> result;
  for (const Tick& tick : ticks) {
    if (!tick.label.empty()) result.push_back(tick.label);
  }
  return result;
}

using Labels = std::vector<std::string>;

}  // namespace

TEST_CASE("linear_ticks: nice steps with the decimals they need", "[visualise]") {
  CHECK(labels(linear_ticks(0, 1, 5)) == Labels{"0", "0.2", "0.4", "0.6", "0.8", "1.0"});
  CHECK(labels(linear_ticks(-0.6, 0.3, 4)) == Labels{"−0.50", "−0.25", "0", "0.25"});
  CHECK(labels(linear_ticks(0, 99, 5)) == Labels{"0", "20", "40", "60", "80"});
  CHECK(labels(linear_ticks(0, 3e-4, 3)) == Labels{"0", "1×10⁻⁴", "2×10⁻⁴", "3×10⁻⁴"});
  CHECK(labels(linear_ticks(0, 2.5e5, 2)) == Labels{"0", "2×10⁵"});
}

TEST_CASE("linear_ticks: whole numbers only where asked for", "[visualise]") {
  CHECK(labels(linear_ticks(0, 3, 12, true)) == Labels{"0", "1", "2", "3"});
  CHECK(labels(linear_ticks(0, 7, 3, true)) == Labels{"0", "5"});  // not 0, 2.5, 5
}

TEST_CASE("log_ticks: powers of ten, or steps between them", "[visualise]") {
  CHECK(labels(log_ticks(0.005, 20)) == Labels{"0.01", "0.1", "1", "10"});
  CHECK(log_ticks(0.005, 20).size() > 20);  // minor ticks
  CHECK(labels(log_ticks(0.3, 3)) == Labels{"0.5", "1", "2"});
  CHECK(labels(log_ticks(0.6, 15)) == Labels{"1", "2", "5", "10"});
  CHECK(labels(log_ticks(3.1, 4.1)).size() >= 3);
  CHECK(labels(log_ticks(1e-6, 1e-4)) == Labels{"10⁻⁶", "10⁻⁵", "10⁻⁴"});
}
