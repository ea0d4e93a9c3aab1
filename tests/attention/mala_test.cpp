#include "attention/mala.h"

#include <cmath>

#include "attention/rotary.h"
#include "ops/create.h"
#include "ops/elementwise.h"
#include "ops/reduce.h"
#include "ops/shape.h"
#include "schema/json/parse.h"
#include "tests/support/tensors.h"

using namespace fovea;
using namespace fovea::test;
using attention::Context;

namespace {

constexpr std::int64_t kMalaDim = 16;

std::unique_ptr<attention::Attention> make_mala(const std::string& options) {
  const schema::Value given =
      schema::parse("{\"type\": \"mala\", \"num_heads\": 2" + options + "}", "");
  const attention::Variant& variant = attention::variants().find("mala");
  const nn::Build build{cpu(), DType::kFloat64, RandomStream(5), nn::Init::kTorch};
  return variant.make({build, kMalaDim, 1, 1},
                      {"mala", variant.fields->resolve_component(given, "a")});
}

Context mala_grid(std::int64_t prefix, std::int64_t h, std::int64_t w) {
  Context context;
  context.prefix_tokens = prefix;
  context.grid_h = h;
  context.grid_w = w;
  return context;
}

}  // namespace

TEST_CASE("mala: gradients with every option", "[attention][long]") {
  for (const char* options :
       {R"(, "kernel": "exp", "exp_max": 3.0, "scaling": "none")", R"(, "beta": "none")",
        R"(, "gamma": "none", "rope": "1d")", R"(, "beta": "learnable", "gamma": "learnable")",
        R"(, "beta": "learnable", "learnable_shape": "channel")",
        R"(, "gamma": "learnable", "learnable_shape": "scalar")",
        R"(, "rope": "2d", "lepe": 5, "gate": true)",
        R"(, "rope": "2d", "normaliser": "rotated", "lepe": 3)"}) {
    INFO(options);
    const auto module = make_mala(options);
    std::vector<Tensor> inputs{random_tensor({2, 7, kMalaDim}, 1)};
    for (const nn::NamedTensor& named : module->parameters()) inputs.push_back(named.tensor);
    const std::int64_t prefix = 1;
    check_gradients([&](const auto& t) { return (*module)(t[0], mala_grid(prefix, 2, 3)); },
                    inputs);
  }
}

TEST_CASE("mala: names and shapes of learned coefficients, which start as nothing", "[attention]") {
  const auto shape = [](const std::string& of) {
    const auto module = make_mala(
        R"(, "beta": "learnable", "gamma": "learnable", "learnable_shape": ")" + of + "\"");
    std::map<std::string, Shape> shapes;
    for (const nn::NamedTensor& named : module->parameters()) {
      shapes[named.name] = named.tensor.shape();
      if (named.name == "beta")
        for (const double value : to_doubles(named.tensor)) CHECK(value == 1.0);
      if (named.name == "gamma")
        for (const double value : to_doubles(named.tensor)) CHECK(value == 0.0);
    }
    CHECK(shapes.at("gamma") == shapes.at("beta"));
    return shapes.at("beta");
  };
  CHECK(shape("head") == Shape{2});
  CHECK(shape("scalar") == Shape{1});
  CHECK(shape("channel") == Shape{2, kMalaDim / 2});
}

TEST_CASE("mala: causal, tokens behind change nothing, whatever the mask says of them",
          "[attention]") {
  const auto module = make_mala(R"(, "rope": "1d")");
  const Tensor x = random_tensor({1, 6, kMalaDim}, 2);
  const Tensor other = ops::clone(x);
  edit<double>(other, [](auto values) {
    for (double& value : values.subspan(4 * kMalaDim, kMalaDim)) value += 1;
  });
  Context context;
  context.causal = true;
  context.key_mask = Tensor::from(std::vector<std::uint8_t>{1, 1, 1, 1, 0, 0}, {1, 6}, cpu());
  const auto first = [&](const Tensor& t) { return ops::slice((*module)(t, context), 1, 0, 4); };
  CHECK(max_difference(first(x), first(other)) == 0.0);
  CHECK(max_difference((*module)(x, context), (*module)(other, context)) > 1e-6);
}

TEST_CASE("mala: positions on a grid depend on differences of rows and columns alone",
          "[attention]") {
  constexpr std::int64_t h = 3, w = 4, d = 8;
  const ops::RotaryTables tables =
      attention::grid_rotary(attention::grid_rates("test", d), 1, h, w, DType::kFloat64, cpu());
  const Tensor q = random_tensor({d}, 3);
  const Tensor k = random_tensor({d}, 4);
  const auto turned = [&](const Tensor& x) {
    return ops::rotate(ops::reshape(ops::expand(x, {1 + h * w, d}), {1, 1 + h * w, d}), tables);
  };
  const auto rows = [](const Tensor& x, std::int64_t token) {
    return to_doubles(ops::slice(x, 1, token, 1));
  };
  const Tensor qs = turned(q);
  const Tensor ks = turned(k);
  const auto dot = [&](std::int64_t a, std::int64_t b) {
    const std::vector<double> x = rows(qs, a);
    const std::vector<double> y = rows(ks, b);
    double total = 0;
    for (std::size_t i = 0; i < x.size(); ++i) total += x[i] * y[i];
    return total;
  };
  const auto at = [](std::int64_t row, std::int64_t column) { return 1 + row * w + column; };
  CHECK(dot(at(0, 0), at(1, 2)) == Approx(dot(at(1, 1), at(2, 3))));
  CHECK(dot(at(2, 0), at(1, 1)) == Approx(dot(at(1, 2), at(0, 3))));
  CHECK(dot(at(0, 0), at(1, 2)) != Approx(dot(at(0, 0), at(2, 1))));
  double before = 0, after = 0;
  for (const double value : to_doubles(q)) before += value * value;
  for (const double value : rows(qs, at(2, 3))) after += value * value;
  CHECK(after == Approx(before));
  CHECK(rows(qs, 0) == to_doubles(q));  // a token before the grid does not turn
  CHECK_THROWS_WITH(attention::grid_rates("mala", 6), Catch::Contains("need a multiple of 4"));
}

TEST_CASE("rotary positions on a grid: the table of mala 3.5", "[attention]") {
  const std::vector<double> rates = attention::grid_rates("test", 12);
  REQUIRE(rates.size() == 3);
  CHECK(rates[0] == 1.0);
  CHECK(rates[1] == Approx(0.01));
  CHECK(rates[2] == Approx(1e-4));
  CHECK(attention::grid_rates("test", 4) == std::vector<double>{1.0});
  const ops::RotaryTables tables = attention::grid_rotary(rates, 0, 2, 3, DType::kFloat64, cpu());
  CHECK(tables.cos.shape() == Shape{6, 6});
  // Token 5 is row 1, column 2.
  const auto sin = to_doubles(tables.sin);
  CHECK(sin[5 * 6 + 1] == Approx(std::sin(0.01)));
  CHECK(sin[5 * 6 + 4] == Approx(std::sin(0.02)));
}

TEST_CASE("mala: options that do not fit are refused", "[attention]") {
  CHECK_THROWS_WITH(make_mala(R"(, "lepe": 4)"),
                    Catch::Contains("lepe is 4; expected 0 or an odd"));
  CHECK_THROWS_WITH(make_mala(R"(, "kernel": "elu")"), Catch::Contains("elu1"));
  const auto module = make_mala(R"(, "lepe": 3)");
  CHECK_THROWS_WITH((*module)(random_tensor({1, 5, kMalaDim}, 1), mala_grid(0, 2, 3)),
                    Catch::Contains("lepe needs a grid"));
}
