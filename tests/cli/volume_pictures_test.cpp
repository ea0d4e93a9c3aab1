// visualise-attention of runs on volumes: slices, attention of stages and the page.
#include <catch2/catch.hpp>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "tests/cli/pictures.h"
#include "tests/cli/refusal.h"
#include "tests/support/paths.h"
#include "tests/support/run_cli.h"
#include "tests/visualise/packed_page.h"

using namespace fovea;
using namespace fovea::test;
using nlohmann::json;

namespace {

std::string trained_volumes(const TestFolder& folder, const std::string& name,
                            const std::vector<std::string>& changes) {
  const std::string run = folder.path(name).string();
  std::vector<std::string> words = {source_dir() + "/experiments/smoke/dformer.json",
                                    "--set",
                                    "train.epochs=1",
                                    "--set",
                                    "dataset.train_size=2",
                                    "--set",
                                    "dataset.test_size=3",
                                    "--out",
                                    run,
                                    "--quiet"};
  for (const std::string& change : changes) words.insert(words.end(), {"--set", change});
  const CliResult result = run_cli("train", words);
  INFO(result.err);
  REQUIRE(result.code == 0);
  return run;
}

json page_data(const io::fs::path& file) { return data_of_page(io::read_text(file)); }

}  // namespace

TEST_CASE("visualise-attention: slices of volumes, their attention, and a page", "[cli]") {
  const TestFolder folder("cli-volume-pictures");
  const std::string dformer = trained_volumes(folder, "dformer", {});
  const io::fs::path out = folder.path("pictures");
  const CliResult drawn = run_cli(
      "visualise-attention", {dformer, "--input", "2", "--slices", "2", "--out", out.string()});
  INFO(drawn.err);
  REQUIRE(drawn.code == 0);
  const std::string name = "dformer-synthetic_volumes_test_2";
  for (const std::string kind : {"slices", "rollout"}) {
    CHECK(is_png_file(out / (kind + "-" + name + ".png")));
    CHECK_THAT(drawn.out, Catch::Contains(kind + "-" + name + ".png"));
  }
  const json data = page_data(out / "volumes-dformer.html");
  REQUIRE(data["cases"].size() == 1);
  const json& one = data["cases"][0];
  CHECK(one["maps"].size() == 7);
  CHECK(one["signed"] == true);
  CHECK(one["spacing"] == json({2.0, 1.0, 1.0}));
  CHECK(one["window"][0] < one["window"][1]);
  CHECK_THAT(data["notes"][0].get<std::string>(), Catch::Contains("checkpoint"));
  // The Dice of the case is eval's.
  const CliResult scored =
      run_cli("eval", {dformer, "--out", folder.path("scores").string(), "--quiet"});
  REQUIRE(scored.code == 0);
  const json summary = json::parse(io::read_text(folder.path("scores/summary.json")));
  for (int k = 1; k < 3; ++k) {
    const json& dice = summary["metric_per_case"][2]["metrics"][std::to_string(k)]["Dice"];
    const json& shown = one["classes"][static_cast<std::size_t>(k)]["dice"];
    if (dice.is_null())
      CHECK(shown.is_null());
    else
      CHECK(shown.get<double>() == Approx(dice.get<double>()).margin(1e-12));
  }
  // Of one voxel: weights without sign, and slices through it.
  const CliResult asked = run_cli(
      "visualise-attention",
      {dformer, "--input", "0", "--query", "3,4,5", "--out", folder.path("query").string()});
  INFO(asked.err);
  REQUIRE(asked.code == 0);
  CHECK(page_data(folder.path("query/volumes-dformer.html"))["cases"][0]["signed"] == false);
  const auto refused = [&](std::vector<std::string> words, const std::string& message) {
    words.insert(words.begin(), dformer);
    check_refusal(run_cli("visualise-attention", words), 2, message);
  };
  refused({"--query", "3,4"}, "--query 3,4: expected slice, row and column of a voxel of the file");
  refused({"--query", "3,400,5"}, "expected slice, row and column of a voxel of the file");
  refused({"--convention", "seen"}, "radiological");
  refused({"--input", "3"}, "the split has 3 samples");
  refused({"--input", "scan.nii"},
          "--input scan.nii: not found; expected the number of a sample, or a .nii");
  refused({"--heads"}, "reads volumes, of which slices is drawn");
}

TEST_CASE("visualise-attention: volumes of a network without attention", "[cli]") {
  const TestFolder folder("cli-volume-pictures-unet");
  const std::string unet = trained_volumes(
      folder, "unet", {"model={\"type\": \"unet3d\", \"f_maps\": [2, 4], \"num_groups\": 1}"});
  const io::fs::path out = folder.path("pictures");
  const CliResult drawn = run_cli("visualise-attention", {unet, "--out", out.string()});
  INFO(drawn.err);
  REQUIRE(drawn.code == 0);
  const json data = page_data(out / "volumes-unet.html");
  CHECK(data["cases"].size() == 3);  // all there are
  CHECK(data["cases"][0]["maps"].empty());
  CHECK(is_png_file(out / "slices-unet-synthetic_volumes_test_0.png"));
  CHECK_FALSE(io::fs::exists(out / "rollout-unet-synthetic_volumes_test_0.png"));
  const CliResult bare = run_cli("visualise-attention", {unet, "--input", "0", "--no-explorer",
                                                         "--out", folder.path("bare").string()});
  REQUIRE(bare.code == 0);
  CHECK_FALSE(io::fs::exists(folder.path("bare/volumes-unet.html")));
}
