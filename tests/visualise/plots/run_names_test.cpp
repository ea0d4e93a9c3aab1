#include "visualise/plots/run_names.h"

#include <catch2/catch.hpp>

using fovea::visualise::without_sweep;
using Names = std::vector<std::string>;

TEST_CASE("names of runs: those of one sweep do not repeat it", "[visualise]") {
  CHECK(without_sweep({"table1/ResNet-20", "table1/ResNet-20 +SE"}) ==
        Names{"ResNet-20", "ResNet-20 +SE"});
  CHECK(without_sweep({"table1/ResNet-20"}) == Names{"ResNet-20"});
  CHECK(without_sweep({"table1/ResNet-20", "table2/ResNet-20"}) ==
        Names{"table1/ResNet-20", "table2/ResNet-20"});
  CHECK(without_sweep({"table1/ResNet-20", "digits"}) == Names{"table1/ResNet-20", "digits"});
  CHECK(without_sweep({"table1/", "table1/a"}) == Names{"table1/", "table1/a"});
  CHECK(without_sweep({"dgvit", "vit"}) == Names{"dgvit", "vit"});
  CHECK(without_sweep({}).empty());
}
