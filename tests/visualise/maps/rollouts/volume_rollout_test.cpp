// Attention of networks of volumes, rolled out over stages. dformer 8.
#include "visualise/maps/rollouts/volume_rollout.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <numeric>

#include "ops/conv/convolution.h"
#include "tests/models/network.h"
#include "visualise/maps/rollouts/unit_rollout.h"

using namespace fovea;
using namespace fovea::test;
using namespace fovea::visualise;

namespace {

const models::DataShape kVolumes{
    .channels = 1, .height = 32, .width = 32, .num_classes = 3, .label_maps = true, .depth = 16};

schema::Value list(std::vector<std::int64_t> values) { return schema::Value::array(values); }

std::unique_ptr<models::Model> small_dformer() {
  return build(options_of("dformer", {{"embed_dim", 8},
                                      {"num_heads", list({1, 1, 2, 2})},
                                      {"depths", list({2, 2, 2, 2})}}),
               cpu(), kVolumes);
}

Tensor volume() { return random_tensor({1, 1, 16, 32, 32}, 5, DType::kFloat32); }

double mean(std::span<const float> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace

TEST_CASE("volume rollout: every stage of a D-Former, an even share on average", "[visualise]") {
  const auto model = small_dformer();
  const StageRollouts seen = stage_rollouts(*model, volume());
  CHECK(seen.stages == std::vector<std::string>{"layers.0", "layers.1", "layers.2", "layers.3",
                                                "layers_up.1", "layers_up.2", "layers_up.3"});
  using Grid = std::array<std::int64_t, 3>;
  CHECK(seen.grids[0] == Grid{8, 8, 8});
  CHECK(seen.grids[3] == Grid{1, 1, 1});
  CHECK(seen.grids[6] == Grid{8, 8, 8});
  REQUIRE(seen.maps.shape() == Shape{1, 7, 16, 32, 32});
  const auto values = seen.maps.host_values<float>();
  for (std::size_t s = 0; s < 7; ++s) {
    const auto stage = std::span(values).subspan(s * 16 * 32 * 32, 16 * 32 * 32);
    CHECK(mean(stage) == Approx(1).epsilon(1e-4));
    const auto [least, most] = std::minmax_element(stage.begin(), stage.end());
    if (s == 3) {
      CHECK(*most - *least < 1e-5f);
    } else {
      CHECK(*most - *least > 1e-4f);  // some tokens are seen more than others
    }
  }
}

TEST_CASE("volume rollout: of a voxel it is its token's row of the product", "[visualise]") {
  const auto model = small_dformer();
  attention::Probe probe;
  const autograd::NoGrad no_grad;
  model->train(false);
  (*model)(models::only_input(model->interface(), volume()), &probe);
  std::vector<UnitMap> first;
  for (const auto& record : probe.records()) {
    if (record.name == "unit_attn" && first.size() < 2) first.emplace_back(record);
  }
  // Voxel 5, 9, 30 lies in token 2, 2, 7 of patches of 2 x 4 x 4.
  const std::size_t own = (2 * 8 + 2) * 8 + 7;
  std::vector<double> row(512, 0.0);
  row[own] = 1;
  row = unit_rollout(first, std::move(row));
  CHECK(row[own] >= 0.25);
  row[own] = 0;
  row[own] = *std::max_element(row.begin(), row.end());
  std::vector<float> tokens;
  for (const double weight : row) tokens.push_back(static_cast<float>(512 * weight));
  const Tensor expected = ops::resize(Tensor::from(tokens, {1, 1, 8, 8, 8}, cpu()), {16, 32, 32},
                                      ops::Interpolation::kLinear);
  const StageRollouts seen =
      stage_rollouts(*model, volume(), std::array<std::int64_t, 3>{5, 9, 30});
  const auto values = seen.maps.host_values<float>();
  const auto wanted = expected.host_values<float>();
  double worst = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i)
    worst = std::max(worst, std::abs(double{values[i]} - double{wanted[i]}));
  CHECK(worst < 1e-5);
}

TEST_CASE("volume rollout: padded slices are not shown", "[visualise]") {
  // Global units of 8 x 16 x 16 tokens are those of 16 x 16 x 16, whose padding is not masked.
  const auto model = build(options_of("dformer", {{"embed_dim", 8},
                                                  {"num_heads", list({1, 1, 2, 2})},
                                                  {"depths", list({2, 2, 2, 2})},
                                                  {"interval_list", list({16, 8, 4, 2})},
                                                  {"gs_partition", "reference"},
                                                  {"padding_mask", "reference"}}),
                           cpu(),
                           {.channels = 1,
                            .height = 64,
                            .width = 64,
                            .num_classes = 3,
                            .label_maps = true,
                            .depth = 16});
  const StageRollouts seen =
      stage_rollouts(*model, random_tensor({1, 1, 16, 64, 64}, 6, DType::kFloat32));
  CHECK(seen.grids[0] == std::array<std::int64_t, 3>{8, 16, 16});
  const auto values = seen.maps.host_values<float>();
  const double share = mean(std::span(values).subspan(0, 16 * 64 * 64));
  CHECK(share < 0.9);  // the rest went to padding
  CHECK(share > 0.5);
}

TEST_CASE("volume rollout: maps of all tokens are one unit, and U-Nets have none", "[visualise]") {
  const auto unetr = build(
      options_of("unetr",
                 {{"feature_size", 2}, {"hidden_size", 12}, {"mlp_dim", 8}, {"num_heads", 2}}),
      cpu(), kVolumes);
  const StageRollouts seen = stage_rollouts(*unetr, volume());
  CHECK(seen.stages == std::vector<std::string>{"vit"});
  CHECK(seen.grids[0] == std::array<std::int64_t, 3>{1, 2, 2});
  CHECK(mean(seen.maps.host_values<float>()) == Approx(1).epsilon(1e-4));
  const auto unet =
      build(options_of("unet3d", {{"f_maps", list({2, 4})}, {"num_groups", 1}}), cpu(), kVolumes);
  const StageRollouts none = stage_rollouts(*unet, volume());
  CHECK(none.stages.empty());
  CHECK_FALSE(none.maps.defined());
}
