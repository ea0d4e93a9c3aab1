// Where detectors look at the places of detections. mala 4.5, kcla 3.4.
#include "visualise/maps/detection_maps.h"

#include <catch2/catch.hpp>

#include <numeric>

#include "ops/elementwise.h"
#include "schema/json/parse.h"
#include "tensor/host.h"
#include "tests/models/network.h"
#include "visualise/maps/layer_statistics.h"
#include "visualise/maps/probed.h"

using namespace fovea;
using namespace fovea::test;
using namespace fovea::visualise;

namespace {

using Place = attention::Probe::Place;

std::unique_ptr<models::Model> small_retinanet(const std::string& backbone) {
  return build(schema::parse(R"({"type": "retinanet", "start_level": 0, "fpn_channels": 8,
                                 "feat_channels": 8, "stacked_convs": 0, "score_thr": 0,
                                 "backbone": )" +
                                 backbone + "}",
                             "test.json"),
               cpu(), {3, 64, 64, 2}, DType::kFloat32);
}

const char* const kMavit = R"({"type": "mavit_t", "embed_dims": [8, 16, 24, 32],
    "depths": [1, 2, 1, 1], "num_heads": [1, 2, 3, 4]})";

std::string resnet(const std::string& layer_attention) {
  return R"({"type": "resnet18", "planes": [16, 32], "depths": [2, 3], "stem_width": 16,
             "layer_attention": )" +
         layer_attention + "}";
}

models::Detector& detector_of(const std::unique_ptr<models::Model>& model) {
  return dynamic_cast<models::Detector&>(*model);
}

Tensor wide_image() { return random_tensor({1, 3, 64, 96}, 5, DType::kFloat32); }

double sum_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

// A block of a grid with this many rows.
PlaceAttention of_rows(std::int64_t rows) {
  PlaceAttention block;
  block.grid_h = block.grid_w = rows;
  return block;
}

}  // namespace

TEST_CASE("detection maps: the rows of the token at a place, of every block", "[visualise]") {
  const auto model = small_retinanet(kMavit);
  const Place place{0.4, 0.8};
  const auto blocks = attention_at(*model, wide_image(), place);
  const auto whole = observe_grids(*model, wide_image(), std::nullopt);
  REQUIRE(blocks.size() == 5);
  REQUIRE(whole.size() == 5);
  CHECK(blocks[1].block == "backbone.layers.1.blocks.0");
  CHECK(blocks[1].heads == 2);
  CHECK(blocks[1].query == 3 * 12 + 9);  // of 8 x 12 tokens
  CHECK(blocks[1].own_key() == blocks[1].query);
  for (std::size_t k = 0; k < blocks.size(); ++k) {
    INFO(blocks[k].block);
    const auto all = whole[k].map.host_values<double>();
    const std::int64_t n = blocks[k].keys();
    REQUIRE(std::ssize(blocks[k].weights) == blocks[k].heads * n);
    for (std::int64_t head = 0; head < blocks[k].heads; ++head) {
      for (std::int64_t i = 0; i < n; ++i)
        CHECK(blocks[k].weights[static_cast<std::size_t>(head * n + i)] ==
              Approx(all[static_cast<std::size_t>((head * n + blocks[k].query) * n + i)])
                  .margin(1e-6));
    }
    // Softmax in the last two stages, MALA in the first two.
    CHECK(blocks[k].is_signed == (k < 3));
    if (!blocks[k].is_signed) CHECK(sum_of(blocks[k].mean()) == Approx(1.0));
  }
  CHECK(attention_at(*small_retinanet(resnet("null")), wide_image(), place).empty());
}

TEST_CASE("detection maps: a level reads the last block of its grid", "[visualise]") {
  const std::vector<PlaceAttention> blocks = {of_rows(16), of_rows(16), of_rows(8), of_rows(4),
                                              of_rows(4)};
  CHECK(block_of_level(blocks, 64, 4) == 1);
  CHECK(block_of_level(blocks, 64, 8) == 2);
  CHECK(block_of_level(blocks, 64, 16) == 4);
  CHECK(block_of_level(blocks, 64, 32) == 4);  // levels that the neck adds
  CHECK(block_of_level(blocks, 64, 2) == 1);   // all are coarser
  // 50 rows of pixels at stride 8 are 7 tokens.
  CHECK(block_of_level(std::vector{of_rows(13), of_rows(7), of_rows(4)}, 50, 8) == 1);
  std::vector<LayerWeights> stages(2);
  stages[0].grid_h = 16;
  stages[1].grid_h = 8;
  CHECK(stage_of_level(stages, 64, 4) == 0);
  CHECK(stage_of_level(stages, 64, 16) == 1);
}

TEST_CASE("detection maps: weights of layers of every stage", "[visualise]") {
  const auto model = small_retinanet(resnet(R"({"type": "mrla_b", "head_dim": 8})"));
  const auto stages = layer_weights(*model, wide_image());
  REQUIRE(stages.size() == 2);
  CHECK(stages[0].grid_h == 16);
  CHECK(stages[1].grid_w == 12);
  CHECK(stages[0].heads == 2);
  CHECK(stages[1].layers == 3);
  for (const LayerWeights& stage : stages) {
    CHECK_FALSE(stage.carried);
    CHECK(sum_of(stage.mean()) == Approx(1.0));
  }
  CHECK(layer_weights(*small_retinanet(resnet("null")), wide_image()).empty());
  CHECK(layer_weights(*small_retinanet(resnet(R"({"type": "se"})")), wide_image()).empty());
  CHECK(layer_weights(*small_retinanet(kMavit), wide_image()).empty());
}

TEST_CASE("detection maps: weights of KCLA are those of its running average", "[visualise]") {
  const auto model = small_retinanet(resnet(R"({"type": "kcla", "head_dim": 8})"));
  const auto stages = layer_weights(*model, wide_image());
  REQUIRE(stages.size() == 2);
  CHECK_FALSE(stages[0].carried);
  CHECK(stages[0].layers == 2);
  CHECK(stages[1].carried);  // the first stage goes on in the second, as one more layer
  CHECK(stages[1].layers == 4);
  // Of the first stage as figure 7 of kcla computes them from norms of keys.
  attention::Probe probe;
  run_probed(*model, wide_image(), probe);
  std::vector<double> divisors;
  for (const nn::NamedTensor& named : model->parameters()) {
    if (divisors.empty() && named.name.ends_with("norm_d")) divisors = host_doubles(named.tensor);
  }
  const std::vector<Tensor> norms = probe.all("key_norm");
  REQUIRE(divisors.size() == 2);
  for (std::size_t head = 0; head < 2; ++head) {
    const std::vector<double> of_head = {host_doubles(norms[0])[head],
                                         host_doubles(norms[1])[head]};
    const auto scores = layer_scores(of_head, divisors[head]);
    CHECK(stages[0].weights[2 * head] == Approx(scores[2]).epsilon(1e-5));
    CHECK(stages[0].weights[2 * head + 1] == Approx(scores[3]).epsilon(1e-5));
  }
}

TEST_CASE("detection maps: detections with the strides of their levels, and their middles",
          "[visualise]") {
  const auto model = small_retinanet(kMavit);
  const models::Detections found = detections_in(detector_of(model), wide_image(), {60, 90});
  REQUIRE(found.scores.size(0) > 0);
  CHECK(std::ssize(found.strides) == found.scores.size(0));
  for (const float side : found.boxes.host_values<float>()) CHECK(side <= 90);
  const Tensor boxes =
      Tensor::from(std::vector<float>{24, 16, 48, 48, 90, 60, 200, 200}, {2, 4}, cpu());
  const Place middle = middle_of(boxes, 0, wide_image());
  CHECK(middle.y == Approx(0.5));
  CHECK(middle.x == Approx(0.375));
  CHECK(middle_of(boxes, 1, wide_image()).x == 1);
}
