#include "ops/losses/loss.h"
#include "tests/models/network.h"

using namespace fovea;
using namespace fovea::test;
using schema::Value;

namespace {

std::int64_t count(const char* type, double expansion, std::int64_t classes, bool published) {
  Value options = Value::object(
      {{"type", type}, {"ffn", Value::object({{"type", "swiglu"}, {"expansion", expansion}})}});
  if (published) {
    options.set("pos_rows", 100);
    options.set("head_hidden", 128);
  }
  return build(options, make_meta(), {3, 32, 32, classes})->parameter_count();
}

}  // namespace

TEST_CASE("ViT family: parameter counts of dgsa section 4.2", "[models]") {
  CHECK(count("dgvit", 2, 10, true) == 3774154);
  CHECK(count("dgvit", 4, 10, true) == 5351114);
  CHECK(count("dgvit", 2, 100, true) == 3785764);
  CHECK(count("dgvit", 4, 100, true) == 5362724);
  CHECK(count("dgvit", 2, 10, false) == 3733578);
  CHECK(count("dgvit", 4, 100, false) == 5333668);
  CHECK(count("diff_vit", 2, 10, false) == 3717642);
  CHECK(count("diff_vit", 4, 100, true) == 5346788);
  CHECK(count("vit", 4, 10, false) == 5302026);  // ViT with SwiGLU
  const Value plain = Value::object({{"type", "vit"}});
  CHECK(build(plain, make_meta(), {3, 32, 32, 10})->parameter_count() == 6350602);
}

TEST_CASE("ViT family: gradients of a whole network along random directions", "[models]") {
  const char* type = GENERATE("vit", "diff_vit", "dgvit");
  const Value options = Value::object({{"type", type},
                                       {"embed_dim", 8},
                                       {"depth", 2},
                                       {"patch_size", 2},
                                       {"attention", Value::object({{"num_heads", 2}})}});
  const auto model = build(options, cpu(), {2, 4, 4, 3}, DType::kFloat64);
  const Tensor x = random_tensor({2, 2, 4, 4}, 1);
  const Tensor labels = Tensor::from<std::int64_t>({2, 0}, {2}, cpu());
  INFO(type);
  check_directions(*model,
                   [&] { return ops::cross_entropy((*model)({.image = x}).logits, labels); });
}

TEST_CASE("ViT family: options that do not fit are refused with the numbers", "[models]") {
  const auto refuses = [](std::initializer_list<std::pair<std::string, Value>> options,
                          const std::string& message) {
    Value value = Value::object({{"type", "vit"}});
    for (const auto& [key, option] : options) value.set(key, option);
    CHECK_THROWS_WITH(build(value, make_meta(), {3, 32, 32, 10}), Catch::Contains(message));
  };
  refuses({{"patch_size", 5}}, "image 32 x 32 is not divisible by patch 5");
  refuses({{"pos_rows", 10}}, "10 rows for 65 tokens");
  refuses({{"class_token", false}}, "set model.global_pool=avg");
  refuses({{"embed_dim", 20}}, "dim 20 is not divisible by num_heads 8");
}

TEST_CASE("ViT: checkpointing blocks changes no gradient, dropout included", "[models]") {
  const auto gradients = [](bool checkpointing) {
    const Value options = Value::object({{"type", "dgvit"},
                                         {"embed_dim", 16},
                                         {"depth", 2},
                                         {"drop_rate", 0.2},
                                         {"drop_path_rate", 0.3},
                                         {"checkpointing", checkpointing},
                                         {"attention", Value::object({{"num_heads", 2}})}});
    const auto model = build(options, cpu(), {3, 8, 8, 4}, DType::kFloat64);
    model->train(true);
    model->set_random(RandomStream(5));
    const Tensor y = (*model)({.image = random_tensor({2, 3, 8, 8}, 1)}).logits;
    autograd::backward(y, random_tensor(y.shape(), 2));
    std::vector<double> all;
    for (const nn::NamedTensor& named : model->parameters()) {
      const auto values = to_doubles(named.tensor.grad());
      all.insert(all.end(), values.begin(), values.end());
    }
    return all;
  };
  CHECK(gradients(false) == gradients(true));
}

TEST_CASE("ViT: initial weights depend on the seed and the name alone", "[models]") {
  const auto first_weight = [](std::int64_t depth) {
    const Value options = Value::object({{"type", "vit"}, {"embed_dim", 16}, {"depth", depth}});
    const auto model = build(options, cpu(), {3, 8, 8, 4});
    for (const nn::NamedTensor& named : model->parameters()) {
      if (named.name == "head.weight") return to_doubles(named.tensor);
    }
    return std::vector<double>();
  };
  CHECK_FALSE(first_weight(1).empty());
  CHECK(first_weight(1) == first_weight(3));
}
