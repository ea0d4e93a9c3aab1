#include "models/unet/emcad_parts.h"

#include "base/error.h"
#include "models/unet/attention_gate.h"
#include "ops/create.h"
#include "ops/elementwise.h"
#include "ops/reduce.h"
#include "schema/json/parse.h"
#include "tests/models/network.h"

using namespace fovea;
using namespace fovea::test;

namespace {

nn::Build init() { return {cpu(), DType::kFloat64, RandomStream(2), nn::Init::kTorch}; }

// Away from biases of 0, with which ReLUs stand at their kink.
void perturb(const nn::Module& module) {
  std::uint64_t seed = 50;
  for (const nn::NamedTensor& named : module.parameters()) {
    const Tensor noise = random_tensor(named.tensor.shape(), ++seed);
    set_values(named.tensor, ops::add(named.tensor.detach(), ops::mul(noise, 0.3)));
  }
}

void check_module(nn::UnaryModule& module, const Shape& shape) {
  perturb(module);
  std::vector<Tensor> inputs{random_tensor(shape, 1)};
  for (const nn::NamedTensor& named : module.parameters()) inputs.push_back(named.tensor);
  check_gradients([&](const auto& t) { return module(t[0]); }, inputs);
}

}  // namespace

TEST_CASE("emcad: gradients of its parts", "[models]") {
  models::ChannelAttention channels(init(), 6, 3);
  check_module(channels, {2, 6, 3, 2});
  models::SpatialAttention places(init(), 3);
  check_module(places, {2, 3, 4, 3});
  models::UpConv up(init(), 4, 3);
  check_module(up, {1, 4, 2, 3});
  for (const bool parallel : {true, false}) {
    models::MultiScaleConv conv(init(), 2, 4,
                                {.kernels = {1, 3},
                                 .parallel = parallel,
                                 .add = !parallel,
                                 .activation = models::EmcadActivation::kRelu});
    check_module(conv, {1, 2, 3, 3});
  }
  models::AttentionGate gate(init(), {.channels = 4, .hidden = 2, .kernel = 3, .groups = 2});
  std::vector<Tensor> inputs{random_tensor({1, 4, 3, 2}, 1), random_tensor({1, 4, 3, 2}, 2)};
  for (const nn::NamedTensor& named : gate.parameters()) inputs.push_back(named.tensor);
  check_gradients([&](const auto& t) { return gate(t[0], t[1]); }, inputs);
}

TEST_CASE("emcad: parameters and multiply-adds", "[models]") {
  const auto measured = [](std::int64_t channels, std::int64_t classes, std::int64_t side) {
    const Device meta = make_meta();
    const auto model = build(schema::Value::object({{"type", "pvt_emcad_b2"}}), meta,
                             {channels, side, side, classes});
    autograd::Profiler profiler;
    const autograd::NoGrad no_grad;
    const autograd::Profile scope(profiler);
    (*model)({.image = Tensor::empty({1, channels, side, side}, DType::kFloat32, meta)});
    return std::tuple{model->parameter_count(), model->paper_macs(profiler.events()).value_or(0),
                      profiler.forward_macs()};
  };
  // gdla 3.3. The public code has its layers for grey images even where images are of colour.
  CHECK(std::get<0>(measured(1, 1, 256)) == 26764411);
  CHECK(std::get<0>(measured(3, 1, 256)) == 26764411 - 12);
  CHECK(std::get<0>(measured(1, 9, 224)) == 26772635);
  CHECK(std::get<1>(measured(3, 1, 256)) == 5637509056);
  CHECK(std::get<2>(measured(1, 9, 224)) == 4395439082);
}

TEST_CASE("emcad: gradients of every parameter of a small network", "[models]") {
  const schema::Value options = schema::parse(
      R"({"type": "pvt_emcad_b2", "activation": "relu",
          "backbone": {"type": "pvt_v2_b0", "embed_dims": [2, 4], "depths": [1, 1],
                       "num_heads": [1, 2], "mlp_ratios": [2, 2], "sr_ratios": [2, 1]}})",
      "test.json");
  const auto model = build(options, cpu(), {1, 16, 16, 2}, DType::kFloat64);
  perturb(*model);
  const Tensor image = random_tensor({1, 1, 16, 16}, 1);
  check_directions(*model, [&] {
    Tensor loss;
    for (const Tensor& map : (*model)({.image = image}).maps) {
      const Tensor term = ops::mean(ops::square(ops::add(map, -1)));
      loss = loss.defined() ? ops::add(loss, term) : term;
    }
    return loss;
  });
  CHECK_THROWS_WITH((*model)({.image = random_tensor({1, 1, 12, 16}, 1)}),
                    Catch::Contains("this network needs multiples of 8"));
}
