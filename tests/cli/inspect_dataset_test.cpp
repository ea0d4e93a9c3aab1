// inspect dataset: what is said of a data set, and that a run means the same one.
#include <catch2/catch.hpp>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "tests/data/files.h"
#include "tests/support/run_cli.h"

using namespace fovea;
using namespace fovea::test;
using nlohmann::json;

TEST_CASE("inspect dataset: counts, the hash of a run, and a broken file", "[cli]") {
  const TestFolder folder("cli-inspect-dataset");
  for (const char* part : {"train", "test"}) {
    for (int i = 0; i < 6; ++i) {
      folder.write(fmt::format("pictures/{}/{}/{}.png", part, i % 2 == 0 ? "cat" : "dog", i),
                   encode_png(data::test::pattern(8, 8 + i, 3, i)));
    }
  }
  const std::string experiment = folder.write(
      "tiny.json",
      fmt::format(R"({{"dataset": {{"type": "image_folder", "root": "{}", "img_size": 8}},
  "model": {{"type": "vit", "patch_size": 4, "embed_dim": 8, "depth": 1,
             "attention": {{"num_heads": 2}}}},
  "train": {{"epochs": 1, "batch_size": 4}}}})",
                  folder.path("pictures").string()));
  const CliResult trained =
      run_cli("train", {experiment, "--out", folder.path("run").string(), "--json"});
  INFO(trained.err);
  REQUIRE(trained.code == 0);
  const CliResult result = run_cli("inspect", {"dataset", experiment, "--json"});
  INFO(result.err);
  REQUIRE(result.code == 0);
  const json found = json::parse(result.out);
  CHECK(found["type"] == "image_folder");
  CHECK(found["hash"] == json::parse(trained.out)["data"]["hash"]);
  CHECK(found["parts"]["train"]["classes"] == json({{"cat", 3}, {"dog", 3}}));
  CHECK(found["parts"]["train"]["mean"].size() == 3);
  CHECK(found["parts"]["train"]["bad"].empty());

  folder.write("pictures/train/dog/1.png", "damaged");
  const CliResult text =
      run_cli("inspect", {"dataset", experiment, "--set", "dataset.limit.test=2"});
  CHECK(text.code == 0);
  CHECK(text.err.empty());
  CHECK_THAT(text.out, Catch::StartsWith("image_folder: images, content "));
  CHECK_THAT(text.out, Catch::Contains("train: 5 samples\n  classes     cat 3, dog 2"));
  CHECK_THAT(text.out, Catch::Contains("bad         1 samples\n") &&
                           Catch::Contains("dog/1.png: is not a PNG"));
  CHECK_THAT(text.out, Catch::Contains("test: 2 samples"));
}

TEST_CASE("inspect augment: a picture of training images", "[cli]") {
  const TestFolder folder("cli-inspect-augment");
  const std::string experiment = folder.write("tiny.json", R"({"dataset": {"type": "synthetic",
      "img_size": 16, "train_size": 40, "augment": ["rand_augment"], "mix": {"mixup": 1}},
      "model": {"type": "vit", "patch_size": 4, "embed_dim": 8, "depth": 1}})");
  const auto drawn = [&](const std::vector<std::string>& more) {
    const std::string file = folder.path("a.png").string();
    std::vector<std::string> words = {"augment", experiment, "--out", file, "--samples", "3"};
    words.insert(words.end(), more.begin(), more.end());
    const CliResult result = run_cli("inspect", words);
    INFO(result.err);
    REQUIRE(result.code == 0);
    CHECK_THAT(result.out, Catch::Contains("a.png"));
    return io::read_text(file);
  };
  const std::string picture = drawn({});
  CHECK(picture.substr(1, 3) == "PNG");
  CHECK(drawn({}) == picture);
  CHECK(drawn({"--set", "seed=5"}) != picture);
  CHECK(drawn({"--set", "dataset.mix.mixup=0"}) != picture);
  CHECK(run_cli("inspect", {"augment", experiment, "--set", "dataset=rotten_tomatoes", "--set",
                            "task=text_classification", "--set", "model=transformer"})
            .code != 0);
}
