// visualise-attention on runs that hear recordings, go on with texts and make images.
#include <catch2/catch.hpp>

#include <fmt/format.h>

#include "base/file.h"
#include "data/files/pictures/image_file.h"
#include "tests/cli/refusal.h"
#include "tests/data/sounds.h"
#include "tests/support/paths.h"
#include "tests/support/run_cli.h"

using namespace fovea;
using namespace fovea::test;

namespace {

// A smoke experiment, a few steps of it.
std::string trained(const TestFolder& folder, const std::string& name,
                    const std::vector<std::string>& settings) {
  const std::string run = folder.path(name).string();
  std::vector<std::string> words{source_dir() + "/experiments/smoke/" + name + ".json", "--out",
                                 run, "--quiet"};
  for (const std::string& setting : settings) words.insert(words.end(), {"--set", setting});
  const CliResult result = run_cli("train", words);
  INFO(result.err);
  REQUIRE(result.code == 0);
  return run;
}

CliResult drawn(std::vector<std::string> words, const io::fs::path& out) {
  words.insert(words.end(), {"--out", out.string()});
  const CliResult result = run_cli("visualise-attention", words);
  INFO(result.err);
  CHECK(result.code == 0);
  return result;
}

}  // namespace

TEST_CASE("visualise-attention: recordings of a split and of files", "[cli]") {
  const TestFolder folder("cli-speech-figure");
  const std::string run =
      trained(folder, "conformer", {"train.steps=2", "dataset.train_size=16", "name=\"ear\""});
  const io::fs::path sound = folder.path("tone.wav");
  data::test::write_sound(sound,
                          data::test::wav_bytes(data::test::tone_samples(500, 8000, 8000), 8000));
  const io::fs::path out = folder.path("out");
  const CliResult result = drawn({run, "--input", "1", "--input", sound.string()}, out);
  CHECK_THAT(result.out, Catch::Contains("heard \""));
  for (const char* name : {"speech-ear-1.png", "speech-ear-tone.wav.png"}) {
    const data::Image seen = data::read_image(out / name, 3);
    CHECK(seen.width > 900);
    CHECK(seen.height > 600);
  }
  CHECK(io::read_text(out / "symbols.csv")
            .starts_with("run,input,path,symbol,begin_s,end_s,peak_s,probability\n"));
  CHECK(io::fs::exists(out / "maps.safetensors"));
  // It is what is drawn without a name, and other figures say so.
  check_refusal(run_cli("visualise-attention", {run, "--figure", "rollout", "--out", "x"}), 2,
                "conformer reads recordings; expected a network of images whose blocks attend on "
                "one grid of patches; figures that fit it: speech");
  check_refusal(run_cli("visualise-attention", {run, "--text", "yes", "--out", "x"}), 2,
                "--text: conformer reads recordings; give --input");

  const CliResult survey =
      run_cli("inspect", {"dataset", source_dir() + "/experiments/smoke/conformer.json"});
  CHECK_THAT(survey.out, Catch::Contains("together, features at 8000 Hz") &&
                             Catch::Contains("the vocabulary has 6") &&
                             !Catch::Contains("foreground") && !Catch::Contains("classes"));
}

TEST_CASE("visualise-attention: a prompt, what follows and what for", "[cli]") {
  const TestFolder folder("cli-next-token");
  const std::string run =
      trained(folder, "language",
              {"train.steps=2", "dataset.root=" + source_dir() + "/docs", "name=\"writer\""});
  const io::fs::path out = folder.path("out");
  const CliResult result =
      drawn({run, "--text", "the runs", "--input", "0", "--length", "12", "--tokens", "3"}, out);
  CHECK_THAT(result.out, Catch::Contains("text 1") && Catch::Contains("next “"));
  for (const char* name : {"next-text-1.png", "triangle-writer-text-1.png", "next-0.png",
                           "triangle-writer-0.png", "explorer.html", "maps.safetensors"}) {
    INFO(name);
    CHECK(io::fs::exists(out / name));
  }
  // Eight bytes of the prompt and two that were written before the one that is explained.
  const std::string csv = io::read_text(out / "weights.csv");
  CHECK_THAT(csv, Catch::Contains("writer,text 1,9,") && !Catch::Contains("writer,text 1,10,"));
  CHECK_THAT(csv, Catch::Contains("writer,sample 0,13,") && !Catch::Contains("sample 0,14,"));
  drawn({run, "--text", "the runs", "--token", "3", "--no-explorer"}, folder.path("third"));
  CHECK_THAT(io::read_text(folder.path("third/weights.csv")),
             Catch::Contains("writer,text 1,4,r,,,"));  // it does not see what follows
  CHECK_FALSE(io::fs::exists(folder.path("third/explorer.html")));
  check_refusal(
      run_cli("visualise-attention", {run, "--text", "runs", "--token", "4", "--out", "x"}), 2,
      "--token 4: text 1 has 4 tokens, counted from 0");
  check_refusal(run_cli("visualise-attention", {run, "--input", "cat.jpg", "--out", "x"}), 2,
                "--input cat.jpg: expected the number of a sample of the split");
}

TEST_CASE("visualise-attention: steps in which an image is made", "[cli]") {
  const TestFolder folder("cli-denoising");
  const std::string run =
      trained(folder, "dit",
              {"train.steps=2", "dataset.root=" + source_dir() + "/datasets/digits",
               "eval.sampler.steps=\"6\"", "eval.samples=0", "dataset.limit={\"test\":20}"});
  const io::fs::path out = folder.path("out");
  drawn({run, "--input", "3", "--scale", "image"}, out);
  const data::Image four = data::read_image(out / "denoising-smoke_dit-3.png", 3);
  drawn({run, "--input", "3", "--steps", "2", "--query", "0,0"}, folder.path("two"));
  const data::Image two = data::read_image(folder.path("two/denoising-smoke_dit-3.png"), 3);
  CHECK(four.width > two.width + 2 * 150);
  drawn({run, "--steps", "1"}, folder.path("standard"));
  for (const char* label : {"0", "1", "2"})
    CHECK(
        io::fs::exists(folder.path("standard") / fmt::format("denoising-smoke_dit-{}.png", label)));
  check_refusal(run_cli("visualise-attention", {run, "--input", "ten", "--out", "x"}), 2,
                "--input ten: no class of the run's data");
  check_refusal(run_cli("visualise-attention", {run, "--steps", "6", "--out", "x"}), 2,
                "--steps 6: the run's sampler makes 6 steps; expected 1 to 5");
  check_refusal(run_cli("visualise-attention", {run, "--figure", "scores", "--out", "x"}), 2,
                "reads noise, of which it makes images");
}
