#include "experiment/planning/proposal.h"

#include <catch2/catch.hpp>
#include <filesystem>

#include "backend/devices.h"
#include "base/error.h"
#include "data/registry.h"
#include "experiment/costs/training_step.h"
#include "experiment/file/experiment.h"
#include "schema/json/parse.h"

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

TEST_CASE("proposal: data without patches are refused", "[planning]") {
  const Looked found = look(R"({"model": {"type": "vit"}, "dataset":
      {"type": "synthetic", "train_size": 8, "test_size": 4, "img_size": 8}})");
  CHECK_THROWS_WITH(propose(found.resolved, found.survey, found.shape),
                    Catch::Contains("images have no patches to be planned"));
}
