#include "experiment/planning/unet_plan.h"

#include <catch2/catch.hpp>

#include "base/error.h"

using namespace fovea;
using experiment::plan_unet;
using experiment::unet_topology;
using experiment::UNetPlan;
using experiment::UNetTopology;
using Sides = std::vector<std::int64_t>;
using Stages = std::vector<Sides>;

namespace {

// What ExperimentPlanner.get_plans_for_configuration() of nnunetv2 2.8.1 gave.
struct Planned {
  const char* name;
  experiment::UNetFingerprint of;
  double gib;
  Sides patch;
  std::int64_t batch;
  Stages strides, kernels;
  Sides features;
  std::int64_t elements;
};

// The first stage, and `more` that halve all axes.
Stages halvings(std::size_t more, std::size_t axes = 3) {
  Stages strides(more + 1, Sides(axes, 2));
  strides[0] = Sides(axes, 1);
  return strides;
}
Stages threes(std::size_t stages, std::size_t axes = 3) { return Stages(stages, Sides(axes, 3)); }

const std::vector<Planned> kPlanned = {
    {"hippocampus, 26 cases",
     {{1, 1, 1}, {34, 52, 36}, 26, 1, 3},
     8,
     {40, 56, 40},
     2,
     halvings(3),
     threes(4),
     {32, 64, 128, 256},
     19174400},
    {"hippocampus, 260 cases",
     {{1, 1, 1}, {34, 52, 36}, 260, 1, 3},
     8,
     {40, 56, 40},
     9,
     halvings(3),
     threes(4),
     {32, 64, 128, 256},
     19174400},
    {"CT of livers",
     {{1, 0.767, 0.767}, {432, 512, 512}, 131, 1, 3},
     8,
     {128, 128, 128},
     2,
     halvings(5),
     threes(6),
     {32, 64, 128, 256, 320, 320},
     452796416},
    {"CT of livers, 24 GiB",
     {{1, 0.767, 0.767}, {432, 512, 512}, 131, 1, 3},
     24,
     {160, 224, 192},
     2,
     halvings(5),
     threes(6),
     {32, 64, 128, 256, 320, 320},
     1485738240},
    {"MR of prostates",
     {{3.6, 0.62, 0.62}, {20, 320, 319}, 32, 2, 3},
     8,
     {20, 320, 256},
     2,
     {{1, 1, 1}, {1, 2, 2}, {1, 2, 2}, {2, 2, 2}, {2, 2, 2}, {1, 2, 2}, {1, 2, 2}},
     {{1, 3, 3}, {1, 3, 3}, {3, 3, 3}, {3, 3, 3}, {3, 3, 3}, {3, 3, 3}, {3, 3, 3}},
     {32, 64, 128, 256, 320, 320, 320},
     483315200},
    {"MR of hearts",
     {{5, 1.5625, 1.5625}, {18, 237, 208}, 200, 1, 4},
     8,
     {20, 256, 224},
     4,
     {{1, 1, 1}, {1, 2, 2}, {2, 2, 2}, {2, 2, 2}, {1, 2, 2}, {1, 2, 2}},
     {{1, 3, 3}, {3, 3, 3}, {3, 3, 3}, {3, 3, 3}, {3, 3, 3}, {3, 3, 3}},
     {32, 64, 128, 256, 320, 320},
     310481920},
    {"MR of brains, 4 channels",
     {{1, 1, 1}, {140, 171, 137}, 484, 4, 4},
     8,
     {128, 128, 128},
     2,
     halvings(5),
     threes(6),
     {32, 64, 128, 256, 320, 320},
     454893568},
    {"MR of brains, 2 GiB",
     {{1, 1, 1}, {140, 171, 137}, 484, 4, 4},
     2,
     {80, 96, 80},
     2,
     halvings(4),
     threes(5),
     {32, 64, 128, 256, 320},
     133113600},
    {"CT of abdomens, 4 GiB",
     {{3, 0.76, 0.76}, {148, 512, 512}, 18, 1, 14},
     4,
     {40, 160, 128},
     2,
     {{1, 1, 1}, {1, 2, 2}, {2, 2, 2}, {2, 2, 2}, {2, 2, 2}, {1, 2, 2}},
     {{1, 3, 3}, {3, 3, 3}, {3, 3, 3}, {3, 3, 3}, {3, 3, 3}, {3, 3, 3}},
     {32, 64, 128, 256, 320, 320},
     229260800},
    // nnU-Net turns such volumes; here the axes stay where they are.
    {"slices along the last axis",
     {{0.8, 0.8, 5}, {256, 260, 30}, 40, 1, 2},
     8,
     {256, 256, 28},
     2,
     {{1, 1, 1}, {2, 2, 1}, {2, 2, 1}, {2, 2, 2}, {2, 2, 2}, {2, 2, 1}, {2, 2, 1}},
     {{3, 3, 1}, {3, 3, 1}, {3, 3, 3}, {3, 3, 3}, {3, 3, 3}, {3, 3, 3}, {3, 3, 3}},
     {32, 64, 128, 256, 320, 320, 320},
     539478016},
    {"images of polyps",
     {{1, 1}, {352, 352}, 900, 3, 2},
     8,
     {384, 384},
     22,
     halvings(6, 2),
     threes(7, 2),
     {32, 64, 128, 256, 512, 512, 512},
     46411776},
    {"large images",
     {{1, 1}, {768, 580}, 60, 1, 2},
     8,
     {768, 640},
     3,
     halvings(7, 2),
     threes(8, 2),
     {32, 64, 128, 256, 512, 512, 512, 512},
     154920960},
    {"small images",
     {{1, 1}, {48, 64}, 60, 1, 2},
     8,
     {48, 64},
     3,
     halvings(3, 2),
     threes(4, 2),
     {32, 64, 128, 256},
     890880}};

}  // namespace

TEST_CASE("unet plan: patch, batch and topology are nnU-Net's", "[planning]") {
  for (const Planned& expected : kPlanned) {
    INFO(expected.name);
    const UNetPlan plan = plan_unet(expected.of, {.memory_gib = expected.gib});
    CHECK(plan.patch_size == expected.patch);
    CHECK(plan.batch_size == expected.batch);
    CHECK(plan.strides == expected.strides);
    CHECK(plan.kernel_sizes == expected.kernels);
    CHECK(plan.features_per_stage == expected.features);
    CHECK(plan.feature_map_elements == expected.elements);
  }
}

TEST_CASE("unet plan: axes are halved as get_pool_and_conv_props does", "[planning]") {
  const UNetTopology slices = unet_topology({5, 0.8, 0.8}, {16, 256, 256});
  CHECK(slices.strides ==
        Stages{{1, 1, 1}, {1, 2, 2}, {1, 2, 2}, {2, 2, 2}, {2, 2, 2}, {1, 2, 2}, {1, 2, 2}});
  CHECK(slices.divisor == Sides{4, 64, 64});
  const UNetTopology odd = unet_topology({3, 1.2, 1.2}, {24, 200, 180});
  CHECK(odd.strides == Stages{{1, 1, 1}, {1, 2, 2}, {2, 2, 2}, {2, 2, 2}, {1, 2, 2}, {1, 2, 2}});
  CHECK(odd.patch_size == Sides{24, 224, 192});
  const UNetTopology three = unet_topology({2.5, 0.5, 1.0}, {64, 192, 96});
  CHECK(three.strides == Stages{{1, 1, 1}, {1, 2, 1}, {1, 2, 2}, {2, 2, 2}, {2, 2, 2}, {2, 2, 2}});
  CHECK(three.kernel_sizes ==
        Stages{{1, 3, 1}, {1, 3, 3}, {3, 3, 3}, {3, 3, 3}, {3, 3, 3}, {3, 3, 3}});
  const UNetTopology flat = unet_topology({1, 1, 1}, {20, 50, 36});
  CHECK(flat.strides == Stages{{1, 1, 1}, {2, 2, 2}, {2, 2, 2}, {1, 2, 2}});
  CHECK(flat.patch_size == Sides{20, 56, 40});
}

TEST_CASE("unet plan: what cannot be planned is refused", "[planning]") {
  CHECK_THROWS_AS(plan_unet({{1, 1, 0}, {8, 8, 8}, 4, 1, 2}), ConfigError);
  CHECK_THROWS_AS(plan_unet({{1, 1, 1}, {8, 8}, 4, 1, 2}), ConfigError);
  CHECK_THROWS_WITH(plan_unet({{1, 1, 1}, {64, 64, 64}, 4, 1, 2}, {.memory_gib = 1e-8}),
                    Catch::Contains("too little for any patch of 32 features"));
}
