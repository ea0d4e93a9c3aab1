// Methods on networks whose blocks work on grids of several sizes: decoders and volumes.
#include <catch2/catch.hpp>

#include <cmath>

#include "base/error.h"
#include "explain/recorded.h"
#include "ops/elementwise.h"
#include "tensor/host.h"
#include "tests/explain/methods/explained.h"

using namespace fovea;
using namespace fovea::explain;
using namespace fovea::test;

namespace {

// A pyramid of 8 x 8, 4 x 4, 2 x 2 and 1 x 1 tokens and a decoder back to 8 x 8.
std::unique_ptr<models::Model> decoder(const char* type) {
  const auto four = [](std::int64_t a, std::int64_t b, std::int64_t c, std::int64_t d) {
    return schema::Value::array({a, b, c, d});
  };
  models::DataShape data{3, 32, 32, 3};
  data.label_maps = true;
  return network(type,
                 schema::Value::object(
                     {{"backbone", schema::Value::object({{"type", "pvt_v2_b0"},
                                                          {"embed_dims", four(4, 8, 8, 8)},
                                                          {"depths", four(1, 1, 1, 1)},
                                                          {"num_heads", four(1, 2, 2, 2)}})}}),
                 data);
}

}  // namespace

TEST_CASE("decoders of attention: every layer on its own grid, all of them on the first",
          "[explain]") {
  for (const char* type : {"pvt_gdla", "pvt_self_attn", "pvt_linear_attn", "pvt_diff_attn"}) {
    INFO(type);
    const auto model = decoder(type);
    const Subject subject(*model, random_tensor({2, 3, 32, 32}, 3));
    for (const char* method : {"rollout", "generic_attention", "gradient_rollout"}) {
      INFO(method);
      const Explanation found = explained(method, subject);
      CHECK(found.grid == GridSize{8, 8});
      const double sum = sum_of(found.values);
      CHECK(std::isfinite(sum));
      // Rows of rollouts sum to 1, those of generic attention to more.
      if (method != std::string("generic_attention")) CHECK(sum == Approx(2));
      if (method == std::string("generic_attention")) CHECK(sum > 2);
    }
    for (const char* method : {"raw_attention", "attention_gradient", "attention_gradcam"}) {
      INFO(method);
      const bool positive = method != std::string("attention_gradcam");  // one head may be negative
      const auto of_layer = [&](const char* layer) {
        return explained(method, subject, schema::Value::object({{"layer", layer}}));
      };
      CHECK(of_layer("last").grid == GridSize{8, 8});
      CHECK(of_layer("de1").grid == GridSize{2, 2});
      CHECK(of_layer("backbone.block2").grid == GridSize{4, 4});
      CHECK(of_layer("-2").values == of_layer("de2.attn").values);
      if (positive) CHECK(sum_of(of_layer("last").values) > 0);
      CHECK_THROWS_WITH(of_layer("de4"), Catch::Contains("de3.attn"));
    }
    CHECK(explained("grad_cam", subject).grid.count() > 1);
  }
}

TEST_CASE("attention_gradcam: of a layer of a decoder, heads by their mean gradient", "[explain]") {
  const auto model = decoder("pvt_self_attn");
  const Subject subject(*model, random_tensor({1, 3, 32, 32}, 3));
  double size = 0;
  for (std::int64_t target = 0; target < 3; ++target) {
    const Recording seen = record(subject, {target}, Wanted::kGradients, "test");
    const RecordedLayer& layer = seen.layers.at(1);  // two heads, 16 tokens, 1 key
    const auto map = host_doubles(layer.map.value), v = host_doubles(layer.attended.values),
               du = host_doubles(*layer.attended.gradient);
    const std::int64_t keys = layer.map.value.size(3), width = layer.attended.values.size(3);
    REQUIRE(layer.grid == GridSize{4, 4});
    double expected = 0;  // of the key, which stands for all tokens
    REQUIRE(keys == 1);
    for (std::int64_t h = 0; h < 2; ++h) {
      double weight = 0, attended = 0;
      for (std::int64_t i = 0; i < 16; ++i) {
        for (std::int64_t d = 0; d < width; ++d)
          weight += du[as_index((i * 2 + h) * width + d)] * v[as_index(h * width + d)] / 16;
        attended += map[as_index(h * 16 + i)] / 16;
      }
      expected += weight * attended / 2;
    }
    const auto found =
        explained("attention_gradcam", subject, schema::Value::object({{"layer", "1"}}), target)
            .values;
    for (const double value : found) CHECK(value == Approx(std::max(0.0, expected) / 16));
    size += std::abs(expected);
  }
  CHECK(size > 0);
}

TEST_CASE("region: a score is the sum of its logits, and rows of maps are those of its tokens",
          "[explain]") {
  const auto model = decoder("pvt_self_attn");
  const Tensor x = random_tensor({1, 3, 32, 32}, 3);
  std::vector<double> pixels(32 * 32, 0.0);
  pixels[5 * 32 + 6] = pixels[5 * 32 + 7] = 1;  // of token (1, 1) of 8 x 8
  const Subject subject(*model, x, {}, Tensor::from(pixels, {1, 32, 32}, cpu()));
  const auto logits =
      host_doubles((*model)(models::only_input(models::Interface::kDenseNetwork, x)).maps.front());
  const auto scores = host_doubles(subject.clean_scores());
  std::vector<double> expected;
  for (std::size_t c = 0; c < 3; ++c)
    expected.push_back(logits[c * 1024 + 5 * 32 + 6] + logits[c * 1024 + 5 * 32 + 7]);
  for (std::size_t c = 0; c < 3; ++c) CHECK(scores[c] == Approx(expected[c]));
  double counted = 0;
  for (std::int64_t c = 0; c < 3; ++c) counted += subject.pixels_predicted(0, c);
  CHECK(counted == 2);
  CHECK(subject.pixels_predicted(0, subject.predicted().front()) >= 1);

  std::vector<double> shares(64, 0.0);
  shares[9] = 1;
  CHECK(subject.shares_of_region({8, 8}, 0) == shares);
  const Recording seen = record(subject, {1}, Wanted::kMaps, "test");
  const auto map = host_doubles(seen.layers.back().map.value);
  const auto found = explained("raw_attention", subject).values;
  for (std::size_t j = 0; j < 64; ++j) CHECK(found[j] == Approx(map[9 * 64 + j]));
  CHECK(sum_of(explained("rollout", subject).values) == Approx(1));
  CHECK(sum_of(explained("generic_attention", subject).values) > 1);

  const auto classifier =
      network("vit", schema::Value::object({{"embed_dim", 8}, {"depth", 1}, {"patch_size", 4}}),
              {3, 8, 12, 4});
  CHECK_THROWS_AS(Subject(*classifier, random_tensor({1, 3, 8, 12}, 3), {},
                          Tensor::from(pixels, {1, 32, 32}, cpu())),
                  ConfigError);
}

TEST_CASE("decoders without attention: every stage of the encoder is read", "[explain]") {
  models::DataShape data{3, 32, 32, 3};
  data.label_maps = true;
  const auto model =
      network("semantic_fpn",
              schema::Value::object(
                  {{"backbone", schema::Value::object({{"type", "swin_t"},
                                                       {"embed_dim", 4},
                                                       {"depths", schema::Value::array({1, 1})},
                                                       {"num_heads", schema::Value::array({1, 2})},
                                                       {"window_size", 2}})}}),
              data);
  const Subject subject(*model, random_tensor({1, 3, 32, 32}, 3));
  const Recording seen = record(subject, {1}, Wanted::kMaps, "test");
  const MapOfLayer rows = [](const RecordedLayer& layer, std::int64_t item) {
    return token_map_of(layer, item, Weighing::kRollout);
  };
  const std::vector<StageMaps> stages = stages_of(seen, 0, rows, "test");
  REQUIRE(stages.size() == 2);
  const auto half = [](std::size_t n) {
    return std::vector<double>(n, 0.5 / static_cast<double>(n));
  };
  const auto expected = through_stages(stages, StageRule::kRollout, {half(64), half(16)});
  const auto found = explained("rollout", subject).values;
  REQUIRE(found.size() == 64);
  for (std::size_t i = 0; i < 64; ++i) CHECK(found[i] == Approx(expected[i]));
  CHECK(sum_of(found) == Approx(1));
}

TEST_CASE("volumes: methods on voxels, on layers, and through the stages of D-Former",
          "[explain]") {
  const auto four = [](std::int64_t a) { return schema::Value::array({a, a, a, a}); };
  models::DataShape data{1, 32, 32, 2};
  data.label_maps = true;
  data.depth = 16;
  const auto model = network(
      "dformer",
      schema::Value::object({{"embed_dim", 4}, {"depths", four(2)}, {"num_heads", four(1)}}), data);
  const Subject subject(*model, random_tensor({1, 1, 16, 32, 32}, 3));
  CHECK(subject.size() == GridSize{32, 32, 16});
  for (const char* method : {"rollout", "gradient_rollout"}) {
    INFO(method);
    const Explanation found = explained(method, subject);
    CHECK(found.grid == GridSize{8, 8, 8});
    CHECK(sum_of(found.values) == Approx(1));
  }
  CHECK(sum_of(explained("generic_attention", subject).values) > 1);
  const auto layer = schema::Value::object({{"layer", "model_down.layers.1"}});
  for (const char* method : {"raw_attention", "attention_gradient", "value_norm", "contribution"})
    CHECK(explained(method, subject, layer).grid == GridSize{4, 4, 4});
  const Recording seen = record(subject, {1}, Wanted::kMaps, "test");
  CHECK(seen.skips.size() == 4);
  const Explanation cam =
      explained("grad_cam", subject,
                schema::Value::object({{"layer", schema::Value::array({"model_down.norm_up"})}}));
  CHECK(cam.grid == GridSize{8, 8, 8});
  CHECK(explained("gradient_x_input", subject).grid == GridSize{32, 32, 16});
  CHECK(explained("random", subject).grid == GridSize{14, 14, 14});
  const Explanation occluded = explained(
      "occlusion", subject, schema::Value::object({{"units", schema::Value::array({1, 1, 1})}}));
  CHECK(occluded.values.front() ==
        Approx(subject.target_scores(subject.x(), {1}).front() -
               subject.target_scores(ops::mul(subject.x(), 0), {1}).front()));
  CHECK_THROWS_WITH(explained("occlusion", subject,
                              schema::Value::object({{"units", schema::Value::array({2, 2})}})),
                    Catch::Contains("3 for volumes"));
}
