// Whole runs by several ranks, with threads in place of processes: the same files as one process
// writes.
#include <catch2/catch.hpp>

#include <fmt/format.h>

#include <atomic>
#include <filesystem>
#include <string>

#include "base/error.h"
#include "base/file.h"
#include "experiment/run/runner.h"
#include "schema/json/parse.h"
#include "schema/load.h"
#include "tests/experiment/fixture.h"
#include "tests/parallel/threads.h"
#include "tests/support/paths.h"
#include "tests/training/run_bytes.h"

using namespace fovea;
using namespace fovea::experiment;
using fovea::experiment::test::Folder;

namespace {

// 7 batches an epoch in groups of 3, 3 and 1: ranks have several micro-batches of a step, or none.
std::string digits(const std::string& network, const std::string& train = "") {
  return fmt::format(
      R"({{"name": "ranks", "dataset": {{"type": "digits", "root": "{}/datasets/digits",
           "limit": {{"train": 26, "test": 10}}}}, "model": {},
  "optimizer": {{"type": "adamw", "lr": 1e-3}},
  "train": {{"epochs": 2, "batch_size": 4, "grad_accum_steps": 3, "clip_grad": 0.5,
             "ema_decay": 0.9, "select_on": "test", "num_workers": 0{}}}}})",
      fovea::test::source_dir(), network, train);
}

constexpr const char* kResnet = R"({"type": "resnet20"})";
constexpr const char* kVit = R"({"type": "vit", "patch_size": 4, "embed_dim": 8, "depth": 1,
    "attention": {"num_heads": 2, "attn_drop": 0.2}, "ffn": {"expansion": 2}})";

schema::Value config_of(const std::string& experiment) {
  return resolve(schema::parse(experiment, "experiment"));
}

void train(const schema::Value& config, const std::string& folder, parallel::Ranks* ranks,
           bool resume = false) {
  RunOptions options;
  options.folder = folder;
  options.threads = 1;
  options.resume = resume;
  options.ranks = ranks;
  Run(config, options).train();
}

std::string bytes_of_ranks(const schema::Value& config, int ranks) {
  const std::string folder = fmt::format("run-{}", ranks);
  fovea::test::run_ranks(ranks, [&](parallel::Ranks& own) { train(config, folder, &own); });
  return fovea::test::run_bytes(folder);
}

}  // namespace

TEST_CASE("ranks: any number of them leaves the files of one process", "[experiment]") {
  const char* network = GENERATE(kResnet, kVit);
  const Folder folder("ranks");
  const schema::Value config = config_of(digits(network));
  train(config, "alone", nullptr);
  const std::string expected = fovea::test::run_bytes("alone");
  for (const int ranks : {1, 2, 3}) {
    INFO(ranks);
    CHECK(bytes_of_ranks(config, ranks) == expected);
  }
}

TEST_CASE("ranks: rounded gradients are the same for any number of them", "[experiment]") {
  const Folder folder("ranks");
  const schema::Value config = config_of(digits(kVit, R"(, "gradient_type": "bfloat16")"));
  train(config, "alone", nullptr);
  const std::string expected = fovea::test::run_bytes("alone");
  for (const int ranks : {1, 3}) CHECK(bytes_of_ranks(config, ranks) == expected);
  const schema::Value exact = config_of(digits(kVit));
  train(exact, "exact", nullptr);
  CHECK(fovea::test::run_bytes("exact") != expected);
}

TEST_CASE("ranks: that add their own gradients first are deterministic", "[experiment]") {
  const Folder folder("ranks");
  const schema::Value config = config_of(digits(kVit, R"(, "gradient_order": "ranks")"));
  train(config, "alone", nullptr);
  const std::string of_two = bytes_of_ranks(config, 2);
  std::filesystem::rename("run-2", "first");
  CHECK(bytes_of_ranks(config, 2) == of_two);
  CHECK(of_two != fovea::test::run_bytes("alone"));  // (g0 + g2) + g1
  CHECK(bytes_of_ranks(config, 3) == fovea::test::run_bytes("alone"));
}

TEST_CASE("ranks: batch norms over them see the batch of one process", "[experiment]") {
  const Folder folder("ranks");
  // One batch of 12 samples, or three of 4 that are normalised together.
  const auto losses = [&](std::int64_t batch, int ranks) {
    schema::Value config = config_of(digits(kResnet, R"(, "sync_batch_norm": true)"));
    schema::set_path(config, "train.batch_size", batch);
    schema::set_path(config, "train.grad_accum_steps", 12 / batch);
    fovea::test::run_ranks(
        ranks, [&](parallel::Ranks& own) { train(config, fmt::format("run-{}", ranks), &own); });
    return schema::parse(io::read_text(fmt::format("run-{}/summary.json", ranks)), "summary")
        .at("metrics")
        .at("test")
        .at("loss")
        .as_double();
  };
  const double whole = losses(12, 1);
  CHECK(losses(4, 3) == Approx(whole).epsilon(1e-3));
}

TEST_CASE("ranks: the optimiser's state shared out gives the same files", "[experiment]") {
  const Folder folder("ranks");
  const char* network = GENERATE(kResnet, kVit);
  const schema::Value config = config_of(digits(network, R"(, "shard_optimizer": true)"));
  train(config, "alone", nullptr);
  for (const int ranks : {2, 3})
    CHECK(bytes_of_ranks(config, ranks) == fovea::test::run_bytes("alone"));
  // It goes on with another number, and with one process.
  std::atomic<bool> stop = true;
  const auto part = [&](int size, bool resume, bool stops) {
    fovea::test::run_ranks(size, [&](parallel::Ranks& ranks) {
      RunOptions options;
      options.folder = "parts";
      options.threads = 1;
      options.resume = resume;
      options.ranks = &ranks;
      if (stops) options.stop = &stop;
      Run run(config, options);
      try {
        run.train();
      } catch (const Interrupted&) {
      }
    });
  };
  part(3, false, true);
  part(2, true, true);
  part(1, true, true);
  part(3, true, false);
  CHECK(fovea::test::run_bytes("parts") == fovea::test::run_bytes("alone"));
}

TEST_CASE("ranks: a run goes on with another number of them", "[experiment]") {
  const Folder folder("ranks");
  const schema::Value config = config_of(digits(kResnet, R"(, "checkpoint_every_steps": 1)"));
  train(config, "alone", nullptr);
  std::atomic<int> finished = 0, interrupted = 0;
  std::atomic<bool> stop = true;  // seen by one rank alone, and agreed on after a step
  const auto part = [&](int size, bool resume, int asked) {
    fovea::test::run_ranks(size, [&](parallel::Ranks& ranks) {
      RunOptions options;
      options.folder = "parts";
      options.threads = 1;
      options.resume = resume;
      options.ranks = &ranks;
      if (ranks.rank() == asked) options.stop = &stop;
      Run run(config, options);
      try {
        run.train();
        ++finished;
      } catch (const Interrupted&) {
        ++interrupted;
      }
    });
  };
  part(3, false, 2);
  part(2, true, 0);
  part(1, true, 0);
  CHECK(interrupted == 3 + 2 + 1);
  part(3, true, -1);
  CHECK(finished == 3);
  CHECK(fovea::test::run_bytes("parts") == fovea::test::run_bytes("alone"));
}

TEST_CASE("ranks: what cannot be is refused by all of them", "[experiment]") {
  const Folder folder("ranks");
  const schema::Value config = config_of(digits(kVit));
  CHECK_THROWS_WITH(
      bytes_of_ranks(config, 4),
      "train.grad_accum_steps: is 3, and 4 ranks share the batches of a step; expected "
      "at least 4; for steps of as many samples: --set train.grad_accum_steps=4 --set "
      "train.batch_size=3");
  CHECK_FALSE(std::filesystem::exists("run-4"));
}

TEST_CASE("ranks: a loss that is not finite ends all, with the cause of the rank that has it",
          "[experiment]") {
  const Folder folder("ranks");
  const schema::Value config = config_of(digits(kVit));
  std::atomic<int> same = 0;
  fovea::test::run_ranks(3, [&](parallel::Ranks& ranks) {
    RunOptions options;
    options.folder = "nan";
    options.threads = 1;
    options.ranks = &ranks;
    Run run(config, options);
    // Of the first rank alone, whose weights all get.
    if (ranks.first()) {
      for (const nn::NamedTensor& named : run.model().parameters()) {
        if (named.name != "head.weight") continue;
        for (float& weight : named.tensor.values<float>()) weight = 3e38f;
      }
    }
    try {
      run.train();
    } catch (const NumericError& error) {
      if (std::string(error.what()).find("first non-finite value: head") != std::string::npos)
        ++same;
    }
  });
  CHECK(same == 3);
  CHECK(std::filesystem::exists("nan/nan-step-0/batches.safetensors"));
}
