#include "experiment/run/preflight.h"

#include <catch2/catch.hpp>

#include "experiment/tables/row_errors.h"
#include "schema/load.h"
#include "tests/experiment/fixture.h"
#include "tests/support/paths.h"

using namespace fovea;
using namespace fovea::experiment;
using fovea::experiment::test::Folder;
using fovea::experiment::test::write;

namespace {

constexpr std::int64_t kPlenty = std::int64_t{1} << 40;

std::string base() {
  return R"({"dataset": {"type": "digits", "root": ")" + fovea::test::source_dir() +
         R"(/datasets/digits", "val_fraction": 0.1},
    "model": {"type": "dgvit", "patch_size": 4, "embed_dim": 16, "depth": 2,
              "attention": {"num_heads": 2}},
    "train": {"epochs": 1, "batch_size": 32}})";
}

Ablation load(const std::string& rows, const std::string& more = "") {
  write("a.json", R"({"name": "a", "base": )" + base() + R"(, "seeds": [0], "rows": [)" + rows +
                      "]" + more + "}");
  return load_ablation("a.json", experiment_kind());
}

std::vector<std::string> errors(const Ablation& ablation, std::int64_t memory = kPlenty,
                                int jobs = 1) {
  SweepOptions options;
  options.out = "out";
  options.jobs = jobs;
  try {
    check_sweep(ablation, options, memory);
  } catch (const RowErrors& error) {
    return error.lines();
  }
  return {};
}

}  // namespace

TEST_CASE("preflight: what is wrong with any row is said before the first starts", "[experiment]") {
  const Folder folder("preflight");
  const auto found = errors(load(
      R"({"name": "good"},
         {"name": "heads", "set": {"model.attention.num_heads": 3}},
         {"name": "monitor", "set": {"train.monitor": "tpo1"}},
         {"name": "two", "set": {"model.attention.num_heads": 5, "train.monitor": "miou"}},
         {"name": "data", "set": {"dataset.root": "nowhere"}},
         {"name": "data too", "set": {"dataset.root": "nowhere", "train.epochs": 2}})",
      R"(, "metrics": ["test_top1", "val_loss"])"));
  REQUIRE(found.size() == 5);
  CHECK_THAT(found[0], Catch::Contains("not divisible") && Catch::EndsWith("(row \"heads\")"));
  CHECK(
      found[1] ==
      "train.monitor: no metric called \"tpo1\"; did you mean \"top1\"? (known: loss, top1, top5) "
      "(row \"monitor\")");
  CHECK_THAT(found[2], Catch::Contains("not divisible") && Catch::EndsWith("(row \"two\")"));
  CHECK_THAT(found[3], Catch::StartsWith("train.monitor: no metric called \"miou\"") &&
                           Catch::EndsWith("(row \"two\")"));
  CHECK_THAT(found[4],
             Catch::Contains("nowhere") && Catch::EndsWith("(rows \"data\", \"data too\")"));
}

TEST_CASE("preflight: columns of the table must be measured", "[experiment]") {
  const Folder folder("preflight-metrics");
  write("../paper/published.json",
        R"({"tables": [{"table": "T", "rows": [{"row": "r", "values": {"A": 1}}]}]})");
  const auto found = errors(load(
      R"({"name": "x", "published": {"table": "T", "row": "r", "columns": {"tets_top1": "A"}}})",
      R"(, "metrics": ["test_top1", "test_topp5", "val_ema_top1"], "published": "paper")"));
  const std::string known =
      " (known: val_loss, val_top1, val_top5, test_loss, test_top1, test_top5";
  CHECK(found ==
        std::vector<std::string>{
            "published.columns: no metric called \"tets_top1\"; did you mean \"test_top1\"?" +
                known + ", parameters, macs, macs_paper, min_per_epoch) (row \"x\")",
            "metrics: no metric called \"test_topp5\"; did you mean \"test_top5\"?" + known + ")",
            "metrics: no metric called \"val_ema_top1\"" + known + ")"});
  // One row with averaged weights is enough for the column.
  CHECK(errors(load(R"({"name": "x"}, {"name": "y", "set": {"train.ema_decay": 0.9}})",
                    R"(, "metrics": ["val_ema_top1"])"))
            .empty());
}

TEST_CASE("preflight: a misspelt column is said even where data are missing", "[experiment]") {
  const Folder folder("preflight-no-data");
  const auto found =
      errors(load(R"({"name": "x"}, {"name": "y", "set": {"dataset.root": "nowhere"}})",
                  R"(, "metrics": ["test_top1", "test_topp1", "val_top5"])"));
  REQUIRE(found.size() == 2);
  CHECK_THAT(found[0], Catch::Contains("nowhere"));
  CHECK_THAT(
      found[1],
      Catch::StartsWith("metrics: no metric called \"test_topp1\"; did you mean \"test_top1\"?"));
}

TEST_CASE("preflight: the memory of a step, and of all jobs together", "[experiment]") {
  const Folder folder("preflight-memory");
  const Ablation ablation =
      load(R"({"name": "x"}, {"name": "wide", "set": {"train.batch_size": 512}})");
  CHECK(errors(ablation).empty());
  OpenData data;
  const std::int64_t small = look_ahead(ablation.rows[0].config, data).peak_bytes;
  const std::int64_t large = look_ahead(ablation.rows[1].config, data).peak_bytes;
  CHECK(small > 0);
  CHECK(large > 4 * small);
  const auto found = errors(ablation, (small + large) / 2);
  REQUIRE(found.size() == 1);
  CHECK_THAT(found[0], Catch::StartsWith("train.batch_size: a training step needs about ") &&
                           Catch::EndsWith("(row \"wide\")"));
  CHECK(errors(ablation, 2 * large, 2).empty());
  const auto together = errors(ablation, 2 * large, 3);
  REQUIRE(together.size() == 1);
  CHECK_THAT(together[0], Catch::StartsWith("--jobs 3: ") && Catch::EndsWith("use --jobs 2"));
  CHECK(errors(ablation, 0, 100).empty());  // unknown
}

TEST_CASE("preflight: finished rows are left alone", "[experiment]") {
  const Folder folder("preflight-finished");
  const Ablation broken = load(R"({"name": "x", "set": {"model.attention.num_heads": 3}})");
  const JobPaths paths = paths_of("out", broken.jobs[0]);
  CHECK(errors(broken).size() == 1);
  write(paths.run / "config.json", broken.jobs[0].config.dump());
  write(paths.run / "summary.json", R"({"metrics": {"test": {"top1": 1}}})");
  CHECK(errors(broken).empty());
}

// Opening is what takes long.
TEST_CASE("preflight: rows that read the same data open them once", "[experiment]") {
  const Folder folder("preflight-many");
  std::string rows = R"({"name": "other", "set": {"train.batch_size": 16}})";
  for (int i = 1; i <= 20; ++i)
    rows += R"(, {"name": "r)" + std::to_string(i) + R"(", "set": {"train.epochs": )" +
            std::to_string(i) + "}}";
  const Ablation ablation = load(rows);
  CHECK(errors(ablation).empty());
  OpenData data;
  for (const auto& row : ablation.rows) CHECK(look_ahead(row.config, data).problems.empty());
  CHECK(data.size() == 2);
}

TEST_CASE("preflight: all errors of rows an experiment does not have come at once",
          "[experiment]") {
  const Folder folder("preflight-rows");
  try {
    load(R"({"name": "a", "set": {"model.dept": 1}}, {"name": "b"},
            {"name": "c", "set": {"train.batch_size": 0}})");
    FAIL("accepted");
  } catch (const RowErrors& error) {
    REQUIRE(error.lines().size() == 2);
    CHECK_THAT(error.lines()[0],
               Catch::Contains("model.dept: unknown key") && Catch::EndsWith("(row \"a\")"));
    CHECK_THAT(error.lines()[1],
               Catch::Contains("train.batch_size: expected") && Catch::EndsWith("(row \"c\")"));
  }
}

TEST_CASE("preflight: maps, losses and windows that do not fit the masks are one line each",
          "[experiment]") {
  const Folder folder("preflight-masks");
  const std::string unet = R"({"type": "unet", "widths": [2, 4], "decoder_channels": [2])";
  write("a.json",
        R"({"name": "a", "seeds": [0], "metrics": ["test_mean_dice", "val_dice_disc"], "base":
            {"task": "segmentation", "dataset": {"type": "synthetic_segmentation", "img_size": 8,
             "split": {"val": 0.5}}, "model": )" +
            unet + R"(}, "train": {"epochs": 1, "batch_size": 2}},
            "rows": [{"name": "good"},
                     {"name": "maps", "set": {"model.num_classes": 6}},
                     {"name": "loss", "set": {"loss": {"type": "bce_dice"}}},
                     {"name": "axes", "set": {"eval.inferer": {"type": "sliding_window",
                                                               "roi_size": [4, 4, 4]}}},
                     {"name": "small", "set": {"eval.inferer": {"type": "sliding_window",
                                                                "roi_size": [1]}}},
                     {"name": "windows", "set": {"eval": {"inferer": {"type": "sliding_window"}},
                      "task": "image_classification", "dataset": {"type": "synthetic"},
                      "model": {"type": "resnet20"}, "loss": null}}]})");
  const auto found = errors(load_ablation("a.json", experiment_kind()));
  REQUIRE(found.size() == 5);
  CHECK(found[0] ==
        "model.num_classes: 6, but the masks of the data set have 4 classes (background, disc, "
        "cross, frame); expected 4, or null (row \"maps\")");
  CHECK(found[1] ==
        "loss.type: bce_dice does not compare label maps; choose cross_entropy, dice, dice_ce, "
        "boundary_dou, nnunet, paper_eq8, focal "
        "(row \"loss\")");
  CHECK(found[2] ==
        "eval.inferer.roi_size: 3 numbers for samples of 2 axes; expected one for each, or one for "
        "all (row \"axes\")");
  CHECK_THAT(found[3], Catch::StartsWith("eval.inferer.roi_size: the network cannot take windows "
                                         "of (1, 1): max_pool") &&
                           Catch::EndsWith("(row \"small\")"));
  CHECK_THAT(found[4], Catch::StartsWith("eval.inferer: windows are of dense networks") &&
                           Catch::EndsWith("(row \"windows\")"));
}

TEST_CASE("preflight: the learning rates of the rows are told, rates of 0 throughout refused",
          "[experiment]") {
  const Folder folder("preflight-rates");
  SweepOptions options;
  options.out = "out";
  const std::string warm = R"("schedule": {"type": "cosine", "warmup_epochs": 1)";
  const auto lines = check_sweep(load(R"({"name": "A"}, {"name": "B", "set": {)" + warm +
                                      R"(}}}, {"name": "C", "set": {"model.depth": 1}})"),
                                 options, kPlenty);
  REQUIRE(lines.size() == 2);
  CHECK_THAT(lines[0], Catch::StartsWith("learning rate: epoch 1: 0 to ") &&
                           Catch::EndsWith("; 0 in 1 step (1 of 3 rows: B)"));
  CHECK_THAT(lines[1], Catch::StartsWith("learning rate: epoch 1: 0.001, highest") &&
                           Catch::EndsWith("(2 of 3 rows: A, C)"));
  // One epoch of a warm-up that rises by epochs from 0: every network would stay untrained.
  const auto found = errors(
      load(R"({"name": "A"}, {"name": "B", "set": {)" + warm + R"(, "warmup_unit": "epoch"}}})"));
  REQUIRE(found.size() == 1);
  CHECK_THAT(found[0], Catch::StartsWith("schedule: the learning rate is 0 in all ") &&
                           Catch::EndsWith("(row \"B\")"));
}
