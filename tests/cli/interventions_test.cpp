// Parts of a network and of its input switched off: fovea explain and fovea eval.
#include <catch2/catch.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/file.h"
#include "schema/json/parse.h"
#include "tests/cli/refusal.h"
#include "tests/support/paths.h"
#include "tests/support/run_cli.h"

using namespace fovea;
using namespace fovea::test;

namespace {

std::string trained_on_digits(const TestFolder& folder, const std::string& attention) {
  const std::string run = folder.path(attention).string();
  const std::string file = folder.write(attention + ".json", fmt::format(R"({{"seed": 3,
      "dataset": {{"type": "digits", "root": "{}/datasets/digits",
                   "limit": {{"train": 64, "test": 20}}}},
      "model": {{"type": "vit", "patch_size": 2, "embed_dim": 16, "depth": 2,
                 "attention": {{"type": "{}", "num_heads": 2}}}},
      "train": {{"epochs": 1, "batch_size": 32}}}})",
                                                                         source_dir(), attention));
  const CliResult result = run_cli("train", {file, "--out", run, "--quiet"});
  INFO(result.err);
  REQUIRE(result.code == 0);
  return run;
}

schema::Value json_file(const io::fs::path& file) {
  return schema::parse(io::read_text(file), file.string());
}

std::size_t rows_of(const io::fs::path& file) {
  const std::string text = io::read_text(file);
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) - 1;
}

}  // namespace

TEST_CASE("interventions: what heads are worth, and activations of another input", "[cli]") {
  const TestFolder folder("cli-interventions");
  const std::string softmax = trained_on_digits(folder, "softmax"),
                    gated = trained_on_digits(folder, "m_dgsa");
  const std::string out = folder.path("out").string();
  const auto explain = [&](std::vector<std::string> words) {
    words.insert(words.end(), {"--out", out});
    return run_cli("explain", words);
  };
  SECTION("heads") {
    const CliResult made = explain({softmax, gated, "--head-importance", "--limit", "12"});
    INFO(made.err);
    REQUIRE(made.code == 0);
    CHECK_THAT(made.out, Catch::Contains("blocks.1.attn") && Catch::Contains("head 1") &&
                             Catch::Contains("12 of 20 samples of test") &&
                             Catch::Contains("importance by the gradient"));
    CHECK(rows_of(folder.path("out/heads.csv")) == 2 * 2 * 2);
    CHECK(io::read_text(folder.path("out/heads.png")).substr(1, 3) == "PNG");
    const schema::Value heads = json_file(folder.path("out/heads.json"));
    CHECK(heads.at("heads").at(std::size_t{0}).at("loss_change").at("n").as_int() == 12);
    // Switched off already, a head changes nothing any more.
    REQUIRE(explain({softmax, "--head-importance", "--set-heads", "blocks.1:0=off"}).code == 0);
    const schema::Value changed = json_file(folder.path("out/heads.json"));
    CHECK(changed.at("heads").at(std::size_t{2}).at("loss_change").at("mean").as_double() == 0);
    CHECK_THAT(changed.at("heads").at(std::size_t{2}).at("run").as_string(),
               Catch::Contains("(changed)"));
  }
  SECTION("patching") {
    const CliResult made =
        explain({softmax, gated, "--input", "3", "--patch-from", "5", "--target", "label"});
    INFO(made.err);
    REQUIRE(made.code == 0);
    CHECK_THAT(made.out, Catch::Contains("with activations of 5:") && Catch::Contains("prefix") &&
                             Catch::Contains("head 1"));
    // Clean, other, and in 2 layers prefix, attn, mlp, 2 heads.
    CHECK(rows_of(folder.path("out/patching.csv")) == 2 * (2 + 2 * 5));
    const schema::Value patching = json_file(folder.path("out/patching.json"));
    CHECK(patching.at("inputs")
              .at(std::size_t{0})
              .at("layers")
              .at(std::size_t{1})
              .at("prefix")
              .at("effect")
              .as_double() == 1);
    // An image without some of its patches, and what the whole one says.
    CHECK(explain({softmax, "--input", "3", "--drop-patches", "0-7", "--patch-from", "3"}).code ==
          0);
  }
  SECTION("maps of a changed network") {
    const auto maps = [&](std::vector<std::string> more) {
      std::vector<std::string> words = {softmax, "--input", "3", "--method", "rollout"};
      words.insert(words.end(), more.begin(), more.end());
      const CliResult made = explain(words);
      INFO(made.err);
      REQUIRE(made.code == 0);
      return io::read_text(folder.path("out/relevance.csv"));
    };
    const std::string whole = maps({});
    CHECK(maps({"--set-heads", "blocks.0:*=off"}) != whole);
    CHECK(maps({"--drop-patches", "50%", "--baseline", "mean"}) != whole);
    CHECK(maps({}) == whole);
  }
  SECTION("refusals") {
    check_refusal(explain({softmax, "--head-importance", "--set-heads", "block.0:0=off"}), 2,
                  "softmax: --set-heads block.0:0=off: no attention called \"block.0\"; did you "
                  "mean \"blocks.0\"?");
    check_refusal(explain({softmax, "--head-importance", "--patch-from", "3"}), 2,
                  "expected one of them at a time");
    check_refusal(explain({softmax}), 2, "--head-importance");
    check_refusal(explain({softmax, "--patch-from", "30"}), 2, "the split has 20 samples");
    check_refusal(explain({softmax, "--input", "1", "--method", "rollout", "--limit", "3"}), 2,
                  "--limit: is of --score and --head-importance");
    check_refusal(explain({softmax, "--input", "1", "--method", "rollout", "--drop-patches", "16"}),
                  2, "have 4 x 4 patches here, 0 to 15");
    CHECK_FALSE(io::fs::exists(folder.path("out")));
  }
}

TEST_CASE("interventions: eval scores a changed network beside that of the run", "[cli]") {
  const TestFolder folder("cli-eval-changed");
  const std::string run = trained_on_digits(folder, "softmax");
  const auto eval = [&](std::vector<std::string> more) {
    std::vector<std::string> words = {run, "--no-noise", "--json"};
    words.insert(words.end(), more.begin(), more.end());
    const CliResult result = run_cli("eval", words);
    INFO(result.err);
    REQUIRE(result.code == 0);
    return schema::parse(result.out, "eval");
  };
  const auto folders = [&] {
    return std::distance(io::fs::directory_iterator(folder.path("softmax/eval")),
                         io::fs::directory_iterator());
  };
  const schema::Value whole = eval({});
  const std::string kept = io::read_text(folder.path("softmax/eval/test/results.json"));
  CHECK(whole.find("interventions") == nullptr);
  const schema::Value heads = eval({"--set-heads", "blocks.*:*=off"});
  CHECK(heads.at("interventions").at("set_heads").at(std::size_t{0}).as_string() ==
        "blocks.*:*=off");
  CHECK_FALSE(heads.at("metrics") == whole.at("metrics"));
  CHECK(heads.at("subject").at("weights") == whole.at("subject").at("weights"));
  CHECK_FALSE(heads.at("subject") == whole.at("subject"));
  const schema::Value half = eval({"--drop-patches", "50%"});
  CHECK(half.at("interventions").at("drop_patches").as_string() == "50%, zero, seed 1");
  CHECK(eval({"--drop-patches", "50%"}) == half);
  CHECK(eval({"--drop-patches", "0%"}).at("metrics") == whole.at("metrics"));
  CHECK(folders() == 4);  // the run's own, heads, 50 %, 0 %
  CHECK(io::read_text(folder.path("softmax/eval/test/results.json")) == kept);
  CHECK(eval({}) == whole);

  check_refusal(run_cli("eval", {run, "--set-heads", "blocks.0:7=off"}), 2,
                "blocks.0.attn has no head 7; expected heads from 0 to 1");
  check_refusal(run_cli("eval", {run, "--drop-patches", "16"}), 2, "0 to 15");
  CHECK(folders() == 4);
}
