#include "explain/diagnostics/head_importance.h"

#include <catch2/catch.hpp>

#include <cmath>

#include "autograd/mode.h"
#include "backend/devices.h"
#include "base/error.h"
#include "nn/weights.h"
#include "ops/create.h"
#include "ops/in_place.h"
#include "ops/losses/loss.h"
#include "ops/shape.h"
#include "tensor/host.h"
#include "tests/explain/interventions/small_networks.h"

using namespace fovea;
using schema::Value;
using test::normal_images;
using test::small_vit;

namespace {

double loss_of(models::Model& model, const Tensor& x, const Tensor& labels) {
  const autograd::NoGrad no_grad;
  return host_doubles(ops::cross_entropy(model({.image = x}).logits, labels)).front();
}

}  // namespace

TEST_CASE("head importance: the derivative by a gate on each head", "[explain]") {
  for (const char* attention : {"softmax", "m_dgsa", "differential"}) {
    INFO(attention);
    const auto model = small_vit(attention);
    const Tensor x = normal_images({2, 3, 8, 8}, 6, 3);
    const Tensor labels = Tensor::from(std::vector<std::int64_t>{2, 0}, {2}, make_cpu(1));
    const auto sites = explain::head_sites(*model, {.image = x});
    REQUIRE(sites.size() == 2);
    CHECK(sites[1].module == "blocks.1.attn");
    const auto found = explain::head_importance(*model, {.image = x}, labels);
    CHECK(found.loss == Approx(loss_of(*model, x, labels)));
    for (std::size_t layer = 0; layer < 2; ++layer) {
      const Tensor weight = sites[layer].projection;
      const std::vector<double> whole = host_doubles(weight);
      // The loss with the columns of one head times `gate`.
      const auto gated = [&](std::size_t head, double gate, const Tensor& images,
                             const Tensor& classes) {
        std::vector<double> scaled = whole;
        for (std::size_t k = 0; k < scaled.size(); ++k)
          if (k % 8 / 4 == head) scaled[k] *= gate;
        ops::copy_into(from_doubles(scaled, weight.shape(), DType::kFloat32, make_cpu(1)), weight);
        const double loss = loss_of(*model, images, classes);
        ops::copy_into(from_doubles(whole, weight.shape(), DType::kFloat32, make_cpu(1)), weight);
        return loss;
      };
      for (std::size_t head = 0; head < 2; ++head) {
        double expected = 0;
        for (const std::int64_t i : {0, 1}) {
          const Tensor one = ops::slice(x, 0, i, 1), label = ops::slice(labels, 0, i, 1);
          expected +=
              std::abs(gated(head, 1.02, one, label) - gated(head, 0.98, one, label)) / 0.08;
        }
        CHECK(found.importance[layer][head] == Approx(expected).epsilon(2e-2).margin(1e-5));
        CHECK(found.importance[layer][head] > 1e-4);
        CHECK(found.ablation_loss[layer][head] ==
              Approx(gated(head, 0, x, labels) - found.loss).margin(1e-6));
      }
    }
  }
}

TEST_CASE("head importance: weights and gradients are as before", "[explain]") {
  const auto model = small_vit("softmax");
  const auto before = nn::named_tensors(*model);
  std::map<std::string, std::vector<double>> values;
  for (const auto& [name, tensor] : before) values[name] = host_doubles(tensor);
  const Tensor kept = ops::ones({8, 8}, DType::kFloat32, make_cpu(1));
  before.at("blocks.0.attn.proj.weight").set_grad(kept);
  const Tensor labels = Tensor::from(std::vector<std::int64_t>{1}, {1}, make_cpu(1));
  explain::head_importance(*model, {.image = normal_images({1, 3, 8, 8}, 6, 1)}, labels);
  for (const auto& [name, tensor] : nn::named_tensors(*model)) {
    CHECK(host_doubles(tensor) == values[name]);
    CHECK(tensor.grad().defined() == (name == "blocks.0.attn.proj.weight"));
  }
  CHECK(host_doubles(before.at("blocks.0.attn.proj.weight").grad()) ==
        std::vector<double>(64, 1.0));
}

TEST_CASE("head importance: heads of windows and of reduced keys have their projection",
          "[explain]") {
  const auto swin = test::build(test::options_of("swin_t", {{"img_size", Value::array({32, 32})},
                                                            {"embed_dim", 6},
                                                            {"depths", Value::array({2, 2})},
                                                            {"num_heads", Value::array({1, 2})},
                                                            {"window_size", 4},
                                                            {"num_classes", 3}}),
                                make_cpu(1), {});
  const auto pvt =
      test::build(test::options_of("pvt_v2_b0", {{"embed_dims", Value::array({4, 4, 8, 8})},
                                                 {"num_heads", Value::array({1, 1, 2, 2})},
                                                 {"depths", Value::array({1, 1, 1, 1})},
                                                 {"num_classes", 3}}),
                  make_cpu(1), {.channels = 3});
  for (const auto& [model, heads] : {std::pair{swin.get(), std::vector<std::int64_t>{1, 1, 2, 2}},
                                     std::pair{pvt.get(), std::vector<std::int64_t>{1, 1, 2, 2}}}) {
    const Tensor labels = Tensor::from(std::vector<std::int64_t>{1}, {1}, make_cpu(1));
    const Tensor x = normal_images({1, 3, 32, 32}, 6, 1);
    std::vector<std::int64_t> found;
    for (const auto& site : explain::head_sites(*model, {.image = x})) found.push_back(site.heads);
    CHECK(found == heads);
    const auto importance = explain::head_importance(*model, {.image = x}, labels);
    CHECK(importance.importance.back()[1] > 0);
    CHECK(importance.ablation_loss.size() == 4);
  }
}

TEST_CASE("head importance: heads of windows of several sizes", "[explain]") {
  const Value mala = Value::object({{"type", "mala"}});
  const auto swin = test::build(test::options_of("swin_t", {{"img_size", Value::array({32, 32})},
                                                            {"embed_dim", 8},
                                                            {"depths", Value::array({2})},
                                                            {"num_heads", Value::array({2})},
                                                            {"window_size", 3},
                                                            {"kinds", Value::array({mala})},
                                                            {"linear_window", "local"},
                                                            {"num_classes", 3}}),
                                make_cpu(1), {});
  for (const auto& [name, tensor] : nn::named_tensors(*swin)) {  // heads that matter
    if (tensor.rank() < 2) continue;
    std::vector<double> larger = host_doubles(tensor);
    for (double& value : larger) value *= 15;
    ops::copy_into(from_doubles(larger, tensor.shape(), DType::kFloat32, make_cpu(1)), tensor);
  }
  const Tensor labels = Tensor::from(std::vector<std::int64_t>{1}, {1}, make_cpu(1));
  const Tensor x = normal_images({1, 3, 32, 32}, 6, 1);
  const auto sites = explain::head_sites(*swin, {.image = x});
  REQUIRE(sites.size() == 2);
  const auto found = explain::head_importances(*swin, sites, {.image = x}, labels);
  for (std::size_t layer = 0; layer < 2; ++layer) {
    for (std::size_t head = 0; head < 2; ++head) {
      const auto with_gate = [&](double gate) {
        std::vector<double> factors{1, 1};
        factors[head] = gate;
        const explain::ScaledHeads scaled(sites[layer], factors);
        return loss_of(*swin, x, labels);
      };
      const double expected = std::abs(with_gate(1.05) - with_gate(0.95)) / 0.1;
      CHECK(found[layer][head][0] == Approx(expected).epsilon(2e-2).margin(1e-5));
      CHECK(found[layer][head][0] > 1e-3);
    }
  }
}

TEST_CASE("head importance: samples one by one, in any batches", "[explain]") {
  const auto model = small_vit("softmax");
  const Tensor x = normal_images({3, 3, 8, 8}, 6, 3);
  const Tensor labels = Tensor::from(std::vector<std::int64_t>{2, 0, 1}, {3}, make_cpu(1));
  const auto sites = explain::head_sites(*model, {.image = ops::slice(x, 0, 0, 1)});
  std::int64_t passes = 0;
  const auto all = explain::head_effects(*model, sites, {.image = x}, labels, [&] { ++passes; });
  CHECK(passes == explain::head_passes(sites));
  explain::HeadEffects parts;
  for (const std::int64_t i : {0, 1, 2})
    parts.append(explain::head_effects(*model, sites, {.image = ops::slice(x, 0, i, 1)},
                                       ops::slice(labels, 0, i, 1)));
  REQUIRE(all.loss.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(parts.loss[i] == Approx(all.loss[i]));
    CHECK(parts.importance[1][0][i] == Approx(all.importance[1][0][i]).epsilon(1e-4));
    CHECK(parts.ablation_loss[0][1][i] == Approx(all.ablation_loss[0][1][i]).margin(1e-6));
  }
}

TEST_CASE("head importance: each layer has length 1", "[explain]") {
  const auto normalised = explain::normalised_by_layer({{3, 4}, {0, 0}});
  CHECK(normalised[0][0] == Approx(0.6));
  CHECK(normalised[1] == std::vector<double>{0, 0});
}
