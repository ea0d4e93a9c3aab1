// Pictures of segmentation networks: what decoders do with tokens, where they look, what they
// predict, what they cost.
#include <catch2/catch.hpp>

#include <fmt/format.h>

#include "backend/devices.h"
#include "base/file.h"
#include "tensor/safetensors.h"
#include "tests/support/paths.h"
#include "tests/support/run_cli.h"
#include "tests/support/tensors.h"

using namespace fovea;
using namespace fovea::test;

namespace {

std::string experiment(const std::string& type, std::int64_t size, int classes) {
  return fmt::format(R"({{"name": "tiny", "task": "segmentation", "seed": 3,
  "dataset": {{"type": "synthetic_segmentation", "num_classes": {}, "img_size": {},
              "train_size": 8, "test_size": 4}},
  "model": {{"type": "{}", "num_heads": [2, 2, 2],
            "backbone": {{"type": "pvt_v2_b0", "embed_dims": [8, 8, 8, 8], "depths": [1, 1, 1, 1],
                         "num_heads": [1, 2, 2, 2]}}}},
  "train": {{"epochs": 1, "batch_size": 4}}}})",
                     classes, size, type);
}

std::string trained(const TestFolder& folder, const std::string& name, const std::string& json) {
  const std::string run = folder.path(name).string();
  const CliResult result =
      run_cli("train", {folder.write(name + ".json", json), "--out", run, "--quiet"});
  INFO(result.err);
  REQUIRE(result.code == 0);
  return run;
}

bool is_png(const io::fs::path& file) { return io::read_text(file).substr(1, 3) == "PNG"; }

}  // namespace

TEST_CASE("visualise-attention: stages, attention and predictions of decoders", "[cli]") {
  const TestFolder folder("cli-stages");
  const std::string gdla = trained(folder, "gdla", experiment("pvt_gdla", 32, 3));
  const std::string la = trained(folder, "la", experiment("pvt_linear_attn", 32, 3));
  const std::string large = trained(folder, "large", experiment("pvt_linear_attn", 64, 3));
  const std::string unet = trained(
      folder, "unet",
      R"({"name": "unet", "task": "segmentation", "dataset": {"type": "synthetic_segmentation",
          "num_classes": 4, "img_size": 32, "train_size": 8, "test_size": 4},
          "model": {"type": "unet", "widths": [4, 8], "decoder_channels": [4]},
          "train": {"epochs": 1, "batch_size": 4}})");
  const auto drawn = [&](std::vector<std::string> words, const std::string& to) {
    words.insert(words.end(), {"--out", folder.path(to).string()});
    const CliResult result = run_cli("visualise-attention", words);
    INFO(result.err);
    REQUIRE(result.code == 0);
    return result;
  };

  const CliResult maps =
      drawn({gdla, la, "--maps", "token_norm,update,saliency", "--input", "1"}, "maps");
  CHECK_THAT(maps.out, Catch::Contains("S1 de1, 2 x 2") && Catch::Contains("S3 de3, 8 x 8") &&
                           Catch::Contains("first token") && Catch::Contains("x mean"));
  std::vector<std::string> written;
  for (const auto& entry : io::fs::directory_iterator(folder.path("maps"))) {
    written.push_back(entry.path().filename().string());
    if (entry.path().extension() == ".png") CHECK(is_png(entry.path()));
  }
  CHECK(written.size() == 3);  // maps-, saliency-, maps.safetensors
  const TensorFile numbers = read_safetensors(folder.path("maps/maps.safetensors"), cpu());
  REQUIRE(numbers.tensors.size() == 2 * 3 * 4);
  const std::string key = numbers.tensors.begin()->first;  // gdla/<input>/de1/...
  CHECK(key.starts_with("gdla/1"));
  const std::string input = key.substr(5, key.find('/', 5) - 5);
  CHECK(numbers.tensors.at("la/" + input + "/de3/update").shape() == Shape{8, 8});
  CHECK(numbers.tensors.at("la/" + input + "/de2/saliency_channels").shape() == Shape{8});
  drawn({gdla, "--maps", "update", "--stage", "2", "--input", "0"}, "one");

  const CliResult seen = drawn({gdla, "--input", "0", "--query", "31,0", "--heads"}, "grids");
  CHECK_THAT(seen.err, Catch::Contains("--whole-maps"));
  CHECK_THAT(seen.out, Catch::Contains("rollout-gdla.png") && Catch::Contains("heads-gdla-0"));
  const TensorFile rows = read_safetensors(folder.path("grids/maps.safetensors"), cpu());
  const CliResult all = drawn({gdla, "--input", "0", "--query", "31,0", "--whole-maps"}, "whole");
  CHECK(all.err.empty());
  const TensorFile whole = read_safetensors(folder.path("whole/maps.safetensors"), cpu());
  for (const auto& [name, map] : whole.tensors) {
    if (!name.ends_with("/de3/attn")) continue;
    CHECK(map.shape() == Shape{2, 64, 64});
    REQUIRE(rows.tensors.at(name).shape() == Shape{2, 1, 64});
    // Row 31, column 0 of 32 x 32 pixels lies in token (7, 0) of 8 x 8.
    CHECK(rows.tensors.at(name).host_values<double>()[5] ==
          Approx(map.host_values<double>()[56 * 64 + 5]).margin(1e-6));
  }
  CHECK(io::read_text(folder.path("grids/weights.csv"))
            .starts_with("run,input,first_block,last_block,row,column,weight\ngdla,"));
  drawn({gdla, unet, "--pca", "--input", "0", "--input", "1"}, "pca");
  CHECK_THAT(io::read_text(folder.path("pca/pca.csv")),
             Catch::Contains("gdla,de3,") && Catch::Contains("unet,up.0,"));

  const CliResult found =
      drawn({gdla, la, "--predictions", "--input", "0", "--input", "3"}, "found");
  CHECK_THAT(found.out, Catch::Contains("Dice") && Catch::Contains("predictions.png"));
  CHECK(is_png(folder.path("found/predictions.png")));

  const auto refused = [&](std::vector<std::string> words, const std::string& message) {
    words.insert(words.end(), {"--out", folder.path("none").string()});
    const CliResult result = run_cli("visualise-attention", words);
    CHECK(result.code == 2);
    CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
    CHECK_THAT(result.err, Catch::Contains(message));
    CHECK_FALSE(io::fs::exists(folder.path("none")));
  };
  refused({gdla, "--maps", "updates"}, "did you mean \"update\"");
  refused({gdla, "--maps", "update", "--stage", "4"}, "gdla has stages 1 (the coarsest) to 3");
  refused({gdla, "--stage", "1"}, "--stage: is an option of --maps; none is given");
  refused({gdla, la, "--maps", "update", "--compare", "second"}, "known: first, last, none");
  refused({unet, "--maps", "update"}, "unet: model: has no decoder of attention blocks");
  refused({unet, "--maps", "update"}, "figures that fit it: pca, predictions");
  refused({gdla, large, "--maps", "update"}, "large: sees images of another size than gdla");
  refused({gdla, unet, "--predictions"}, "unet: has other classes than gdla");
  refused({gdla, "--maps", "update", "--pca"}, "give one");
  refused({unet, "--input", "0"}, "no attention over tokens");
  refused({gdla, "--query", "32,0"}, "expected row and column of a pixel of 32 x 32");
  refused({gdla, "--scale", "figur"}, "did you mean \"figure\"?");
  refused({gdla, "--scale", "minmax,from_zero"}, "says the same thing twice");
  refused(
      {gdla, "--sign", "abs"},
      "--sign: is an option of --figure rollout, --figure text_rollout, --figure speech, --figure "
      "next_token, --figure denoising; gdla reads images on grids of several sizes, of which "
      "grid_rollout is drawn");
}

TEST_CASE("inspect tradeoff: a plot and a table, in both formats", "[cli]") {
  const TestFolder folder("cli-tradeoff");
  const std::string published = source_dir() + "/experiments/gdla/published.json";
  const std::string picture = folder.path("a.svg").string();
  const CliResult drawn =
      run_cli("inspect", {"tradeoff", published, "--metric", "DSC", "--out", picture});
  INFO(drawn.err);
  REQUIRE(drawn.code == 0);
  CHECK_THAT(drawn.out, Catch::Contains("PVT-GDLA") && Catch::Contains("85.32"));
  CHECK_THAT(io::read_text(picture), Catch::Contains("PVT-GDLA"));
  CHECK(io::fs::exists(folder.path("a.csv")));
  const std::string png = folder.path("b.png").string();
  CHECK(run_cli("inspect", {"tradeoff", published, "--metric", "DSC", "--out", png}).code == 0);
  CHECK(is_png(png));
  const CliResult bad = run_cli("inspect", {"tradeoff", published, "--out", picture});
  CHECK(bad.code == 2);
  CHECK_THAT(bad.err, Catch::Contains("name the column of Table 1"));
}
