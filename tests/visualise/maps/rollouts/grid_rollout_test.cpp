// Attention over grids of several sizes. gdla section 9.
#include "visualise/maps/rollouts/grid_rollout.h"

#include <catch2/catch.hpp>

#include <numeric>

#include "base/error.h"
#include "tests/support/tensors.h"
#include "tests/visualise/small_decoder.h"

using namespace fovea;
using namespace fovea::test;
using namespace fovea::visualise;

namespace {

using Place = attention::Probe::Place;

// 2 x 2 tokens, one head.
GridAttention block_of(std::int64_t keys_h, std::int64_t keys_w, const std::vector<double>& map) {
  GridAttention block;
  block.block = "b";
  block.grid_h = block.grid_w = 2;
  block.keys_h = keys_h;
  block.keys_w = keys_w;
  block.map = Tensor::from(map, {1, 4, keys_h * keys_w}, cpu());
  return block;
}

Tensor grid_image() { return random_tensor({1, 3, 64, 32}, 4, DType::kFloat32); }

}  // namespace

TEST_CASE("grid rollout: half of what a row of positive weights gives", "[visualise]") {
  // The query is token 3. Negative weights count nothing, rows are normalised.
  const std::vector<GridAttention> one = {
      block_of(2, 2, {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 3, -5, 1, 0})};
  const auto rollouts = grid_rollouts(one, {0.9, 0.9});
  REQUIRE(rollouts.size() == 1);
  CHECK(rollouts[0].query == 3);
  CHECK(rollouts[0].weights == std::vector<double>{0.375, 0, 0.125, 0.5});
}

TEST_CASE("grid rollout: the product over blocks of one grid, the last one first", "[visualise]") {
  // The first block sends everything to token 0, the second token 3 to token 1.
  const GridAttention first = block_of(2, 2, {1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0});
  const GridAttention second = block_of(2, 2, {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0});
  const std::vector<GridAttention> both = {first, second};
  const auto rollouts = grid_rollouts(both, {0.9, 0.9});
  REQUIRE(rollouts.size() == 1);
  CHECK(rollouts[0].last == "b");
  // (0, .5, 0, .5) after the second; half of that goes to token 0 in the first.
  CHECK(rollouts[0].weights == std::vector<double>{0.5, 0.25, 0, 0.25});
  std::vector<GridAttention> other = both;
  other[1].grid_w = 4;
  other[1].keys_w = 4;
  other[1].map = Tensor::from(std::vector<double>(64, 1.0), {1, 8, 8}, cpu());
  CHECK(grid_rollouts(other, {0, 0}).size() == 2);
}

TEST_CASE("grid rollout: weights of reduced keys are spread over their tokens", "[visualise]") {
  const std::vector<GridAttention> one = {block_of(1, 1, {2, 2, 2, 2})};
  CHECK(grid_rollouts(one, {0, 0})[0].weights == std::vector<double>{0.625, 0.125, 0.125, 0.125});
}

TEST_CASE("grid rollout: rows that were not observed are asked for", "[visualise]") {
  GridAttention part = block_of(2, 2, std::vector<double>(16, 0.25));
  part.map = Tensor::from(std::vector<double>(4, 0.25), {1, 1, 4}, cpu());
  part.first_row = 2;
  const std::vector<GridAttention> one = {part}, two = {part, part};
  CHECK(grid_rollouts(one, {0.9, 0.1})[0].query == 2);
  CHECK_THROWS_WITH(grid_rollouts(one, {0.1, 0.1}), Catch::Contains("--whole-maps"));
  CHECK_THROWS_WITH(grid_rollouts(two, {0.9, 0.1}), Catch::Contains("--whole-maps"));
}

TEST_CASE("grid attention: rows on demand are those of whole maps, for every decoder",
          "[visualise]") {
  const std::string type = GENERATE(as<std::string>{}, "pvt_gdla", "pvt_self_attn",
                                    "pvt_linear_attn", "pvt_diff_attn", "m_dgsa");
  INFO(type);
  schema::Value options = small_decoder(type == "m_dgsa" ? "pvt_self_attn" : type.c_str());
  if (type == "m_dgsa") options.set("attention", options_of("m_dgsa"));
  const auto network = build(options, cpu(), kSmallImages);
  const Place place{0.7, 0.3};
  const auto rows = observe_grids(*network, grid_image(), place);
  const auto whole = observe_grids(*network, grid_image(), std::nullopt);
  REQUIRE(rows.size() == 7);
  REQUIRE(whole.size() == 7);
  // Reduced keys: 16 x 8 tokens and 2 x 1 keys.
  CHECK(rows[0].map.shape() == whole[0].map.shape());
  CHECK(rows[0].keys_h == 2);
  CHECK(rows[0].keys_w == 1);
  const GridAttention &last = rows[6], &all = whole[6];
  CHECK(last.block == "de3");
  CHECK(last.map.shape() == Shape{2, 1, 128});
  CHECK(all.map.shape() == Shape{2, 128, 128});
  CHECK(last.first_row == 11 * 8 + 2);
  CHECK(last.is_signed == (type != "pvt_self_attn" && type != "pvt_linear_attn"));
  const auto one = last.map.host_values<double>(), full = all.map.host_values<double>();
  for (std::size_t head = 0; head < 2; ++head) {
    for (std::size_t k = 0; k < 128; ++k) {
      const auto row = static_cast<std::size_t>(last.first_row);
      CHECK(one[head * 128 + k] == Approx(full[(head * 128 + row) * 128 + k]).margin(1e-6));
    }
  }
  const auto a = grid_rollouts(rows, place), b = grid_rollouts(whole, place);
  REQUIRE(a.size() == 7);
  for (std::size_t i = 0; i < a.size(); ++i) {
    CHECK(std::accumulate(a[i].weights.begin(), a[i].weights.end(), 0.0) == Approx(1));
    for (std::size_t k = 0; k < a[i].weights.size(); ++k)
      CHECK(a[i].weights[k] == Approx(b[i].weights[k]).margin(1e-6));
  }
}

TEST_CASE("grid rollout: stages are joined by spreading weights over 2 x 2 tokens", "[visualise]") {
  // 2 x 2 tokens lead to one, which can only look at itself.
  GridAttention one = block_of(1, 1, {1, 1, 1, 1});
  one.map = Tensor::from(std::vector<double>{1}, {1, 1, 1}, cpu());
  one.grid_h = one.grid_w = 1;
  const GridAttention fine = block_of(2, 2, {1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0});
  const auto joined = joined_rollout(std::vector<GridAttention>{fine, one});
  REQUIRE(joined);
  CHECK(joined->query == -1);
  CHECK(joined->grid_h == 2);
  // A quarter each, half of which goes to token 0.
  CHECK(joined->weights == std::vector<double>{0.625, 0.125, 0.125, 0.125});
  CHECK(!joined_rollout(std::vector<GridAttention>{fine}));
  CHECK(!joined_rollout(std::vector<GridAttention>{one, fine}));  // a decoder
  GridAttention part = fine;
  part.map = Tensor::from(std::vector<double>(4, 0.25), {1, 1, 4}, cpu());
  CHECK(!joined_rollout(std::vector<GridAttention>{part, one}));
}

TEST_CASE("grid attention: windows and whole grids of one network", "[visualise]") {
  const auto list = [](std::vector<std::int64_t> values) { return schema::Value::array(values); };
  // 9 x 9 and 5 x 5 tokens in windows of 4, so there is padding; then all 3 x 3 with MALA.
  const auto network =
      build(options_of("swin_t", {{"patch_size", 4},
                                  {"embed_dim", 8},
                                  {"depths", list({2, 2, 1})},
                                  {"num_heads", list({2, 2, 2})},
                                  {"window_size", 4},
                                  {"kinds", schema::Value::array(std::vector<schema::Value>{
                                                options_of("softmax"), options_of("softmax"),
                                                options_of("mala")})}}),
            cpu(), kSmallImages);
  const Tensor square = random_tensor({1, 3, 36, 36}, 4, DType::kFloat32);
  const Place place{0.5, 0.9};
  const auto rows = observe_grids(*network, square, place);
  const auto whole = observe_grids(*network, square, std::nullopt);
  REQUIRE(rows.size() == 5);
  CHECK(rows[1].block == "layers.0.blocks.1");
  CHECK(rows[1].map.shape() == Shape{2, 1, 81});
  CHECK(rows[1].first_row == 4 * 9 + 8);
  CHECK(rows[1].windows);
  CHECK(!rows[1].is_signed);
  CHECK(whole[1].map.shape() == Shape{2, 81, 81});
  CHECK(!rows[4].windows);
  CHECK(rows[4].is_signed);
  CHECK(rows[4].map.shape() == Shape{2, 1, 9});
  CHECK(observe_grids(*network, square, place, 9)[4].map.shape() == Shape{2, 9, 9});
  CHECK(observe_grids(*network, square, place, 8)[4].map.shape() == Shape{2, 1, 9});
  const auto one = rows[1].map.host_values<double>(), all = whole[1].map.host_values<double>();
  for (std::size_t k = 0; k < 81; ++k) CHECK(one[k] == all[44 * 81 + k]);
  // Rolled out block by block inside windows, as with the whole maps.
  auto dense = whole;
  for (GridAttention& block : dense) block.windows.reset();
  const auto a = grid_rollouts(rows, place), b = grid_rollouts(dense, place);
  REQUIRE(a.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t k = 0; k < a[i].weights.size(); ++k)
      CHECK(a[i].weights[k] == Approx(b[i].weights[k]).margin(1e-6));
  }
  CHECK(!joined_rollout(rows));  // the last block has one row only
  const auto joined = joined_rollout(whole);
  REQUIRE(joined);
  CHECK(joined->weights.size() == 81);
  CHECK(std::accumulate(joined->weights.begin(), joined->weights.end(), 0.0) == Approx(1));
}

TEST_CASE("grid attention: networks without it are refused", "[visualise]") {
  const auto network = build(options_of("resnet20"), cpu(), kSmallImages);
  CHECK_THROWS_WITH(observe_grids(*network, random_tensor({1, 3, 32, 32}, 4, DType::kFloat32), {}),
                    Catch::Contains("no attention over tokens"));
}

TEST_CASE("grid rollout figure: the query's own weight hides nothing", "[visualise]") {
  GridRolloutFigure figure;
  figure.names = {"a"};
  figure.inputs = {Canvas(40, 40)};
  figure.places = {{0.1, 0.1}};
  figure.smooth = true;
  // 4 x 4 tokens, little between all but the query's.
  GridRollout rollout{"b", "b", 4, 4, 0, {}};
  for (int i = 0; i < 16; ++i) rollout.weights.push_back(0.03 + 1e-4 * i);
  rollout.weights[0] = 0.5;
  figure.rollouts = {{rollout}};
  figure.scale.ends = HeatEnds::kFromZero;
  const Canvas from_zero = render(figure);
  figure.scale.ends = HeatEnds::kPercentiles;
  const Canvas usual = render(figure);
  const auto darkest_pixels = [](const Canvas& canvas) {
    std::int64_t found = 0;
    for (std::int64_t y = 0; y < canvas.height; ++y) {
      for (std::int64_t x = 0; x < canvas.width; ++x)
        found += canvas.at(x, y) == colour_of(kHeat, 0) ? 1 : 0;
    }
    return found;
  };
  CHECK(darkest_pixels(usual) > darkest_pixels(from_zero));  // the weakest beside it is dark
  rollout.weights[0] = 0.9;
  figure.rollouts = {{rollout}};
  CHECK(render(figure).rgb == usual.rgb);
}

TEST_CASE("grid rollout figure: a picture for every sequence of blocks", "[visualise]") {
  GridRolloutFigure figure;
  figure.names = {"a"};
  figure.inputs = {Canvas(8, 8)};
  figure.places = {{0.9, 0.9}};
  figure.rollouts = {grid_rollouts(
      std::vector<GridAttention>{block_of(2, 2, std::vector<double>(16, 0.25))}, {0.9, 0.9})};
  figure.factor = 16;
  const Canvas one = render(figure);
  CHECK(one.width > 2 * 8 * 16);
  figure.rollouts[0].push_back(figure.rollouts[0][0]);
  CHECK(render(figure).width >= one.width + 8 * 16);
  figure.scale.sharing = HeatSharing::kImage;
  CHECK(render(figure).width > one.width);
  figure.rollouts[0][1].weights.clear();  // a hole
  figure.rollouts[0][0].query = -1;       // the mean over all tokens: nothing is framed
  CHECK(render(figure).width > one.width);
  figure.places.clear();
  CHECK_THROWS_AS(render(figure), ShapeError);
  const std::vector<GridAttention> blocks = {block_of(2, 2, std::vector<double>(16, 0.25))};
  CHECK(grid_heads(blocks, {0, 0}, Canvas(8, 8), "t", {}).height > 8);
  CHECK(grid_heads(blocks, {0, 0}, Canvas(900, 900), "t", {}).height < 300);
}
