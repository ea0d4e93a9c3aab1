// The real programs on a language model.
#include <catch2/catch.hpp>

#include <fmt/format.h>

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "data/streams/sentence_pieces.h"
#include "tests/cli/refusal.h"
#include "tests/support/paths.h"
#include "tests/support/run_cli.h"

using namespace fovea;
using namespace fovea::test;
using nlohmann::json;

namespace {

std::string verse(int lines) {
  std::string text;
  for (int i = 0; i < lines; ++i) text += i % 3 == 0 ? "the cat sat\n" : "the dog ran\n";
  return text;
}

// An experiment of a second; writes its data too.
std::string tiny_language(const TestFolder& folder, const std::string& tokeniser,
                          const std::string& attention) {
  io::make_directories(folder.path("data"));
  folder.write("data/text.txt", verse(120));
  return folder.write("tiny.json", fmt::format(R"({{"name": "tiny", "task": "language_modelling",
  "dataset": {{"type": "text_stream", "root": "{}", "context": 24, "split": {{"val": 0.1, "test": 0.1}},
               "tokeniser": {}}},
  "model": {{"type": "language_model", "embed_dim": 16, "depth": 2, "hidden_dim": 16,
             "attention": {{"type": "{}", "num_heads": 2}}}},
  "optimizer": {{"type": "adamw", "lr": 2e-2}},
  "train": {{"steps": 60, "batch_size": 8, "eval_every_steps": 20}}}})",
                                               folder.path("data").string(), tokeniser, attention));
}

}  // namespace

TEST_CASE("language: train, eval, generate, inspect, bench", "[cli]") {
  const TestFolder folder("cli-language");
  const std::string experiment = tiny_language(folder, "\"byte\"", "mala");
  const std::string run = folder.path("run").string();
  const CliResult trained = run_cli("train", {experiment, "--out", run, "--json"});
  INFO(trained.err);
  REQUIRE(trained.code == 0);
  const json summary = json::parse(trained.out);
  CHECK(summary["metrics"]["test"]["bits_per_byte"].get<double>() < 2);

  const CliResult scored = run_cli("eval", {run, "--json"});
  INFO(scored.err);
  REQUIRE(scored.code == 0);
  CHECK(json::parse(scored.out)["metrics"] == summary["metrics"]["test"]);
  CHECK_THAT(io::read_text(folder.path("run/eval/test/loss_by_place.csv")),
             Catch::Contains("place,tokens,loss"));

  const CliResult inspected = run_cli("inspect", {experiment, "--json"});
  INFO(inspected.err);
  REQUIRE(inspected.code == 0);
  CHECK(json::parse(inspected.out)["parameters"] == summary["parameters"]);
  const CliResult timed = run_cli("bench", {experiment, "--json", "--steps", "2"});
  INFO(timed.err);
  CHECK(timed.code == 0);
  const CliResult decoded = run_cli("bench", {experiment, "--json", "--decode", "16"});
  INFO(decoded.err);
  REQUIRE(decoded.code == 0);
  // Of both layers and heads: products (8, 8), sums of keys and of values (8), in float32.
  CHECK(json::parse(decoded.out)["state_bytes"] == 2 * 2 * (8 * 8 + 8 + 8) * 4);
  CHECK(json::parse(decoded.out)["last_cpu_ms_per_token"] > 0);
  const CliResult alone =
      run_cli("bench", {experiment, "--json", "--steps", "1", "--attention-only", "--tokens", "9"});
  INFO(alone.err);
  CHECK(alone.code == 0);

  // The run alone is enough to write.
  io::fs::remove_all(folder.path("data"));
  const std::vector<std::string> words = {"generate", run,  "--prompt", "the c",
                                          "--tokens", "40", "--seed",   "3"};
  const std::vector<std::string> rest(words.begin() + 1, words.end());
  const CliResult written = run_cli("generate", rest);
  INFO(written.err);
  REQUIRE(written.code == 0);
  CHECK(written.out.substr(0, 5) == "the c");
  CHECK(written.out.size() == 5 + 40 + 1);
  CHECK(run_cli("generate", rest).out == written.out);
  std::vector<std::string> other = rest;
  other.back() = "4";
  CHECK(run_cli("generate", other).out != written.out);
  std::vector<std::string> greedy = rest;
  greedy.insert(greedy.end(), {"--temperature", "0", "--json"});
  const CliResult said = run_cli("generate", greedy);
  REQUIRE(said.code == 0);
  const json record = json::parse(said.out);
  // Nothing is drawn, so the seed means nothing.
  *(std::find(greedy.begin(), greedy.end(), "--seed") + 1) = "8";
  CHECK(json::parse(run_cli("generate", greedy).out)["text"] == record["text"]);
  CHECK(record["tokens"] == 40);
  CHECK(record["prompt_tokens"] == 5);
  check_refusal(run_cli("generate", {run, "--top-p", "0"}), 2, "above 0, at most 1");
  check_refusal(run_cli("generate", {run, "--samples", "3"}), 2, "are of generators of images");
  check_refusal(run_cli("generate", {folder.path("none").string()}), 1, "none");
}

TEST_CASE("language: byte pairs, words and pieces go with the run", "[cli]") {
  std::vector<std::string> tokenisers = {R"({"type": "bpe", "vocab_size": 270})", "\"word\""};
  if (data::has_sentencepiece())
    tokenisers.push_back(
        fmt::format(R"({{"type": "sentencepiece", "model": "{}"}})",
                    source_dir() + "/tests/fixtures/sentencepiece/byte_pairs.model"));
  for (const std::string& tokeniser : tokenisers) {
    INFO(tokeniser);
    const TestFolder folder("cli-language-tokens");
    const std::string experiment = tiny_language(folder, tokeniser, "softmax");
    const std::string run = folder.path("run").string();
    const CliResult trained = run_cli("train", {experiment, "--out", run, "--json"});
    INFO(trained.err);
    REQUIRE(trained.code == 0);
    CHECK(json::parse(trained.out)["metrics"]["test"]["perplexity"].get<double>() < 20);
    CHECK(io::fs::exists(folder.path("run/tokeniser.json")));
    io::fs::remove_all(folder.path("data"));
    const CliResult written = run_cli("generate", {run, "--prompt", "the", "--tokens", "9"});
    INFO(written.err);
    REQUIRE(written.code == 0);
    CHECK(written.out.starts_with("the"));
  }
}

TEST_CASE("language: questions are put to a run", "[cli]") {
  const TestFolder folder("cli-language-questions");
  const std::string experiment = tiny_language(folder, "\"byte\"", "softmax");
  const std::string run = folder.path("run").string();
  const std::string lambada = folder.write("words.jsonl", "{\"text\": \"the cat sat\"}\n");
  folder.write("goals.jsonl", "{\"goal\": \"rest\", \"sol1\": \"sat\", \"sol2\": \"zzz\"}\n");
  folder.write("goals.lst", "0\n");
  const CliResult trained =
      run_cli("train", {experiment, "--out", run, "--json", "--set",
                        "eval.questions=[{\"type\": \"lambada\", \"file\": \"" + lambada + "\"}]"});
  INFO(trained.err);
  REQUIRE(trained.code == 0);
  const json summary = json::parse(trained.out);
  CHECK(summary["metrics"]["test"].contains("lambada_acc"));
  CHECK(summary["metrics"]["test"]["lambada_perplexity"].get<double>() > 1);
  const std::string sets = fmt::format(
      R"(eval.questions=[{{"type": "lambada", "file": "{}"}}, {{"type": "piqa", "file": "{}", "labels": "{}"}}])",
      lambada, folder.path("goals.jsonl").string(), folder.path("goals.lst").string());
  const CliResult scored = run_cli("eval", {run, "--json", "--set", sets});
  INFO(scored.err);
  REQUIRE(scored.code == 0);
  const json result = json::parse(scored.out);
  CHECK(result["metrics"]["lambada_perplexity"] ==
        summary["metrics"]["test"]["lambada_perplexity"]);
  CHECK(result["metrics"].contains("piqa_acc_norm"));
  CHECK(result["questions"]["piqa"]["cut_contexts"] == 2);
  folder.write("goals.jsonl", "{\"goal\": \"rest\", \"sol1\": \"sat\"}\n");
  check_refusal(run_cli("eval", {run, "--set", sets}), 1, "goals.jsonl, line 1: ");
}

TEST_CASE("language: what writes no text is refused", "[cli]") {
  const TestFolder folder("cli-language-refused");
  const std::string run = folder.path("run").string();
  const std::string root = source_dir();
  REQUIRE(run_cli("train",
                  {root + "/experiments/smoke/vit.json", "--out", run, "--set", "train.steps=1",
                   "--set", "dataset.root=" + root + "/datasets/digits", "--quiet"})
              .code == 0);
  check_refusal(run_cli("generate", {run}), 2,
                "which makes nothing; expected a run of generation or language_modelling");
}
