#include "optim/optimiser.h"

#include <catch2/catch.hpp>

#include <cmath>

#include "base/error.h"
#include "ops/create.h"
#include "ops/elementwise.h"
#include "ops/shape.h"
#include "optim/ema.h"
#include "optim/rates.h"
#include "optim/registry.h"
#include "schema/json/parse.h"
#include "tensor/safetensors.h"
#include "tests/support/paths.h"
#include "tests/support/tensors.h"

using namespace fovea;
using optim::NoDecay;
using optim::Parameter;

namespace {

schema::Component component(const std::string& json) {
  const schema::Value value = schema::parse(json, "test");
  return {value.at("type").as_string(), value};
}

std::unique_ptr<optim::Optimiser> make(const std::string& json, std::vector<Parameter> parameters) {
  return optim::make_optimiser(component(json), std::move(parameters));
}

Parameter named(const std::string& name, const std::vector<double>& values, const Shape& shape) {
  return {name, test::trainable(Tensor::from(values, shape, test::cpu()))};
}

void set_gradient(const Parameter& parameter, const std::vector<double>& values) {
  parameter.tensor.set_grad(Tensor::from(values, parameter.tensor.shape(), test::cpu()));
}

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
  const auto optimiser =
      make("{\"type\": \"adamw\", \"weight_decay\": 0.01, \"no_decay_names\": " +
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
    const Parameter p = named("w", {1.0}, {1});
    const auto sgd = make("{\"type\": \"sgd\", \"weight_decay\": 0.2" + extra + "}", {p});
    for (int i = 0; i < 2; ++i) {
      set_gradient(p, {0.5});
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

// Five steps, each of its own gradients, of the optimisers of torch 2.15 and timm 1.0.31 in
// float64.
TEST_CASE("optimisers: follow those of PyTorch and timm", "[optim]") {
  struct Followed {
    const char* json;
    std::vector<double> matrix, vector;
  };
  const std::string shared = R"("lr": 0.01, "betas": [0.9, 0.99], )";
  const auto followed = GENERATE(values<Followed>({
      // torch.optim.Adam
      {R"("type": "adam", "weight_decay": 0.1)",
       {0.28309393900336488, -0.19497190081456506, -0.50689746718165118, -0.33971136605311264,
        0.1286727986135327, 0.49144023452495006},
       {0.23557713534193972, -0.28643943405169425, 0.017404521007393696, 0.28341385585990009}},
      {R"("type": "adam")",
       {0.28418851356410102, -0.19668867044540997, -0.51072878028797797, -0.34102458566596611,
        0.12958526398477638, 0.49626059398380917},
       {0.2375554241311526, -0.28754185379956321, 0.017503160055041427, 0.28500926901493329}},
      // torch.optim.AdamW
      {R"("type": "adamw", "weight_decay": 0.1)",
       {0.28279648088977954, -0.19568819823719108, -0.50821058664534247, -0.33934938318466534,
        0.12891737261396252, 0.4938154788477549},
       {0.23638901396716433, -0.28613353068483577, 0.017447049299472751, 0.28360974297984626}},
      // timm.optim.Lamb with max_grad_norm=None
      {R"("type": "lamb", "weight_decay": 0.1)",
       {0.27496298353929177, -0.20699389699596177, -0.50390163959008927, -0.3316468405882268,
        0.13878088550482812, 0.49109507045215695},
       {0.22664906763075196, -0.27769010598784932, 0.010291972832225897, 0.27446518819860183}},
      {R"("type": "lamb", "weight_decay": 0)",
       {0.28418849917343481, -0.19668870737600933, -0.51072875419572128, -0.34102457142940334,
        0.12958529125427232, 0.49626056064314061},
       {0.23755538720055325, -0.28754183956300045, 0.017503126714372846, 0.28500924683805301}},
      {R"("type": "lamb", "weight_decay": 0, "always_adapt": true)",
       {0.27743813748475649, -0.20850483414004672, -0.50797929965835187, -0.33462428365605429,
        0.13984365281910666, 0.49482599439529651},
       {0.22651372359851604, -0.2784425498119113, 0.010384368984245993, 0.27486013914299495}},
      {R"("type": "lamb", "weight_decay": 0.1, "trust_clip": true)",
       {0.27652787874136953, -0.2022649095298496, -0.5020868355868594, -0.33311729186579964,
        0.13545140414177312, 0.48768211590362931},
       {0.22799830673042204, -0.27782059191823594, 0.0089337926832280205, 0.27527313020955085}},
      // timm.optim.Lion
      {R"("type": "lion", "weight_decay": 0.1)",
       {0.27878313595077786, -0.19705508986668205, -0.50250625204372645, -0.33517100630117691,
        0.13114331419127043, 0.48766955363154885},
       {0.23502212233767331, -0.28195515380134734, 0.011301124083266665, 0.28085562385225848}},
      {R"("type": "lion", "betas": [0.95, 0.98])",
       {0.28015115293406989, -0.19807341827357119, -0.50499624830022272, -0.33682181043180598,
        0.13183109273161311, 0.51008514332518295},
       {0.23617067630299138, -0.28333907856540308, 0.031327709396415236, 0.28223403443505884}},
  }));
  INFO(followed.json);
  const std::string own = followed.json;
  const bool betas = own.find("betas") != std::string::npos;
  std::vector<double> matrix, vector;
  for (int i = 0; i < 6; ++i) matrix.push_back(0.5 * std::cos(1 + i));
  for (int i = 0; i < 4; ++i) vector.push_back(0.3 * std::cos(7 + 2 * i));
  const std::vector<Parameter> parameters = {named("matrix", matrix, {2, 3}),
                                             named("vector", vector, {4})};
  const auto optimiser = make("{" + (betas ? "" : shared) + own + "}", parameters);
  for (int step = 1; step <= 5; ++step) {
    for (int k = 0; k < 2; ++k) {
      const Parameter& parameter = parameters[static_cast<std::size_t>(k)];
      std::vector<double> gradient;
      for (int i = 0; i < parameter.tensor.numel(); ++i)
        gradient.push_back(std::sin(1 + 3 * step + (i + 1) * (k + 1)));
      set_gradient(parameter, gradient);
    }
    optimiser->step(0.01);
  }
  const auto check = [](const Tensor& value, const std::vector<double>& expected) {
    const std::vector<double> given = test::to_doubles(value);
    REQUIRE(given.size() == expected.size());
    for (std::size_t i = 0; i < given.size(); ++i) CHECK(std::abs(given[i] - expected[i]) <= 1e-12);
  };
  check(parameters[0].tensor, followed.matrix);
  check(parameters[1].tensor, followed.vector);
}

TEST_CASE("optimisers: a parameter without a gradient is left alone", "[optim]") {
  const auto type = GENERATE(from_range(all_optimisers()));
  const Parameter used = named("a", {1, 2}, {2});
  const Parameter idle = named("b", {3}, {1});
  const auto optimiser = make("{\"type\": \"" + type + "\"}", {used, idle});
  set_gradient(used, {1, 1});
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
  const Parameter a = named("w", {1, 2, 3, 4}, {2, 2});
  const auto straight = make(json, {a});
  for (int i = 0; i < 3; ++i) {
    gradient(i, a);
    straight->step(0.01);
  }
  const Parameter b{"w", test::trainable(ops::clone(a.tensor.detach()))};
  const auto resumed = make(json, {b});
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
      named("a.lambda", {1, 1}, {1, 2}), named("b.lambda", {1, 1}, {1, 2}),
      named("lambda.weight", {1, 1}, {1, 2}), named("a.bias", {1, 1}, {2})};
  const auto decay = [&](const std::string& options) {
    return make("{\"type\": \"adamw\", \"weight_decay\": 0.5" + options + "}", parameters)
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
      named("stem.weight", {1, 1}, {1, 2}), named("head.weight", {1, 1}, {1, 2}),
      named("head.bias", {1, 1}, {2}), named("norm.weight", {1, 1}, {2})};
  const auto with = [&](const std::string& groups) {
    return make(R"({"type": "sgd", "momentum": 0, "weight_decay": 0.5, "no_decay": "timm",
                    "param_groups": [)" +
                    groups + "]}",
                parameters);
  };
  const auto optimiser = with(R"({"params": ["head.*"], "lr_scale": 10, "weight_decay": 0.1},
                                 {"params": ["norm.weight", "stem.*"], "lr_scale": 0.5})");
  CHECK(optimiser->lr_scale() == std::vector{0.5, 10.0, 10.0, 0.5});
  // What a rule leaves out of weight decay has none in a group either.
  CHECK(optimiser->weight_decay() == std::vector{0.5, 0.1, 0.0, 0.0});
  for (const Parameter& parameter : parameters) set_gradient(parameter, {1, 1});
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
  std::vector<Parameter> parameters = {named("stem", {1}, {1}), named("block", {1}, {1}),
                                       named("head", {1}, {1})};
  const auto make_with = [&](const std::string& more) {
    return make(R"({"type": "adamw", "layer_decay": 0.5)" + more + "}", parameters);
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
  CHECK(optim::scales_text(*make(R"({"type": "adamw"})", parameters)).empty());
}

TEST_CASE("clipping: the scale is 1 below the limit and not finite where a number is not",
          "[optim]") {
  const Parameter a = named("a", {0, 0}, {2});
  const Parameter b = named("b", {0}, {1});
  const std::vector<Parameter> both = {a, b};
  const auto scale = [&](double loss, double max_norm) {
    const Tensor first = ops::full({1}, loss, DType::kFloat64, test::cpu());
    const Tensor square = ops::reshape(optim::grad_square_sum(both), {1});
    return optim::step_scale(ops::concat({first, square}, 0), max_norm).item<double>();
  };
  set_gradient(a, {3, 0});
  set_gradient(b, {4});
  CHECK(optim::grad_square_sum(both).item<double>() == 25);
  CHECK(scale(2, 6) == 1);
  CHECK(scale(2, 1) == 1 / (5 + 1e-6));
  CHECK(scale(2, 0) == 1);
  CHECK_FALSE(std::isfinite(scale(std::nan(""), 1)));
  CHECK_FALSE(std::isfinite(scale(-INFINITY, 0)));
  set_gradient(b, {std::nan("")});
  CHECK_FALSE(std::isfinite(scale(2, 1)));
  CHECK_FALSE(std::isfinite(scale(2, 0)));
  set_gradient(b, {INFINITY});
  CHECK_FALSE(std::isfinite(scale(2, 1)));
}

TEST_CASE("clipping: by value", "[optim]") {
  const Parameter a = named("a", {0, 0}, {2});
  set_gradient(a, {3, -0.5});
  optim::clip_grad_value({a}, 1);
  CHECK(test::to_doubles(a.tensor.grad()) == std::vector<double>{1, -0.5});
}

TEST_CASE("optimisers: gradients count times the scale, and nothing changes if it is not finite",
          "[optim]") {
  const auto type = GENERATE(from_range(all_optimisers()));
  const auto after = [&](double gradient, double scale) {
    const Parameter p = named("p", {1, 2}, {2});
    const auto optimiser = make("{\"type\": \"" + type + "\"}", {p});
    set_gradient(p, {gradient, -gradient});
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
  const Parameter w = named("w", {1, 2}, {2});
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
  CHECK_THROWS_WITH(make("{\"type\": \"adamv\"}", {}), Catch::Contains("adamw"));
  CHECK_THROWS_WITH(make("{\"type\": \"sgd\", \"momentun\": 0.5}", {}),
                    Catch::Contains("momentum"));
  CHECK_THROWS_AS(make("{\"type\": \"adamw\", \"betas\": [0.9, 1.0]}", {}), ConfigError);
}
