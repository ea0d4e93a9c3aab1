// The smallest experiment files: what is not said follows from the data.
#include "experiment/file/usual_settings.h"

#include <catch2/catch.hpp>

#include "base/error.h"
#include "data/registry.h"
#include "experiment/costs/training_step.h"
#include "experiment/file/experiment.h"
#include "schema/json/parse.h"
#include "training/tasks/task_registry.h"

using namespace fovea;
using namespace fovea::experiment;

namespace {

Experiment resolved(const std::string& text) {
  return parse(resolve(schema::parse(text, "smallest.json")));
}

}  // namespace

TEST_CASE("usual settings: every task has a network that fits it", "[experiment]") {
  for (const training::TaskEntry& task : training::tasks()) {
    INFO(task.name);
    const auto& usual = models::entries().find(task.info.usual.model);
    CHECK(usual.interface == task.info.network);
    CHECK(usual.axes == 2);
    if (!task.info.of_volumes) continue;
    const auto& of_volumes = models::entries().find(task.info.of_volumes->model);
    CHECK(of_volumes.interface == task.info.network);
    CHECK(of_volumes.axes == 3);
  }
}

TEST_CASE("usual settings: a data set alone is an experiment", "[experiment]") {
  for (const data::DatasetEntry& entry : data::datasets()) {
    INFO(entry.name);
    const Experiment e = resolved(R"({"dataset": {"type": ")" + entry.name + R"("}})");
    const training::TaskInfo& info = training::tasks().find(e.task).info;
    CHECK(info.reads(data::kind_of(e.dataset)));
    CHECK(models::entries().find(e.model.type).axes == entry.axes);
    CHECK((e.train.batch_size == info.usual.batch_size || e.train.batch_size == 32 ||
           entry.axes == 3));
  }
  CHECK(resolved(R"({"dataset": "text_csv"})").task == "text_classification");
  CHECK(resolved(R"({"dataset": "nnunet"})").model.type == "unet3d");
  CHECK(resolved(R"({"dataset": "nnunet"})").train.batch_size == 2);
  CHECK(resolved("{}").task == "image_classification");
  // A Transformer with patches of 4 pixels is for small pictures.
  CHECK(resolved(R"({"dataset": "digits"})").model.type == "vit");
  CHECK(resolved(R"({"dataset": "digits"})").train.batch_size == 128);
  CHECK(resolved(R"({"dataset": "image_folder"})").model.type == "resnet18");
  CHECK(resolved(R"({"dataset": {"type": "image_folder", "img_size": 224}})").train.batch_size ==
        32);
  CHECK(resolved(R"({"dataset": {"type": "image_folder", "img_size": 32}})").model.type == "vit");
}

TEST_CASE("usual settings: a step of drawn data takes no more memory than a laptop has",
          "[experiment]") {
  for (const char* type : {"synthetic", "synthetic_segmentation", "synthetic_scenes",
                           "synthetic_volumes", "synthetic_boxes", "synthetic_speech"}) {
    INFO(type);
    const Experiment e = resolved(std::string(R"({"dataset": ")") + type + "\"}");
    CHECK(step_peak_bytes(e, data_shape(e)) < std::int64_t{12} << 30);
  }
}

TEST_CASE("usual settings: what is given stays", "[experiment]") {
  const Experiment e = resolved(
      R"({"task": "generation", "dataset": "synthetic", "model": "dit_b", "train": {"epochs": 3}})");
  CHECK(e.task == "generation");
  CHECK(e.model.type == "dit_b");
  CHECK(e.train.epochs == 3);
  CHECK(e.train.batch_size == 32);
  CHECK(resolved(R"({"dataset": "text_csv", "train": {"batch_size": 5}})").train.batch_size == 5);
  // Options without a type are of the usual network.
  const Experiment deeper = resolved(R"({"dataset": "text_csv", "model": {"depth": 2}})");
  CHECK(deeper.model.type == "transformer");
  CHECK(deeper.model.options.at("depth").as_int() == 2);
  CHECK_THROWS_WITH(resolved(R"({"dataset": "synthetic_boxes", "loss": "dice"})"),
                    Catch::Contains("detection has a loss of its own"));
  // What is not valid is complained of where it stands.
  CHECK_THROWS_WITH(
      resolved(R"({"dataset": "digit"})"),
      Catch::Contains("no dataset called \"digit\"") && Catch::Contains("did you mean \"digits\""));
  CHECK_THROWS_WITH(resolved(R"({"dataset": "text_csv", "train": 3})"),
                    Catch::Contains("train: expected"));
}
