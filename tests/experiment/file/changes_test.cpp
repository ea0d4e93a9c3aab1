#include "experiment/file/changes.h"

#include <catch2/catch.hpp>

#include "schema/json/parse.h"
#include "tests/experiment/fixture.h"

using namespace fovea;
using namespace fovea::experiment;

namespace {

schema::Value config(const std::string& train, const std::string& limit = "{}") {
  return schema::parse(R"({"train": )" + train + R"(, "dataset": {"limit": )" + limit + "}}", "x");
}

std::string changes(const RowPlan& plan) {
  std::string all;
  for (const std::string& change : changes_of(plan)) all += change + "; ";
  return all;
}

}  // namespace

TEST_CASE("changes: what is as planned and published is not named", "[experiment]") {
  RowPlan plan{config(R"({"epochs": 300, "steps": 0})"),
               config(R"({"epochs": 300, "steps": 0})"),
               {0, 1, 2},
               {0, 1, 2},
               {},
               {}};
  CHECK(changes(plan).empty());
  plan.published = {300, 3, 50000, ""};
  CHECK(changes(plan).empty());
  plan.config = config(R"({"epochs": 400, "steps": 0})");  // more hides nothing
  CHECK(changes(plan).empty());
}

TEST_CASE("changes: fewer epochs, samples and seeds, and what the command line set",
          "[experiment]") {
  RowPlan plan{config(R"({"epochs": 12, "steps": 0})", R"({"train": 1000, "test": 20})"),
               config(R"({"epochs": 300, "steps": 0})"),
               {0},
               {0, 1, 2},
               {"train.epochs=12", "dataset.limit.train=1000"},
               {std::nullopt, std::nullopt, 50000, ""}};
  CHECK(changes(plan) ==
        "12 of 300 epochs; 1,000 of 50,000 training samples; 20 test samples (limit); 1 of 3 "
        "seeds; --set train.epochs=12; --set dataset.limit.train=1000; ");
  plan.published = {};
  CHECK_THAT(changes(plan), Catch::Contains("; 1,000 training samples (limit); "));
}

TEST_CASE("changes: the publication counts before the plan", "[experiment]") {
  const schema::Value planned = config(R"({"epochs": 10, "steps": 0})", R"({"train": 500})");
  const RowPlan plan{planned, planned, {42}, {42}, {}, {180, 5, 50000, ""}};
  CHECK(changes(plan) == "10 of 180 epochs; 500 of 50,000 training samples; 1 of 5 seeds; ");
}

TEST_CASE("changes: a backbone that is not pretrained as the published one", "[experiment]") {
  const auto with = [](const std::string& model) {
    return schema::parse(R"({"train": {"epochs": 1}, "model": )" + model + "}", "x");
  };
  const auto said = [&](const std::string& model) {
    RowPlan plan;
    plan.config = plan.planned = with(model);
    plan.seeds = plan.planned_seeds = {0};
    plan.published.pretrained = "ImageNet";
    return changes(plan);
  };
  CHECK(said(R"({"backbone": {"type": "pvt_v2_b2", "weights": ""}})") ==
        "backbone from random numbers, published: from ImageNet; ");
  CHECK(said(R"({"backbone": {"type": "pvt_v2_b2", "weights": "pvt.safetensors"}})").empty());
  CHECK(said(R"({"type": "unet"})").empty());
}

TEST_CASE("changes: steps instead of epochs, and other seeds", "[experiment]") {
  RowPlan plan{config(R"({"epochs": 300, "steps": 2000})"),
               config(R"({"epochs": 300, "steps": 0})"),
               {7},
               {0},
               {},
               {}};
  CHECK(changes(plan) == "2,000 steps instead of 300 epochs; seeds 7 instead of 0; ");
  plan.planned = config(R"({"epochs": 300, "steps": 10000})");
  CHECK_THAT(changes(plan), Catch::StartsWith("2,000 of 10,000 steps; "));
}

TEST_CASE("changes: an ablation notes them for each row, without settings of no effect",
          "[experiment]") {
  const test::Folder folder("changes");
  test::write("a.json", R"({"name": "a", "base": {"train": {"epochs": 5}}, "seeds": [0, 1],
    "rows": [{"name": "x"}, {"name": "y", "set": {"train.epochs": 2, "model.depth": 1}}]})");
  const Ablation plain = load_ablation("a.json", test::kind());
  CHECK(plain.rows[0].changes.empty());
  const Ablation cut =
      load_ablation("a.json", test::kind(), {{"train.epochs=2", "train.threads=3", "name=z"}, {0}});
  CHECK(cut.rows[0].changes ==
        std::vector<std::string>{"2 of 5 epochs", "1 of 2 seeds", "--set train.epochs=2"});
  // For this row the override changes nothing.
  CHECK(cut.rows[1].changes == std::vector<std::string>{"1 of 2 seeds"});
}
