// Where one patch looks. mala section 9, figures 3, 4 and 7.
#include "visualise/layouts/score_maps.h"

#include <catch2/catch.hpp>

#include <numeric>

#include "base/error.h"
#include "schema/json/parse.h"
#include "tests/support/tensors.h"
#include "tests/visualise/small_decoder.h"
#include "visualise/maps/attention_maps.h"
#include "visualise/maps/rollouts/grid_rollout.h"

using namespace fovea;
using namespace fovea::test;
using namespace fovea::visualise;

namespace {

std::unique_ptr<models::Model> small_vit(const std::string& attention) {
  const schema::Value options = schema::parse(
      R"({"type": "vit", "patch_size": 4, "embed_dim": 16, "depth": 3, "attention":
          {"type": ")" +
          attention + R"(", "num_heads": 2}})",
      "test");
  const nn::Build build{cpu(), DType::kFloat32, RandomStream(1), nn::Init::kTorch};
  return models::make_model({"vit", options}, build, {3, 16, 12, 5});
}

Tensor picture() { return random_tensor({1, 3, 16, 12}, 4, DType::kFloat32); }

}  // namespace

TEST_CASE("score maps: the query's row of the dense matrix, mean over heads, without class token",
          "[visualise]") {
  const std::string attention = GENERATE("softmax", "linear");
  const auto model = small_vit(attention);
  // Row 2 of 4, column 1 of 3.
  const auto layers = score_maps(*model, picture(), {0.6, 0.5});
  const Observation seen = observe(*model, picture());
  REQUIRE(layers.size() == 3);
  REQUIRE(seen.prefix_tokens == 1);
  for (std::size_t l = 0; l < 3; ++l) {
    CHECK(layers[l].layer == "blocks." + std::to_string(l));
    REQUIRE((layers[l].scores.rows == 4 && layers[l].scores.cols == 3));
    const AttentionMap& map = seen.layers[l];
    for (std::int64_t k = 0; k < 12; ++k) {
      const auto at = [&](std::int64_t head) {
        return map.values[static_cast<std::size_t>((head * 13 + 8) * 13 + 1 + k)];
      };
      CHECK(layers[l].scores.values[static_cast<std::size_t>(k)] ==
            Approx((at(0) + at(1)) / 2).epsilon(1e-6));
    }
  }
  const ScoreMap mean = mean_of(layers);
  CHECK(mean.layer == "mean of 3 layers");
  CHECK(mean.scores.values[5] == Approx((layers[0].scores.values[5] + layers[1].scores.values[5] +
                                         layers[2].scores.values[5]) /
                                        3));
}

TEST_CASE("score maps: of networks with grids of several sizes too", "[visualise]") {
  const auto model = build(small_decoder("pvt_gdla"), cpu(), kSmallImages);
  const Tensor image = random_tensor({1, 3, 32, 32}, 4, DType::kFloat32);
  const auto layers = score_maps(*model, image, {0.5, 0.5});
  const auto blocks = observe_grids(*model, image, attention::Probe::Place{0.5, 0.5});
  REQUIRE(layers.size() == blocks.size());
  CHECK(layers.back().layer == blocks.back().block);
  CHECK(layers.back().scores.rows == blocks.back().keys_h);
  CHECK_THROWS_WITH(mean_of(layers), Catch::Contains("choose one layer"));
}

TEST_CASE("score figure: scales, the frame around the query, refusals", "[visualise]") {
  ScoreMap map{"blocks.0", 4, 4, {4, 4, std::vector<double>(16)}};
  std::iota(map.scores.values.begin(), map.scores.values.end(), 1.0);
  ScoreFigure figure;
  figure.names = {"one"};
  figure.inputs = {Canvas(32, 32, {100, 100, 100})};
  figure.places = {{0.3, 0.8}};
  figure.columns = {{"net", {map}}};
  const auto reds = [](const Canvas& canvas) {
    std::int64_t count = 0;
    for (std::int64_t y = 0; y < canvas.height; ++y) {
      for (std::int64_t x = 0; x < canvas.width; ++x)
        count += canvas.at(x, y) == Colour{255, 0, 0} ? 1 : 0;
    }
    return count;
  };
  const Canvas minmax = render(figure);
  // Two patches of 8 x 8 with a frame of 2 in each of two pictures.
  CHECK(reds(minmax) >= 2 * (64 - 16));
  figure.scale = ScoreScale::kRowSum;
  CHECK(render(figure).rgb != minmax.rgb);
  CHECK(score_scale_from_name("rowsum") == ScoreScale::kRowSum);
  CHECK_THROWS_AS(score_scale_from_name("sum"), ConfigError);
  figure.columns[0].maps.clear();
  CHECK_THROWS_AS(render(figure), ShapeError);
}
