// Runs on volumes that are stopped and go on leave the bytes of one that was not, for any number of
// threads that prepare crops.
#include <catch2/catch.hpp>

#include <fmt/format.h>

#include <atomic>

#include "base/error.h"
#include "experiment/file/experiment.h"
#include "experiment/run/runner.h"
#include "tests/experiment/fixture.h"
#include "tests/training/region_set.h"
#include "tests/training/run_bytes.h"

using namespace fovea;
using namespace fovea::experiment;
using experiment::test::Folder;

namespace {

// Three steps an epoch, the last of one sample. A network that draws (drop_path), crops that do.
const char* const kDFormer = R"({"name": "cut", "task": "segmentation", "seed": 3,
  "dataset": {"type": "synthetic_volumes", "train_size": 4, "test_size": 1,
              "split": {"val": 0.25}, "size": [18, 34, 34],
              "img_size": [16, 32, 32], "samples_per_epoch": 5},
  "model": {"type": "dformer", "embed_dim": 4, "num_heads": [1, 1, 1, 1], "depths": [2, 1, 1, 1],
            "drop_path_rate": 0.3},
  "loss": {"type": "nnunet"},
  "optimizer": {"type": "sgd", "lr": 0.01, "momentum": 0.9, "nesterov": true},
  "schedule": {"type": "polynomial", "power": 0.9},
  "train": {"epochs": 3, "batch_size": 2, "log_every": 1, "checkpoint_every_steps": 2,
            "ema_decay": 0.9},
  "eval": {"inferer": {"type": "nnunet_windows", "roi_size": [16, 32, 32]},
           "metrics": ["case_dice"]}})";

const char* const kUnet = R"({"name": "cut", "task": "segmentation", "seed": 4,
  "dataset": {"type": "synthetic_volumes", "train_size": 4, "test_size": 1,
              "split": {"val": 0.25}, "size": [12, 16, 20],
              "img_size": [8, 8, 8], "samples_per_epoch": 5, "foreground": 0.5},
  "model": {"type": "unet3d", "f_maps": [4, 8], "num_groups": 2},
  "optimizer": {"type": "adamw", "lr": 0.01},
  "train": {"epochs": 3, "batch_size": 2, "log_every": 1, "checkpoint_every_steps": 2},
  "eval": {"inferer": {"type": "nnunet_windows", "roi_size": [8, 8, 8]},
           "metrics": ["case_dice"]}})";

// Of files; the regions of their labels overlap.
const char* const kRegions = R"({"name": "cut", "task": "segmentation", "seed": 5,
  "dataset": {"type": "nnunet", "root": "regions", "split": {"val": 0.25, "test": 0.25},
              "img_size": [8, 8, 8], "samples_per_epoch": 5, "foreground": 0.5},
  "model": {"type": "unet3d", "f_maps": [4, 8], "num_groups": 2},
  "loss": {"type": "nnunet"},
  "optimizer": {"type": "adamw", "lr": 0.01},
  "train": {"epochs": 3, "batch_size": 2, "log_every": 1, "checkpoint_every_steps": 2},
  "eval": {"inferer": {"type": "nnunet_windows", "roi_size": [8, 8, 8]},
           "metrics": ["case_dice"]}})";

struct StopAfter final : training::ProgressSink {
  explicit StopAfter(std::int64_t at) : last(at) {}
  std::int64_t last;
  std::atomic<bool> stop{false};
  void update(const training::Progress& p) override {
    if (p.step == last) stop = true;
  }
  void message(const std::string&) override {}
};

// Runs, or goes on, until a step; to the end for 0. True at the end.
bool run_until(const schema::Value& config, const std::string& folder, std::int64_t step,
               bool resume) {
  StopAfter progress(step);
  RunOptions options;
  options.folder = folder;
  options.resume = resume;
  options.threads = 1;
  options.progress = &progress;
  options.stop = &progress.stop;
  try {
    Run(config, options).train();
    return true;
  } catch (const Interrupted&) {
    return false;
  }
}

// But for the number of threads, which the log has.
std::string bytes_of(const std::string& folder, int workers) {
  std::string text = fovea::test::run_bytes(folder);
  const std::string given = fmt::format("\"num_workers\": {}", workers);
  const std::size_t at = text.find(given);
  REQUIRE(at != std::string::npos);
  return text.erase(at, given.size());
}

}  // namespace

TEST_CASE("volumes: a run that is cut at any step and goes on leaves the same bytes",
          "[experiment]") {
  const Folder folder("volumes-resume");
  const char* const text = GENERATE(kDFormer, kUnet, kRegions);
  fovea::test::write_region_set("regions", 4);
  experiment::test::write("cut.json", text);
  std::string expected;
  for (const int workers : {1, 3}) {
    const schema::Value config =
        resolve(load_unresolved("cut.json", {fmt::format("train.num_workers={}", workers)}));
    const std::string straight = fmt::format("straight{}", workers);
    REQUIRE(run_until(config, straight, 0, false));
    if (expected.empty()) expected = bytes_of(straight, workers);
    CHECK((bytes_of(straight, workers) == expected));
    // Inside the second epoch, then at its end.
    const std::string cut = fmt::format("cut{}", workers);
    REQUIRE_FALSE(run_until(config, cut, 4, false));
    CHECK((bytes_of(cut, workers) != expected));
    REQUIRE_FALSE(run_until(config, cut, 6, true));
    REQUIRE(run_until(config, cut, 0, true));
    CHECK((bytes_of(cut, workers) == expected));
  }
}
