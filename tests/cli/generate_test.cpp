// generate: images of a trained generator, a film, scores; and pictures while training.
#include <catch2/catch.hpp>

#include "base/file.h"
#include "data/files/pictures/image_file.h"
#include "schema/json/parse.h"
#include "tests/cli/refusal.h"
#include "tests/support/paths.h"
#include "tests/support/run_cli.h"

using namespace fovea;
using namespace fovea::test;

namespace {

std::string digits(const std::string& more) {
  return R"("dataset": {"type": "digits", "root": ")" + (source_dir() + "/datasets/digits") +
         R"(", "limit": {"train": 40, "test": 20})" + more + "}";
}

std::string trained(const TestFolder& folder, const std::string& name, const std::string& text) {
  const std::string experiment = folder.write(name + ".json", text);
  const std::string run = folder.path(name).string();
  const CliResult result = run_cli("train", {experiment, "--out", run, "--quiet"});
  INFO(result.err);
  REQUIRE(result.code == 0);
  return run;
}

std::string generator(const TestFolder& folder) {
  return trained(folder, "dit",
                 R"({
    "name": "tiny", "task": "generation", )" +
                     digits(R"(, "mean": [0.5], "std": [0.5])") + R"(,
    "model": {"type": "dit_s", "patch_size": 4, "embed_dim": 8, "depth": 1,
              "noise": {"steps": 40}, "attention": {"type": "mala", "num_heads": 2}},
    "eval": {"sampler": {"type": "ddim", "steps": "5"}, "samples": 2},
    "train": {"epochs": 2, "batch_size": 20, "ema_decay": 0.9}})");
}

std::string classifier(const TestFolder& folder) {
  return trained(folder, "vit",
                 R"({
    "name": "judge", )" +
                     digits("") +
                     R"(,
    "model": {"type": "vit", "patch_size": 4, "embed_dim": 8, "depth": 1,
              "attention": {"num_heads": 2}},
    "train": {"epochs": 1, "batch_size": 20}})");
}

}  // namespace

TEST_CASE("generate: pictures while training, of chosen classes, a film and scores", "[cli]") {
  const TestFolder folder("cli-generate");
  const std::string run = generator(folder);
  for (const char* name : {"epoch-0001.png", "epoch-0002.png"}) {
    const data::Image seen = data::read_image(folder.path("dit") / "samples" / name, 3);
    CHECK(seen.height > 10 * 64);
  }
  const auto make = [&](const std::string& name, std::vector<std::string> more) {
    std::vector<std::string> words{"generate", run, "--out", folder.path(name).string()};
    words.erase(words.begin());
    words.insert(words.end(), more.begin(), more.end());
    const CliResult result = run_cli("generate", words);
    INFO(result.err);
    REQUIRE(result.code == 0);
    return result;
  };
  const CliResult said =
      make("a.png", {"--classes", "0-2,7,none", "--samples", "3", "--threads", "1"});
  CHECK_THAT(said.out, Catch::StartsWith("15 images, ddim, steps 5, guidance 1, by checkpoint"));
  make("b.png", {"--classes", "0-2,7,none", "--samples", "3", "--threads", "2"});
  const std::string first = io::read_text(folder.path("a.png"));
  CHECK((io::read_text(folder.path("b.png")) == first));
  make("c.png", {"--classes", "0-2,7,none", "--samples", "3", "--seed", "1"});
  CHECK((io::read_text(folder.path("c.png")) != first));

  const CliResult scored = make(
      "d.png", {"--samples", "2", "--steps", "3", "--guidance", "2", "--film",
                folder.path("film.png").string(), "--classifier", classifier(folder), "--json"});
  const schema::Value record = schema::parse(scored.out, "generate");
  CHECK(record.at("images").as_int() == 20);
  CHECK(record.at("scores").at("proxy_fid").as_double() > 0);
  CHECK(record.at("scores").at("proxy_is").as_double() >= 1);
  CHECK(record.at("scores").at("real_images").as_int() == 20);
  CHECK(io::read_text(folder.path("film.png")).find("acTL") != std::string::npos);
}

TEST_CASE("generate: what cannot be made is refused in a line", "[cli]") {
  const TestFolder folder("cli-generate-refused");
  const std::string run = generator(folder), judge = classifier(folder);
  const std::string out = folder.path("x.png").string();
  check_refusal(run_cli("generate", {run, "--out", out, "--classes", "10"}), 2, "classes 0 to 9");
  check_refusal(run_cli("generate", {run, "--out", out, "--classes", "2-x"}), 2, "--classes 2-x");
  check_refusal(run_cli("generate", {run, "--out", out, "--steps", "41"}), 2, "respacing");
  check_refusal(run_cli("generate", {judge, "--out", out}), 2, "image_classification");
  check_refusal(run_cli("generate", {run, "--out", out, "--classifier", run}), 2,
                "an image classifier");
  CHECK_FALSE(io::fs::exists(out));
}

TEST_CASE("train: the sampler of another task than generation is refused", "[cli]") {
  const TestFolder folder("cli-sampler-refused");
  const auto refused = [&](const std::string& setting, const std::string& message) {
    check_refusal(run_cli("train", {source_dir() + "/experiments/smoke/conformer.json", "--set",
                                    setting, "--out", folder.path("run").string()}),
                  2, message);
  };
  refused("eval.sampler={\"type\":\"ddim\"}",
          "eval.sampler: is of generation; the task is transcription; expected \"ddpm\"");
  refused("eval.samples=8",
          "eval.samples: is 8, and of generation; the task is transcription; expected 4");
}
