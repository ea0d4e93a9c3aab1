// Which parameters decay, and whose rates and weight decay are their own.
#include <catch2/catch.hpp>

#include "base/error.h"
#include "optim/rates.h"
#include "tests/optim/optimisers.h"

using namespace fovea;
using optim::NoDecay;
using optim::Parameter;

TEST_CASE("weight decay: the rules see roles and axes", "[optim]") {
  const auto of = [](const std::string& name, const Shape& shape, NoDecay rule) {
    return optim::decays({name, Tensor::empty(shape, DType::kFloat32, test::cpu())}, rule);
  };
  CHECK(of("blocks.0.norm1.bias", {4}, NoDecay::kNone));
  CHECK_FALSE(of("blocks.0.norm1.weight", {4}, NoDecay::kNormAndBias));
  CHECK_FALSE(of("head.bias", {4}, NoDecay::kNormAndBias));
  CHECK_FALSE(of("attn.in_proj_bias", {4}, NoDecay::kNormAndBias));
  CHECK(of("head.weight", {4, 4}, NoDecay::kNormAndBias));
  CHECK(of("attn.lambda_q1", {4}, NoDecay::kNormAndBias));
  CHECK(of("cls_token", {1, 1, 4}, NoDecay::kNormAndBias));
  CHECK_FALSE(of("attn.lambda_q1", {4}, NoDecay::kOneDimensional));
  CHECK_FALSE(of("scale", {}, NoDecay::kOneDimensional));
  CHECK(of("head.weight", {4, 4}, NoDecay::kOneDimensional));
  CHECK(of("pos_embed", {1, 5, 4}, NoDecay::kOneDimensional));
  for (const char* name : {"pos_embed", "backbone.cls_token", "reg_token", "dist_token",
                           "layers.0.blocks.1.attn.relative_position_bias_table"}) {
    INFO(name);
    CHECK_FALSE(of(name, {9, 4}, NoDecay::kTimm));
  }
  CHECK_FALSE(of("norm.weight", {4}, NoDecay::kTimm));
  CHECK(of("patch_embed.proj.weight", {4, 4}, NoDecay::kTimm));
}

TEST_CASE("weight decay: names with stars are left out besides the rule", "[optim]") {
  const std::vector<Parameter> parameters = {
      test::named("a.lambda", {1, 1}, {1, 2}), test::named("b.lambda", {1, 1}, {1, 2}),
      test::named("lambda.weight", {1, 1}, {1, 2}), test::named("a.bias", {1, 1}, {2})};
  const auto decay = [&](const std::string& options) {
    return test::make_optimiser("{\"type\": \"adamw\", \"weight_decay\": 0.5" + options + "}",
                                parameters)
        ->weight_decay();
  };
  CHECK(decay("") == std::vector{0.5, 0.5, 0.5, 0.5});
  CHECK(decay(R"(, "no_decay_names": ["*.lambda"])") == std::vector{0.0, 0.0, 0.5, 0.5});
  CHECK(decay(R"(, "no_decay_names": ["a.lambda", "lambda.*"], "no_decay": "norm_and_bias")") ==
        std::vector{0.0, 0.5, 0.0, 0.0});
  CHECK_THROWS_WITH(decay(R"(, "no_decay_names": ["b.lamda"])"),
                    Catch::Contains("\"b.lamda\" matches none of the 4 parameters; did you mean "
                                    "\"b.lambda\""));
}

TEST_CASE("parameter groups: rates and weight decay by name", "[optim]") {
  const std::vector<Parameter> parameters = {
      test::named("stem.weight", {1, 1}, {1, 2}), test::named("head.weight", {1, 1}, {1, 2}),
      test::named("head.bias", {1, 1}, {2}), test::named("norm.weight", {1, 1}, {2})};
  const auto with = [&](const std::string& groups) {
    return test::make_optimiser(
        R"({"type": "sgd", "momentum": 0, "weight_decay": 0.5, "no_decay": "timm",
                    "param_groups": [)" +
            groups + "]}",
        parameters);
  };
  const auto optimiser = with(R"({"params": ["head.*"], "lr_scale": 10, "weight_decay": 0.1},
                                 {"params": ["norm.weight", "stem.*"], "lr_scale": 0.5})");
  CHECK(optimiser->lr_scale() == std::vector{0.5, 10.0, 10.0, 0.5});
  // What a rule leaves out of weight decay has none in a group either.
  CHECK(optimiser->weight_decay() == std::vector{0.5, 0.1, 0.0, 0.0});
  for (const Parameter& parameter : parameters) test::set_gradient(parameter, {1, 1});
  optimiser->step(0.01);
  CHECK(test::to_doubles(parameters[0].tensor)[0] == Approx(1 - 0.005 * (1 + 0.5)).margin(1e-15));
  CHECK(test::to_doubles(parameters[1].tensor)[0] == Approx(1 - 0.1 * (1 + 0.1)).margin(1e-15));
  CHECK(test::to_doubles(parameters[2].tensor)[0] == Approx(1 - 0.1).margin(1e-15));

  CHECK_THROWS_WITH(
      with(R"({"params": ["head.*"]}, {"params": ["haed.bias"]})"),
      Catch::Contains("optimizer.param_groups.1.params: \"haed.bias\" matches none of "
                      "the 4 parameters; did you mean \"head.bias\""));
  CHECK_THROWS_WITH(with(R"({"params": ["head.*"]}, {"params": ["*.bias"]})"),
                    "optimizer.param_groups: head.bias is in groups 0 and 1; expected one");
  CHECK_THROWS_WITH(with(R"({"params": ["head.*"], "lr": 1})"), Catch::Contains("lr_scale"));
}

TEST_CASE("layer decay: needs an order of layers, and multiplies the scales of groups", "[optim]") {
  std::vector<Parameter> parameters = {
      test::named("stem", {1}, {1}), test::named("block", {1}, {1}), test::named("head", {1}, {1})};
  const auto make_with = [&](const std::string& more) {
    return test::make_optimiser(R"({"type": "adamw", "layer_decay": 0.5)" + more + "}", parameters);
  };
  CHECK_THROWS_WITH(make_with(""), Catch::Contains("optimizer.layer_decay: is 0.5, and the network "
                                                   "has no order of blocks; expected 1"));
  for (std::int64_t i = 0; i < 3; ++i)
    parameters[static_cast<std::size_t>(i)].layers_to_output = 2 - i;
  CHECK(make_with("")->lr_scale() == std::vector{0.25, 0.5, 1.0});
  CHECK(make_with(R"(, "param_groups": [{"params": ["stem"], "lr_scale": 3}])")->lr_scale() ==
        std::vector{0.75, 0.5, 1.0});
  CHECK(optim::scales_text(*make_with("")) ==
        "learning rates are 0.25 (stem) to 1 (head) times that of the schedule");
  CHECK(optim::scales_text(*test::make_optimiser(R"({"type": "adamw"})", parameters)).empty());
}
