// What attention makes of the length of a query. mala figure 2.
#include "visualise/maps/magnitude.h"

#include <catch2/catch.hpp>

#include <cmath>
#include <numeric>

#include "base/error.h"
#include "base/file.h"
#include "tests/support/run_cli.h"

using namespace fovea;
using namespace fovea::visualise;

namespace {

const std::vector<double> kKeys = {1.5, 0.2, 0.7, 0.9, 0.1, 2.0, 0.4, 0.4};  // (4, 2)

std::vector<double> longer(double a) { return {0.8 * a, 1.1 * a}; }

double total_of(const std::vector<double>& x) { return std::accumulate(x.begin(), x.end(), 0.0); }

const MagnitudeResponse& find(const std::vector<MagnitudeResponse>& all, const std::string& name,
                              double factor) {
  for (const MagnitudeResponse& r : all) {
    if (r.mechanism == name && r.factor == factor) return r;
  }
  throw ConfigError("no " + name);
}

std::vector<MagnitudeResponse> responses(const MagnitudeSettings& settings) {
  return magnitude_responses(drawn_query(settings), settings.factors);
}

}  // namespace

TEST_CASE("magnitude: linear attention does not feel the length, MALA is affine in it",
          "[visualise]") {
  const auto linear = linear_scores(longer(1), kKeys), mala = mala_scores(longer(1), kKeys);
  CHECK(total_of(linear) == Approx(1));
  CHECK(total_of(mala) == Approx(1));
  for (const double a : {2.0, 5.0}) {
    const auto scaled = mala_scores(longer(a), kKeys);
    CHECK(total_of(scaled) == Approx(1));
    CHECK(total_of(softmax_scores(longer(a), kKeys)) == Approx(1));
    for (std::size_t j = 0; j < 4; ++j) {
      CHECK(linear_scores(longer(a), kKeys)[j] == Approx(linear[j]).epsilon(1e-14));
      // A(a) = A + (a - 1) (Sim - mean Sim): mala section 10, property 3.
      const double sim = (0.8 * kKeys[2 * j] + 1.1 * kKeys[2 * j + 1]) / std::sqrt(2.0) / 4;
      const double mean = (0.8 * 2.7 + 1.1 * 3.5) / std::sqrt(2.0) / 16;
      CHECK(scaled[j] == Approx(mala[j] + (a - 1) * (sim - mean)).epsilon(1e-12));
    }
    // Of softmax the ratio of two scores goes with the power a.
    const auto one = softmax_scores(longer(1), kKeys), more = softmax_scores(longer(a), kKeys);
    CHECK(more[2] / more[0] == Approx(std::pow(one[2] / one[0], a)));
  }
}

TEST_CASE("magnitude: the figure's panels, sorted and reproducible", "[visualise]") {
  const MagnitudeSettings settings;
  const auto all = responses(settings);
  REQUIRE(all.size() == 16);
  const auto& one = find(all, "softmax", 1);
  CHECK(one.scores.size() == 16);
  CHECK(std::is_sorted(one.scores.rbegin(), one.scores.rend()));
  CHECK(one.maximum == one.scores.front());
  CHECK(one.minimum == one.scores.back());
  double entropy = 0;
  for (const double p : one.scores) entropy -= p * std::log(p);
  CHECK(one.entropy == Approx(entropy));
  CHECK(find(all, "softmax", 8).entropy < one.entropy);
  CHECK(find(all, "softmax", 8).maximum > one.maximum);
  CHECK(find(all, "MALA, a φ(u)", 8).maximum > find(all, "MALA, a φ(u)", 1).maximum);
  CHECK(find(all, "linear, a φ(u)", 8).maximum ==
        Approx(find(all, "linear, a φ(u)", 1).maximum).epsilon(1e-13));
  CHECK(magnitude_csv(responses(settings)) == magnitude_csv(all));
  MagnitudeSettings other = settings;
  other.seed = 1;
  CHECK(magnitude_csv(responses(other)) != magnitude_csv(all));
  other.keys = 1;
  CHECK_THROWS_AS(responses(other), ConfigError);
  other = settings;
  other.factors = {1, 0};
  CHECK_THROWS_AS(responses(other), ConfigError);
}

TEST_CASE("magnitude: of a given query the scores are those of its features", "[visualise]") {
  const auto all = magnitude_responses({longer(1), kKeys}, {1, 2});
  std::vector<double> phi_k = kKeys, phi_u = longer(2);
  for (double& value : phi_k) value += 1;  // all above 0
  for (double& value : phi_u) value = 1 + value / 2;
  std::vector<double> doubled = phi_u;
  for (double& value : doubled) value *= 2;
  std::vector<double> expected = mala_scores(doubled, phi_k);
  std::sort(expected.rbegin(), expected.rend());
  std::vector<double> actual = find(all, "MALA, a φ(u)", 2).scores;
  std::sort(actual.rbegin(), actual.rend());
  for (std::size_t j = 0; j < 4; ++j) CHECK(actual[j] == Approx(expected[j]).epsilon(1e-12));
}

TEST_CASE("magnitude: a picture in both formats and a table", "[visualise]") {
  const test::TestFolder folder("magnitude");
  const auto all = responses({.keys = 3, .dim = 4, .factors = {1, 3}});
  write_magnitude(folder.path("a.svg"), all);
  CHECK_THAT(io::read_text(folder.path("a.svg")),
             Catch::Contains("MALA, a φ(u), a = 3") && Catch::Contains("entropy"));
  write_magnitude(folder.path("b.png"), all);
  CHECK(io::read_text(folder.path("b.png")).substr(1, 3) == "PNG");
  const std::string csv = io::read_text(folder.path("a.csv"));
  CHECK(csv.starts_with("mechanism,factor,entropy,maximum,key,score\nsoftmax,1,"));
  CHECK(std::count(csv.begin(), csv.end(), '\n') == 1 + 4 * 2 * 3);
  CHECK_THROWS_AS(write_magnitude(folder.path("c.jpg"), all), ConfigError);
}
