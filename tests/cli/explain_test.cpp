// fovea explain on runs of images and of texts.
#include <catch2/catch.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "base/file.h"
#include "schema/json/parse.h"
#include "tensor/safetensors.h"
#include "tests/cli/refusal.h"
#include "tests/support/paths.h"
#include "tests/support/run_cli.h"
#include "tests/support/tensors.h"

using namespace fovea;
using namespace fovea::test;

namespace {

std::string trained(const TestFolder& folder, const std::string& name, const std::string& text) {
  const std::string run = folder.path(name).string();
  const CliResult result =
      run_cli("train", {folder.write(name + ".json", text), "--out", run, "--quiet"});
  INFO(result.err);
  REQUIRE(result.code == 0);
  return run;
}

std::string trained_vit(const TestFolder& folder, const std::string& attention, int heads = 2) {
  return trained(folder, attention,
                 fmt::format(R"({{"seed": 3,
      "dataset": {{"type": "digits", "root": "{}/datasets/digits",
                   "limit": {{"train": 64, "test": 20}}}},
      "model": {{"type": "vit", "patch_size": 2, "embed_dim": 16, "depth": 2,
                 "attention": {{"type": "{}", "num_heads": {}}}}},
      "train": {{"epochs": 1, "batch_size": 32}}}})",
                             source_dir(), attention, heads));
}

std::size_t lines_of(const io::fs::path& file) {
  std::istringstream lines(io::read_text(file));
  std::size_t count = 0;
  for (std::string line; std::getline(lines, line);) ++count;
  return count;
}

}  // namespace

TEST_CASE("explain: runs and methods side by side, numbers, refusals", "[cli]") {
  const TestFolder folder("cli-explain");
  const std::string softmax = trained_vit(folder, "softmax"),
                    signed_maps = trained_vit(folder, "differential");
  const std::string out = folder.path("explained").string();
  const auto explain = [&](std::vector<std::string> words) {
    words.insert(words.end(), {"--out", out});
    return run_cli("explain", words);
  };
  const CliResult made =
      explain({softmax, signed_maps, "--input", "3", "--input", "5", "--method",
               "generic_attention,smoothgrad", "--option", "smoothgrad.samples=2"});
  INFO(made.err);
  REQUIRE(made.code == 0);
  CHECK(io::read_text(folder.path("explained/explain.png")).substr(1, 3) == "PNG");
  // Two runs, two inputs: 16 patches, or 64 pixels.
  CHECK(lines_of(folder.path("explained/relevance.csv")) == 1 + 2 * 2 * (16 + 64));
  CHECK(lines_of(folder.path("explained/explained.csv")) == 1 + 2 * 2 * 2);
  const TensorFile maps = read_safetensors(folder.path("explained/maps.safetensors"), cpu());
  CHECK(maps.tensors.size() == 8);
  CHECK(maps.tensors.begin()->second.shape() == Shape{4, 4});
  // The same seed gives the same noise.
  const std::string before = io::read_text(folder.path("explained/relevance.csv"));
  REQUIRE(explain({softmax, signed_maps, "--input", "3", "--input", "5", "--method",
                   "generic_attention,smoothgrad", "--option", "smoothgrad.samples=2", "--threads",
                   "1"})
              .code == 0);
  CHECK(io::read_text(folder.path("explained/relevance.csv")) == before);

  check_refusal(explain({signed_maps, "--input", "3", "--method", "attention_flow"}), 2,
                "differential: attention_flow: is not defined for signed maps");
  check_refusal(explain({softmax, "--input", "3", "--method", "rolout"}), 2, "rollout");
  check_refusal(explain({softmax, "--input", "3", "--method", "rollout", "--target", "ten"}), 2,
                "--target ten: softmax has no such class");
  check_refusal(explain({softmax, "--input", "3", "--method", "rise", "--option", "rise.masks=0"}),
                2, "expected integer >= 1");
}

TEST_CASE("explain: maps that are 0 everywhere are named", "[cli]") {
  const TestFolder folder("cli-explain-nothing");
  // Of one head with a negative mean gradient nothing is left above 0.
  const std::string run = trained_vit(folder, "softmax", 1);
  const CliResult made =
      run_cli("explain", {run, "--method", "attention_gradcam,rollout", "--target", "2", "--out",
                          folder.path("explained").string()});
  INFO(made.err);
  REQUIRE(made.code == 0);
  int empty = 0, named = 0;
  const TensorFile maps = read_safetensors(folder.path("explained/maps.safetensors"), cpu());
  for (const auto& [name, map] : maps.tensors) {
    const auto values = map.values<double>();
    empty += std::all_of(values.begin(), values.end(), [](double v) { return v == 0; });
  }
  std::istringstream notes(made.err);
  for (std::string line; std::getline(notes, line);) {
    if (line.find("is 0 everywhere") == std::string::npos) continue;
    ++named;
    CHECK_THAT(line, Catch::Contains("attention_gradcam is 0 everywhere for 2: it keeps what") &&
                         Catch::Contains("--option attention_gradcam.layer=LAYER"));
  }
  CHECK(empty > 0);
  CHECK(named == empty);
}

TEST_CASE("explain: a page for the browser", "[cli]") {
  const TestFolder folder("cli-explain-page");
  const std::string softmax = trained_vit(folder, "softmax"),
                    signed_maps = trained_vit(folder, "differential");
  const auto page_of = [&](const std::string& out, std::vector<std::string> words) {
    words.insert(words.begin(), {softmax, signed_maps, "--input", "3", "--input", "5", "--target",
                                 "2", "--page", "--out", folder.path(out).string()});
    const CliResult made = run_cli("explain", words);
    INFO(made.err);
    REQUIRE(made.code == 0);
    CHECK_THAT(made.out, Catch::Contains("explain.html"));
    return io::read_text(folder.path(out + "/explain.html"));
  };
  const std::vector<std::string> asked = {"--method", "generic_attention,smoothgrad", "--option",
                                          "smoothgrad.samples=2"};
  const std::string page = page_of("first", asked);
  CHECK(page_of("second", asked) == page);
  // Two inputs of two runs and two methods; runs of a method beside each other.
  CHECK_THAT(page, Catch::Contains("id=\"maps-1-3\"") && !Catch::Contains("id=\"maps-1-4\"") &&
                       !Catch::Contains("id=\"maps-2-0\""));
  const std::size_t first = page.find("softmax: generic_attention"),
                    second = page.find("differential: generic_attention"),
                    third = page.find("softmax: smoothgrad");
  CHECK((first < second && second < third && third != std::string::npos));
  CHECK_THAT(page, Catch::Contains("explained: 2 with "));
  // Nothing is fetched.
  CHECK_THAT(page, !Catch::Contains("http://") && !Catch::Contains("https://"));
  // Without the option there is none.
  REQUIRE(run_cli("explain", {softmax, "--input", "3", "--method", "rollout", "--out",
                              folder.path("none").string()})
              .code == 0);
  CHECK_FALSE(io::fs::exists(folder.path("none/explain.html")));
  check_refusal(run_cli("explain", {softmax, "--score", "deletion", "--page"}), 2,
                "--page: is of explanations of --input and --text by --method");
}

TEST_CASE("explain: words of texts", "[cli]") {
  const TestFolder folder("cli-explain-text");
  std::string rows = "label,text\n";
  for (int i = 0; i < 40; ++i)
    rows += fmt::format("{} w{}\n", i % 2 == 0 ? "yes,good" : "no,bad", i % 7);
  io::make_directories(folder.path("data"));
  folder.write("data/train.csv", rows);
  folder.write("data/test.csv", rows);
  const std::string run = trained(folder, "texts",
                                  fmt::format(R"({{"task": "text_classification",
      "dataset": {{"type": "text_csv", "root": "{}"}},
      "model": {{"type": "transformer", "embed_dim": 8, "depth": 1, "attention": {{"num_heads": 2}}}},
      "train": {{"epochs": 1, "batch_size": 16}}}})",
                                              folder.path("data").string()));
  const CliResult made =
      run_cli("explain",
              {run, "--text", "good w3", "--method", "gradient_x_input,occlusion,gradient_rollout",
               "--target", "yes", "--page", "--out", folder.path("explained").string()});
  INFO(made.err);
  REQUIRE(made.code == 0);
  CHECK(io::read_text(folder.path("explained/explain-text-1.png")).substr(1, 3) == "PNG");
  CHECK_THAT(io::read_text(folder.path("explained/explain.html")),
             Catch::Contains(R"("tokens":["good","w3"])"));
  CHECK_THAT(io::read_text(folder.path("explained/relevance.csv")),
             Catch::Contains("occlusion,text 1,yes,0,0,good,"));
  CHECK(lines_of(folder.path("explained/relevance.csv")) == 1 + 3 * 2);

  const CliResult scored =
      run_cli("explain", {run, "--score", "all", "--method", "occlusion,generic_attention",
                          "--limit", "8", "--out", folder.path("scored").string()});
  INFO(scored.err);
  REQUIRE(scored.code == 0);
  CHECK_THAT(scored.out, Catch::Contains("comprehensiveness ↑") && Catch::Contains("mprt ↓"));
  CHECK_THAT(scored.err, Catch::Contains("deletion is left out: it needs images"));
}

TEST_CASE("explain: scores of methods beside random relevance", "[cli]") {
  const TestFolder folder("cli-explain-scores");
  const std::string run = trained_vit(folder, "m_dgsa");
  const auto score = [&](std::vector<std::string> words) {
    words.insert(words.begin(), run);
    words.insert(words.end(), {"--random-seeds", "2", "--out", folder.path("scored").string()});
    return run_cli("explain", words);
  };
  const std::vector<std::string> asked = {"--score",  "deletion,saco,entropy,mprt",
                                          "--method", "generic_attention,gradient_x_input",
                                          "--option", "deletion.step=4",
                                          "--limit",  "7"};
  const CliResult made = score(asked);
  INFO(made.err);
  REQUIRE(made.code == 0);
  CHECK_THAT(made.out, Catch::Contains("deletion ↓") && Catch::Contains("random  ") &&
                           Catch::Contains("7 of 20 samples of test"));
  // Two methods and two seeds of random relevance.
  const std::string csv = io::read_text(folder.path("scored/scores.csv"));
  CHECK(lines_of(folder.path("scored/scores.csv")) == 1 + 4 * 7);
  CHECK(csv.starts_with("run,method,seed,sample,target,deletion,saco,entropy,mprt\n"));
  CHECK(io::read_text(folder.path("scored/curves.png")).substr(1, 3) == "PNG");
  const schema::Value record =
      schema::parse(io::read_text(folder.path("scored/scores.json")), "scores.json");
  REQUIRE(record.at("rows").size() == 3);
  const schema::Value& last = record.at("rows").at(2);
  CHECK(last.at("method").as_string() == "random");
  // Random relevance knows no weights.
  CHECK(last.at("scores").at("mprt").at("value").at("mean").as_double() == Approx(1));
  CHECK(last.at("scores").at("deletion").at("against_random").is_null());
  CHECK(!last.at("scores").at("deletion").at("against_first").is_null());

  // The same bits with other threads; a smaller batch changes the order of no sum of ours.
  std::vector<std::string> again = asked;
  again.insert(again.end(), {"--threads", "1"});
  REQUIRE(score(again).code == 0);
  CHECK(io::read_text(folder.path("scored/scores.csv")) == csv);

  check_refusal(score({"--score", "pointing"}), 2, "--score pointing: needs masks of objects");
  check_refusal(score({"--score", "sufficiency"}), 2, "needs texts; the network reads images");
  check_refusal(score({"--score", "deletoin"}), 2, "deletion");
  check_refusal(score({"--score", "saco", "--option", "deletion.step=4"}), 2,
                "deletion is not among the scores");
  check_refusal(score({"--score", "saco", "--input", "3"}), 2, "looks at samples of a split");
  check_refusal(run_cli("explain", {run, "--limit", "3"}), 2, "--score");
  check_refusal(run_cli("explain", {run}), 2, "expected --method");
}

TEST_CASE("explain: scores under noise, and over seeds", "[cli]") {
  const TestFolder folder("cli-explain-seeds");
  const auto vit = [&](const std::string& name, int seed, const std::string& attention) {
    return trained(folder, fmt::format("{}-{}", name, seed),
                   fmt::format(R"({{"name": "{}", "seed": {},
      "dataset": {{"type": "digits", "root": "{}/datasets/digits",
                   "limit": {{"train": 64, "test": 20}}}},
      "model": {{"type": "vit", "patch_size": 2, "embed_dim": 16, "depth": 1,
                 "attention": {{"type": "{}", "num_heads": 2}}}},
      "train": {{"epochs": 1, "batch_size": 32}}}})",
                               name, seed, source_dir(), attention));
  };
  const std::string first = vit("soft", 1, "softmax"), second = vit("soft", 2, "softmax"),
                    other = vit("diff", 1, "differential");
  const auto score = [&](std::vector<std::string> words) {
    words.insert(words.end(),
                 {"--score", "saco,effective", "--method", "rollout,centre", "--limit", "7",
                  "--random-seeds", "2", "--out", folder.path("scored").string()});
    return run_cli("explain", words);
  };
  const CliResult made = score({first, second, other});
  INFO(made.err);
  REQUIRE(made.code == 0);
  CHECK_THAT(made.out, Catch::Contains("soft: rollout ") && Catch::Contains("diff: centre ") &&
                           Catch::Contains("Over up to 2 runs") &&
                           Catch::Contains("with 2 runs p is 0.5 at best, 6 are needed"));
  const auto record = [&] {
    return schema::parse(io::read_text(folder.path("scored/scores.json")), "scores.json");
  };
  const schema::Value clean = record();
  REQUIRE(clean.at("over_seeds").size() == 6);
  CHECK(clean.at("over_seeds").at(0).at("runs").as_int() == 2);
  CHECK(clean.at("noise").is_null());
  const CliResult noisy = score({first, "--noise", "gaussian", "--level", "0.4"});
  INFO(noisy.err);
  REQUIRE(noisy.code == 0);
  CHECK_THAT(noisy.out, Catch::Contains("7 of 20 samples of test under gaussian 0.4"));
  CHECK(record().at("noise").at("type").as_string() == "gaussian");
  const auto saco = [](const schema::Value& of) {
    return of.at("rows").at(0).at("scores").at("saco").at("value").at("mean").as_double();
  };
  CHECK(saco(record()) != saco(clean));

  check_refusal(score({first, "--noise", "gausian"}), 2, "gaussian");
  check_refusal(score({first, "--noise", "gaussian", "--level", "1.5"}), 2, "level");
  check_refusal(score({first, "--level", "0.5"}), 2, "--noise");
}

TEST_CASE("explain: volumes by windows, as slices and as numbers", "[cli]") {
  const TestFolder folder("cli-explain-volumes");
  const std::string run = folder.path("dformer").string();
  const CliResult trained =
      run_cli("train", {source_dir() + "/experiments/smoke/dformer.json", "--set", "train.epochs=1",
                        "--set", "dataset.train_size=2", "--out", run, "--quiet"});
  INFO(trained.err);
  REQUIRE(trained.code == 0);
  const auto explain = [&](std::vector<std::string> words) {
    words.insert(words.begin(), run);
    words.insert(words.end(), {"--out", folder.path("explained").string()});
    return run_cli("explain", words);
  };
  const CliResult made =
      explain({"--input", "1", "--method", "generic_attention,grad_cam,raw_attention", "--option",
               "raw_attention.layer=model_down.layers.1", "--page"});
  INFO(made.err);
  REQUIRE(made.code == 0);
  CHECK_THAT(made.out, Catch::Contains("explain-smoke_dformer-"));
  const TensorFile maps = read_safetensors(folder.path("explained/maps.safetensors"), cpu());
  REQUIRE(maps.tensors.size() == 3);
  for (const auto& [name, map] : maps.tensors) {
    INFO(name);
    CHECK(map.shape().rank() == 3);
    if (name.find("/generic_attention/") != std::string::npos) CHECK(map.shape() == Shape{8, 8, 8});
    if (name.find("/raw_attention/") != std::string::npos) CHECK(map.shape() == Shape{4, 4, 4});
  }
  CHECK(maps.metadata.size() == 2);
  CHECK_THAT(io::read_text(folder.path("explained/explain.html")),
             Catch::Contains("what spoke for ") &&
                 Catch::Contains(R"("name":"generic_attention")") &&
                 Catch::Contains(R"("begins_with_maps":true)"));
  CHECK_THAT(io::read_text(folder.path("explained/relevance.csv")),
             Catch::Contains("run,method,input,target,slice,row,column,word,relevance\n"));
  const CliResult pixels =
      explain({"--input", "0", "--method", "gradient_x_input", "--region", "3,4,5"});
  INFO(pixels.err);
  REQUIRE(pixels.code == 0);
  check_refusal(explain({"--input", "0", "--method", "rollout", "--region", "3,4"}), 2,
                "expected SLICE,ROW,COLUMN");
  check_refusal(explain({"--input", "0", "--method", "rollout", "--region", "99,4,5"}), 2,
                "--region 99,4,5: lies outside");
}
