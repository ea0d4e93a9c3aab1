// Whole training steps against the reference: network, loss, gradients, optimiser, schedule.
#include <catch2/catch.hpp>

#include <cmath>

#include "autograd/graph.h"
#include "models/model.h"
#include "tests/support/paths.h"
#include "tests/support/tensors.h"
#include "tests/training/toy_task.h"
#include "training/losses/loss.h"

using namespace fovea;

TEST_CASE("dgvit: three steps of the vision recipe follow the reference", "[training][fixture]") {
  const TensorFile file = read_safetensors(
      test::source_dir() + "/tests/fixtures/dgsa/train_dgvit_steps.safetensors", test::cpu());
  const nn::Build build{test::cpu(), DType::kFloat32, RandomStream(1), nn::Init::kTorch};
  const auto model = models::make_model(
      test::component(R"({"type": "dgvit", "patch_size": 4, "embed_dim": 16, "depth": 2,
                          "attention": {"type": "m_dgsa", "num_heads": 4, "q_residual": true},
                          "ffn": {"type": "swiglu", "expansion": 2}})"),
      build, {3, 16, 16, 7});
  std::map<std::string, Tensor> start;
  std::vector<optim::Parameter> parameters;
  for (const auto& [name, tensor] : file.tensors) {
    if (name.starts_with("param/")) start[name.substr(6)] = tensor;
  }
  nn::load_weights(*model, start, "fixture");
  for (const auto& [name, tensor] : model->parameters()) parameters.push_back({name, tensor});
  const auto optimiser = optim::make_optimiser(
      test::component(R"({"type": "adamw", "lr": 0.001, "weight_decay": 0.01})"), parameters);
  const optim::Schedule schedule =
      optim::make_schedule({"cosine", {}}, {optimiser->base_lr(), 4, 1});
  const training::Loss loss_of =
      training::make_loss({"cross_entropy", {}}, training::Compares::kClasses);

  model->train(true);
  for (std::int64_t step = 0; step < 3; ++step) {
    const std::string key = "step" + std::to_string(step + 1);
    const auto at = [&](const std::string& name) { return file.tensors.at(name); };
    const Tensor loss =
        loss_of((*model)({.image = at("input/" + key + "/x")}), at("input/" + key + "/labels"));
    CHECK(training::scalar_of(loss) ==
          Approx(test::to_doubles(at("output/" + key + "/loss"))[0]).epsilon(1e-5));
    CHECK(schedule(step) == Approx(test::to_doubles(at("output/" + key + "/lr"))[0]).epsilon(1e-7));
    autograd::backward(loss);
    optimiser->step(schedule(step));
    optimiser->zero_grad();
  }
  for (const optim::Parameter& parameter : parameters) {
    INFO(parameter.name);
    const auto now = test::to_doubles(parameter.tensor);
    const auto expected = test::to_doubles(file.tensors.at("output/final_param/" + parameter.name));
    REQUIRE(now.size() == expected.size());
    double worst = 0;
    for (std::size_t i = 0; i < now.size(); ++i) {
      worst =
          std::max(worst, std::abs(now[i] - expected[i]) / (5e-5 + 1e-3 * std::abs(expected[i])));
    }
    CHECK(worst <= 1);
  }
}
