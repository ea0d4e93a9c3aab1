// Whole runs on a device whose memory the host cannot touch: the same bits as on the CPU.
#include <catch2/catch.hpp>

#include <fmt/format.h>

#include <cmath>

#include "backend/devices.h"
#include "experiment/run/runner.h"
#include "tests/experiment/fixture.h"
#include "tests/experiment/squares.h"
#include "tests/support/opaque.h"
#include "tests/support/paths.h"
#include "training/store/checkpoint.h"
#include "visualise/maps/attention_maps.h"

using namespace fovea;
using namespace fovea::experiment;
using fovea::experiment::test::Folder;
using fovea::experiment::test::write_squares;
using fovea::test::make_opaque;
using fovea::test::opaque_calls;
using fovea::test::opaque_downloads;
using fovea::test::OpaqueKernels;

namespace {

void write_texts() {
  for (const char* part : {"train", "test"}) {
    std::string text = "label,text\n";
    for (int i = 0; i < 24; ++i) {
      text += i % 2 == 0 ? "yes,good" : "no,bad";
      for (int k = 0; k <= i * 5 % 7; ++k) text += fmt::format(" w{}", (i * 3 + k * k) % 11);
      text += "\n";
    }
    experiment::test::write(fmt::format("texts/{}.csv", part), text);
  }
}

// One small experiment of every task.
std::string images() {
  return R"({"name": "images", "dataset": {"type": "digits", "root": ")" +
         fovea::test::source_dir() + R"(/datasets/digits", "limit": {"train": 96, "test": 40}},
  "model": {"type": "dgvit", "patch_size": 2, "embed_dim": 16, "depth": 2,
            "attention": {"num_heads": 2}, "ffn": {"expansion": 2}},
  "optimizer": {"type": "adamw", "lr": 1e-3}, "schedule": {"type": "cosine"},
  "train": {"steps": 3, "batch_size": 32, "clip_grad": 1, "ema_decay": 0.9}})";
}

std::string texts() {
  return R"({"name": "texts", "task": "text_classification",
  "dataset": {"type": "text_csv", "root": "texts"},
  "model": {"type": "dgt", "embed_dim": 16, "depth": 1, "attention": {"num_heads": 2},
            "ffn": {"expansion": 2}},
  "optimizer": {"type": "sgd", "lr": 1e-2}, "train": {"epochs": 1, "batch_size": 8}})";
}

// By SGD: the biases in front of batch norms have gradients of nothing but rounding, of which AdamW
// would make whole steps.
std::string masks() {
  return R"({"name": "masks", "task": "segmentation",
  "dataset": {"type": "paired_folder", "root": "set", "img_size": 16, "intensity": "min_max_255"},
  "model": {"type": "resnet_unet", "encoder": {"stem_width": 4, "depths": [1, 1],
            "planes": [4, 8], "strides": [2, 1]}, "decoder_channels": [4, 4]},
  "loss": {"type": "bce_dice"}, "optimizer": {"type": "sgd", "lr": 0.02},
  "train": {"epochs": 2, "batch_size": 2}})";
}

std::string label_maps() {
  return R"({"name": "label maps", "task": "segmentation",
  "dataset": {"type": "synthetic_segmentation", "img_size": 16, "train_size": 8, "test_size": 4,
              "ignore_edges": true},
  "model": {"type": "unet", "widths": [4, 8], "decoder_channels": [4]},
  "optimizer": {"type": "sgd", "lr": 0.02}, "train": {"epochs": 2, "batch_size": 2},
  "eval": {"inferer": {"type": "sliding_window", "roi_size": [12], "sw_batch_size": 3}}})";
}

schema::Value settled(const std::string& text, const std::vector<std::string>& overrides = {}) {
  experiment::test::write("experiment.json", text);
  return resolve(load_unresolved("experiment.json", overrides));
}

schema::Value train_on(const Device& device, const schema::Value& config, const std::string& out) {
  RunOptions options;
  options.folder = out;
  options.device = device;
  return Run(config, options).train();
}

}  // namespace

TEST_CASE("opaque device: a run of every task gives the same bits as on the CPU", "[experiment]") {
  const Folder folder("opaque");
  write_squares();
  write_texts();
  const schema::Value config = settled(GENERATE(images(), texts(), masks(), label_maps()));
  INFO(config.at("name").as_string());
  const schema::Value here = train_on(make_cpu(2), config, "here");
  const std::int64_t before = opaque_calls();
  const schema::Value there = train_on(make_opaque(), config, "there");
  CHECK(opaque_calls() > before + 100);
  CHECK(here.at("metrics") == there.at("metrics"));
  for (const char* file : {"model.safetensors", "optimiser.safetensors"}) {
    const auto bytes = [&](const char* run) {
      return io::read_bytes(training::CheckpointStore(run).folder_of("last") / file);
    };
    CHECK(bytes("here") == bytes("there"));
  }
  // With primitives alone the sums have another order.
  const Device bare = make_opaque(OpaqueKernels::kPrimitives);
  const schema::Value by_parts = train_on(bare, config, "parts");
  const auto loss = [](const schema::Value& summary) {
    return summary.at("metrics").at("test").at("loss").as_double();
  };
  CHECK(loss(by_parts) == Approx(loss(here)).epsilon(1e-3));
}

TEST_CASE("opaque device: of a training step of every task one copy comes back", "[experiment]") {
  const Folder folder("opaque-reads");
  write_squares();
  write_texts();
  const std::string text = GENERATE(images(), texts(), masks(), label_maps());
  const std::string clip = GENERATE("norm", "value");
  const int group = GENERATE(1, 2);
  // Evaluation and checkpoints, which read more, come once in either run.
  const auto downloads = [&](int steps) {
    const schema::Value config =
        settled(text, {fmt::format("train.steps={}", steps), "train.eval_every=99",
                       "train.checkpoint_every=99", "train.clip_grad=1", "train.clip_mode=" + clip,
                       fmt::format("train.grad_accum_steps={}", group)});
    INFO(config.at("name").as_string());
    const std::int64_t before = opaque_downloads();
    train_on(make_opaque(), config, fmt::format("{}-steps", steps));
    return opaque_downloads() - before;
  };
  CHECK(downloads(4) == downloads(1) + 3);
}

TEST_CASE("opaque device: attention maps and logits have the same bits", "[experiment]") {
  const Folder folder("opaque-maps");
  const schema::Value config = settled(images());
  const auto observed = [&](const Device& device) {
    RunOptions options;
    options.device = device;
    Run run(config, options);
    return visualise::observe(run.model(),
                              run.task().source().one(data::Split::kTest, 0).at("image"));
  };
  const visualise::Observation here = observed(make_cpu(2));
  const visualise::Observation there = observed(make_opaque());
  CHECK(here.logits == there.logits);
  REQUIRE(here.layers.size() == there.layers.size());
  REQUIRE_FALSE(here.layers.empty());
  for (std::size_t i = 0; i < here.layers.size(); ++i)
    CHECK(here.layers[i].values == there.layers[i].values);
}
