// What layers see of images: visualise-attention --pca.
#include <catch2/catch.hpp>

#include <fmt/format.h>

#include <map>
#include <sstream>

#include "base/file.h"
#include "tests/support/paths.h"
#include "tests/support/run_cli.h"

using namespace fovea;
using namespace fovea::test;

namespace {

std::string experiment(const std::string& model) {
  return fmt::format(R"({{"name": "tiny", "seed": 3,
  "dataset": {{"type": "digits", "root": "{}/datasets/digits", "limit": {{"train": 64, "test": 20}}}},
  "model": {}, "train": {{"epochs": 1, "batch_size": 32}}}})",
                     test::source_dir(), model);
}

const std::string kViT =
    R"({"type": "dgvit", "patch_size": 4, "embed_dim": 16, "depth": 2, "attention": {"num_heads": 2}})";
const std::string kResNet = R"({"type": "resnet20", "planes": [2, 4, 8]})";

std::string trained(const TestFolder& folder, const std::string& name, const std::string& model) {
  const std::string run = folder.path(name).string();
  const CliResult result =
      run_cli("train", {folder.write(name + ".json", experiment(model)), "--out", run, "--quiet"});
  INFO(result.err);
  REQUIRE(result.code == 0);
  return run;
}

void check_refusal(const CliResult& result, const std::string& message) {
  CHECK(result.code == 2);
  CHECK(result.out.empty());
  CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
  CHECK_THAT(result.err, Catch::Contains(message));
}

}  // namespace

TEST_CASE("visualise-attention --pca: pictures, variances, refusals", "[cli]") {
  const TestFolder folder("cli-pca");
  const std::string vit = trained(folder, "vit", kViT), resnet = trained(folder, "resnet", kResNet);
  const std::string out = folder.path("pictures").string();
  const std::vector<std::string> words = {vit,       resnet, "--pca", "--input", "3",
                                          "--input", "7",    "--out", out};
  const CliResult drawn = run_cli("visualise-attention", words);
  INFO(drawn.err);
  REQUIRE(drawn.code == 0);
  CHECK_THAT(drawn.out, Catch::Contains("blocks.1") && Catch::Contains("layer3") &&
                            Catch::Contains("explains") && Catch::Contains("checkpoint last") &&
                            Catch::Contains("pca-vit.png") && Catch::Contains("pca-resnet.png") &&
                            Catch::Contains("pca.csv"));
  for (const char* name : {"pca-vit.png", "pca-resnet.png"})
    CHECK(io::read_text(folder.path("pictures") / name).substr(1, 3) == "PNG");

  // run, layer, component, variance, share: three lines a layer, each less than the one before.
  const std::string csv = io::read_text(folder.path("pictures/pca.csv"));
  std::map<std::string, std::vector<double>> shares;
  std::istringstream lines(csv);
  std::string line;
  std::getline(lines, line);
  CHECK(line == "run,layer,component,variance,share");
  while (std::getline(lines, line)) {
    const std::size_t layer = line.find(',', line.find(',') + 1);
    shares[line.substr(0, layer)].push_back(
        std::strtod(line.substr(line.rfind(',') + 1).c_str(), nullptr));
  }
  CHECK(shares.size() == 2 + 3);
  for (const auto& [layer, values] : shares) {
    INFO(layer);
    REQUIRE(values.size() == 3);
    CHECK((values[0] >= values[1] && values[1] >= values[2] && values[2] >= 0));
    CHECK(values[0] + values[1] + values[2] <= Approx(1));
    CHECK(values[0] > 0);
  }

  // The same again byte for byte; one layer by its number and by its name.
  const std::string picture = io::read_text(folder.path("pictures/pca-vit.png"));
  REQUIRE(run_cli("visualise-attention", words).code == 0);
  CHECK(io::read_text(folder.path("pictures/pca-vit.png")) == picture);
  CHECK(io::read_text(folder.path("pictures/pca.csv")) == csv);
  const auto one = [&](const std::string& layer) {
    const std::string place = folder.path("layer-" + layer).string();
    const CliResult result = run_cli(
        "visualise-attention", {vit, "--pca", "--layer", layer, "--input", "3", "--out", place});
    INFO(result.err);
    REQUIRE(result.code == 0);
    CHECK_THAT(result.out, !Catch::Contains("blocks.0"));
    return io::read_text(folder.path("layer-" + layer) / "pca-vit.png");
  };
  CHECK(one("1") == one("blocks.1"));

  const std::string none = folder.path("none").string();
  const auto refused = [&](std::vector<std::string> more, const std::string& message) {
    more.insert(more.end(), {"--out", none});
    check_refusal(run_cli("visualise-attention", more), message);
    CHECK_FALSE(io::fs::exists(none));
  };
  refused({vit, "--pca", "--layer", "2"}, "no such layer (known: 0..1, blocks.0, blocks.1)");
  refused({resnet, "--pca", "--layer", "blocks.0"}, "known: 0..2, layer1, layer2, layer3");
  refused({vit, "--layer", "1"}, "--pca; vit reads images");
  refused({vit, "--pca", "--across-depth"}, "give one");
  refused({vit, "--pca", "--text", "words"}, "reads images");
}
