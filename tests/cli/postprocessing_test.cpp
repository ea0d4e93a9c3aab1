// Post-processing of masks: chosen on val, applied by eval and predict, handed on.
#include <catch2/catch.hpp>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "data/files/pictures/image_file.h"
#include "tests/cli/refusal.h"
#include "tests/support/run_cli.h"

using namespace fovea;
using namespace fovea::test;
using nlohmann::json;

TEST_CASE("post-processing: chosen on val, applied by eval and predict, handed on", "[cli]") {
  const TestFolder folder("cli-postprocessing");
  const std::string experiment = folder.write("tiny.json", R"({
    "name": "tiny", "task": "segmentation",
    "dataset": {"type": "synthetic_segmentation", "num_classes": 3, "img_size": 32,
                "train_size": 24, "test_size": 4, "split": {"val": 0.3}},
    "model": {"type": "unet", "widths": [4, 8], "decoder_channels": [4]},
    "optimizer": {"type": "adamw", "lr": 1e-2}, "train": {"epochs": 4, "batch_size": 4}})");
  const std::string run = folder.path("run").string();
  REQUIRE(run_cli("train", {experiment, "--out", run, "--quiet"}).code == 0);
  const auto eval = [&](std::vector<std::string> words, const std::string& out) {
    words.insert(words.end(), {"--json", "--out", folder.path(out).string()});
    const CliResult scored = run_cli("eval", words);
    INFO(scored.err);
    REQUIRE(scored.code == 0);
    return std::pair(json::parse(scored.out), scored.err);
  };
  const auto [plain, said_plain] = eval({run}, "plain");
  CHECK_FALSE(plain.contains("postprocessing"));
  const auto [asked, said_asked] =
      eval({run, "--keep-largest", "foreground,disc", "--min-size", "4"}, "asked");
  CHECK(asked["postprocessing"]["keep_largest"] == json({"foreground", "disc"}));
  CHECK(asked["postprocessing"]["min_size"] == "4");
  CHECK(asked["metrics"] != plain["metrics"]);
  // The loss is of what the network gives.
  CHECK(asked["metrics"]["loss"] == plain["metrics"]["loss"]);

  const CliResult chosen = run_cli("eval", {run, "--choose-postprocessing"});
  INFO(chosen.err);
  REQUIRE(chosen.code == 0);
  CHECK_THAT(chosen.out, Catch::StartsWith("tiny (7 samples of val, checkpoint ") &&
                             Catch::Contains("largest component of Dice before") &&
                             Catch::Contains("\n  foreground") && Catch::Contains("\n  cross"));
  const auto file = folder.path("run/postprocessing.json");
  json value = json::parse(io::read_text(file));
  CHECK(value["steps"].size() == 3);
  CHECK(value["cases"] == 7);
  // Whatever was chosen: that it is applied shows with what does change masks.
  value["keep_largest"] = {"foreground", "disc"};
  value["min_size"] = "4";
  io::write_atomic(file, value.dump());
  const auto [applied, said] = eval({run}, "applied");
  CHECK_THAT(said, Catch::Contains("note: post-processing: largest component of foreground, disc; "
                                   "components of at least 4 pixels (postprocessing.json, chosen "
                                   "on 7 cases of val)"));
  CHECK(applied["metrics"] == asked["metrics"]);
  CHECK(eval({run, "--keep-largest", "none"}, "none").first["metrics"] == plain["metrics"]);
  const std::string model = folder.path("model.fovea").string();
  REQUIRE(run_cli("export", {run, "--out", model}).code == 0);
  CHECK(eval({model}, "exported").first["metrics"] == asked["metrics"]);

  // predict writes the masks that eval scores.
  const auto saved = eval({run, "--save", "original_masks,masks"}, "saved").first;
  data::Image picture{40, 30, 3, {}};
  std::uint32_t noise = 1;
  for (int i = 0; i < 40 * 30; ++i) {
    if (i % 5 == 0) noise = noise * 1664525u + 1013904223u;
    picture.pixels.insert(picture.pixels.end(), 3, static_cast<std::uint8_t>(noise >> 24));
  }
  data::write_png(folder.path("own.png"), picture);
  const auto predict = [&](const std::string& out, const std::vector<std::string>& more) {
    std::vector<std::string> words = {run, folder.path("own.png").string(), "--out",
                                      folder.path(out).string(), "--quiet"};
    words.insert(words.end(), more.begin(), more.end());
    const CliResult predicted = run_cli("predict", words);
    INFO(predicted.err);
    REQUIRE(predicted.code == 0);
    return data::read_image(folder.path(out) / "own.png", 1).pixels;
  };
  const auto with = predict("with", {}), without = predict("without", {"--keep-largest", "none"});
  CHECK((with != without));
  CHECK((predict("flags", {"--keep-largest", "foreground,disc", "--min-size", "4"}) == with));
  CHECK_THAT(io::read_text(folder.path("with/predict.json")),
             Catch::Contains("\"keep_largest\": [\"foreground\", \"disc\"]"));

  // Of other weights it is not applied.
  value["weights"] = "0";
  io::write_atomic(file, value.dump());
  const auto [other, said_other] = eval({run}, "other");
  CHECK(other["metrics"] == plain["metrics"]);
  CHECK_THAT(said_other, Catch::Contains("postprocessing.json was chosen for other weights"));
  io::write_atomic(file, "{");
  const CliResult damaged = run_cli("eval", {run, "--out", folder.path("damaged").string()});
  check_refusal(damaged, 1, "postprocessing.json:1:");

  const std::string none = folder.path("refused").string();
  const auto refused = [&](std::vector<std::string> words, const std::string& message) {
    words.insert(words.end(), {"--out", none});
    io::remove_all(file);
    check_refusal(run_cli("eval", words), 2, message);
  };
  refused({run, "--keep-largest", "disk"}, "did you mean \"disc\"?");
  refused({run, "--keep-largest", "none,disc"}, "--keep-largest none: beside other names");
  refused({run, "--min-size", "5mm2"}, "the data do not say how large pixels are");
  refused({run, run, "--choose-postprocessing"}, "expected the folder of one run");
  refused({model, "--choose-postprocessing"}, "expected the folder of one run");
  refused({run, "--choose-postprocessing", "--split", "test"}, "tries by itself, on val");
}
