#include "explain/diagnostics/map_diagnostics.h"

#include <catch2/catch.hpp>

#include <cmath>

#include "base/error.h"
#include "explain/diagnostics/linear_map.h"
#include "explain/diagnostics/signed_maps.h"
#include "explain/diagnostics/singular_values.h"
#include "explain/diagnostics/token_diagnostics.h"

using namespace fovea;
using explain::HeadDiagnostics;
using explain::layer_map;
using explain::MapDiagnostics;
using visualise::AttentionMap;
using Numbers = std::vector<double>;

namespace {

AttentionMap uniform(std::int64_t heads, std::int64_t n) {
  return {heads, n, Numbers(static_cast<std::size_t>(heads * n * n), 1 / static_cast<double>(n))};
}

AttentionMap identity(std::int64_t n) {
  AttentionMap map{1, n, Numbers(static_cast<std::size_t>(n * n), 0.0)};
  for (std::int64_t i = 0; i < n; ++i) map.values[static_cast<std::size_t>(i * (n + 1))] = 1;
  return map;
}

}  // namespace

TEST_CASE("map diagnostics: rows that are all equal", "[explain]") {
  MapDiagnostics diagnostics({.sink_threshold = 0.3});
  diagnostics.add(0, layer_map(uniform(2, 4)));
  const explain::HeadDiagnostics& head = diagnostics.layers().front().heads.front();
  CHECK(head.entropy.value() == Approx(std::log(4)));
  CHECK(head.relative_entropy.value() == Approx(1));
  CHECK(head.importance_max.value() == Approx(0.25));
  CHECK(head.effective_rank.value() == Approx(1));
  CHECK(head.stable_rank.value() == Approx(1));
  CHECK(head.row_residual.value() == Approx(0).margin(1e-12));
  CHECK(std::isnan(head.mean_distance.value()));
  CHECK(diagnostics.layers().front().head_similarity.value() == Approx(1));
  CHECK(diagnostics.layers().front().head_js.value() == Approx(0).margin(1e-12));
  CHECK(diagnostics.over_all(&HeadDiagnostics::sink_rate) == 0);
  CHECK(diagnostics.over_all(&HeadDiagnostics::first_token_share) == Approx(0.25));
}

TEST_CASE("map diagnostics: every token looks at itself", "[explain]") {
  const Numbers distances = explain::patch_distances(0, {2, 2}, {8, 8});
  explain::LayerMap map = layer_map(identity(4));
  map.distances = distances;
  MapDiagnostics diagnostics({});
  diagnostics.add(0, map);
  const explain::HeadDiagnostics& head = diagnostics.layers().front().heads.front();
  CHECK(head.entropy.value() == 0);
  CHECK(head.effective_rank.value() == Approx(4));
  CHECK(head.stable_rank.value() == Approx(4));
  // ||I - 1/4|| / ||I|| = sqrt(3) / 2.
  CHECK(head.row_residual.value() == Approx(std::sqrt(0.75)));
  CHECK(head.mean_distance.value() == 0);
  CHECK(std::isnan(diagnostics.layers().front().head_similarity.value()));  // of one head
}

TEST_CASE("map diagnostics: distances in pixels, of patches alone", "[explain]") {
  // A class token before 1 x 2 patches; each patch gives the class token half of its weight, and
  // the rest to the other one.
  const Numbers distances = explain::patch_distances(1, {1, 2}, {8, 16});
  explain::LayerMap map = layer_map({1, 3, {1, 0, 0, 0.5, 0, 0.5, 0.5, 0.5, 0}});
  map.distances = distances;
  MapDiagnostics diagnostics({});
  diagnostics.add(0, map);
  CHECK(diagnostics.layers()[0].heads[0].mean_distance.value() == Approx(16));
  map = layer_map(identity(4));
  map.distances = distances;
  CHECK_THROWS_AS(diagnostics.add(0, map), ShapeError);
}

TEST_CASE("map diagnostics: windows, whose tokens see each other alone", "[explain]") {
  // Two windows of two heads: of two tokens, and of one.
  const explain::LayerMap map{.heads = 2,
                              .keys = explain::LayerMap::Keys::kOfWindow,
                              .parts = {{2, 2}, {1, 1}},
                              .values = {0.5, 0.5, 0.5, 0.5, 1, 1, 0, 1, 0, 1}};
  MapDiagnostics diagnostics({});
  diagnostics.add(0, map);
  const explain::LayerDiagnostics& layer = diagnostics.layers()[0];
  CHECK(layer.heads[0].entropy.value() == Approx(2 * std::log(2) / 3));
  CHECK(layer.heads[0].relative_entropy.value() == Approx(1));  // of the rows that see two keys
  CHECK(layer.heads[1].relative_entropy.value() == 0);
  CHECK(layer.heads[0].importance_max.value() == 1);
  CHECK(layer.heads[0].sink_any.value() == 1);
  // What asks for one map of all tokens is not defined.
  CHECK(layer.heads[0].sink_rate.count() == 0);
  CHECK(layer.heads[0].first_token_share.count() == 0);
  CHECK(layer.heads[0].effective_rank.count() == 0);
  CHECK(layer.heads[0].row_residual.count() == 0);
  CHECK(layer.head_similarity.value() == Approx(2 / std::sqrt(2.0 * 3)));
}

TEST_CASE("map diagnostics: keys that stand for several tokens", "[explain]") {
  const explain::LayerMap map{.heads = 1,
                              .keys = explain::LayerMap::Keys::kReduced,
                              .parts = {{3, 2}},
                              .values = {1, 0, 1, 0, 0.5, 0.5}};
  MapDiagnostics diagnostics({});
  diagnostics.add(0, map);
  const explain::HeadDiagnostics& head = diagnostics.layers()[0].heads[0];
  CHECK(head.relative_entropy.value() == Approx(1.0 / 3));
  CHECK(head.importance_max.value() == Approx(2.5 / 3));
  CHECK(head.sink_rate.count() == 0);
  CHECK(head.effective_rank.value() > 1);
  CHECK(head.effective_rank.value() < 2);
  CHECK_THROWS_AS(diagnostics.add(0, {.heads = 1, .parts = {{3, 2}}, .values = map.values}),
                  ShapeError);
}

TEST_CASE("map diagnostics: signs of a map and of the two that it is made of", "[explain]") {
  // P = 0.5 0.5, N = 0.25 0.75.
  explain::LayerMap map = layer_map({1, 2, {0.25, -0.25, 0.25, -0.25}});
  map.positive = {0.5, 0.5, 0.5, 0.5};
  map.negative = {0.25, 0.75, 0.25, 0.75};
  MapDiagnostics diagnostics({});
  diagnostics.add(0, map);
  const explain::HeadDiagnostics& head = diagnostics.layers()[0].heads[0];
  CHECK(head.negative_mass.value() == Approx(0.5));
  CHECK(head.row_cancellation.value() == Approx(1));
  CHECK(head.cancelled.value() == Approx(2 * 0.75 / 2));
  CHECK(head.inhibited.value() == Approx(0.75));
  diagnostics.add(1, layer_map(uniform(1, 2)));
  CHECK(diagnostics.layers()[1].heads[0].negative_mass.value() == 0);
  CHECK(diagnostics.layers()[1].heads[0].cancelled.count() == 0);
}

TEST_CASE("map diagnostics: sinks, and rows that see only keys before them", "[explain]") {
  MapDiagnostics all({.sink_threshold = 0.3});
  all.add(0, layer_map({1, 3, {1, 0, 0, 1, 0, 0, 0.4, 0.3, 0.3}}));
  CHECK(all.over_all(&HeadDiagnostics::first_token_share) == Approx(0.8));
  CHECK(all.over_all(&HeadDiagnostics::sink_rate) == 1);
  CHECK(all.over_all(&HeadDiagnostics::sink_any) == 1);
  MapDiagnostics causal({.causal = true, .sink_threshold = 0.3, .sink_token = 2});
  causal.add(0, layer_map({1, 3, {1, 0, 0, 0.5, 0.5, 0, 0.2, 0.2, 0.6}}));
  const explain::HeadDiagnostics& head = causal.layers()[0].heads[0];
  // Token 2 is seen by one row, which gives it 0.6.
  CHECK(causal.over_all(&HeadDiagnostics::sink_rate) == 1);
  CHECK(head.importance_max.value() == Approx(0.6));
  CHECK(causal.over_all(&HeadDiagnostics::first_token_share) == Approx((1 + 0.5 + 0.2) / 3));
  // The first row sees one key, and is left out.
  const double last = -(0.4 * std::log(0.2) + 0.6 * std::log(0.6));
  CHECK(head.relative_entropy.value() == Approx((1 + last / std::log(3)) / 2));
  CHECK(head.entropy.value() == Approx((0 + std::log(2) + last) / 3));
}

TEST_CASE("map diagnostics: signed maps count by size, rows of zeros not at all", "[explain]") {
  MapDiagnostics diagnostics({});
  diagnostics.add(0, layer_map({1, 2, {0.5, -0.5, 0, 0}}));
  const explain::HeadDiagnostics& head = diagnostics.layers()[0].heads[0];
  CHECK(head.entropy.value() == Approx(std::log(2)));
  CHECK(diagnostics.over_all(&HeadDiagnostics::first_token_share) == Approx(0.5));
  CHECK(head.stable_rank.value() == Approx(1));
}

TEST_CASE("map diagnostics: heads that look at different keys", "[explain]") {
  MapDiagnostics diagnostics({});
  diagnostics.add(0, layer_map({2, 2, {1, 0, 1, 0, 0, 1, 0, 1}}));
  CHECK(diagnostics.layers()[0].head_similarity.value() == 0);
  CHECK(diagnostics.layers()[0].head_js.value() == Approx(std::log(2)));
}

TEST_CASE("map diagnostics: means over samples", "[explain]") {
  MapDiagnostics diagnostics({});
  diagnostics.add(0, layer_map(uniform(1, 2)));
  diagnostics.add(0, layer_map(identity(4)));  // samples may differ in length, as texts do
  CHECK(diagnostics.layers()[0].heads[0].entropy.value() == Approx(std::log(2) / 2));
  CHECK(diagnostics.layers()[0].heads[0].effective_rank.value() == Approx(2.5));
  CHECK_THROWS_AS(diagnostics.add(0, layer_map(uniform(2, 2))), ShapeError);
}

TEST_CASE("singular values: of a diagonal and of an outer product", "[explain]") {
  CHECK(explain::singular_values(Numbers{0, -3, 2, 0}, 2)[0] == Approx(3));
  CHECK(explain::singular_values(Numbers{0, -3, 2, 0}, 2)[1] == Approx(2));
  // p = 0.6, 0.4.
  const double entropy = -(0.6 * std::log(0.6) + 0.4 * std::log(0.4));
  CHECK(explain::effective_rank(Numbers{3, 2}) == Approx(std::exp(entropy)));
  CHECK(explain::stable_rank(Numbers{3, 2}) == Approx(13.0 / 9));
  CHECK(explain::singular_values(Numbers{1, 2, 2, 4}, 2)[1] == Approx(0).margin(1e-12));
  CHECK(std::isnan(explain::effective_rank(Numbers{0, 0})));
}

TEST_CASE("token diagnostics: a single token is like no other", "[explain]") {
  // Its unit vector's squares sum to 1 but for rounding.
  CHECK(std::isnan(explain::diagnose_tokens(Numbers{0.3, 0.1, 0.7}, 1, {}).similarity));
  CHECK(std::isnan(explain::diagnose_tokens(Numbers{3, 0, 0}, 1, {}).similarity));
}

TEST_CASE("token diagnostics: by hand", "[explain]") {
  // Norms 5, 5, 0, 1200; cosines of the pairs of the first, second and fourth: 0, 0.6, 0.8.
  const Numbers tokens = {3, 4, -4, 3, 0, 0, 0, 1200};
  const auto found = explain::diagnose_tokens(tokens, 4, {});
  CHECK(found.similarity == Approx((0 + 0.8 + 0.6) / 6));
  CHECK(found.median_norm == Approx(5));
  CHECK(found.max_norm == Approx(1200));
  CHECK(found.ratio == Approx(240));
  CHECK(found.high_norm == 1);
  CHECK(found.massive == 0);  // the median size is 3: 3000 would be massive
  CHECK((found.top[0].token == 3 && found.top[0].channel == 1 && found.top[0].value == 1200));
  CHECK((found.top[1].token == 0 && found.top[1].channel == 1 && found.top[1].value == 4));
  CHECK((found.top[2].token == 1 && found.top[2].channel == 0 && found.top[2].value == -4));
  explain::TokenDiagnosticsOptions absolute;
  absolute.absolute = 4.5;
  CHECK(explain::diagnose_tokens(tokens, 4, absolute).high_norm == 3);
  Numbers small = tokens;
  for (double& v : small) v = v == 1200 ? v : v / 4;
  CHECK(explain::diagnose_tokens(small, 4, {}).massive == 1);
  CHECK(std::isnan(explain::diagnose_tokens(tokens, 1, {}).similarity));
  CHECK_THROWS_AS(explain::diagnose_tokens(tokens, 3, {}), ShapeError);
}

TEST_CASE("signed maps: what is negative, what rows and parts cancel", "[explain]") {
  CHECK(explain::negative_mass(Numbers{1, -0.5, 0, 0.5}) == Approx(0.25));
  CHECK(explain::row_cancellation(Numbers{1, -1, 0, 0, 3, 1}, 3).value() ==
        Approx(0.5));  // of two rows
  const Numbers p = {0.5, 0.5, 0, 1}, none(4, 0.0);
  const auto same = explain::cancellation(p, p);
  CHECK((same.cancelled == 1 && same.inhibited == 1));
  CHECK(explain::cancellation(p, none).cancelled == 0);
  CHECK(std::isnan(explain::cancellation(p, none).inhibited));
  // sum |P - N| = sum P + sum N - 2 sum min(P, N).
  const Numbers n = {0.25, 0, 0.25, 0.5};
  const auto part = explain::cancellation(p, n);
  CHECK(part.cancelled == Approx(1 - (0.25 + 0.5 + 0.25 + 0.5) / 3));
  CHECK(part.inhibited == Approx(0.75));
  CHECK_THROWS_AS(explain::cancellation(p, Numbers{0.1, 0.1, 0.1, -0.1}), NumericError);
}

TEST_CASE("linear map: features by hand, rows below one by eps", "[explain]") {
  // elu + 1: 2, e^-1, 1; products with keys 1 and 3: (2, 6), ...
  const auto elu =
      explain::linear_map(Numbers{1, -1}, Numbers{0, 2}, 2, explain::Feature::kEluPlusOne, 0);
  CHECK(elu[0] == Approx(0.25));
  CHECK(elu[3] == Approx(0.75));
  const auto relu =
      explain::linear_map(Numbers{1, -1}, Numbers{1, 2}, 2, explain::Feature::kRelu, 1);
  CHECK(relu == Numbers{0.25, 0.5, 0, 0});
}
