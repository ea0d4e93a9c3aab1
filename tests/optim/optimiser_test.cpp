#include "optim/optimiser.h"

#include <catch2/catch.hpp>

#include <cmath>

#include "base/error.h"
#include "ops/create.h"
#include "ops/elementwise.h"
#include "ops/shape.h"
#include "optim/ema.h"
#include "optim/registry.h"
#include "schema/json/parse.h"
#include "tensor/safetensors.h"
#include "tests/optim/optimisers.h"
#include "tests/support/paths.h"
#include "tests/support/tensors.h"

using namespace fovea;
using optim::Parameter;

namespace {

std::vector<std::string> all_optimisers() {
  std::vector<std::string> names;
  for (const schema::Choice& choice : optim::optimiser_choices().list())
    names.push_back(choice.name);
  return names;
}

TensorFile fixture(const std::string& name) {
  return read_safetensors(test::source_dir() + "/tests/fixtures/dgsa/" + name, test::cpu());
}

void check_near(const Tensor& value, const Tensor& expected, const std::string& what) {
  INFO(what);
  const std::vector<double> a = test::to_doubles(value);
  const std::vector<double> b = test::to_doubles(expected);
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    CHECK(std::abs(a[i] - b[i]) <= 1e-7 + 1e-5 * std::abs(b[i]));
  }
}

}  // namespace

TEST_CASE("adamw: follows the reference step by step, with and without clipping",
          "[optim][fixture]") {
  const std::string name = GENERATE("adamw_plain.safetensors", "adamw_clip.safetensors");
  const TensorFile file = fixture(name);
  const schema::Value config = schema::parse(file.metadata.at("config"), name);
  const double beta2 = config.at("betas").at(std::size_t{1}).as_double();
  std::vector<Parameter> parameters;
  for (int i = 0; i < 3; ++i) {
    const std::string key = "p" + std::to_string(i);
    parameters.push_back({key, test::trainable(ops::clone(file.tensors.at("param/" + key)))});
  }
  const auto optimiser = test::make_optimiser(
      "{\"type\": \"adamw\", \"weight_decay\": 0.01, \"no_decay_names\": " +
          config.at("no_decay").dump(0) + ", \"betas\": [0.9, " + std::to_string(beta2) + "]}",
      parameters);
  for (int step = 1; step <= 3; ++step) {
    const std::string prefix = "step" + std::to_string(step) + "/";
    for (int i = 0; i < 3; ++i) {
      const std::string key = "p" + std::to_string(i);
      parameters[static_cast<std::size_t>(i)].tensor.set_grad(
          ops::clone(file.tensors.at("input/grad/" + prefix + key)));
    }
    Tensor scale = ops::ones({}, DType::kFloat64, test::cpu());
    if (!config.at("clip_max_norm").is_null()) {
      const Tensor square = ops::reshape(optim::grad_square_sum(parameters), {1});
      scale = optim::step_scale(square, config.at("clip_max_norm").as_double());
      const Tensor& expected = file.tensors.at("output/" + prefix + "total_norm");
      CHECK(std::sqrt(square.item<double>()) ==
            Approx(test::to_doubles(expected)[0]).epsilon(1e-5));
    }
    optimiser->step(config.at("lrs").at(static_cast<std::size_t>(step - 1)).as_double(), scale);
    const auto state = optimiser->state();
    for (std::size_t i = 0; i < 3; ++i) {
      const std::string key = "p" + std::to_string(i);
      const std::string& own = parameters[i].name;
      const auto clipped = file.tensors.find("output/" + prefix + "clipped_grad/" + key);
      if (clipped != file.tensors.end()) {
        check_near(ops::mul(parameters[i].tensor.grad(), ops::cast(scale, DType::kFloat32)),
                   clipped->second, prefix + "clipped " + key);
      }
      check_near(parameters[i].tensor, file.tensors.at("output/" + prefix + "param/" + key),
                 prefix + key);
      check_near(state.at(own + ".exp_avg"), file.tensors.at("output/" + prefix + "m/" + key),
                 prefix + "m " + key);
      check_near(state.at(own + ".exp_avg_sq"), file.tensors.at("output/" + prefix + "v/" + key),
                 prefix + "v " + key);
    }
  }
}

TEST_CASE("sgd: momentum, nesterov, dampening and weight decay by hand", "[optim]") {
  // p = 1, g = 0.5 twice, lr 0.1, wd 0.2, momentum 0.9.
  const auto run = [](const std::string& extra) {
    const Parameter p = test::named("w", {1.0}, {1});
    const auto sgd =
        test::make_optimiser("{\"type\": \"sgd\", \"weight_decay\": 0.2" + extra + "}", {p});
    for (int i = 0; i < 2; ++i) {
      test::set_gradient(p, {0.5});
      sgd->step(0.1);
    }
    return p.tensor.item<double>();
  };
  // g1 = 0.7, p = 0.93; g2 = 0.5 + 0.186 = 0.686
  CHECK(run(", \"momentum\": 0") == Approx(0.93 - 0.0686).margin(1e-12));
  CHECK(run("") == Approx(0.93 - 0.1 * (0.9 * 0.7 + 0.686)).margin(1e-12));
  CHECK(run(", \"dampening\": 0.5") == Approx(0.93 - 0.1 * (0.9 * 0.7 + 0.343)).margin(1e-12));
  // nesterov: first step 0.7 + 0.9 * 0.7 = 1.33, p = 0.867; g2 = 0.6734, buf = 1.3034
  CHECK(run(", \"nesterov\": true") ==
        Approx(0.867 - 0.1 * (0.6734 + 0.9 * (0.63 + 0.6734))).margin(1e-12));
  CHECK_THROWS_AS(run(", \"nesterov\": true, \"momentum\": 0"), ConfigError);
}

TEST_CASE("optimisers: a parameter without a gradient is left alone", "[optim]") {
  const auto type = GENERATE(from_range(all_optimisers()));
  const Parameter used = test::named("a", {1, 2}, {2});
  const Parameter idle = test::named("b", {3}, {1});
  const auto optimiser = test::make_optimiser("{\"type\": \"" + type + "\"}", {used, idle});
  test::set_gradient(used, {1, 1});
  optimiser->step(0.1);
  CHECK(idle.tensor.item<double>() == 3);
  CHECK(test::to_doubles(used.tensor)[0] < 1);
  CHECK(optimiser->state().at("b.step").item<std::int64_t>() == 0);
  optimiser->zero_grad();
  CHECK_FALSE(used.tensor.grad().defined());
}

TEST_CASE("optimisers: a loaded state continues bit for bit, a wrong one is refused", "[optim]") {
  const auto type = GENERATE(from_range(all_optimisers()));
  const std::string json = "{\"type\": \"" + type + "\"}";
  const auto gradient = [](int step, const Parameter& p) {
    p.tensor.set_grad(test::random_tensor(p.tensor.shape(), static_cast<std::uint64_t>(step)));
  };
  const Parameter a = test::named("w", {1, 2, 3, 4}, {2, 2});
  const auto straight = test::make_optimiser(json, {a});
  for (int i = 0; i < 3; ++i) {
    gradient(i, a);
    straight->step(0.01);
  }
  const Parameter b{"w", test::trainable(ops::clone(a.tensor.detach()))};
  const auto resumed = test::make_optimiser(json, {b});
  resumed->load_state(straight->state());
  for (int i = 3; i < 6; ++i) {
    gradient(i, a);
    straight->step(0.01);
    gradient(i, b);
    resumed->step(0.01);
  }
  CHECK(test::to_doubles(a.tensor) == test::to_doubles(b.tensor));

  auto state = straight->state();
  state["other.step"] = state.at("w.step");
  CHECK_THROWS_WITH(resumed->load_state(state), Catch::Contains("other.step"));
  state.erase("other.step");
  state.erase("w.step");
  CHECK_THROWS_WITH(resumed->load_state(state), Catch::Contains("w.step is missing"));
  state = straight->state();
  for (auto& [name, tensor] : state) {
    if (tensor.numel() == 4) tensor = tensor.alias({4});
  }
  CHECK_THROWS_WITH(resumed->load_state(state), Catch::Contains("(4)"));
}

TEST_CASE("clipping: the scale is 1 below the limit and not finite where a number is not",
          "[optim]") {
  const Parameter a = test::named("a", {0, 0}, {2});
  const Parameter b = test::named("b", {0}, {1});
  const std::vector<Parameter> both = {a, b};
  const auto scale = [&](double loss, double max_norm) {
    const Tensor first = ops::full({1}, loss, DType::kFloat64, test::cpu());
    const Tensor square = ops::reshape(optim::grad_square_sum(both), {1});
    return optim::step_scale(ops::concat({first, square}, 0), max_norm).item<double>();
  };
  test::set_gradient(a, {3, 0});
  test::set_gradient(b, {4});
  CHECK(optim::grad_square_sum(both).item<double>() == 25);
  CHECK(scale(2, 6) == 1);
  CHECK(scale(2, 1) == 1 / (5 + 1e-6));
  CHECK(scale(2, 0) == 1);
  CHECK_FALSE(std::isfinite(scale(std::nan(""), 1)));
  CHECK_FALSE(std::isfinite(scale(-INFINITY, 0)));
  test::set_gradient(b, {std::nan("")});
  CHECK_FALSE(std::isfinite(scale(2, 1)));
  CHECK_FALSE(std::isfinite(scale(2, 0)));
  test::set_gradient(b, {INFINITY});
  CHECK_FALSE(std::isfinite(scale(2, 1)));
}

TEST_CASE("clipping: by value", "[optim]") {
  const Parameter a = test::named("a", {0, 0}, {2});
  test::set_gradient(a, {3, -0.5});
  optim::clip_grad_value({a}, 1);
  CHECK(test::to_doubles(a.tensor.grad()) == std::vector<double>{1, -0.5});
}

TEST_CASE("optimisers: gradients count times the scale, and nothing changes if it is not finite",
          "[optim]") {
  const auto type = GENERATE(from_range(all_optimisers()));
  const auto after = [&](double gradient, double scale) {
    const Parameter p = test::named("p", {1, 2}, {2});
    const auto optimiser = test::make_optimiser("{\"type\": \"" + type + "\"}", {p});
    test::set_gradient(p, {gradient, -gradient});
    optimiser->step(0.1, ops::full({}, scale, DType::kFloat64, test::cpu()));
    std::vector<std::vector<double>> all = {test::to_doubles(p.tensor)};
    for (const auto& [name, tensor] : optimiser->state()) {
      if (!name.ends_with(".step")) all.push_back(test::to_doubles(tensor));
    }
    return all;
  };
  CHECK(after(8, 0.25) == after(2, 1));
  // (Lion's steps have the length lr; its running mean has the scale.)
  CHECK(after(8, 1) != after(2, 1));
  for (const double scale : {std::nan(""), static_cast<double>(INFINITY)}) {
    const auto untouched = after(8, scale);
    CHECK(untouched[0] == std::vector<double>{1, 2});
    for (std::size_t i = 1; i < untouched.size(); ++i)
      CHECK(untouched[i] == std::vector<double>{0, 0});
  }
}

TEST_CASE("ema: follows its recurrence and gives the weights back", "[optim]") {
  const Parameter w = test::named("w", {1, 2}, {2});
  optim::Ema ema({w}, 0.75);
  test::edit<double>(w.tensor, [](auto values) { values[0] = 5; });
  ema.update();
  CHECK(test::to_doubles(ema.state().at("w")) == std::vector<double>{2, 2});
  {
    const optim::Ema::Applied applied(ema);
    CHECK(test::to_doubles(w.tensor) == std::vector<double>{2, 2});
  }
  CHECK(test::to_doubles(w.tensor) == std::vector<double>{5, 2});

  optim::Ema other({w}, 0.75);
  other.load_state(ema.state());
  CHECK(test::to_doubles(other.state().at("w")) == std::vector<double>{2, 2});
  CHECK_THROWS_WITH(other.load_state({}), Catch::Contains("w is missing"));
  CHECK_THROWS_AS(other.load_state({{"w", Tensor::scalar(1.0, test::cpu())}}), FileError);
  CHECK_THROWS_AS(optim::Ema({w}, 1.0), ConfigError);
}

TEST_CASE("ema: weights that do not change are their own average", "[optim]") {
  const double decay = GENERATE(0.9, 0.9998, 0.9999);
  const Parameter w{"w", ops::cast(test::random_tensor({100}, 5), DType::kFloat32)};
  optim::Ema ema({w}, decay);
  for (int i = 0; i < 30000; ++i) ema.update();
  const std::vector<double> average = test::to_doubles(ema.state().at("w"));
  const std::vector<double> weight = test::to_doubles(w.tensor);
  double worst = 0;
  for (std::size_t i = 0; i < weight.size(); ++i)
    worst = std::max(worst, std::abs(average[i] / weight[i] - 1));
  CHECK(worst < 1e-6);
}

TEST_CASE("optimisers: unknown names and keys are refused with a suggestion", "[optim]") {
  CHECK_THROWS_WITH(test::make_optimiser("{\"type\": \"adamv\"}", {}), Catch::Contains("adamw"));
  CHECK_THROWS_WITH(test::make_optimiser("{\"type\": \"sgd\", \"momentun\": 0.5}", {}),
                    Catch::Contains("momentum"));
  CHECK_THROWS_AS(test::make_optimiser("{\"type\": \"adamw\", \"betas\": [0.9, 1.0]}", {}),
                  ConfigError);
}
