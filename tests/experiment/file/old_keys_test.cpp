// Networks whose keys have another name today.
#include <catch2/catch.hpp>

#include <fmt/format.h>

#include "experiment/file/experiment.h"
#include "schema/json/parse.h"
#include "schema/load.h"
#include "tests/experiment/fixture.h"

using namespace fovea;
using namespace fovea::experiment;

namespace {

// What stood under model.encoder of a stored configuration.
const char* const kStored = R"({"block": "basic", "stem_width": 8, "depths": [1, 2],
    "planes": [4, 6], "strides": [2, 1], "init": "kaiming", "zero_init_last": false,
    "layer_attention": null})";

schema::Value config(const std::string& model) {
  const std::string text = fmt::format(
      R"({{"task": "segmentation", "loss": "bce_dice",
          "dataset": {{"type": "paired_folder", "root": "none"}}, "model": {}}})",
      model);
  return schema::parse(text, "config.json");
}

const schema::Value& backbone_of(const schema::Value& resolved) {
  return resolved.at("model").at("backbone");
}

}  // namespace

TEST_CASE("old keys: the encoder of a stored U-Net is its backbone", "[experiment]") {
  const auto unet = [](const std::string& encoder) {
    return config(
        fmt::format(R"({{"type": "resnet_unet", "decoder_channels": [4, 4], {}}})", encoder));
  };
  const schema::Value old = unet(fmt::format("\"encoder\": {}", kStored));
  const schema::Value brought = brought_up_to_date(experiment_kind(), old);
  CHECK(backbone_of(brought).at("type").as_string() == "resnet18_reduced");
  CHECK(backbone_of(brought).at("stem_width").as_int() == 8);
  const schema::Value today =
      resolve(unet(R"("backbone": {"type": "resnet18_reduced", "stem_width": 8, "depths": [1, 2],
                                   "planes": [4, 6], "strides": [2, 1]})"));
  CHECK(identity(experiment_kind(), old) == identity(experiment_kind(), today));
  CHECK(brought == today);
}

TEST_CASE("old keys: a stored warm-up by epochs goes on rising by epochs", "[experiment]") {
  const auto with = [](const std::string& schedule) {
    return schema::parse(fmt::format(R"({{"dataset": "synthetic", "model": "vit",
        "schedule": {{"type": "cosine", {}}}}})",
                                     schedule),
                         "config.json");
  };
  const auto unit_of = [](const schema::Value& resolved) {
    return resolved.at("schedule").at("warmup_unit").as_string();
  };
  const auto brought = [&](const std::string& schedule) {
    return brought_up_to_date(experiment_kind(), with(schedule));
  };
  const std::string old = R"("unit": "epoch", "warmup_epochs": 2)";
  CHECK(unit_of(brought(old)) == "epoch");
  CHECK(unit_of(brought(R"("unit": "epoch", "warmup_epochs": 0)")) == "step");
  CHECK(unit_of(brought(R"("unit": "step", "warmup_epochs": 2)")) == "step");
  CHECK(unit_of(brought(old + R"(, "warmup_unit": "step")")) == "step");
  // Of an experiment file it is today's.
  CHECK(unit_of(resolve(with(old))) == "step");
}

TEST_CASE("old keys: what is set of an encoder is laid over its backbone", "[experiment]") {
  const experiment::test::Folder folder("old-keys");
  experiment::test::write("base.json", config(R"({"type": "resnet_unet",
                                                  "backbone": {"stem_width": 8}})")
                                           .dump());
  experiment::test::write("child.json", R"({"extends": "base.json",
      "model": {"encoder": {"layer_attention": {"type": "kcla", "head_dim": 8}}}})");
  for (const auto& [file, overrides] :
       std::vector<std::pair<std::string, std::vector<std::string>>>{
           {"child.json", {}},
           {"base.json",
            {"model.encoder.layer_attention={\"type\": \"kcla\", \"head_dim\": 8}"}}}) {
    INFO(file);
    schema::Notes notes;
    const schema::Value resolved = resolve(load_unresolved(file, overrides, notes), notes);
    CHECK(backbone_of(resolved).at("stem_width").as_int() == 8);
    CHECK(backbone_of(resolved).at("layer_attention").at("head_dim").as_int() == 8);
    REQUIRE(notes.list().size() == 1);
    CHECK(notes.list()[0] == "model.encoder is now model.backbone");
  }
}
