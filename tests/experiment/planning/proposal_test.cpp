#include "experiment/planning/proposal.h"

#include <catch2/catch.hpp>
#include <filesystem>

#include "backend/devices.h"
#include "base/error.h"
#include "data/files/pictures/image_file.h"
#include "data/registry.h"
#include "experiment/costs/training_step.h"
#include "experiment/file/experiment.h"
#include "schema/json/parse.h"
#include "tests/support/run_cli.h"

using namespace fovea;
using experiment::Proposal;
using experiment::ProposalRules;
using experiment::propose;

namespace {

struct Looked {
  schema::Value resolved;
  data::Survey survey;
  models::DataShape shape;
};

Looked look(const std::string& text) {
  Looked found{experiment::resolve(schema::parse(text, "test.json")), {}, {}};
  const data::Splits splits =
      data::make_splits(experiment::parse(found.resolved).dataset, {.survey = true});
  found.survey = data::survey(splits, 1);
  found.shape = experiment::shape_of(splits.any());
  return found;
}

Looked volumes() {
  return look(R"({"task": "segmentation", "model": {"type": "unet3d"}, "dataset":
      {"type": "synthetic_volumes", "train_size": 6, "test_size": 1, "img_size": [16, 32, 32]}})");
}

// Twelve images with masks, the first of another size than the others.
Looked images(const test::TestFolder& folder, std::int64_t height, std::int64_t width) {
  for (int n = 0; n < 12; ++n) {
    const std::int64_t tall = height + (n == 0 ? 8 : 0);
    data::Image image{tall, width, 1, {}};
    image.pixels.assign(static_cast<std::size_t>(tall * width), 100);
    data::Image mask = image;
    for (std::size_t i = 0; i < mask.pixels.size(); ++i) mask.pixels[i] = i % 3 == 0 ? 255 : 0;
    folder.write("images/" + std::to_string(n) + ".png", data::encode_png(image));
    folder.write("masks/" + std::to_string(n) + ".png", data::encode_png(mask));
  }
  return look(R"({"task": "segmentation", "model": {"type": "unet"}, "dataset":
      {"type": "paired_folder", "root": ")" +
              folder.path().string() +
              R"(", "split": {"test": 0.25}, "img_size": 64, "in_chans": 1,
                "spacing": [0.5, 0.5]}})");
}

using Sides = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("proposal: a plan of volumes becomes keys that are an experiment", "[planning]") {
  const Looked found = volumes();
  const Proposal proposal = propose(found.resolved, found.survey, found.shape);
  CHECK(proposal.fingerprint.cases == 6);
  CHECK(proposal.rules.memory_gib == 8);
  const schema::Value& settings = proposal.settings;
  CHECK(settings.at("model").at("type").as_string() == "plain_conv_unet");
  CHECK(settings.at("dataset").at("img_size") == schema::Value::array(proposal.plan.patch_size));
  CHECK(settings.at("eval").at("inferer").at("roi_size") == settings.at("dataset").at("img_size"));
  CHECK(settings.at("train").at("batch_size").as_int() == proposal.plan.batch_size);
  CHECK(experiment::to_json(proposal).at("settings") == settings);
  CHECK_THAT(experiment::to_text(proposal), Catch::Contains("proposed by nnU-Net's rules"));
}

TEST_CASE("proposal: patches shrink until a training step fits", "[planning]") {
  const Looked found = volumes();
  const Proposal whole = propose(found.resolved, found.survey, found.shape);
  ProposalRules rules;
  rules.most_bytes = whole.peak_bytes / 2;
  const Proposal half = propose(found.resolved, found.survey, found.shape, rules);
  CHECK(half.peak_bytes <= rules.most_bytes);
  CHECK(half.rules.memory_gib < whole.rules.memory_gib);
  rules = {};
  rules.most_macs = whole.macs / 2;
  CHECK(propose(found.resolved, found.survey, found.shape, rules).macs <= rules.most_macs);
  rules = {};
  rules.most_bytes = 1;
  CHECK_THROWS_WITH(propose(found.resolved, found.survey, found.shape, rules),
                    Catch::Contains("plan: "));
}

TEST_CASE("proposal: images with masks get a square and a U-Net of as many stages", "[planning]") {
  const Looked found = look(R"({"task": "segmentation", "model": {"type": "unet"}, "dataset":
      {"type": "synthetic_segmentation", "train_size": 40, "test_size": 4, "img_size": 64}})");
  const Proposal proposal = propose(found.resolved, found.survey, found.shape);
  CHECK(proposal.plan.patch_size == std::vector<std::int64_t>{64, 64});
  CHECK(proposal.settings.at("dataset").at("img_size").as_int() == 64);
  CHECK(proposal.settings.at("model").at("widths").size() == 5);
  CHECK(proposal.settings.at("model").at("decoder_channels").size() == 4);
  ProposalRules rules;
  rules.most_side = 32;
  CHECK(propose(found.resolved, found.survey, found.shape, rules).plan.patch_size ==
        std::vector<std::int64_t>{32, 32});
}

TEST_CASE("proposal: images of several sizes are cut into patches", "[planning]") {
  const test::TestFolder folder("proposal-patches");
  const Looked found = images(folder, 80, 128);
  const Proposal proposal = propose(found.resolved, found.survey, found.shape);
  CHECK(proposal.images == experiment::ImagePlan::kPatches);
  CHECK(proposal.fingerprint.median_shape == std::vector<double>{80, 128});
  CHECK(proposal.fingerprint.spacing == std::vector<double>{0.5, 0.5});
  // Halved four times, to 5 x 8; nnU-Net halves no side below 8, and none below 12 alone.
  CHECK(proposal.plan.patch_size == Sides{80, 128});
  CHECK(proposal.plan.features_per_stage == Sides{32, 64, 128, 256, 512});
  const schema::Value& settings = proposal.settings;
  CHECK(settings.at("dataset").at("patch_size") == schema::Value::array(Sides{80, 128}));
  CHECK(settings.at("dataset").find("img_size") == nullptr);
  CHECK(settings.at("eval").at("inferer").at("roi_size") ==
        settings.at("dataset").at("patch_size"));
  CHECK_THAT(experiment::to_text(proposal),
             Catch::Contains("images of 80 x 128 pixels (median) of 0.5 x 0.5 mm"));
  // For a small device images are made smaller, too.
  ProposalRules rules;
  rules.most_side = 16;
  const Proposal small = propose(found.resolved, found.survey, found.shape, rules);
  CHECK(small.plan.patch_size == Sides{16, 16});
  CHECK(small.settings.at("dataset").at("longest").as_int() == 64);
  CHECK(small.fingerprint.median_shape == std::vector<double>{40, 64});
  CHECK(small.fingerprint.spacing == std::vector<double>{1, 1});
}

TEST_CASE("proposal: stages that halve one side of images alone are left out", "[planning]") {
  const test::TestFolder folder("proposal-narrow");
  const Looked found = images(folder, 16, 128);
  const Proposal proposal = propose(found.resolved, found.survey, found.shape);
  CHECK(proposal.plan.patch_size == Sides{16, 128});
  CHECK(proposal.plan.strides == std::vector<Sides>{{1, 1}, {2, 2}, {2, 2}});
  CHECK(proposal.settings.at("model").at("widths").size() == 3);
}

TEST_CASE("proposal: data without patches are refused", "[planning]") {
  const Looked found = look(R"({"model": {"type": "vit"}, "dataset":
      {"type": "synthetic", "train_size": 8, "test_size": 4, "img_size": 8}})");
  CHECK_THROWS_WITH(propose(found.resolved, found.survey, found.shape),
                    Catch::Contains("images have no patches to be planned"));
}
