// ResNets with attention across their blocks: sizes of kcla's tables, names, state, depth.
#include <array>
#include <map>

#include "backend/backend.h"
#include "base/error.h"
#include "layer_attention/layer_attention.h"
#include "ops/elementwise.h"
#include "ops/losses/loss.h"
#include "ops/shape.h"
#include "tests/models/network.h"

using namespace fovea;
using namespace fovea::test;
using schema::Value;

namespace {

Value network(const char* type, const Value& attention) {
  return Value::object({{"type", type}, {"layer_attention", attention}});
}

// Two stages of two blocks, a few channels.
Value tiny(const Value& attention, const char* block = "bottleneck") {
  Value options = network("resnet20", attention);
  options.set("depths", Value::array({2, 2}));
  options.set("planes", Value::array({2, 4}));
  options.set("block", block);
  return options;
}

Value plainly(const layer_attention::Variant& variant, double drop_path = 0) {
  Value options = options_of(variant.name.c_str());
  if (variant.fields->find("head_dim") != nullptr) options.set("head_dim", 2);
  if (variant.fields->find("drop_path") != nullptr) options.set("drop_path", drop_path);
  return options;
}

}  // namespace

TEST_CASE("ResNet with layer attention: parameters for small images are kcla's", "[models]") {
  struct Row {
    const char* type;
    std::int64_t ten[3];
  };
  // kcla 3.2, ten classes; a hundred are 23,130 more.
  const Row rows[] = {
      {"se", {241882, 655834, 1276762}},       {"eca", {220404, 591400, 1147894}},
      {"cbam", {243434, 660490, 1286074}},     {"dia", {439226, 810170, 1366586}},
      {"standard", {230286, 621046, 1207186}}, {"mrla_b", {230286, 621046, 1207186}},
      {"mrla_l", {231182, 623734, 1212562}},   {"dla_l", {410158, 802710, 1391538}},
      {"dla_b", {405230, 795990, 1382130}},    {"kcla", {235507, 627723, 1216047}},
      {"focused", {232078, 626422, 1217938}},  {"linear", {230286, 621046, 1207186}},
      {"hydra", {230286, 621046, 1207186}},    {"performer", {230286, 621046, 1207186}}};
  const char* const networks[] = {"resnet20", "resnet56", "resnet110"};
  for (const Row& row : rows) {
    for (int i = 0; i < 3; ++i) {
      INFO(row.type << " in " << networks[i]);
      const Value options = network(networks[i], options_of(row.type));
      const auto model = build(options, make_meta(), {3, 32, 32, 10});
      CHECK(model->parameter_count() == row.ten[i]);
      const auto wide = build(options, make_meta(), {3, 32, 32, 100});
      CHECK(wide->parameter_count() == row.ten[i] + 23130);
    }
  }
}

TEST_CASE("ResNet with KCLA: parameters by head dimension, and without gates", "[models]") {
  const auto parameters = [](const std::vector<std::pair<std::string, Value>>& options) {
    return build(network("resnet56", options_of("kcla", options)), make_meta(), {3, 32, 32, 100})
        ->parameter_count();
  };
  CHECK(parameters({{"head_dim", 2}}) == 775901);
  CHECK(parameters({{"head_dim", 4}}) == 678909);
  CHECK(parameters({{"head_dim", 8}}) == 655277);
  CHECK(parameters({{"head_dim", 16}}) == 650853);
  CHECK(parameters({{"head_dim", 32}}) == 652841);
  CHECK(parameters({{"head_attention", false}}) == 648837);
}

TEST_CASE("ResNet with layer attention: parameters and counts for ImageNet are kcla's",
          "[models]") {
  const auto check = [](const char* type, const Value& attention, std::int64_t parameters,
                        double giga) {
    INFO(type << " " << attention.dump());
    const Cost found = cost(network(type, attention), 224, 1000);
    CHECK(found.parameters == parameters);
    CHECK(static_cast<double>(found.macs_paper) / 1e9 == Approx(giga).margin(0.0051));
  };
  // kcla 3.3, by the convention of 3.6.
  check("resnet50", options_of("se"), 28071976, 4.14);
  check("resnet50", options_of("cbam"), 28089624, 4.14);
  check("resnet50", options_of("eca"), 25557118, 4.14);
  check("resnet50", options_of("mrla_l"), 25738452, 4.21);
  check("resnet50", options_of("dla_l", {{"reduction", 32}}), 27188932, 4.28);
  check("resnet50", options_of("dla_l"), 28581812, 4.29);
  check("resnet50", options_of("kcla"), 25812610, 4.23);
  check("resnet50", options_of("kcla", {{"head_dim", 64}}), 25859078, 4.24);
  check("resnet50", options_of("standard"), 25723348, 4.30);
  check("resnet101", options_of("se"), 49292328, 7.88);
  check("resnet101", options_of("mrla_l"), 44939646, 7.99);
  check("resnet101", options_of("dla_l"), 47783006, 8.13);
  check("resnet101", options_of("kcla"), 45032785, 8.01);
  check("resnet101", options_of("kcla", {{"head_dim", 64}}), 45082309, 8.02);
  CHECK(build(network("resnet50", options_of("dia")), make_meta(), {3, 224, 224, 1000})
            ->parameter_count() == 28358052);
  CHECK(build(network("resnet101", options_of("cbam")), make_meta(), {3, 224, 224, 1000})
            ->parameter_count() == 49330172);
  CHECK(build(network("resnet101", options_of("eca")), make_meta(), {3, 224, 224, 1000})
            ->parameter_count() == 44549331);
}

TEST_CASE("ResNet with RLA_g: parameters and counts are kcla's", "[models]") {
  const Cost fifty = cost(Value::object({{"type", "rla_resnet50"}}), 224, 1000);
  CHECK(fifty.parameters == 25870696);
  CHECK(static_cast<double>(fifty.macs_paper) / 1e9 == Approx(4.50).margin(0.0051));
  CHECK(build(Value::object({{"type", "rla_resnet101"}}), make_meta(), {3, 224, 224, 1000})
            ->parameter_count() == 45003176);
  CHECK_THROWS_WITH(build(Value::object({{"type", "rla_resnet50"}}), make_meta(), {3, 40, 40, 10}),
                    Catch::Contains("must be multiples of 32"));
}

TEST_CASE("ResNet with layer attention: added multiply-adds are those of kcla figure 6",
          "[models]") {
  const auto added = [](const char* type, std::int64_t blocks) {
    Value with = network("resnet20", options_of(type));
    with.set("depths", Value::array({blocks, blocks, blocks}));
    Value plain = Value::object({{"type", "resnet20"}});
    plain.set("depths", Value::array({blocks, blocks, blocks}));
    return static_cast<double>(cost(with, 32, 100).macs - cost(plain, 32, 100).macs) / 1e6;
  };
  const std::pair<std::int64_t, std::vector<double>> rows[] = {
      {2, {3.453, 2.418, 2.532, 2.748}},
      {6, {24.151, 8.636, 7.597, 7.356}},
      {12, {89.682, 21.418, 15.195, 14.267}},
      {20, {241.4, 44.907, 25.325, 23.482}}};
  const char* const types[] = {"standard", "mrla_b", "mrla_l", "kcla"};
  for (const auto& [blocks, millions] : rows) {
    for (std::size_t i = 0; i < 4; ++i) {
      INFO(types[i] << ", " << blocks << " blocks a stage");
      CHECK(added(types[i], blocks) == Approx(millions[i]).epsilon(2e-4).margin(6e-4));
    }
  }
}

TEST_CASE("ResNet with KCLA: added memory of training is linear in depth", "[models]") {
  const auto peak = [](bool attention, std::int64_t blocks) {
    Value options = Value::object({{"type", "resnet20"}});
    if (attention) options.set("layer_attention", options_of("kcla"));
    options.set("depths", Value::array({blocks, blocks, blocks}));
    const Device meta = make_meta();
    const auto model = build(options, meta, {3, 32, 32, 10});
    model->train(true);
    autograd::backward(ops::cross_entropy(
        (*model)({.image = Tensor::empty({4, 3, 32, 32}, DType::kFloat32, meta)}).logits,
        Tensor::empty({4}, DType::kInt64, meta)));
    return static_cast<double>(meta.allocator().stats().peak_bytes);
  };
  const auto added = [&](std::int64_t blocks) { return peak(true, blocks) - peak(false, blocks); };
  const double six = added(6), twelve = added(12), eighteen = added(18);
  CHECK((eighteen - twelve) / (twelve - six) == Approx(1.0).epsilon(0.02));
}

TEST_CASE("ResNet with layer attention: names are those of the public code", "[models]") {
  const auto has = [](const char* type, const char* attention, const char* name) {
    const auto state = nn::named_tensors(
        *build(network(type, options_of(attention)), make_meta(), {3, 32, 32, 10}));
    INFO(type << " " << attention << ": " << name);
    CHECK(state.count(name) == 1);
  };
  has("resnet20", "kcla", "stages.1.0.kcla.adjust_channel.weight");
  has("resnet20", "mrla_b", "stages.2.1.mrla.mrla.Wq.weight");
  has("resnet20", "mrla_l", "layer3.1.mrla.lambda_t");
  has("resnet20", "dla_l", "stages.0.attention.1.layer_attention.layer_attention.Wk.weight");
  has("resnet20", "dia", "layer1.ModuleList.1.conv3.weight");
  has("resnet50", "kcla", "layer3.attention.5.head_att.weight");
  has("resnet50", "kcla", "layer3.layers.5.conv3.weight");
  has("resnet50", "dla_l", "layer4.extict.weight");
  has("resnet101", "kcla", "layer3.attention.11.u_Wk.weight");
  has("resnet50", "standard", "layer1.2.bn_la.weight");
}

TEST_CASE("every layer attention: gradients of a whole ResNet along random directions",
          "[models][long]") {
  for (const layer_attention::Variant& variant : layer_attention::variants()) {
    // Its straight-through gradient is not the slope.
    if (variant.name == "transformer_vq") continue;
    for (const char* block : {"basic", "bottleneck"}) {
      INFO(variant.name << ", " << block);
      const auto model = build(tiny(plainly(variant), block), cpu(), {2, 6, 6, 3}, DType::kFloat64);
      for (const nn::NamedTensor& named : model->parameters()) {
        // Biases, and what starts at zero, behind which nothing could be seen.
        if (!named.name.ends_with("bias") && largest(to_doubles(named.tensor)) > 0) continue;
        set_values(named.tensor, random_tensor(named.tensor.shape(), 77));
      }
      model->train(true);
      const Tensor x = random_tensor({2, 2, 6, 6}, 1);
      const Tensor labels = Tensor::from<std::int64_t>({2, 0}, {2}, cpu());
      const auto loss = [&] { return ops::cross_entropy((*model)({.image = x}).logits, labels); };
      autograd::backward(loss());
      const autograd::NoGrad no_grad;
      std::uint64_t seed = 100;
      for (const nn::NamedTensor& named : model->parameters()) {
        if (!named.tensor.requires_grad() || !named.tensor.grad().defined()) continue;
        const Tensor direction = random_tensor(named.tensor.shape(), ++seed);
        const double analytic = inner_product(named.tensor.grad(), direction);
        INFO(named.name);
        const double numeric =
            slope(named.tensor, direction, [&] { return loss().item<double>(); });
        CHECK(analytic == Approx(numeric).epsilon(1e-4).margin(1e-6));
      }
    }
  }
}

TEST_CASE("every layer attention: a ResNet learns in mixed precision as in float32",
          "[models][long]") {
  const Tensor x = random_tensor({8, 3, 16, 8}, 1, DType::kFloat32);
  const Tensor labels = Tensor::from<std::int64_t>({2, 0, 1, 2, 1, 0, 0, 1}, {8}, cpu());
  // Losses before and after some steps, all with one batch.
  const auto losses = [&](const Value& options, DType activations) {
    const auto model = build(options, cpu(), {3, 16, 8, 3}, DType::kFloat32, activations);
    model->train(true);
    model->set_random(RandomStream(1));
    std::array<double, 2> result{};
    for (int i = 0; i <= 3; ++i) {
      const Tensor loss = ops::cross_entropy((*model)({.image = x}).logits, labels);
      result[i == 0 ? 0 : 1] = loss.item<float>();
      autograd::backward(loss);
      const autograd::NoGrad no_grad;
      for (const nn::NamedTensor& named : model->parameters()) {
        if (!named.tensor.requires_grad() || !named.tensor.grad().defined()) continue;
        backend(x).axpy(-0.1, named.tensor.grad(), named.tensor);
        named.tensor.set_grad({});
      }
    }
    return result;
  };
  std::vector<Value> networks{Value::object({{"type", "rla_resnet50"},
                                             {"depths", Value::array({2, 2})},
                                             {"planes", Value::array({2, 4})}})};
  for (const layer_attention::Variant& variant : layer_attention::variants()) {
    networks.push_back(tiny(plainly(variant)));
  }
  for (const Value& options : networks) {
    INFO(options.dump());
    const auto full = losses(options, DType::kFloat32);
    const auto half = losses(options, DType::kBFloat16);
    CAPTURE(full[0], full[1], half[0], half[1]);
    CHECK(half[0] != full[0]);
    CHECK(half[0] == Approx(full[0]).epsilon(0.03));
    CHECK(half[1] < 0.97 * half[0]);
    CHECK(half[1] == Approx(full[1]).epsilon(0.2));
  }
}

TEST_CASE("every layer attention: a pass leaves nothing behind for the next", "[models]") {
  for (const layer_attention::Variant& variant : layer_attention::variants()) {
    INFO(variant.name);
    const auto model = build(tiny(plainly(variant, 0.5)), cpu(), {2, 6, 6, 3}, DType::kFloat64);
    const Tensor x = random_tensor({3, 2, 6, 6}, 1);
    const Tensor first = (*model)({.image = x}).logits;
    CHECK(max_difference(first, (*model)({.image = x}).logits) == 0.0);
    const Tensor alone = (*model)({.image = ops::slice(x, 0, 1, 1)}).logits;
    CHECK(max_difference(ops::slice(first, 0, 1, 1), alone) < 1e-10);
  }
}
