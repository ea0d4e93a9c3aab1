// A run is copied to another place and its data are gone: programs say the same of files that
// belong to no data set, byte for byte.
#include <catch2/catch.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "data/files/pictures/image_file.h"
#include "data/files/sound_file.h"
#include "tests/cli/refusal.h"
#include "tests/data/nifti_files.h"
#include "tests/data/sounds.h"
#include "tests/support/paths.h"
#include "tests/support/run_cli.h"
#include "training/store/checkpoint_folder.h"

using namespace fovea;
using namespace fovea::test;

namespace {

using Words = std::vector<std::string>;

// Programs without their run, which is put behind the first word.
struct Kind {
  const char* name;
  const char* experiment;           // DATA stands for the folder of the data
  void (*make)(const TestFolder&);  // writes data/, new/ and own files
  std::vector<Words> asked;
};

data::Image picture(std::int64_t height, std::int64_t width, int seed, std::int64_t channels = 3) {
  data::Image image{height, width, channels, {}};
  for (std::int64_t i = 0; i < height * width * channels; ++i)
    image.pixels.push_back(static_cast<std::uint8_t>((i * (7 + seed) + seed * 50) % 256));
  return image;
}

void write_picture(const TestFolder& folder, const std::string& name, const data::Image& image) {
  io::make_directories(folder.path(name).parent_path());
  data::write_png(folder.path(name), image);
}

void make_pictures(const TestFolder& folder) {
  for (const char* root : {"data", "new"}) {
    for (int n = 0; n < 4; ++n) {
      for (const char* name : {"cat", "dog"}) {
        const int seed = n + (name[0] == 'c' ? 0 : 9) + (root[0] == 'd' ? 0 : 20);
        for (const char* part : {"train", "test"}) {
          if (std::string(root) == "new" && std::string(part) == "train") continue;
          write_picture(folder, fmt::format("{}/{}/{}/{}.png", root, part, name, n),
                        picture(10, 12, seed));
        }
      }
    }
  }
  write_picture(folder, "own.png", picture(20, 14, 3));
}

void make_masks(const TestFolder& folder) {
  for (const char* root : {"data", "new"}) {
    for (int n = 0; n < 6; ++n) {
      data::Image mask{12, 16, 1, std::vector<std::uint8_t>(12 * 16, 0)};
      for (std::size_t i = 40; i < 100; ++i) mask.pixels[i] = 255;
      write_picture(folder, fmt::format("{}/images/{}.png", root, n), picture(12, 16, n));
      write_picture(folder, fmt::format("{}/masks/{}.png", root, n), mask);
    }
  }
  write_picture(folder, "own.png", picture(20, 14, 3));
}

void make_volumes(const TestFolder& folder) {
  for (const char* root : {"data", "new"}) {
    folder.write(fmt::format("{}/dataset.json", root),
                 R"({"labels": {"background": 0, "block": 4}, "channel_names": {"0": "MRI"}})");
    for (int n = 0; n < 4; ++n) {
      data::test::NiftiFile image{.depth = 8, .height = 10, .width = 12, .values = {}};
      data::test::NiftiFile labels = image;
      for (int i = 0; i < 8 * 10 * 12; ++i) {
        const bool block = i / 120 > 2 && i % 12 > 5;
        image.values.push_back(
            static_cast<std::int16_t>(100 + (block ? 80 : 0) + i * (7 + n) % 11));
        labels.values.push_back(block ? 4 : 0);
      }
      folder.write(fmt::format("{}/imagesTr/case_{}.nii", root, n), image.bytes());
      folder.write(fmt::format("{}/labelsTr/case_{}.nii", root, n), labels.bytes());
      if (n == 3) folder.write("own.nii", image.bytes());
    }
  }
}

void make_texts(const TestFolder& folder) {
  for (const char* root : {"data", "new"}) {
    std::string rows = "label,text\n";
    for (int n = 0; n < 8; ++n)
      rows += n % 2 == 0 ? "good,a fine film\n" : "bad,a dull long film\n";
    folder.write(fmt::format("{}/train.csv", root), rows);
    folder.write(fmt::format("{}/test.csv", root), rows);
  }
}

void make_text_stream(const TestFolder& folder) {
  std::string text;
  for (int i = 0; i < 60; ++i) text += i % 3 == 0 ? "the cat sat\n" : "the dog ran\n";
  for (const char* root : {"data/text.txt", "new/text.txt"}) folder.write(root, text);
}

std::string tone(double hertz) {
  return data::test::wav_bytes(data::test::tone_samples(hertz, 8000, 2400), 8000);
}

void make_recordings(const TestFolder& folder) {
  for (int speaker = 0; speaker < 2; ++speaker) {
    for (int take = 0; take < 6; ++take) {
      for (const char* root : {"data", "new"})
        folder.write(fmt::format("{}/recordings/{}_anna_{}.wav", root, speaker, take),
                     tone(400 + 300 * speaker + 10 * take));
    }
  }
  folder.write("own.wav", tone(720));
}

const Words kEvalNew = {"eval", "--set", "dataset.root=new", "--save", "probabilities"};

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> all = {
      {"pictures",
       R"({"dataset": {"type": "image_folder", "root": "DATA", "img_size": 8},
           "model": {"type": "vit", "patch_size": 4, "embed_dim": 8, "depth": 1,
                     "attention": {"num_heads": 2}}})",
       make_pictures,
       {{"predict", "own.png"}, kEvalNew, {"visualise-attention", "--input", "own.png"}}},
      {"masks",
       R"({"task": "segmentation",
           "dataset": {"type": "paired_folder", "root": "DATA", "img_size": 16,
                       "split": {"test": 0.34}},
           "model": {"type": "unet", "widths": [4, 8], "decoder_channels": [4]}})",
       make_masks,
       {{"predict", "own.png", "--probabilities"},
        {"eval", "--set", "dataset.root=new", "--save", "masks,original_masks"},
        {"visualise-attention", "--figure", "pca", "--input", "own.png"}}},
      {"volumes",
       R"({"task": "segmentation",
           "dataset": {"type": "nnunet", "root": "DATA", "img_size": [8, 8, 8],
                       "samples_per_epoch": 4, "split": {"test": 0.25}},
           "model": {"type": "unet3d", "f_maps": [4, 8], "num_groups": 2},
           "eval": {"inferer": {"type": "nnunet_windows", "roi_size": [8, 8, 8]}}})",
       make_volumes,
       {{"predict", "own.nii", "--probabilities"},
        {"eval", "--set", "dataset.root=new", "--save", "volumes"}}},
      {"texts",
       R"({"task": "text_classification",
           "dataset": {"type": "text_csv", "root": "DATA", "max_len": 8},
           "model": {"type": "transformer", "embed_dim": 8, "depth": 1,
                     "attention": {"num_heads": 2}}})",
       make_texts,
       {kEvalNew, {"visualise-attention", "--text", "a fine long day"}}},
      {"language",
       R"({"task": "language_modelling",
           "dataset": {"type": "text_stream", "root": "DATA", "context": 24,
                       "split": {"val": 0.2, "test": 0.2}},
           "model": {"type": "language_model", "embed_dim": 8, "depth": 1, "hidden_dim": 16,
                     "attention": {"num_heads": 2}}})",
       make_text_stream,
       {{"eval", "--set", "dataset.root=new"},
        {"visualise-attention", "--text", "the cat"},
        {"generate", "--prompt", "the ", "--tokens", "20"}}},
      {"images of noise",
       R"({"task": "generation",
           "dataset": {"type": "image_folder", "root": "DATA", "img_size": 8, "mean": [0.5, 0.5, 0.5],
                       "std": [0.5, 0.5, 0.5]},
           "model": {"type": "dit_s", "patch_size": 4, "embed_dim": 8, "depth": 1,
                     "attention": {"num_heads": 2}, "noise": {"steps": 30}},
           "eval": {"sampler": {"type": "ddim", "steps": "6"}, "samples": 0}})",
       make_pictures,
       {{"generate", "--classes", "cat,1", "--samples", "2"},
        {"visualise-attention", "--input", "dog"}}},
      {"recordings",
       R"({"task": "transcription",
           "dataset": {"type": "fsdd", "root": "DATA", "features": {"num_mels": 8}},
           "model": {"type": "conformer_s", "embed_dim": 8, "depth": 1, "kernel_size": 3,
                     "attention": {"num_heads": 2}},
           "eval": {"decoding": {"beam_width": 2, "ngram_order": 2}}})",
       make_recordings,
       {{"predict", "own.wav"},
        {"eval", "--set", "dataset.root=new"},
        {"visualise-attention", "--input", "own.wav"}}}};
  return all;
}

// What a program says and writes, by name; a file that holds the path of its run without it.
std::map<std::string, std::string> answers(const TestFolder& folder, const Kind& kind,
                                           const std::string& run) {
  std::map<std::string, std::string> found;
  for (const Words& words : kind.asked) {
    const auto out = folder.path("out");
    Words all = {run};
    for (const std::string& word : words) {
      if (word == words.front()) continue;
      const bool is_file = word.starts_with("own.");
      all.push_back(is_file                      ? folder.path(word).string()
                    : word == "dataset.root=new" ? "dataset.root=" + folder.path("new").string()
                                                 : word);
    }
    const bool writes_text = words.front() == "generate" && words[1] == "--prompt";
    const bool writes_picture = words.front() == "generate" && !writes_text;
    if (!writes_text)
      all.insert(all.end(), {"--out", writes_picture ? (out / "grid.png").string() : out.string()});
    if (writes_picture) io::make_directories(out);
    const CliResult result = run_cli(words.front(), all);
    INFO(kind.name << ": " << words.front() << ": " << result.err);
    REQUIRE(result.code == 0);
    if (words.front() != "predict") found[words.front()] = result.out;
    if (!io::fs::exists(out)) continue;
    for (const auto& entry : io::fs::recursive_directory_iterator(out)) {
      if (!entry.is_regular_file()) continue;
      std::string text = io::read_text(entry.path());
      if (const auto at = text.find(run); at != std::string::npos) text.erase(at, run.size());
      found[words.front() + "/" + io::fs::relative(entry.path(), out).string()] = std::move(text);
    }
    io::remove_all(out);
  }
  return found;
}

void check_same(const Kind& kind, const std::map<std::string, std::string>& before,
                const std::map<std::string, std::string>& after) {
  REQUIRE(after.size() == before.size());
  for (const auto& [name, content] : before) {
    INFO(kind.name << ": " << name);
    CHECK(after.at(name) == content);
  }
}

std::string trained(const TestFolder& folder, const Kind& kind) {
  kind.make(folder);
  std::string text = kind.experiment;
  text.replace(text.find("DATA"), 4, folder.path("data").string());
  text.insert(1, R"("name": "tiny", "train": {"epochs": 1, "batch_size": 4}, )");
  const std::string run = folder.path("here/run").string();
  const CliResult result =
      run_cli("train", {folder.write("tiny.json", text), "--out", run, "--quiet"});
  INFO(kind.name << ": " << result.err);
  REQUIRE(result.code == 0);
  return run;
}

}  // namespace

TEST_CASE("a run stands alone: elsewhere and without its data it says the same", "[cli]") {
  const auto i = GENERATE(range(std::size_t{0}, kinds().size()));
  const Kind& kind = kinds()[i];
  if (kind.name == std::string("recordings") && data::sndfile_version().empty()) return;
  const TestFolder folder("cli-stands-alone");
  const std::string run = trained(folder, kind), copy = folder.path("there/run").string();
  const auto before = answers(folder, kind, run);
  io::make_directories(folder.path("there"));
  io::fs::copy(run, copy, io::fs::copy_options::recursive);
  io::remove_all(folder.path("here"));
  io::move(folder.path("data"), folder.path("gone"));
  check_same(kind, before, answers(folder, kind, copy));
  const std::string file = folder.path("there/file/run.fovea").string();
  io::make_directories(folder.path("there/file"));
  const CliResult exported = run_cli("export", {copy, "--out", file});
  INFO(exported.err);
  REQUIRE(exported.code == 0);
  io::remove_all(copy);
  check_same(kind, before, answers(folder, kind, file));
}

TEST_CASE("a run stands alone: weights of other programs need no data either", "[cli]") {
  const TestFolder folder("cli-stands-alone-foreign");
  const Kind& kind = kinds().front();
  const auto weights = checkpoint_of(trained(folder, kind)) / "model.safetensors";
  std::string text = kind.experiment;
  text.replace(text.find("DATA"), 4, "nowhere");
  const std::string experiment = folder.write("foreign.json", text);
  const auto draw = [&](const Words& more) {
    Words words = {experiment, "--weights", weights.string(), "--out", folder.path("out").string()};
    words.insert(words.end(), more.begin(), more.end());
    return run_cli("visualise-attention", words);
  };
  const std::string own = folder.path("own.png").string();
  const CliResult drawn = draw({"--set", "model.num_classes=2", "--input", own});
  INFO(drawn.err);
  REQUIRE(drawn.code == 0);
  CHECK(io::read_text(folder.path("out/weights.csv")).find("cat") == std::string::npos);
  // An encoder has no head, and no classes.
  const CliResult encoder =
      draw({"--set", "model.num_classes=0", "--ignore", "head.*", "--input", own});
  INFO(encoder.err);
  CHECK(encoder.code == 0);
  check_refusal(draw({"--input", own}), 1, "dataset.root: nowhere");
  check_refusal(draw({"--set", "model.num_classes=2", "--input", "0"}), 1, "dataset.root: nowhere");
}

TEST_CASE("a run stands alone: what older programs did not keep is asked of the data", "[cli]") {
  const TestFolder folder("cli-stands-alone-old");
  const Kind& kind = kinds().front();
  const std::string run = trained(folder, kind);
  const auto predict = [&](const std::string& out) {
    return run_cli("predict", {run, folder.path("own.png").string(), "--out",
                               folder.path(out).string(), "--quiet"});
  };
  REQUIRE(predict("kept").code == 0);
  const auto checkpoint = checkpoint_of(folder.path("here/run"));
  schema::Value state = training::read_state(checkpoint);
  state.find("files")->erase("data.json");
  io::remove_all(checkpoint / "data.json");
  io::write_atomic(checkpoint / "state.json", training::with_hash(state).dump());
  const CliResult old = predict("old");
  CHECK(old.code == 0);
  CHECK_THAT(old.err,
             Catch::Contains("data.json: not found, an older program wrote the checkpoint") &&
                 Catch::Contains("fovea export"));
  CHECK(io::read_text(folder.path("kept/predictions.csv")) ==
        io::read_text(folder.path("old/predictions.csv")));
  const std::string file = folder.path("old.fovea").string();
  REQUIRE(run_cli("export", {run, "--out", file}).code == 0);
  io::move(folder.path("data"), folder.path("gone"));
  check_refusal(predict("none"), 1, "an older program wrote the checkpoint");
  const CliResult from_file = run_cli("predict", {file, folder.path("own.png").string(), "--out",
                                                  folder.path("file").string(), "--quiet"});
  CHECK(from_file.code == 0);
  CHECK(from_file.err.empty());
  CHECK(io::read_text(folder.path("kept/predictions.csv")) ==
        io::read_text(folder.path("file/predictions.csv")));
}

TEST_CASE("export: what a file is, what it serves for, and what is refused", "[cli]") {
  const TestFolder folder("cli-export");
  const std::string run = trained(folder, kinds().front());
  const std::string file = folder.path("model.fovea").string();
  const Words words = {"--license", "CC-BY-4.0",     "--author",
                       "A. Author", "--description", "cats and dogs"};
  Words all = {run, "--out", file};
  all.insert(all.end(), words.begin(), words.end());
  REQUIRE(run_cli("export", all).code == 0);
  const std::string bytes = io::read_text(file);
  all[2] = folder.path("again.fovea").string();
  REQUIRE(run_cli("export", all).code == 0);
  CHECK(io::read_text(all[2]) == bytes);
  const CliResult told = run_cli("inspect", {file});
  CHECK_THAT(told.out, Catch::Contains("tiny, image_classification on image_folder") &&
                           Catch::Contains("CC-BY-4.0") && Catch::Contains("A. Author") &&
                           Catch::Contains("cats and dogs") && Catch::Contains("2: cat, dog") &&
                           Catch::Contains("scores") && Catch::Contains("data.json"));
  const auto json = nlohmann::json::parse(run_cli("inspect", {file, "--json"}).out);
  CHECK(json["outputs"] == nlohmann::json({"cat", "dog"}));
  CHECK(json["metrics"].contains("test"));
  // Its weights begin another run.
  const std::string experiment = folder.path("tiny.json").string();
  CHECK(run_cli("train",
                {experiment, "--init", file, "--out", folder.path("more").string(), "--quiet"})
            .code == 0);
  check_refusal(run_cli("export", all), 1, "is there already");
  check_refusal(run_cli("export", {run, "--out", folder.path("a.zip").string()}), 2, ".fovea");
  check_refusal(run_cli("export", {file, "--out", folder.path("b.fovea").string()}), 2,
                "is exported already");
  check_refusal(run_cli("predict", {file, "own.png", "--checkpoint", "best", "--out", "x"}), 2,
                "--checkpoint");
  std::string damaged = bytes;
  damaged[bytes.size() / 2] ^= 1;
  folder.write("damaged.fovea", damaged);
  folder.write("cut.fovea", bytes.substr(0, bytes.size() - 100));
  folder.write("other.fovea", "{}");
  for (const char* name : {"damaged.fovea", "cut.fovea", "other.fovea"}) {
    const std::string bad = folder.path(name).string();
    const std::string own = folder.path("own.png").string();
    check_refusal(run_cli("inspect", {bad}), 1, bad);
    check_refusal(run_cli("predict", {bad, own, "--out", folder.path("x").string()}), 1, bad);
    check_refusal(run_cli("eval", {bad}), 1, bad);
    check_refusal(run_cli("visualise-attention", {bad, "--input", own}), 1, bad);
    check_refusal(run_cli("generate", {bad}), 1, bad);
    check_refusal(run_cli("train", {experiment, "--init", bad, "--out", folder.path("y").string()}),
                  1, bad);
  }
}
