// The real programs on texts.
#include <catch2/catch.hpp>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include <sstream>

#include "base/file.h"
#include "tests/cli/refusal.h"
#include "tests/support/paths.h"
#include "tests/support/run_cli.h"

using namespace fovea;
using namespace fovea::test;
using nlohmann::json;

namespace {

// Texts of 2 to 8 words; one of them tells the class.
std::string table(int rows) {
  std::string text = "label,text\n";
  for (int i = 0; i < rows; ++i) {
    text += i % 2 == 0 ? "yes,good" : "no,bad";
    for (int k = 0; k <= i * 5 % 7; ++k) text += fmt::format(" w{}", (i * 3 + k * k) % 11);
    text += "\n";
  }
  return text;
}

// An experiment of a second; writes its data too.
std::string tiny(const TestFolder& folder, const std::string& more = "") {
  io::make_directories(folder.path("data"));
  folder.write("data/train.csv", table(80));
  folder.write("data/test.csv", table(20));
  return folder.write("tiny.json", fmt::format(R"({{"name": "tiny", "task": "text_classification",
  "dataset": {{"type": "text_csv", "root": "{}", "split": {{"val": 0.2}}}},
  "model": {{"type": "dgt", "embed_dim": 16, "depth": 1, "attention": {{"num_heads": 2}},
             "ffn": {{"expansion": 2}}}},
  "optimizer": {{"type": "adamw", "lr": 1e-2}},
  "train": {{"epochs": 4, "batch_size": 16}}{}}})",
                                               folder.path("data").string(), more));
}

}  // namespace

TEST_CASE("texts: train, eval, inspect", "[cli]") {
  const TestFolder folder("cli-text");
  const std::string experiment = tiny(folder);
  const std::string run = folder.path("run").string();
  const CliResult trained = run_cli("train", {experiment, "--out", run, "--json"});
  INFO(trained.err);
  REQUIRE(trained.code == 0);
  const json summary = json::parse(trained.out);
  CHECK(summary["metrics"]["test"]["top1"].get<double>() > 80);
  CHECK(summary["vocab_size"] == 15);

  const CliResult scored = run_cli("eval", {run, "--noise", "all", "--level", "0.3", "--json"});
  REQUIRE(scored.code == 0);
  const json score = json::parse(scored.out);
  CHECK(score["name"] == "tiny");
  CHECK(score["metrics"]["top1"] == summary["metrics"]["test"]["top1"]);
  CHECK(score["robustness"]["by_type"].size() == 5);
  CHECK_THAT(io::read_text(folder.path("run/eval/test/predictions.csv")),
             Catch::Contains("test.csv:2,") && Catch::Contains("test.csv,yes,1,"));
  check_refusal(run_cli("eval", {run, "--noise", "gaussian"}), 2, "known: insert, replace");
  const std::string nowhere = folder.path("nowhere").string();
  check_refusal(run_cli("eval", {run, "--no-noise", "--save", "logit", "--out", nowhere}), 2,
                "did you mean \"logits\"");
  CHECK_FALSE(io::fs::exists(nowhere));
  const std::string plot = folder.path("robustness.svg").string();
  const CliResult report = run_cli("inspect", {"robustness", run, "--out", plot});
  CHECK(report.code == 0);
  CHECK_THAT(report.out, Catch::Contains("retention") && Catch::Contains("tiny"));
  CHECK(io::fs::exists(folder.path("robustness.csv")));
  check_refusal(run_cli("inspect", {"robustness", run, run, "--out", plot}), 2,
                "name every run once");

  // Evaluation takes the words of the checkpoint, whatever train says now.
  folder.write("data/train.csv", table(80) + "no,fresh fresh fresh\n");
  const CliResult again = run_cli("eval", {run, "--no-noise", "--json"});
  REQUIRE(again.code == 0);
  CHECK(json::parse(again.out)["metrics"] == score["metrics"]);
  // What was measured under noise on these weights stays; other weights have a file of their own.
  CHECK(json::parse(again.out)["noise"] == score["noise"]);
  CHECK(json::parse(io::read_text(folder.path("run/eval/test/results.json")))["robustness"] ==
        score["robustness"]);
  check_refusal(run_cli("train", {"--resume", "--out", run, "--quiet"}), 1,
                "vocabulary.txt: does not fit the data set");
  const auto words = checkpoint_of(run) / "vocabulary.txt";
  io::write_atomic(words, "<pad>\n<unk>\n");
  check_refusal(run_cli("eval", {run, "--checkpoint", "last"}), 1, "vocabulary.txt");

  const CliResult cost = run_cli("inspect", {experiment, "--set", "dataset.max_len=32", "--json"});
  REQUIRE(cost.code == 0);
  CHECK(json::parse(cost.out)["macs"].get<std::int64_t>() > 0);
  CHECK(run_cli("inspect", {experiment, "--profile"}).code == 0);
}

TEST_CASE("texts: attention of several runs as pictures and as a page", "[cli]") {
  const TestFolder folder("cli-text-attention");
  const std::string experiment = tiny(folder);
  const auto trained = [&](const std::string& name, const std::vector<std::string>& settings) {
    std::vector<std::string> arguments = {experiment, "--out",       folder.path(name).string(),
                                          "--quiet",  "--set",       "train.epochs=1",
                                          "--set",    "name=" + name};
    for (const std::string& s : settings) arguments.insert(arguments.end(), {"--set", s});
    REQUIRE(run_cli("train", arguments).code == 0);
    return folder.path(name).string();
  };
  const std::string dgt = trained("dgt", {});
  // Cuts texts into other words, and has a class token.
  const std::string plain = trained(
      "plain", {"model.type=transformer", "dataset.tokeniser=word", "model.global_pool=token"});
  const std::string out = folder.path("maps").string();
  const CliResult drawn = run_cli("visualise-attention", {dgt, plain, "--input", "3", "--text",
                                                          "a good, unheard-of w3", "--out", out});
  INFO(drawn.err);
  REQUIRE(drawn.code == 0);
  CHECK_THAT(drawn.out, Catch::Contains("3: no") && Catch::Contains("text 1"));
  for (const char* name : {"rollout-3.png", "rollout-text-1.png"})
    CHECK(io::read_text(folder.path("maps") / name).substr(1, 3) == "PNG");
  const std::string weights = io::read_text(folder.path("maps/weights.csv"));
  CHECK_THAT(weights, Catch::Contains("dgt,text 1,") && Catch::Contains(",3,unheard-of,") &&
                          Catch::Contains(",2,\",\",") && Catch::Contains(",2,unheard,"));
  const std::string page = io::read_text(folder.path("maps/explorer.html"));
  CHECK_THAT(page, Catch::Contains("maps-1-1") && Catch::Contains("words unknown") &&
                       Catch::Contains("\"unheard\"") && Catch::Contains("\\u003ccls>"));
  CHECK(io::fs::exists(folder.path("maps/maps.safetensors")));

  const auto refuses = [&](const std::vector<std::string>& arguments, const std::string& message) {
    std::vector<std::string> all = {dgt, "--out", folder.path("none").string()};
    all.insert(all.end(), arguments.begin(), arguments.end());
    check_refusal(run_cli("visualise-attention", all), 2, message);
    CHECK_FALSE(io::fs::exists(folder.path("none")));
  };
  refuses({"--input", "20"}, "the split has 20 samples");
  refuses({"--input", "cat.png"}, "give words with --text");
  refuses({"--text", "  "}, "holds no word");
  refuses({"--heads"}, "reads texts, of which text_rollout is drawn");
  refuses({"--pca"},
          "dgt reads texts; expected a network of images; figures that fit it: text_rollout");
}

TEST_CASE("texts: predict on texts of one's own", "[cli]") {
  const TestFolder folder("cli-text-predict");
  const std::string run = folder.path("run").string();
  REQUIRE(run_cli("train", {tiny(folder), "--out", run, "--quiet"}).code == 0);
  REQUIRE(run_cli("eval", {run, "--no-noise"}).code == 0);
  const auto predict = [&](const std::string& out, const std::vector<std::string>& more, int code) {
    std::vector<std::string> words = {run, "--out", folder.path(out).string(), "--quiet"};
    words.insert(words.end(), more.begin(), more.end());
    const CliResult predicted = run_cli("predict", words);
    INFO(predicted.err);
    REQUIRE(predicted.code == code);
    return predicted;
  };
  // The table of the test part, as eval predicts it.
  predict("table", {folder.path("data/test.csv").string()}, 0);
  const auto predictions = [](const std::string& table) {
    std::vector<std::string> found;
    std::istringstream lines(table);
    for (std::string line; std::getline(lines, line);) {
      std::vector<std::string> cells;
      std::istringstream rest(line);
      for (std::string cell; std::getline(rest, cell, ',');) cells.push_back(cell);
      found.push_back(cells.at(0) == "name" ? "" : cells.at(4) + cells.at(7));
    }
    return found;
  };
  const std::string table = io::read_text(folder.path("table/predictions.csv"));
  CHECK_THAT(table, Catch::Contains("\ntest.csv:2,"));
  CHECK(predictions(table) ==
        predictions(io::read_text(folder.path("run/eval/test/predictions.csv"))));

  // Batches of one share no padding.
  predict("one", {folder.path("data/test.csv").string(), "--batch-size", "1"}, 0);
  CHECK(predictions(io::read_text(folder.path("one/predictions.csv"))) == predictions(table));

  const std::string lines = folder.write("a.txt", "good w1\n\nbad w2 w3\n");
  const std::string objects = folder.write("b.jsonl", "{\"review\": \"bad w1\"}\n{\"stars\": 1}\n");
  const CliResult mixed =
      predict("mixed", {"--text", "good, good", lines, "--format", "jsonl", "--probabilities"}, 0);
  std::istringstream rows(io::read_text(folder.path("mixed/predictions.jsonl")));
  std::vector<json> read;
  for (std::string line; std::getline(rows, line);) read.push_back(json::parse(line));
  REQUIRE(read.size() == 3);
  CHECK(read[0]["name"] == "text 1");
  CHECK(read[0]["prediction"] == "yes");
  CHECK(read[1]["name"] == "a.txt:1");
  CHECK(read[2]["name"] == "a.txt:3");
  CHECK(read[2]["prediction"] == "no");
  CHECK(read[2]["index"] == 2);
  CHECK(read[2]["probabilities"]["no"] == read[2]["probability"]);

  const CliResult partly = predict("partly", {objects, "--column", "review"}, 1);
  CHECK_THAT(partly.err, Catch::Contains("b.jsonl:2:1: "));
  CHECK_THAT(partly.out, Catch::StartsWith("1 of 2 predicted by "));

  const std::string piped = "printf 'good\\nbad\\n' | '" + bin_dir() + "/predict' '" + run +
                            "' - --quiet --out '" + folder.path("piped").string() + "'";
  REQUIRE(run_cli("/bin/sh", {"-c", piped}).code == 0);
  CHECK_THAT(io::read_text(folder.path("piped/predictions.csv")),
             Catch::Contains("\nstdin:1,-,,,yes,") && Catch::Contains("\nstdin:2,-,,,no,"));
  check_refusal(run_cli("predict", {run, folder.path("data/test.csv").string(), "--column", "txt",
                                    "--out", folder.path("none").string()}),
                1, "has no column \"txt\"; did you mean \"text\"?");
  CHECK_FALSE(io::fs::exists(folder.path("none")));
}

TEST_CASE("texts: the same bits for any number of threads, in both precisions", "[cli]") {
  const TestFolder folder("cli-text-threads");
  const std::string experiment = tiny(folder);
  const std::string precision = GENERATE("float32", "bfloat16");
  std::string first;
  for (const char* threads : {"1", "3"}) {
    const std::string run = folder.path(precision + threads).string();
    REQUIRE(run_cli("train", {experiment, "--out", run, "--threads", threads, "--set",
                              "train.precision=" + precision, "--quiet"})
                .code == 0);
    const std::string weights = io::read_text(checkpoint_of(run) / "model.safetensors");
    if (first.empty()) first = weights;
    CHECK(weights == first);
  }
}

TEST_CASE("texts: what does not fit is refused in one line and leaves nothing", "[cli]") {
  const TestFolder folder("cli-text-bad");
  const std::string experiment = tiny(folder);
  const std::string out = folder.path("run").string();
  const auto refuses = [&](const std::string& setting, const std::string& message, int code = 2) {
    check_refusal(run_cli("train", {experiment, "--out", out, "--set", setting}), code, message);
    CHECK_FALSE(io::fs::exists(out));
  };
  refuses("task=image_classification", "dataset.type text_csv holds texts");
  refuses("model.type=vit", "model.type vit is an image classifier");
  refuses("task=text_clasification", "did you mean \"text_classification\"?");
  refuses("model.vocab_size=7", "the vocabulary has 15 words");
  refuses("dataset.root=/nonexistent", "train.csv: not found", 1);
  refuses("dataset.label_column=class", "has no column \"class\"", 1);
  refuses("dataset.tokenizer=word", "did you mean");
  folder.write("data/train.csv", "label,text\nyes,good\nno,\"bad\n");
  refuses("seed=1", "train.csv:3: the quote that opens a field", 1);
  folder.write("data/train.csv", "label,text\nyes,good\nyes,good\nno,...\nno,\n");
  refuses("dataset.min_freq=1", "train.csv:5: holds no word", 1);
}

TEST_CASE("texts: ablate trains every family", "[cli]") {
  const TestFolder folder("cli-text-ablate");
  tiny(folder);
  const std::string file = folder.write("ablation.json", R"({"name": "families",
    "base": "tiny.json", "metrics": ["test_top1"], "set": {"train.epochs": 1},
    "rows": [{"name": "Transformer", "set": {"model.type": "transformer"}},
             {"name": "DIFF", "set": {"model.type": "diff_transformer"}}, {"name": "DGT"}]})");
  const CliResult result =
      run_cli("ablate", {file, "--out", folder.path("sweep").string(), "--json"});
  INFO(result.err);
  REQUIRE(result.code == 0);
  CHECK(json::parse(result.out).size() == 3);
}
