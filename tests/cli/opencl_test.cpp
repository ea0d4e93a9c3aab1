// The real programs on OpenCL: every task, runs that are killed or go on elsewhere, and what is in
// their way. (The entry cli-opencl of ctest; skipped where there is no driver.)
#include <catch2/catch.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include <csignal>

#include "backend/devices.h"
#include "base/file.h"
#include "data/files/pictures/image_file.h"
#include "tensor/safetensors.h"
#include "tests/cli/refusal.h"
#include "tests/support/paths.h"
#include "tests/support/run_cli.h"
#include "tests/support/setting.h"
#include "tests/support/tensors.h"

using namespace fovea;
using namespace fovea::test;
using nlohmann::json;

namespace {

using Words = std::vector<std::string>;

// Plain SGD: an update is no more different between devices than a gradient is.
const char* const kSgd = R"("optimizer": {"type": "sgd", "lr": 0.05, "momentum": 0.9})";

std::string digits(const std::string& train) {
  return fmt::format(
      R"({{"name": "digits", "seed": 3,
  "dataset": {{"type": "digits", "root": "{}/datasets/digits", "limit": {{"train": 64, "test": 40}}}},
  "model": {{"type": "dgvit", "patch_size": 4, "embed_dim": 16, "depth": 2, "drop_rate": 0.1,
            "attention": {{"num_heads": 2}}}},
  {}, "train": {{"batch_size": 16, {}}}}})",
      source_dir(), kSgd, train);
}

// What the smoke experiments do, in a few steps.
std::string shapes() {
  return fmt::format(R"({{"name": "shapes", "task": "segmentation",
  "dataset": {{"type": "synthetic_segmentation", "num_classes": 4, "img_size": 16, "train_size": 12,
              "test_size": 4, "ignore_edges": true, "augment": ["horizontal_flip"]}},
  "model": {{"type": "unet", "widths": [4, 8], "decoder_channels": [4]}},
  {}, "train": {{"steps": 3, "batch_size": 4}}}})",
                     kSgd);
}

std::string volumes(const std::string& model) {
  return fmt::format(R"({{"name": "volumes", "task": "segmentation",
  "dataset": {{"type": "synthetic_volumes", "train_size": 2, "test_size": 1, "img_size": [16, 32, 32]}},
  "model": {}, "loss": {{"type": "nnunet"}},
  {}, "train": {{"steps": 2, "batch_size": 1}},
  "eval": {{"inferer": {{"type": "nnunet_windows", "roi_size": [16, 32, 32]}},
           "metrics": ["case_dice", "hd95_mm"]}}}})",
                     model, kSgd);
}

void write_texts(const TestFolder& folder) {
  std::string rows = "label,text\n";
  for (int i = 0; i < 40; ++i)
    rows += fmt::format("{} w{} w{}\n", i % 2 == 0 ? "yes,good" : "no,bad", i % 7, i % 5);
  folder.write("texts/train.csv", rows);
}

std::string texts(const TestFolder& folder) {
  return fmt::format(R"({{"name": "texts", "task": "text_classification",
  "dataset": {{"type": "text_csv", "root": "{}", "split": {{"test": 0.25}}}},
  "model": {{"type": "dgt", "embed_dim": 8, "depth": 1, "attention": {{"num_heads": 2}}}},
  {}, "train": {{"steps": 3, "batch_size": 8}}}})",
                     folder.path("texts").string(), kSgd);
}

CliResult run_well(const std::string& program, const Words& words) {
  const CliResult result = run_cli(program, words);
  INFO(fmt::format("{} {}", program, fmt::join(words, " ")));
  INFO(result.err);
  REQUIRE(result.code == 0);
  return result;
}

std::string weights_of(const io::fs::path& run) {
  return io::read_text(checkpoint_of(run) / "model.safetensors");
}

// Largest difference of two runs' weights, beside the largest weight.
double apart(const io::fs::path& one, const io::fs::path& other) {
  const Device host = make_cpu(1);
  const auto a = read_safetensors(checkpoint_of(one) / "model.safetensors", host).tensors;
  const auto b = read_safetensors(checkpoint_of(other) / "model.safetensors", host).tensors;
  REQUIRE(a.size() == b.size());
  double most = 0, size = 0;
  for (const auto& [name, tensor] : a) {
    most = std::max(most, max_difference(tensor, b.at(name)));
    for (const double value : to_doubles(tensor)) size = std::max(size, std::abs(value));
  }
  return most / size;
}

// Metrics in percent and losses: float32 sums in another order, over a few steps.
void check_metrics(const json& found, const json& expected) {
  REQUIRE(found.size() == expected.size());
  for (const auto& [name, value] : expected.items()) {
    INFO(name);
    if (value.is_object()) {
      check_metrics(found.at(name), value);
    } else if (value.is_number()) {
      CHECK(found.at(name).get<double>() == Approx(value.get<double>()).epsilon(1e-3).margin(1e-3));
    } else {
      CHECK(found.at(name) == value);
    }
  }
}

// Makes checkpoint `step` the last one of a run, as if it had been stopped there.
void go_back(const io::fs::path& run, int step) {
  io::write_atomic(run / "checkpoints/last", fmt::format("step-{:08}\n", step));
  io::fs::remove(run / "summary.json");
}

}  // namespace

TEST_CASE("opencl: every task trains and evaluates as on the CPU", "[cli][opencl]") {
  const TestFolder folder("cli-opencl");
  write_texts(folder);
  const auto [name, text] = GENERATE_REF(table<const char*, std::string>(
      {{"digits", digits(R"("steps": 3)")},
       {"shapes", shapes()},
       {"texts", texts(folder)},
       {"dformer", volumes(R"({"type": "dformer", "embed_dim": 4, "num_heads": [1, 1, 1, 1],
                              "depths": [1, 1, 1, 1]})")},
       {"unet3d", volumes(R"({"type": "unet3d", "f_maps": [4, 8], "num_groups": 2})")}}));
  INFO(name);
  const std::string experiment = folder.write("experiment.json", text);
  const std::string here = folder.path("here").string(), there = folder.path("there").string();
  const json expected =
      json::parse(run_well("train", {experiment, "--out", here, "--json"}).out).at("metrics");
  const json found =
      json::parse(
          run_well("train", {experiment, "--device", "opencl", "--out", there, "--json"}).out)
          .at("metrics");
  check_metrics(found, expected);
  CHECK(apart(here, there) < 1e-4);
  // The run is on the device that its configuration names, unless another is asked for.
  const json again = json::parse(run_well("eval", {there, "--json"}).out).at("metrics");
  CHECK(again == found.at("test"));
  const json moved =
      json::parse(run_well("eval", {there, "--set", "train.device=cpu", "--json"}).out)
          .at("metrics");
  check_metrics(moved, again);
}

TEST_CASE("opencl: killed at any moment and resumed, the weights are the same bits",
          "[cli][opencl]") {
  const TestFolder folder("cli-opencl-killed");
  const std::string experiment = folder.write(
      "experiment.json",
      digits(R"("epochs": 8, "device": "opencl", "checkpoint_every_steps": 1, "ema_decay": 0.9)"));
  const std::string straight = folder.path("straight").string();
  const std::string killed = folder.path("killed").string();
  run_well("train", {experiment, "--out", straight, "--quiet"});
  int kills = 0;
  for (int attempt = 0; attempt < 40; ++attempt) {
    Words words{experiment, "--out", killed, "--quiet"};
    if (io::fs::exists(io::fs::path(killed) / "config.json")) words.emplace_back("--resume");
    // Waits that grow make sure that the run gets to its end.
    const double wait = kills < 4 ? 0.4 + 0.1 * attempt : 0;
    const CliResult result =
        run_cli("train", words, {.signal_after_s = wait, .signal = wait > 0 ? SIGKILL : 0});
    if (result.code == 0) break;
    if (result.code != 128 + SIGKILL) FAIL(result.err);
    ++kills;
  }
  CHECK(kills >= 1);
  CHECK(weights_of(straight) == weights_of(killed));
  CHECK(io::read_text(checkpoint_of(straight) / "ema.safetensors") ==
        io::read_text(checkpoint_of(killed) / "ema.safetensors"));
}

TEST_CASE("opencl: a run goes on on the CPU and back, and its log says so", "[cli][opencl]") {
  const TestFolder folder("cli-opencl-moved");
  const std::string experiment =
      folder.write("experiment.json", digits(R"("epochs": 3, "keep_every": 1)"));
  const io::fs::path straight = folder.path("straight"), moved = folder.path("moved");
  const json expected = json::parse(run_well("train", {experiment, "--device", "opencl", "--out",
                                                       straight.string(), "--json"})
                                        .out)
                            .at("metrics");
  io::fs::copy(straight, moved, io::fs::copy_options::recursive);
  go_back(moved, 4);
  run_well("train", {"--resume", "--out", moved.string(), "--device", "cpu", "--quiet"});
  const std::string once = io::read_text(moved / "log.txt");
  CHECK_THAT(once, Catch::Contains("step 4: goes on on cpu; so far the run was on opencl\n"));
  CHECK(apart(straight, moved) < 1e-5);
  CHECK(weights_of(straight) != weights_of(moved));
  go_back(moved, 8);
  const CliResult back = run_well(
      "train", {experiment, "--device", "opencl", "--resume", "--out", moved.string(), "--json"});
  const std::string twice = io::read_text(moved / "log.txt");
  CHECK_THAT(twice, Catch::Contains("step 8: goes on on opencl; so far the run was on cpu\n"));
  check_metrics(json::parse(back.out).at("metrics"), expected);
  CHECK(apart(straight, moved) < 1e-5);
  // Where nothing moves nothing is said.
  go_back(moved, 8);
  run_well("train", {"--resume", "--out", moved.string(), "--quiet"});
  CHECK(
      io::read_text(moved / "log.txt").find("step 8: goes on", twice.find("step 8: goes on") + 1) ==
      std::string::npos);
}

TEST_CASE("opencl: predict, visualise-attention and ablate", "[cli][opencl]") {
  const TestFolder folder("cli-opencl-programs");
  const std::string experiment =
      folder.write("experiment.json", digits(R"("steps": 2, "device": "opencl")"));
  const io::fs::path sweep = folder.path("sweep");
  const std::string ablation = folder.write("ablation.json", R"({"name": "sweep",
  "base": "experiment.json", "seeds": [0], "metrics": ["test_top1"],
  "rows": [{"name": "DGViT"}, {"name": "ViT", "set": {"model.type": "vit"}}]})");
  run_well("ablate", {ablation, "--out", sweep.string(), "--quiet"});
  CHECK(io::fs::exists(sweep / "results.csv"));

  const std::string run = folder.path("run").string();
  run_well("train", {experiment, "--out", run, "--quiet"});
  const io::fs::path maps = folder.path("maps");
  run_well("visualise-attention", {run, "--input", "0", "--out", maps.string()});
  CHECK(io::fs::file_size(maps / "rollout.png") > 1000);
  const Device host = make_cpu(1);
  for (const auto& [name, tensor] : read_safetensors(maps / "maps.safetensors", host).tensors) {
    INFO(name);
    for (const double value : to_doubles(tensor)) REQUIRE(std::isfinite(value));
  }

  const std::string masks = folder.path("masks").string();
  const std::string labels = folder.write("labels.json", shapes());
  run_well("train", {labels, "--device", "opencl", "--out", masks, "--quiet"});
  data::Image picture{30, 40, 3, {}};
  picture.pixels.assign(30 * 40 * 3, 100);
  const auto scene = folder.path("scene.png"), out = folder.path("out");
  data::write_png(scene, picture);
  run_well("predict", {masks, scene.string(), "--out", out.string(), "--quiet"});
  CHECK(data::read_image(out / "scene.png", 1).height == 30);
}

TEST_CASE("opencl: a device that is not there is refused", "[cli][opencl]") {
  const TestFolder folder("cli-opencl-refused");
  const std::string experiment = folder.write("experiment.json", digits(R"("steps": 1)"));
  const std::string run = folder.path("run").string();
  check_refusal(run_cli("train", {experiment, "--device", "opencl:99", "--out", run}), 1,
                "opencl:99: there");
  check_refusal(run_cli("train", {experiment, "--device", "opencl:x", "--out", run}), 2,
                "expected a number from 0 behind the colon");
  CHECK_FALSE(io::fs::exists(run));
}

TEST_CASE("opencl: programs on disk may be damaged, or have no place", "[cli][opencl]") {
  const Setting keep("FOVEA_OPENCL_PROGRAMS", "keep");  // PoCL's too
  const TestFolder folder("cli-opencl-cache");
  const std::string experiment = folder.write(
      "experiment.json", digits(R"("steps": 1, "device": "opencl", "tensorboard": false)"));
  int runs = 0;
  const auto weights = [&] {
    const io::fs::path run = folder.path(fmt::format("run{}", runs++));
    run_well("train", {experiment, "--out", run.string(), "--quiet"});
    return weights_of(run);
  };
  const std::string expected = weights();
  {
    const Setting nowhere("XDG_CACHE_HOME", folder.write("file", "") + "/below");
    CHECK(weights() == expected);
  }
  const Setting cache("XDG_CACHE_HOME", folder.path("cache").string());
  CHECK(weights() == expected);
  std::vector<io::fs::path> programs;
  for (const auto& entry : io::fs::directory_iterator(folder.path("cache/fovea/opencl")))
    programs.push_back(entry.path());
  REQUIRE(programs.size() > 3);
  for (const char* damage : {"empty", "cut", "flipped", "other"}) {
    INFO(damage);
    for (const io::fs::path& program : programs) {
      std::string bytes = io::read_text(program);
      if (damage == std::string("empty")) bytes.clear();
      if (damage == std::string("cut")) bytes.resize(bytes.size() / 2);
      if (damage == std::string("flipped")) bytes[bytes.size() / 2] ^= 0x10;
      if (damage == std::string("other")) bytes = "no program";
      io::write_atomic(program, bytes);
    }
    CHECK(weights() == expected);
  }
}
