#include "explain/scores/erasure.h"

#include <catch2/catch.hpp>

#include <cmath>

#include "base/error.h"

using namespace fovea;
using explain::Erasure;
using explain::Explained;
using explain::Removal;

namespace {

// The first logit is the sum of valid ids, and a tenth of the sum of id times place.
std::vector<double> sum_of_ids(const models::Inputs& inputs) {
  const auto ids = inputs.tokens.host_values<std::int64_t>();
  const auto valid = inputs.valid.host_values<std::uint8_t>();
  const auto n = static_cast<std::size_t>(inputs.tokens.size(1));
  std::vector<double> logits;
  for (std::size_t first = 0; first < ids.size(); first += n) {
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i) {
      if (valid[first + i] == 0) continue;
      sum += static_cast<double>(ids[first + i]) * (0.1 + 0.01 * static_cast<double>(i));
    }
    logits.insert(logits.end(), {sum, 0.0});
  }
  return logits;
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

}  // namespace

TEST_CASE("erasure: removed tokens move later ones up, or leave their place", "[explain]") {
  const explain::Questions questions(sum_of_ids, 3);
  Explained e;
  e.network = &questions;
  e.text = {3, 0, 5, 2, 0};  // padding in the middle is no token
  e.relevance = {1, 99, 2, 0, 99};
  const double whole = sigmoid(3 * 0.1 + 5 * 0.12 + 2 * 0.13);
  // n = 3: max(1, floor(0.5 + 0.3)) = 1 and floor(0.5 + 1.5) = 2.
  const Erasure deleted = explain::erasure(e, {Removal::kDelete, {0.1, 0.5}});
  REQUIRE(deleted.comprehensiveness_at.size() == 2);
  CHECK(deleted.comprehensiveness_at[0] == Approx(whole - sigmoid(3 * 0.1 + 2 * 0.12)));
  CHECK(deleted.comprehensiveness_at[1] == Approx(whole - sigmoid(2 * 0.11)));
  CHECK(deleted.sufficiency_at[0] == Approx(whole - sigmoid(5 * 0.11)));
  CHECK(deleted.sufficiency_at[1] == Approx(whole - sigmoid(3 * 0.1 + 5 * 0.12)));
  CHECK(deleted.comprehensiveness ==
        Approx((deleted.comprehensiveness_at[0] + deleted.comprehensiveness_at[1]) / 2));
  const Erasure padded = explain::erasure(e, {Removal::kPad, {0.1, 0.5}});
  CHECK(padded.comprehensiveness_at[0] == Approx(whole - sigmoid(3 * 0.1 + 2 * 0.13)));
  CHECK(padded.sufficiency_at[0] == Approx(whole - sigmoid(5 * 0.12)));
}

TEST_CASE("erasure: all tokens may go", "[explain]") {
  const explain::Questions questions(sum_of_ids, 3);
  Explained e;
  e.network = &questions;
  e.text = {4};
  e.relevance = {1};
  const Erasure one = explain::erasure(e, {});
  CHECK(one.comprehensiveness == Approx(sigmoid(0.4) - 0.5));
  CHECK(one.sufficiency == Approx(0).margin(1e-15));
  e.text = {0};
  CHECK_THROWS_AS(explain::erasure(e, {}), ShapeError);
  CHECK_THROWS_AS(explain::erasure(e, {Removal::kPad, {}}), ConfigError);
}
