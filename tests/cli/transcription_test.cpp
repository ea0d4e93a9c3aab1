// The real programs on a small Conformer: train, stop and resume, eval with a beam, predict.
#include <catch2/catch.hpp>

#include <csignal>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "data/files/sound_file.h"
#include "tests/data/sounds.h"
#include "tests/support/paths.h"
#include "tests/support/run_cli.h"

using namespace fovea;
using namespace fovea::test;
using nlohmann::json;

namespace {

std::vector<std::string> train_command(const TestFolder& folder, const std::string& run) {
  return {source_dir() + "/experiments/smoke/conformer.json",
          "--out",
          folder.path(run).string(),
          "--quiet",
          "--set",
          "train.epochs=3",
          "--set",
          "model.drop_rate=0.1",
          "--set",
          R"(dataset.augment=["spec_augment"])"};
}

}  // namespace

TEST_CASE("transcription: train, stop and resume, eval and predict", "[cli]") {
  const TestFolder folder("cli-transcription");
  const CliResult trained = run_cli("train", train_command(folder, "run"));
  INFO(trained.err);
  REQUIRE(trained.code == 0);
  const std::string run = folder.path("run").string();
  const json summary = json::parse(io::read_text(folder.path("run") / "summary.json"));
  for (const char* name : {"loss", "wer", "cer"}) CHECK(summary["metrics"]["test"].contains(name));
  CHECK(io::fs::exists(folder.path("run") / "vocabulary.txt"));

  int kills = 0;
  CliResult last{};
  for (int attempt = 0; attempt < 20; ++attempt) {
    std::vector<std::string> words = train_command(folder, "killed");
    words.insert(words.end(), {"--set", "train.checkpoint_every_steps=1"});
    if (io::fs::exists(folder.path("killed/config.json"))) words.emplace_back("--resume");
    const double wait = kills < 2 ? 0.2 + 0.2 * attempt : 0;
    last = run_cli("train", words, {.signal_after_s = wait, .signal = SIGKILL});
    if (last.code == 0) break;
    if (last.code != 128 + SIGKILL) FAIL(last.err);
    ++kills;
  }
  REQUIRE(last.code == 0);
  CHECK(io::read_text(checkpoint_of(folder.path("run")) / "model.safetensors") ==
        io::read_text(checkpoint_of(folder.path("killed")) / "model.safetensors"));

  const CliResult scored = run_cli(
      "eval", {run, "--set", "eval.decoding.beam_width=4", "--set", "eval.decoding.ngram_order=2"});
  INFO(scored.err);
  REQUIRE(scored.code == 0);
  CHECK_THAT(scored.out, Catch::Contains("wer") && Catch::Contains("substituted") &&
                             Catch::Contains("perplexity"));
  const std::string table = io::read_text(folder.path("run/eval/test/transcripts.csv"));
  CHECK_THAT(table, Catch::StartsWith("index,name,seconds,reference,hypothesis,wer,cer\n"));

  if (data::sndfile_version().empty()) return;
  const std::string sound = folder.write(
      "beep.wav", data::test::wav_bytes(data::test::tone_samples(660, 16000, 8000), 16000));
  const CliResult predicted =
      run_cli("predict", {run, sound, "--out", folder.path("text").string(), "--quiet"});
  INFO(predicted.err);
  REQUIRE(predicted.code == 0);
  const std::string rows = io::read_text(folder.path("text/predictions.csv"));
  CHECK_THAT(rows, Catch::StartsWith("name,file,text\nbeep,"));
}

TEST_CASE("transcription: decoding belongs to it alone", "[cli]") {
  const TestFolder folder("cli-decoding");
  const CliResult refused =
      run_cli("train", {source_dir() + "/experiments/smoke/vit.json", "--dry-run", "--set",
                        "eval.decoding.beam_width=4", "--set",
                        "dataset.root=" + source_dir() + "/datasets/digits", "--out",
                        folder.path("run").string()});
  CHECK(refused.code == 2);
  CHECK_THAT(refused.err, Catch::Contains("eval.decoding"));
}
