#include "models/diffusion/denoiser.h"

#include "base/error.h"
#include "models/diffusion/embeddings.h"
#include "ops/elementwise.h"
#include "ops/in_place.h"
#include "ops/reduce.h"
#include "ops/shape.h"
#include "tests/models/network.h"

using namespace fovea;
using namespace fovea::test;

namespace {

schema::Value small_dit(const char* attention, const Options& more = {}) {
  Options options{{"patch_size", 2},
                  {"embed_dim", 8},
                  {"depth", 2},
                  {"attention", schema::Value::object({{"type", attention}, {"num_heads", 2}})}};
  options.insert(options.end(), more.begin(), more.end());
  return options_of("dit_s", options);
}

const models::DataShape kSmall{3, 4, 6, 5};

Tensor numbers(const std::vector<std::int64_t>& values) {
  return Tensor::from(values, {std::ssize(values)}, cpu());
}

// Weights that are not at their start, where most of the network is multiplied by 0.
std::unique_ptr<models::Model> shaken(const schema::Value& options, DType dtype,
                                      std::optional<DType> activations = std::nullopt) {
  auto model = build(options, cpu(), kSmall, dtype, activations);
  std::uint64_t seed = 50;
  for (const nn::NamedTensor& named : model->parameters()) {
    if (!named.tensor.requires_grad()) continue;
    ops::copy_into(
        ops::random_normal(named.tensor.shape(), 0, 0.2, RandomStream(++seed), dtype, cpu()),
        named.tensor);
  }
  return model;
}

}  // namespace

TEST_CASE("dit: parameters and multiply-adds of DiT-S/2 on latents", "[models]") {
  for (const auto& [attention, giga] : {std::pair{"softmax", 6.056}, std::pair{"mala", 5.604}}) {
    const Device meta = make_meta();
    const auto model = build(
        options_of("dit_s",
                   {{"attention", schema::Value::object({{"type", attention}, {"num_heads", 6}})}}),
        meta, {4, 32, 32, 1000});
    CHECK(model->parameter_count() == 32963360);  // mala 5.1
    autograd::Profiler profiler;
    const autograd::NoGrad no_grad;
    const autograd::Profile scope(profiler);
    (*model)({.image = Tensor::empty({1, 4, 32, 32}, DType::kFloat32, meta),
              .timestep = Tensor::empty({1}, DType::kInt64, meta),
              .label = Tensor::empty({1}, DType::kInt64, meta)});
    CHECK(static_cast<double>(profiler.forward_macs()) / 1e9 == Approx(giga).epsilon(2e-3));
  }
}

TEST_CASE("dit: a new network predicts no noise, and its blocks change nothing", "[models]") {
  const auto model = build(small_dit("softmax"), cpu(), kSmall);
  model->train(false);
  const models::Outputs out = (*model)({.image = random_tensor({2, 3, 4, 6}, 1, DType::kFloat32),
                                        .timestep = numbers({0, 999}),
                                        .label = numbers({4, 5})});
  REQUIRE(out.maps.size() == 1);
  CHECK(out.maps.front().shape() == Shape{2, 6, 4, 6});
  for (const double value : to_doubles(out.maps.front())) CHECK(value == 0);
}

TEST_CASE("dit: gradients of the whole network", "[models]") {
  const char* attention = GENERATE("softmax", "linear", "mala");
  CAPTURE(attention);
  const auto model = shaken(small_dit(attention, {{"class_dropout_prob", 0.0}}), DType::kFloat64);
  model->train(true);
  const Tensor x = random_tensor({2, 3, 4, 6}, 1), upstream = random_tensor({2, 6, 4, 6}, 2);
  const auto loss = [&] {
    const models::Outputs out =
        (*model)({.image = x, .timestep = numbers({3, 700}), .label = numbers({0, 4})});
    return ops::sum(ops::mul(out.maps.front(), upstream));
  };
  autograd::backward(loss());
  const autograd::NoGrad no_grad;
  std::uint64_t seed = 100;
  for (const nn::NamedTensor& named : model->parameters()) {
    INFO(named.name);
    if (named.name == "pos_embed") {
      CHECK_FALSE(named.tensor.grad().defined());
      continue;
    }
    const Tensor direction = random_tensor(named.tensor.shape(), ++seed);
    const double analytic = inner_product(named.tensor.grad(), direction);
    const double numeric = slope(named.tensor, direction, [&] { return loss().item<double>(); });
    CHECK(analytic == Approx(numeric).epsilon(1e-4).margin(1e-7));
  }
}

TEST_CASE("dit: places, time and label matter", "[models]") {
  const auto model = shaken(small_dit("mala"), DType::kFloat64);
  model->train(false);
  const Tensor x = random_tensor({1, 3, 4, 6}, 1);
  const auto at = [&](std::int64_t t, std::int64_t label) {
    return to_doubles(
        (*model)({.image = x, .timestep = numbers({t}), .label = numbers({label})}).maps.front());
  };
  CHECK(at(5, 1) == at(5, 1));
  CHECK(at(5, 1) != at(6, 1));
  CHECK(at(5, 1) != at(5, 2));
}

TEST_CASE("dit: labels are left out in training alone", "[models]") {
  const auto model = shaken(small_dit("softmax", {{"class_dropout_prob", 0.5}}), DType::kFloat64);
  const Tensor one = random_tensor({1, 3, 4, 6}, 1);
  constexpr std::int64_t kCount = 40;
  std::vector<Tensor> copies(kCount, one);
  const models::Inputs in{.image = ops::concat(copies, 0),
                          .timestep = numbers(std::vector<std::int64_t>(kCount, 7)),
                          .label = numbers(std::vector<std::int64_t>(kCount, 2))};
  const auto rows = [&](bool training, std::int64_t label) {
    model->train(training);
    model->set_random(RandomStream(9));
    models::Inputs own = in;
    own.label = numbers(std::vector<std::int64_t>(kCount, label));
    const Tensor out = (*model)(own).maps.front();
    std::vector<std::vector<double>> all;
    for (std::int64_t i = 0; i < kCount; ++i)
      all.push_back(to_doubles(out.rows(i, i + 1).detach()));
    return all;
  };
  const std::vector<double> with = rows(false, 2).front(), without = rows(false, 5).front();
  CHECK(with != without);
  int left_out = 0;
  for (const std::vector<double>& row : rows(true, 2)) {
    const bool is_without = row == without;
    left_out += is_without ? 1 : 0;
    CHECK((is_without || row == with));
  }
  CHECK(left_out > 10);
  CHECK(left_out < 30);
}

TEST_CASE("dit: positions say column and row", "[models]") {
  const Tensor table = models::sincos_positions(8, 2, 3, DType::kFloat64, cpu());
  CHECK(table.shape() == Shape{1, 6, 8});
  const std::vector<double> values = to_doubles(table);
  const auto row_of = [&](std::size_t token) {
    return std::vector<double>(values.begin() + 8 * static_cast<std::ptrdiff_t>(token),
                               values.begin() + 8 * static_cast<std::ptrdiff_t>(token + 1));
  };
  CHECK(row_of(0) == std::vector<double>{0, 0, 1, 1, 0, 0, 1, 1});
  const std::vector<double> second = row_of(1);  // row 0, column 1
  CHECK(second[0] == Approx(std::sin(1.0)));
  CHECK(second[1] == Approx(std::sin(0.01)));
  CHECK(second[2] == Approx(std::cos(1.0)));
  CHECK(second[4] == 0);
  CHECK_THROWS_AS(models::sincos_positions(6, 2, 2, DType::kFloat64, cpu()), ConfigError);
}

TEST_CASE("dit: bfloat16 activations come near, and outputs are float32", "[models]") {
  const models::Inputs in{.image = random_tensor({2, 3, 4, 6}, 1, DType::kFloat32),
                          .timestep = numbers({3, 70}),
                          .label = numbers({0, 4})};
  std::vector<std::vector<double>> outputs;
  for (const auto& activations : {std::optional<DType>(), std::optional(DType::kBFloat16)}) {
    auto model = shaken(small_dit("mala"), DType::kFloat32, activations);
    model->train(false);
    const Tensor out = (*model)(in).maps.front();
    CHECK(out.dtype() == DType::kFloat32);
    autograd::backward(ops::sum(out));
    outputs.push_back(to_doubles(out.detach()));
  }
  for (std::size_t i = 0; i < outputs[0].size(); ++i)
    CHECK(outputs[1][i] == Approx(outputs[0][i]).margin(0.05));
  CHECK(outputs[0] != outputs[1]);
}

TEST_CASE("dit: sizes that do not fit are refused", "[models]") {
  CHECK_THROWS_WITH(build(small_dit("softmax"), make_meta(), {3, 5, 6, 4}),
                    "model.patch_size: image 5 x 6 is not divisible by patch 2");
  CHECK_THROWS_AS(build(small_dit("softmax"), make_meta(), {3, 0, 0, 4}), ConfigError);
  const auto model = build(small_dit("softmax"), cpu(), kSmall);
  const Tensor x = random_tensor({2, 3, 4, 6}, 1, DType::kFloat32);
  CHECK_THROWS_AS((*model)({.image = x, .timestep = numbers({1}), .label = numbers({0, 1})}),
                  ShapeError);
  CHECK_THROWS_WITH((*model)({.image = x, .label = numbers({0, 1})}),
                    "DiT: no timestep given; a denoiser reads it");
}
