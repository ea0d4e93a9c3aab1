#include "experiment/run/summary.h"

#include <catch2/catch.hpp>

using namespace fovea;
using schema::Value;

namespace {

experiment::Summary summary_of(const char* type, std::int64_t side) {
  const schema::Choice choice = schema::find_choice(models::entries().choices(), type, "model");
  const schema::Component model{
      type, choice.fields->resolve_component(Value::object({{"type", type}}), "model")};
  const auto make = [&](const Device& device) {
    return models::make_model(model, {device, DType::kFloat32, RandomStream(1), nn::Init::kTorch},
                              {3, side, side, 10});
  };
  return experiment::summarise(make, {3, side, side}, 2);
}

}  // namespace

TEST_CASE("summary: the paper's count stands beside the engine's where they differ",
          "[experiment]") {
  const experiment::Summary resnet = summary_of("resnet20", 32);
  const Value json = experiment::to_json(resnet);
  CHECK(json.at("parameters").as_int() == 220378);
  CHECK(json.at("macs").as_int() == 33737216);
  CHECK(json.at("macs_paper").as_int() == 35801856);
  CHECK(json.at("flops").as_int() == 2 * 33737216);
  CHECK(experiment::to_text(resnet, 0).find(
            "33.7 M MACs (67.5 M FLOPs; 35.8 M MACs as the paper counts, by modules, "
            "without the products of attention)") != std::string::npos);
  const experiment::Summary vit = summary_of("vit", 32);
  CHECK(experiment::to_json(vit).find("macs_paper") == nullptr);
  CHECK(experiment::to_text(vit, 0).find("paper") == std::string::npos);
}

TEST_CASE("summary: modules have their own share of parameters and multiply-adds", "[experiment]") {
  std::int64_t parameters = 0;
  std::int64_t macs = 0;
  const experiment::Summary resnet = summary_of("resnet20", 32);
  for (const experiment::ModuleSummary& row : resnet.modules) {
    if (row.level != 1) continue;
    parameters += row.parameters;
    macs += row.macs;
  }
  CHECK(parameters == resnet.parameters);
  CHECK(macs == resnet.macs);
}
