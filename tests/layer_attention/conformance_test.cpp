// What every layer attention of the registry must do. New variants are covered without a change
// here.
#include <cmath>
#include <set>

#include "base/error.h"
#include "layer_attention/channel_conv.h"
#include "layer_attention/kcla.h"
#include "layer_attention/residual.h"
#include "ops/create.h"
#include "ops/elementwise.h"
#include "ops/reduce.h"
#include "ops/shape.h"
#include "tests/support/mixed_precision.h"

using namespace fovea;
using namespace fovea::test;
using layer_attention::LayerAttention;
using layer_attention::Slot;
using layer_attention::State;
using schema::Value;

namespace {

constexpr std::int64_t kChannels = 8;
constexpr std::int64_t kLayers = 4;
constexpr std::int64_t kInner = 2;  // channels of the two maps inside a block

struct Stage {
  std::unique_ptr<nn::Module> shared;
  std::vector<std::unique_ptr<LayerAttention>> layers;

  // The result at the last layer. The maps inside a block are the first channels of its result and
  // of its shortcut.
  Tensor operator()(const std::vector<Tensor>& maps, attention::Probe* probe = nullptr) {
    State state;
    Tensor o;
    for (std::size_t t = 0; t < layers.size(); ++t) {
      const Tensor &x = maps[t], &shortcut = maps[t + layers.size()];
      const std::vector<Tensor> inner{ops::slice(x, 1, 0, kInner),
                                      ops::slice(shortcut, 1, 1, kInner)};
      o = (*layers[t])({.x = x, .shortcut = shortcut, .inner = inner}, state, probe);
    }
    return o;
  }
};

// Random values for what starts at zero: behind a last layer of zeros nothing could be checked.
void leave_zero(const nn::Module& module) {
  std::uint64_t seed = 400;
  for (const nn::NamedTensor& named : module.parameters()) {
    ++seed;
    if (largest(to_doubles(named.tensor)) > 0) continue;
    set_values(named.tensor, random_tensor(named.tensor.shape(), seed, named.tensor.dtype()));
  }
}

Stage make(const layer_attention::Variant& variant, const Value& more = Value::object({}),
           DType dtype = DType::kFloat64) {
  Value options = Value::object({{"type", variant.name}});
  if (variant.fields->find("head_dim") != nullptr) options.set("head_dim", 2);
  for (const auto& member : more.members()) options.set(member.key, member.value);
  const schema::Component component{variant.name,
                                    variant.fields->resolve_component(options, "attention")};
  Slot slot{.build = {cpu(), dtype, RandomStream(11), nn::Init::kKaiming}};
  slot.channels = kChannels;
  slot.layers = kLayers;
  slot.inner = {kInner, kInner};
  Stage stage;
  stage.shared = variant.make_shared(slot, component);
  slot.shared = stage.shared.get();
  for (; slot.layer < kLayers; ++slot.layer) {
    Slot here = slot;
    here.build = slot.build.at(std::to_string(slot.layer));
    stage.layers.push_back(variant.make(here, component));
    leave_zero(*stage.layers.back());
  }
  return stage;
}

// Maps of all layers, then shortcuts.
std::vector<Tensor> maps(std::int64_t batch = 2) {
  std::vector<Tensor> list;
  for (std::uint64_t i = 0; i < 2 * kLayers; ++i) {
    list.push_back(random_tensor({batch, kChannels, 3, 2}, 20 + i));
  }
  return list;
}

struct Step {
  Tensor o;
  double loss = 0;
  std::vector<double> gradient;  // of all maps and parameters, one behind the other
};

// Forward and backward through a stage of float32 parameters, with maps stored as said.
Step step(const layer_attention::Variant& variant, const Value& options, DType stored) {
  Stage stage = make(variant, options, DType::kFloat32);
  std::vector<Tensor> leaves, given;
  for (std::uint64_t i = 0; i < 2 * kLayers; ++i) {
    const Tensor map = random_tensor({4, kChannels, 6, 5}, 20 + i, DType::kFloat32);
    // Values that bfloat16 holds exactly.
    leaves.push_back(trainable(ops::cast(ops::cast(map, DType::kBFloat16), DType::kFloat32)));
    given.push_back(ops::cast(leaves.back(), stored));
  }
  const auto add_parameters = [&](const nn::Module& module) {
    for (const nn::NamedTensor& named : module.parameters()) leaves.push_back(named.tensor);
  };
  for (const auto& layer : stage.layers) add_parameters(*layer);
  if (stage.shared) add_parameters(*stage.shared);
  const Tensor o = stage(given);
  CHECK(o.dtype() == stored);
  Step result{ops::cast(o, DType::kFloat32), 0, {}};
  const Tensor target = random_tensor(o.shape(), 99, DType::kFloat32);
  const Tensor loss = ops::mean(ops::square(ops::sub(result.o, target)));
  autograd::backward(loss);
  result.loss = loss.item<float>();
  for (const Tensor& leaf : leaves) {
    if (!leaf.grad().defined()) continue;  // not every variant reads the shortcuts
    const std::vector<double> values = to_doubles(leaf.grad());
    result.gradient.insert(result.gradient.end(), values.begin(), values.end());
  }
  return result;
}

}  // namespace

TEST_CASE("every layer attention: gradients through all layers", "[layer_attention][long]") {
  for (const layer_attention::Variant& variant : layer_attention::variants()) {
    if (variant.name == "transformer_vq") continue;  // straight-through: not the slope
    INFO(variant.name);
    Stage stage = make(variant);
    std::vector<Tensor> inputs = maps();
    for (const auto& layer : stage.layers) {
      for (const nn::NamedTensor& named : layer->parameters()) {
        if (named.tensor.requires_grad()) inputs.push_back(named.tensor);
      }
    }
    if (stage.shared) {
      for (const nn::NamedTensor& named : stage.shared->parameters()) {
        inputs.push_back(named.tensor);
      }
    }
    check_gradients([&](const auto& t) { return stage(t); }, inputs);
  }
}

TEST_CASE("every layer attention: the result is like the map, and a probe changes nothing",
          "[layer_attention]") {
  for (const layer_attention::Variant& variant : layer_attention::variants()) {
    INFO(variant.name);
    Stage stage = make(variant);
    attention::Probe probe;
    const Tensor o = stage(maps());
    CHECK(o.shape() == Shape{2, kChannels, 3, 2});
    CHECK(max_difference(o, stage(maps(), &probe)) == 0.0);
    for (const Tensor& map : probe.all("attn")) {
      REQUIRE(map.rank() == 4);
      for (const double sum : to_doubles(ops::sum(map, {-1}))) {
        CHECK(sum == Approx(1.0).epsilon(1e-12));
      }
    }
  }
}

TEST_CASE("every layer attention: a step in mixed precision is that of float32, rounded",
          "[layer_attention]") {
  for (const layer_attention::Variant& variant : layer_attention::variants()) {
    std::vector<Value> choices{Value::object({})};
    if (variant.fields->find("form") != nullptr) {
      choices.push_back(Value::object({{"form", "recurrent"}}));
    }
    for (const Value& options : choices) {
      INFO(variant.name << " " << options.dump());
      const Step full = step(variant, options, DType::kFloat32);
      const Step half = step(variant, options, DType::kBFloat16);
      CHECK(max_difference(half.o, full.o) > 0);
      check_close(half.o, full.o);
      CHECK(half.loss == Approx(full.loss).epsilon(0.02));
      // Single gradients that are differences, as that of a query in a quotient, lose more.
      CHECK(cosine(half.gradient, full.gradient) > 0.99);
    }
  }
}

TEST_CASE("every layer attention: items of a batch do not see each other", "[layer_attention]") {
  for (const layer_attention::Variant& variant : layer_attention::variants()) {
    INFO(variant.name);
    Stage stage = make(variant);
    const std::vector<Tensor> all = maps(3);
    std::vector<Tensor> one;
    for (const Tensor& map : all) one.push_back(ops::slice(map, 0, 1, 1));
    CHECK(max_difference(ops::slice(stage(all), 0, 1, 1), stage(one)) < 1e-12);
  }
}

TEST_CASE("every layer attention: one layer is enough, of one pixel and one sample",
          "[layer_attention]") {
  for (const layer_attention::Variant& variant : layer_attention::variants()) {
    INFO(variant.name);
    Stage stage = make(variant);
    stage.layers.resize(1);
    const Tensor x = random_tensor({1, kChannels, 1, 1}, 3);
    CHECK(stage({x, x}).shape() == x.shape());
  }
}

TEST_CASE("layer attention registry: names are unique, unknown ones get the nearest",
          "[layer_attention]") {
  std::set<std::string> names;
  for (const layer_attention::Variant& variant : layer_attention::variants()) {
    CHECK(names.insert(variant.name).second);
    CHECK_FALSE(variant.info.source.empty());
  }
  CHECK_THROWS_WITH(layer_attention::variants().find("mrlab"),
                    Catch::Contains("did you mean \"mrla_b\"?"));
}

TEST_CASE("layer attention: head_dim that does not fit is refused with those that do",
          "[layer_attention]") {
  CHECK_THROWS_WITH(layer_attention::heads_of("kcla", 12, 8),
                    Catch::Contains("kcla: 12 channels are not divisible by head_dim 8; head_dim "
                                    "may be 1, 2, 3, 4, 6, 12"));
}

TEST_CASE("channel kernels are those of kcla 2.0", "[layer_attention]") {
  const std::pair<std::int64_t, std::int64_t> sizes[] = {{16, 3},  {32, 3},  {64, 3},   {128, 5},
                                                         {256, 5}, {512, 5}, {1024, 5}, {2048, 7}};
  for (const auto& [channels, kernel] : sizes) {
    CHECK(layer_attention::channel_kernel(channels) == kernel);
  }
}

TEST_CASE("KCLA: a key of zero gives finite gradients, one layer is its own average",
          "[layer_attention]") {
  Stage stage = make(layer_attention::variants().find("kcla"));
  std::vector<Tensor> zero = maps();
  for (Tensor& map : zero) map = trainable(ops::zeros_like(map));
  autograd::backward(ops::sum(stage(zero)));
  for (const double value : to_doubles(zero[0].grad())) CHECK(std::isfinite(value));
}

TEST_CASE("bridge attention: the maps inside the block have to be there", "[layer_attention]") {
  Stage stage = make(layer_attention::variants().find("ba"));
  const Tensor x = maps().front();
  State state;
  CHECK_THROWS_WITH((*stage.layers.front())({.x = x, .shortcut = x}, state),
                    Catch::Contains("ba: 0 maps from inside the block; expected 2"));
}

TEST_CASE("KCLA: temperatures lie evenly by logarithm", "[layer_attention]") {
  const auto values = layer_attention::log_uniform(0.7, 4);
  CHECK(values[0] == Approx(0.7));
  CHECK(values[1] == Approx(0.887904));
  CHECK(values[2] == Approx(1.126248));
  CHECK(values[3] == Approx(1.428571));
  CHECK(layer_attention::log_uniform(0.7, 1).front() == Approx(0.7));
}
