// Scores of relevance alone: complexity, sensitivity, randomisation.
#include <catch2/catch.hpp>

#include <cmath>

#include "backend/devices.h"
#include "base/error.h"
#include "explain/scores/complexity.h"
#include "explain/scores/randomisation.h"
#include "explain/scores/sensitivity.h"
#include "nn/linear.h"
#include "nn/norm.h"
#include "tensor/host.h"

using namespace fovea;
using Numbers = std::vector<double>;

TEST_CASE("complexity: equal, single and no relevance", "[explain]") {
  CHECK(explain::relevance_entropy(Numbers{2, -2, 2, 2}) == Approx(std::log(4)));
  CHECK(explain::relevance_gini(Numbers{2, -2, 2, 2}) == Approx(0).margin(1e-15));
  CHECK(explain::relevance_entropy(Numbers{0, 0, -3, 0}) == 0);
  CHECK(explain::relevance_gini(Numbers{0, 0, -3, 0}) == Approx(0.75));  // (n - 1) / n
  CHECK(explain::effective_count(Numbers{1, -1e-6, 2e-5, 0}, 1e-5) == 2);
  CHECK(std::isnan(explain::relevance_entropy(Numbers{0, 0})));
  CHECK(std::isnan(explain::relevance_gini(Numbers{0, 0})));
  CHECK(explain::effective_count(Numbers{0, 0}, 1e-5) == 0);
}

TEST_CASE("sensitivity: the relative change", "[explain]") {
  CHECK(explain::relative_change(Numbers{3, 4}, Numbers{3, 4}) == 0);
  CHECK(explain::relative_change(Numbers{3, 4}, Numbers{0, 8}) == Approx(1));
  CHECK(std::isnan(explain::relative_change(Numbers{0, 0}, Numbers{1, 0})));
  CHECK_THROWS_AS(explain::relative_change(Numbers{0}, Numbers{1, 0}), ShapeError);
}

TEST_CASE("randomisation: rank correlation with ties", "[explain]") {
  CHECK(explain::rank_correlation(Numbers{1, 2, 3, 4}, Numbers{10, 20, 25, 99}) == Approx(1));
  CHECK(explain::rank_correlation(Numbers{1, 2, 3, 4}, Numbers{4, 3, 2, 1}) == Approx(-1));
  // Ranks (0.5, 0.5, 2) and (0, 1, 2): 1.5 / sqrt(1.5 * 2).
  CHECK(explain::rank_correlation(Numbers{1, 1, 2}, Numbers{0, 5, 6}) ==
        Approx(1.5 / std::sqrt(3)));
  CHECK(std::isnan(explain::rank_correlation(Numbers{1, 1, 1}, Numbers{0, 5, 6})));
}

TEST_CASE("randomisation: entropy of the histogram ignores scale", "[explain]") {
  const Numbers values = {0, 0.1, 0.5, 0.9, 1};  // in two bins: 2 and 3
  const double expected = -(0.4 * std::log(0.4) + 0.6 * std::log(0.6));
  CHECK(explain::histogram_entropy(values, 2) == Approx(expected));
  Numbers scaled;
  for (const double v : values) scaled.push_back(16 * v - 8);
  CHECK(explain::histogram_entropy(scaled, 2) == Approx(expected));
  CHECK(explain::histogram_entropy(Numbers{3, 3}, 10) == 0);
  CHECK(explain::complexity_rise(2, 3) == Approx(0.5));
  CHECK(std::isnan(explain::complexity_rise(0, 3)));
}

namespace {

// Two linear layers with a norm between them, of ones and zeros at first.
class ThreeModules final : public nn::Module {
 public:
  explicit ThreeModules(std::uint64_t seed) {
    const nn::Build build{make_cpu(1), DType::kFloat32, RandomStream(seed), nn::Init::kTorch};
    child<nn::Linear>("first", build, 2, 2);
    child("norm", nn::make_norm(nn::NormKind::kLayerNorm, build.at("norm"), 2, 1e-6));
    child<nn::Linear>("last", build, 2, 1);
  }
  std::string type() const override { return "ThreeModules"; }
};

Numbers all_values(const nn::Module& module, const std::string& below) {
  Numbers values;
  for (const nn::NamedTensor& p : module.parameters()) {
    if (!p.name.starts_with(below)) continue;
    for (const double v : host_doubles(p.tensor)) values.push_back(v);
  }
  return values;
}

}  // namespace

TEST_CASE("randomisation: modules become fresh ones in order, and are intact again", "[explain]") {
  ThreeModules network(1), fresh(2), intact(1);
  const auto is_fresh = [&](const std::string& name) {
    return all_values(network, name) == all_values(fresh, name);
  };
  const auto is_intact = [&](const std::string& name) {
    return all_values(network, name) == all_values(intact, name);
  };
  {
    explain::Randomisation top(network, fresh, explain::RandomOrder::kTopDown);
    REQUIRE(top.steps() == 3);
    CHECK(top.module_of(1) == "last");
    top.set(1);
    CHECK((is_intact("first") && is_fresh("last")));
    top.set(3);
    CHECK((is_fresh("first") && is_fresh("norm") && is_fresh("last")));
  }
  CHECK(is_intact(""));
  explain::Randomisation alone(network, fresh, explain::RandomOrder::kIndependent);
  alone.set(1);
  CHECK((is_fresh("first") && is_intact("last")));
  alone.set(3);
  CHECK((is_intact("first") && is_fresh("last")));
  alone.set(0);
  CHECK(is_intact(""));
  CHECK_THROWS_AS(alone.set(4), ShapeError);
}
