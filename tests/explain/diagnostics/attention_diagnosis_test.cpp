#include "explain/diagnostics/attention_diagnosis.h"

#include <catch2/catch.hpp>

#include <cmath>
#include <set>

#include "attention/probe.h"
#include "autograd/mode.h"
#include "backend/devices.h"
#include "explain/diagnostics/head_importance.h"
#include "explain/diagnostics/signed_maps.h"
#include "tensor/host.h"
#include "tests/models/network.h"

using namespace fovea;
using explain::AttentionDiagnosis;
using explain::AttentionSample;
using schema::Value;

namespace {

// All names, and those that are defined for a network.
std::vector<std::string> every_name() {
  std::vector<std::string> names;
  for (const auto& metric : explain::attention_metrics()) names.push_back(metric.info.name);
  return names;
}
std::set<std::string> defined_for(models::Model& model, const Tensor& x) {
  AttentionDiagnosis diagnosis(every_name());
  const std::vector<std::int64_t> classes(static_cast<std::size_t>(x.size(0)), 1);
  diagnosis.add(model, x, Tensor::from(classes, {x.size(0)}, make_cpu(1)));
  std::set<std::string> names;
  for (const auto& one : diagnosis.metrics()) {
    if (one.defined()) names.insert(one.metric->info.name);
  }
  return names;
}
// Names of every_name() without these.
std::set<std::string> all_but(const std::set<std::string>& left_out) {
  std::set<std::string> names;
  for (const std::string& name : every_name()) {
    if (!left_out.contains(name)) names.insert(name);
  }
  return names;
}

std::unique_ptr<models::Model> small_vit(const char* attention) {
  auto model = test::build(
      test::options_of("vit",
                       {{"img_size", Value::array({8, 8})},
                        {"patch_size", 4},
                        {"embed_dim", 8},
                        {"depth", 2},
                        {"num_classes", 3},
                        {"attention", Value::object({{"type", attention}, {"num_heads", 2}})}}),
      make_cpu(1), {});
  model->train(false);
  return model;
}

Tensor images(std::int64_t count, std::int64_t side) {
  const RandomStream stream = RandomStream(6).fork("images");
  const Shape shape{count, 3, side, side};
  std::vector<double> values;
  for (std::int64_t i = 0; i < shape.numel(); ++i)
    values.push_back(3 * stream.normal(static_cast<std::uint64_t>(i)));
  return from_doubles(values, shape, DType::kFloat32, make_cpu(1));
}

}  // namespace

TEST_CASE("attention metrics: names are distinct and explained", "[explain]") {
  std::set<std::string> names;
  for (const explain::AttentionMetric& metric : explain::attention_metrics()) {
    CHECK(names.insert(metric.info.name).second);
    CHECK_FALSE(metric.help.empty());
    CHECK(explain::find_attention_metric(metric.info.name) == &metric);
  }
  CHECK(explain::find_attention_metric("top1") == nullptr);
}

TEST_CASE("attention metrics: one of 16 samples, 16 to 64 of them, evenly spaced", "[explain]") {
  CHECK(AttentionSample::count_of(0) == 0);
  CHECK(AttentionSample::count_of(16) == 16);
  CHECK(AttentionSample::count_of(17) == 9);    // every second one
  CHECK(AttentionSample::count_of(355) == 21);  // every 17th
  CHECK(AttentionSample::count_of(1024) == 64);
  CHECK(AttentionSample::count_of(10000) == 64);
  const AttentionSample few({"sink_rate"}, 16), many({"sink_rate"}, 1000), none({"sink_rate"}, 0);
  int wanted = 0;
  for (std::int64_t i = 0; i < 1000; ++i) wanted += many.wants(i) ? 1 : 0;
  CHECK(wanted == AttentionSample::count_of(1000));
  CHECK((few.wants(0) && few.wants(15)));
  CHECK(std::isnan(none.measure().front().value));
}

TEST_CASE("attention metrics: padding of texts is not looked at", "[explain]") {
  for (const char* pool : {"avg", "token"}) {
    INFO(pool);
    const auto model = test::build(
        test::options_of("transformer", {{"embed_dim", 8},
                                         {"depth", 2},
                                         {"vocab_size", 11},
                                         {"max_len", 7},
                                         {"num_classes", 3},
                                         {"global_pool", pool},
                                         {"attention", Value::object({{"num_heads", 2}})}}),
        make_cpu(1), {});
    model->train(false);
    const auto measured = [&](const std::vector<std::int64_t>& ids) {
      AttentionSample sample({"attention_relative_entropy", "attention_effective_rank"}, 1);
      sample.add(*model, Tensor::from(ids, {1, std::ssize(ids)}, make_cpu(1)));
      return sample.measure();
    };
    const auto plain = measured({4, 9, 2}), padded = measured({4, 9, 2, 0, 0});
    REQUIRE(plain.size() == 2);
    for (std::size_t k = 0; k < 2; ++k)
      CHECK(plain[k].value == Approx(padded[k].value).epsilon(1e-5));
    CHECK((plain[0].value > 0 && plain[0].value <= 1));
  }
}

TEST_CASE("attention diagnosis: values by layer, head and sample, whatever stands in a batch",
          "[explain]") {
  const auto model = small_vit("softmax");
  const Tensor x = images(20, 8);  // more than a pass takes
  AttentionDiagnosis together(every_name()), alone(every_name());
  together.add(*model, x);
  for (std::int64_t i = 0; i < 20; ++i) alone.add(*model, x.rows(i, i + 1));
  REQUIRE(together.metrics().size() == explain::attention_metrics().size());
  for (std::size_t m = 0; m < together.metrics().size(); ++m) {
    const explain::DiagnosedMetric &a = together.metrics()[m], &b = alone.metrics()[m];
    INFO(a.metric->info.name);
    if (!a.defined()) continue;
    const bool of_tokens = a.metric->of_tokens != nullptr;
    CHECK(a.layers == (of_tokens ? std::vector<std::string>{"blocks.0", "blocks.1"}
                                 : std::vector<std::string>{"blocks.0.attn", "blocks.1.attn"}));
    for (std::size_t layer = 0; layer < 2; ++layer) {
      REQUIRE(a.values[layer].size() == (a.metric->of_head != nullptr ? 2 : 1));
      for (std::size_t head = 0; head < a.values[layer].size(); ++head) {
        REQUIRE(a.values[layer][head].size() == 20);
        for (std::size_t i = 0; i < 20; ++i)
          CHECK(a.values[layer][head][i] ==
                Approx(b.values[layer][head][i]).epsilon(1e-4).margin(1e-6));
      }
    }
    CHECK(a.over_all()[3] == Approx((a.of_layer(0)[3] + a.of_layer(1)[3]) / 2));
  }
}

TEST_CASE("attention diagnosis: head importance needs the classes of samples", "[explain]") {
  const auto model = small_vit("softmax");
  const Tensor x = images(20, 8);
  std::vector<std::int64_t> classes;
  for (std::int64_t i = 0; i < 20; ++i) classes.push_back(i % 3);
  const Tensor labels = Tensor::from(classes, {20}, make_cpu(1));
  AttentionDiagnosis with({"head_importance", "sink_any"}), without({"head_importance"});
  with.add(*model, x, labels);
  without.add(*model, x);
  CHECK_FALSE(without.metrics().front().defined());
  const explain::DiagnosedMetric& found = with.metrics().back();
  REQUIRE(found.metric->info.name == "head_importance");
  CHECK(found.metric->by_head());
  CHECK(found.layers == std::vector<std::string>{"blocks.0.attn", "blocks.1.attn"});
  const auto expected = explain::head_importance(*model, {.image = x}, labels).importance;
  for (std::size_t layer = 0; layer < 2; ++layer) {
    REQUIRE(found.values[layer].size() == 2);
    for (std::size_t head = 0; head < 2; ++head) {
      const std::vector<double>& samples = found.values[layer][head];
      REQUIRE(samples.size() == 20);
      double sum = 0;
      for (const double value : samples) sum += value;
      CHECK(sum / 20 == Approx(expected[layer][head]).epsilon(1e-4));
    }
  }
}

TEST_CASE("attention diagnosis: tokens are those of the class and the patches", "[explain]") {
  const auto model = small_vit("softmax");
  const Tensor x = images(1, 8);
  attention::Probe probe;
  {
    const autograd::NoGrad no_grad;
    (*model)({.image = x}, &probe);
  }
  const Tensor features = probe.all("features")[1];
  REQUIRE(features.shape() == Shape{1, 5, 8});
  AttentionDiagnosis diagnosis({"token_similarity", "token_norm_ratio"});
  diagnosis.add(*model, x);
  const auto expected = explain::diagnose_tokens(host_doubles(features), 5, {});
  CHECK(diagnosis.metrics()[0].values[1][0][0] == Approx(expected.similarity));
  CHECK(diagnosis.metrics()[1].values[1][0][0] == Approx(expected.ratio));
}

TEST_CASE("attention diagnosis: signed maps and the two that they are made of", "[explain]") {
  for (const char* attention : {"m_dgsa", "differential"}) {
    INFO(attention);
    const auto model = small_vit(attention);
    CHECK(defined_for(*model, images(1, 8)) == all_but({}));
    AttentionDiagnosis diagnosis({"negative_mass", "map_cancelled"});
    diagnosis.add(*model, images(2, 8));
    const auto& cancelled = diagnosis.metrics()[1];
    REQUIRE(cancelled.metric->info.name == "map_cancelled");
    CHECK((cancelled.over_all()[0] > 0 && cancelled.over_all()[0] < 100));
  }
  // Of M-DGSA, P = g A+ and N = (1 - g) A-.
  const auto model = small_vit("m_dgsa");
  attention::Probe probe;
  {
    const autograd::NoGrad no_grad;
    (*model)({.image = images(1, 8)}, &probe);
  }
  const std::vector<double> gate = host_doubles(probe.all("gate")[0]);  // (n, heads)
  const std::vector<double> first = host_doubles(probe.all("attn_pos")[0]),
                            second = host_doubles(probe.all("attn_neg")[0]);
  std::vector<double> p, n;  // of head 1
  for (std::size_t k = 25; k < 50; ++k) {
    const double g = gate[(k - 25) / 5 * 2 + 1];
    p.push_back(g * first[k]);
    n.push_back((1 - g) * second[k]);
  }
  AttentionDiagnosis diagnosis({"map_cancelled", "map_inhibited"});
  diagnosis.add(*model, images(1, 8));
  const explain::Cancellation expected = explain::cancellation(p, n);
  CHECK(diagnosis.metrics()[0].values[0][1][0] == Approx(100 * expected.cancelled));
  CHECK(diagnosis.metrics()[1].values[0][1][0] == Approx(100 * expected.inhibited));
  CHECK(defined_for(*small_vit("softmax"), images(1, 8)) ==
        all_but({"map_cancelled", "map_inhibited"}));
}

TEST_CASE("attention diagnosis: windows, reduced keys, and layers without attention", "[explain]") {
  const auto swin = test::build(test::options_of("swin_t", {{"img_size", Value::array({32, 32})},
                                                            {"embed_dim", 6},
                                                            {"depths", Value::array({2, 2})},
                                                            {"num_heads", Value::array({1, 2})},
                                                            {"window_size", 4},
                                                            {"num_classes", 3}}),
                                make_cpu(1), {});
  swin->train(false);
  CHECK(defined_for(*swin, images(1, 32)) ==
        all_but({"sink_rate", "first_token_share", "attention_effective_rank",
                 "attention_stable_rank", "attention_row_residual", "map_cancelled",
                 "map_inhibited"}));
  AttentionDiagnosis inside({"attention_distance"});
  inside.add(*swin, images(1, 32));
  // Patches of 4 pixels in windows of 4 x 4; one head in the first stage, two in the second, which
  // has patches of 8.
  const auto& distance = inside.metrics().front();
  REQUIRE(distance.values.size() == 4);
  CHECK(distance.values[0].size() == 1);
  CHECK(distance.values[2].size() == 2);
  CHECK((distance.values[0][0][0] > 0 && distance.values[0][0][0] < 12 * std::sqrt(2)));
  CHECK((distance.values[2][0][0] > distance.values[0][0][0]));

  const auto pvt =
      test::build(test::options_of("pvt_v2_b0", {{"embed_dims", Value::array({4, 4, 8, 8})},
                                                 {"num_heads", Value::array({1, 1, 2, 2})},
                                                 {"depths", Value::array({1, 1, 1, 1})},
                                                 {"num_classes", 3}}),
                  make_cpu(1), {.channels = 3});
  pvt->train(false);
  CHECK(defined_for(*pvt, images(1, 32)) ==
        all_but({"sink_rate", "first_token_share", "attention_distance", "map_cancelled",
                 "map_inhibited"}));

  const auto resnet =
      test::build(test::options_of("resnet20", {{"num_classes", 3}}), make_cpu(1), {.channels = 3});
  resnet->train(false);
  CHECK(defined_for(*resnet, images(1, 32)) ==
        std::set<std::string>{"token_similarity", "token_norm_ratio", "high_norm_tokens",
                              "massive_activations"});
  AttentionSample sample({"sink_rate"}, 1);
  CHECK_THROWS_WITH(sample.add(*resnet, images(1, 32)),
                    "eval.metrics: sink_rate needs attention of all tokens to all tokens, and the "
                    "network has none; choose other metrics");
}
