// Methods on networks of the library: properties that hold whatever the weights are.
#include <catch2/catch.hpp>

#include <cmath>

#include "autograd/graph.h"
#include "base/error.h"
#include "explain/methods/method.h"
#include "explain/pictures/asked_methods.h"
#include "explain/recorded.h"
#include "ops/elementwise.h"
#include "ops/reduce.h"
#include "tensor/host.h"
#include "tests/explain/methods/explained.h"
#include "tests/support/tensors.h"

using namespace fovea;
using namespace fovea::explain;
using namespace fovea::test;

namespace {

schema::Value attention(const char* type, std::int64_t heads = 2) {
  return schema::Value::object({{"type", type}, {"num_heads", heads}});
}

std::unique_ptr<models::Model> vit(const char* kind = "softmax", bool class_token = true) {
  schema::Value options = schema::Value::object({{"embed_dim", 8},
                                                 {"depth", 2},
                                                 {"patch_size", 4},
                                                 {"attention", attention(kind)},
                                                 {"class_token", class_token},
                                                 {"global_pool", class_token ? "token" : "avg"}});
  return network("vit", options, {3, 8, 12, 4});
}

Tensor images(std::int64_t b = 2) { return random_tensor({b, 3, 8, 12}, 3); }

}  // namespace

TEST_CASE("every method: explains a ViT, finite and of every place", "[explain]") {
  const auto model = vit();
  const Subject subject(*model, images());
  for (const Method& method : methods()) {
    INFO(method.name);
    schema::Value options = schema::Value::object();
    if (method.name == "rise") options.set("masks", 4);
    if (method.name == "smoothgrad") options.set("samples", 3);
    const Explanation found = explained(method.name.c_str(), subject, options);
    const GridSize expected = method.info.per_pixel ? GridSize{8, 12} : GridSize{2, 3};
    CHECK(found.grid == expected);
    REQUIRE(std::ssize(found.values) == 2 * expected.count());
    double size = 0;
    for (const double value : found.values) {
      CHECK(std::isfinite(value));
      CHECK((found.is_signed || value >= 0));
      size += std::abs(value);
    }
    CHECK(size > 0);
  }
}

TEST_CASE("every method: the same numbers for one sample and in batches of any size", "[explain]") {
  const auto model = vit();
  const Tensor x = images();
  const Subject both(*model, x), second(*model, x.rows(1, 2));
  for (const Method& method : methods()) {
    schema::Value options = schema::Value::object();
    if (method.name == "rise") options.set("masks", 4);
    if (method.name == "smoothgrad") options.set("samples", 3);
    const auto one = explained(method.name.c_str(), second, options, 1, 1).values;
    for (const std::int64_t batch_size : {1, 4, 32}) {
      INFO(method.name << ", " << batch_size << " inputs in a pass");
      const auto all = explained(method.name.c_str(), both, options, 1, 0, batch_size).values;
      for (std::size_t i = 0; i < one.size(); ++i)
        CHECK(one[i] == Approx(all[one.size() + i]).epsilon(1e-9).margin(1e-12));
    }
  }
}

TEST_CASE("recorded gradients: sum_j A_ij dA_ij is <u_i, dU_i>", "[explain]") {
  for (const char* kind : {"softmax", "differential", "m_dgsa", "linear", "mala"}) {
    INFO(kind);
    const auto model = vit(kind);
    const Subject subject(*model, images(1));
    const Recording seen = record(subject, {2}, Wanted::kGradients, "test");
    REQUIRE(seen.layers.size() == 2);
    for (const RecordedLayer& layer : seen.layers) {
      const GradedMap graded = graded_map_of(subject, layer, 0, "test");
      const std::int64_t n = graded.map.n, width = layer.attended.values.size(3);
      const auto u = host_doubles(layer.attended.result);
      const auto du = host_doubles(*layer.attended.gradient);
      for (std::int64_t h = 0; h < 2; ++h) {
        for (std::int64_t i = 0; i < n; ++i) {
          double left = 0, right = 0;
          for (std::int64_t j = 0; j < n; ++j)
            left += graded.map.values[as_index((h * n + i) * n + j)] *
                    graded.gradient.values[as_index((h * n + i) * n + j)];
          for (std::int64_t d = 0; d < width; ++d)
            right += u[as_index((i * 2 + h) * width + d)] * du[as_index((i * 2 + h) * width + d)];
          CHECK(left == Approx(right).epsilon(1e-7).margin(1e-9));
        }
      }
    }
  }
}

TEST_CASE("integrated gradients: the gap of completeness shrinks with steps", "[explain]") {
  const auto model = vit();
  const Subject subject(*model, images(1));
  const auto gap = [&](std::int64_t steps) {
    const auto options = schema::Value::object({{"rule", "midpoint"}, {"steps", steps}});
    return std::abs(explained("integrated_gradients", subject, options).completeness_gap.front());
  };
  CHECK(gap(64) < gap(4));
  const Explanation fine = explained("integrated_gradients", subject);
  CHECK(std::abs(fine.completeness_gap.front()) < 1e-6);
  CHECK(sum_of(fine.values) - fine.completeness_gap.front() ==
        Approx(subject.target_scores(subject.x(), {1}).front() -
               subject.target_scores(ops::mul(subject.x(), 0), {1}).front()));
}

TEST_CASE("occlusion: one unit for the image is the difference to the baseline", "[explain]") {
  const auto model = vit();
  const Subject subject(*model, images(1));
  const auto whole = schema::Value::object({{"units", schema::Value::array({1, 1})}});
  CHECK(explained("occlusion", subject, whole).values.front() ==
        Approx(subject.target_scores(subject.x(), {1}).front() -
               subject.target_scores(ops::mul(subject.x(), 0), {1}).front()));
  // A window as large as a patch, a patch apart, is the patches at the size of the image.
  const auto patches = explained("occlusion", subject).values;
  const auto pixels =
      explained("occlusion", subject, schema::Value::object({{"window", 4}})).values;
  CHECK(pixels[0] == Approx(patches[0]));
  CHECK(pixels[7 * 12 + 11] == Approx(patches[5]));
}

TEST_CASE("rise: with masks of ones the probability is everywhere", "[explain]") {
  const auto model = vit();
  const Subject subject(*model, images(1));
  ExplanationRequest request{subject, {1}, {}};
  request.masks = Tensor::from(std::vector<double>(3 * 96, 1.0), {3, 8, 12}, cpu());
  const Explanation found = methods().find("rise").explain(request, schema::Value::object());
  const double p = subject.target_scores(subject.x(), {1}, true).front();
  for (const double value : found.values) CHECK(value == Approx(p / 0.5));
}

TEST_CASE("grad_cam: of the pooled norm it is the class's weights over the tokens", "[explain]") {
  const auto model = vit("softmax", false);
  const Subject subject(*model, images(1));
  Tensor weight;
  for (const nn::NamedTensor& named : model->parameters()) {
    if (named.name == "head.weight") weight = named.tensor;
  }
  Tensor tokens;
  const autograd::ModuleHook see = [&](const std::string& name, const Tensor& output) {
    if (name == "norm" || name == "fc_norm") tokens = output.detach();
    return output;
  };
  {
    const autograd::HookModules hooks(see);
    subject.scores(subject.x());
  }
  const auto options = schema::Value::object({{"layer", schema::Value::array({"final_norm"})}});
  const auto found = explained("grad_cam", subject, options).values;
  if (tokens.rank() == 3) {  // the norm stands before pooling
    const auto w = host_doubles(weight), t = host_doubles(tokens);
    for (std::size_t j = 0; j < 6; ++j) {
      double sum = 0;
      for (std::size_t k = 0; k < 8; ++k) sum += w[8 + k] * t[j * 8 + k];
      CHECK(found[j] == Approx(std::max(0.0, sum / 6)));
    }
  }
  CHECK(found.size() == 6);
}

TEST_CASE("attn_lrp: of a network without attention and norms it is gradient times input",
          "[explain]") {
  // A ResNet has ReLUs, whose rule y / x is their gradient, and fixed statistics.
  const auto model = network("resnet20",
                             schema::Value::object({{"depths", schema::Value::array({1, 1, 1})},
                                                    {"planes", schema::Value::array({4, 4, 4})},
                                                    {"img_size", schema::Value::array({8, 8})}}),
                             {3, 8, 8, 4});
  const Subject subject(*model, random_tensor({1, 3, 8, 8}, 3));
  const auto lrp = explained("attn_lrp", subject).values;
  const auto product = explained("gradient_x_input", subject).values;
  for (std::size_t i = 0; i < lrp.size(); ++i)
    CHECK(lrp[i] == Approx(product[i]).epsilon(1e-6).margin(1e-9));
}

TEST_CASE("refusals name the method and what it needs", "[explain]") {
  const auto differential = vit("differential");
  const Subject subject(*differential, images(1));
  CHECK_THROWS_WITH(explained("attention_flow", subject),
                    Catch::Contains("attention_flow: is not defined for signed maps"));
  const auto hydra = vit("hydra");
  const Subject other(*hydra, images(1));
  CHECK_THROWS_WITH(explained("generic_attention", other),
                    Catch::Contains("generic_attention: blocks.0.attn does more"));
  const auto linear = vit("linear");
  const Subject third(*linear, images(1));
  CHECK_THROWS_WITH(explained("attn_lrp", third),
                    Catch::Contains("attn_lrp: has no rule for linear_attention"));
  CHECK_THROWS_WITH(explained("input_gradient", third, schema::Value::object(), 4),
                    Catch::Contains("expected 0..3"));
}

TEST_CASE("subject: parameters are as before when it ends", "[explain]") {
  const auto model = vit();
  const bool before = model->parameters().front().tensor.requires_grad();
  {
    const Subject subject(*model, images(1));
    CHECK(!model->parameters().front().tensor.requires_grad());
    explained("gradient_x_input", subject);
    CHECK(!model->parameters().front().tensor.grad().defined());
  }
  CHECK(model->parameters().front().tensor.requires_grad() == before);
}

TEST_CASE("pyramids: relevance of the first grid through windows and reduced keys", "[explain]") {
  const auto swin = network("swin_t",
                            schema::Value::object({{"embed_dim", 4},
                                                   {"depths", schema::Value::array({2, 1})},
                                                   {"num_heads", schema::Value::array({1, 2})},
                                                   {"window_size", 2}}),
                            {3, 16, 16, 4});
  const Subject subject(*swin, random_tensor({1, 3, 16, 16}, 3));
  const Explanation rollout = explained("rollout", subject);
  CHECK(rollout.grid == GridSize{4, 4});
  CHECK(sum_of(rollout.values) == Approx(1));
  for (const char* method : {"generic_attention", "gradient_rollout", "attention_gradient"})
    CHECK(sum_of(explained(method, subject).values) > 0);
  CHECK_THROWS_AS(explained("attention_flow", subject), ConfigError);
}

TEST_CASE("asked methods: options by name, and messages for others", "[explain]") {
  const auto asked = asked_methods({"smoothgrad", "raw_attention", "grad_cam"},
                                   {"smoothgrad.samples=3", "raw_attention.layer=-1",
                                    "grad_cam.layer=blocks.0.norm1,final_norm"});
  CHECK(asked[0].options.at("samples").as_int() == 3);
  CHECK(asked[1].options.at("layer").as_string() == "-1");
  CHECK(asked[2].options.at("layer").size() == 2);
  CHECK_THROWS_WITH(asked_methods({"rollouts"}, {}), Catch::Contains("did you mean \"rollout\""));
  CHECK_THROWS_WITH(asked_methods({"rise"}, {"rise.mask=3"}), Catch::Contains("\"masks\""));
  CHECK_THROWS_WITH(asked_methods({"rise"}, {"rollout.sign=abs"}), Catch::Contains("--method"));
  CHECK_THROWS_WITH(asked_methods({"rise", "rise"}, {}), Catch::Contains("twice"));
  CHECK_THROWS_WITH(asked_methods({"rise"}, {"masks=3"}), Catch::Contains("METHOD.KEY=VALUE"));
}
