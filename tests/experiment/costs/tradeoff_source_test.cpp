// Points of score against cost, from a sweep and from published tables.
#include "experiment/costs/tradeoff_source.h"

#include <catch2/catch.hpp>

#include "base/error.h"
#include "base/file.h"
#include "tests/support/paths.h"
#include "tests/support/run_cli.h"

using namespace fovea;
using namespace fovea::test;
using experiment::read_tradeoff;

TEST_CASE("tradeoff: the published rows of gdla's figure 1", "[experiment]") {
  const std::string file = source_dir() + "/experiments/gdla/published.json";
  const auto source = read_tradeoff({file, "", "DSC"});
  CHECK(source.name == "published, Table 1, Synapse");
  REQUIRE(source.rows.size() == 13);
  CHECK(source.rows[0].name == "R50+U-Net");
  CHECK(source.rows[0].score == 74.68);
  CHECK(source.rows[0].parameters == Approx(30.42e6));
  CHECK_FALSE(source.rows[0].macs_paper);  // is not printed
  CHECK(source.rows[12].name == "PVT-GDLA");
  CHECK(source.rows[12].macs_paper == Approx(6.85e9));
  CHECK(read_tradeoff({file, "Table 2, BUSI", ""}).score == "DSC");
  CHECK_THROWS_WITH(read_tradeoff({file, "", ""}),
                    Catch::Contains("name the column of Table 1") && Catch::Contains("Spleen"));
  CHECK_THROWS_WITH(read_tradeoff({file, "Table 9", "DSC"}),
                    Catch::Contains("--table \"Table 9\""));
  CHECK_THROWS_WITH(read_tradeoff({file, "", "DSX"}), Catch::Contains("did you mean \"DSC\""));
}

TEST_CASE("tradeoff: the rows of a sweep that have the metric", "[experiment]") {
  const TestFolder folder("tradeoff-sweep");
  io::make_directories(folder.path("sweep"));
  folder.write("sweep/results.json", R"([
    {"name": "a", "parameters": 10, "macs": 20, "macs_paper": 19,
     "metrics": {"test_dice": {"mean": 50.5, "unit": "%"}, "other": {"mean": 1, "unit": ""}}},
    {"name": "b", "parameters": null, "macs": null, "metrics": {}},
    {"name": "c", "parameters": 30, "macs": null,
     "metrics": {"test_dice": {"mean": 60.5, "unit": "%"}}}])");
  const auto source = read_tradeoff({folder.path("sweep"), "", ""});
  CHECK(source.name == "sweep");
  CHECK(source.score == "test_dice (%)");
  REQUIRE(source.rows.size() == 2);
  CHECK(source.rows[0].macs == 20.0);
  CHECK(source.rows[0].macs_paper == 19.0);
  CHECK(source.rows[1].name == "c");
  CHECK_FALSE(source.rows[1].macs);
  CHECK(source.left_out == 1);
  const auto other = read_tradeoff({folder.path("sweep"), "", "other"});
  CHECK(other.rows.size() == 1);
  CHECK(other.left_out == 2);
  CHECK_THROWS_WITH(read_tradeoff({folder.path("sweep"), "", "dice"}),
                    Catch::Contains("known: test_dice, other"));
  CHECK_THROWS_AS(read_tradeoff({folder.path("none"), "", ""}), FileError);
}

TEST_CASE("tradeoff: rows of an ablation file have the paper's scores (mala figure 6)",
          "[experiment]") {
  const std::string file = source_dir() + "/experiments/mala/table5_upernet.json";
  const auto source = read_tradeoff({file, "", ""});
  CHECK(source.name == "table5_upernet");
  CHECK(source.score == "val_miou, published");
  REQUIRE(source.rows.size() == 4);
  CHECK(source.rows[0].name == "MAViT-T");
  CHECK(source.rows[0].score == 48.4);
  CHECK(source.rows[3].parameters.has_value());
  CHECK(source.rows[3].macs_paper.has_value());
  CHECK_FALSE(source.rows[0].samples_per_s);
  CHECK_THROWS_WITH(read_tradeoff({file, "", "val_mio"}),
                    Catch::Contains("did you mean \"val_miou\""));
}

TEST_CASE("tradeoff: networks are timed at cost_img_size", "[experiment]") {
  const auto e = experiment::parse(experiment::resolve(experiment::load_unresolved(
      source_dir() + "/experiments/smoke/unet_labels.json", {"cost_img_size=[64,96]"})));
  const auto found =
      experiment::measure_throughput(e, {.batch_size = 1, .warm_up = 0, .passes = 1, .threads = 1});
  CHECK_THAT(found.measured_on, Catch::Contains("batch 1 of 64 x 96"));
  CHECK(found.samples_per_s > 0);
}

TEST_CASE("tradeoff: the networks of a sweep's rows are timed", "[experiment]") {
  const TestFolder folder("tradeoff-timed");
  io::make_directories(folder.path("sweep"));
  folder.write("sweep/results.json", R"([{"name": "a", "parameters": 10, "macs": 20,
    "metrics": {"test_top1": {"mean": 50.5, "unit": "%"}}}])");
  const std::string model = R"({"type": "vit", "patch_size": 4, "embed_dim": 16, "depth": 1})";
  folder.write("sweep/ablation.json",
               R"({"rows": [{"name": "a", "config": {"dataset": {"type": "cifar10"}, "model": )" +
                   model + "}}]}");
  experiment::TradeoffRequest request{folder.path("sweep"), "", ""};
  CHECK_FALSE(read_tradeoff(request).rows[0].samples_per_s);
  request.throughput = {.batch_size = 2, .warm_up = 1, .passes = 3, .threads = 1};
  const auto row = read_tradeoff(request).rows[0];
  REQUIRE(row.samples_per_s);
  CHECK(*row.samples_per_s > 0);
  CHECK_THAT(row.measured_on, Catch::Contains("batch 2") && Catch::Contains("float32"));
  folder.write("sweep/ablation.json", R"({"rows": []})");
  CHECK_THROWS_WITH(read_tradeoff(request), Catch::Contains("has no row \"a\""));
}
