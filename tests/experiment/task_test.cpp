// What a task brings to an experiment.
#include <catch2/catch.hpp>

#include "base/error.h"
#include "experiment/file/experiment.h"
#include "schema/json/parse.h"

using namespace fovea;

namespace {

schema::Value resolved(const std::string& json) {
  return experiment::resolve(schema::parse(json, "experiment"));
}

std::string segmentation(const std::string& rest) {
  return R"({"task": "segmentation", "dataset": {"type": "paired_folder", "root": "none"},
             "model": {"type": "unet"})" +
         rest + "}";
}

}  // namespace

TEST_CASE("task: an experiment without a loss gets one that fits", "[experiment]") {
  CHECK(resolved("{}").at("loss").at("type").as_string() == "cross_entropy");
  CHECK(resolved(segmentation("")).at("loss").at("type").as_string() == "bce_dice");
  const schema::Value weighted = resolved(segmentation(R"(, "loss": {"dice_weight": 2})"));
  CHECK(weighted.at("loss").at("type").as_string() == "bce_dice");
  CHECK(weighted.at("loss").at("dice_weight").as_double() == 2);
  // What was resolved keeps its own.
  CHECK(experiment::resolve(weighted) == weighted);
  CHECK_THROWS_WITH(resolved(R"({"loss": {"dice_weight": 2}})"), Catch::Contains("dice_weight"));
}

TEST_CASE("task: the loss that an experiment does not name fits its data", "[experiment]") {
  const auto of = [](const std::string& dataset) {
    return resolved(R"({"task": "segmentation", "model": "unet", "dataset": )" + dataset + "}")
        .at("loss")
        .at("type")
        .as_string();
  };
  CHECK(of(R"({"type": "paired_folder", "mask_type": "labels"})") == "dice_ce");
  CHECK(of(R"({"type": "paired_folder", "mask_type": "foreground"})") == "bce_dice");
  CHECK(of(R"("synthetic_segmentation")") == "dice_ce");
  CHECK(of(R"({"type": "synthetic_segmentation", "num_classes": 7})") == "dice_ce");
  const schema::Value weighted = resolved(
      R"({"task": "segmentation", "model": "unet", "dataset": "synthetic_segmentation",
          "loss": {"ce_weight": 0.5}})");
  CHECK(weighted.at("loss").at("type").as_string() == "dice_ce");
  CHECK_THROWS_WITH(of(R"({"type": "synthetic_segmentation", "classes": 7})"),
                    Catch::Contains("did you mean \"num_classes\"?"));
  CHECK_THROWS_WITH(of(R"("synthetic")"),
                    Catch::Contains("images with masks or images with maps of labels"));
}

TEST_CASE("task: data and network must fit it", "[experiment]") {
  CHECK_THROWS_WITH(resolved(R"({"task": "segmentation"})"),
                    Catch::Contains("segmentation needs a data set of images with masks"));
  CHECK_THROWS_WITH(resolved(R"({"task": "segmentatoin"})"), Catch::Contains("segmentation"));
}

TEST_CASE("task: what a run may measure is known from its configuration", "[experiment]") {
  const auto names = [](const std::string& json) {
    std::vector<std::string> list;
    for (const auto& metric : experiment::metrics_of(experiment::parse(resolved(json))))
      list.push_back(metric.name);
    return list;
  };
  CHECK(names(R"({"train": {"ema_decay": 0.9}})") ==
        std::vector<std::string>{"loss", "top1", "top5", "ema_loss", "ema_top1", "ema_top5"});
  CHECK(names(segmentation("")).size() == 9);
  CHECK(
      names(R"({"task": "segmentation", "model": "unet", "dataset": "synthetic_segmentation"})") ==
      std::vector<std::string>{"loss", "pooled_dice", "miou", "accuracy", "mean_class_accuracy",
                               "dice_per_image", "iou_per_image", "pooled_dice_*", "pooled_iou_*"});
}
