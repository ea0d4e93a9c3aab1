// Methods on attentions that see windows of a grid as samples: linear attention inside the windows
// of Swin.
#include <catch2/catch.hpp>

#include <numeric>
#include <string>

#include "base/error.h"
#include "explain/recorded.h"
#include "tensor/host.h"
#include "tests/explain/methods/explained.h"

using namespace fovea;
using namespace fovea::explain;
using namespace fovea::test;

namespace {

// Stages of 8 x 8 and 4 x 4 tokens.
std::unique_ptr<models::Model> swin(const std::string& kind, const char* where,
                                    std::int64_t window) {
  const auto two = [](std::int64_t a, std::int64_t b) { return schema::Value::array({a, b}); };
  return network("swin_t",
                 schema::Value::object(
                     {{"embed_dim", 8},
                      {"depths", two(2, 1)},
                      {"num_heads", two(2, 2)},
                      {"window_size", window},
                      {"kinds", schema::Value::array({schema::Value::object({{"type", kind}})})},
                      {"linear_window", where}}),
                 {3, 32, 32, 3});
}

// Attentions that apply a map to values, by the network itself.
std::vector<std::string> kinds_with_values() {
  std::vector<std::string> kinds;
  for (const schema::Choice& choice : attention::variants().choices().list()) {
    if (choice.name == "softmax") continue;
    try {
      const auto model = swin(choice.name, "global", 8);
      const Subject subject(*model, random_tensor({1, 3, 32, 32}, 3));
      record(subject, {1}, Wanted::kGradients, "test");
      kinds.push_back(choice.name);
    } catch (const Error&) {
      continue;  // no attention of this network, or no map times values
    }
  }
  return kinds;
}

}  // namespace

TEST_CASE("windows of linear attention: methods that read values and gradients", "[explain]") {
  const std::vector<std::string> kinds = kinds_with_values();
  REQUIRE(kinds.size() >= 4);
  const Tensor x = random_tensor({2, 3, 32, 32}, 3);
  for (const std::string& kind : kinds) {
    INFO(kind);
    if (kind == "focused_linear") continue;  // made for one number of tokens
    // One window over the grid is the whole grid.
    const auto whole = swin(kind, "global", 8);
    const auto one = swin(kind, "local", 8);
    const Subject on_grid(*whole, x), in_window(*one, x);
    for (const char* method :
         {"rollout", "gradient_rollout", "generic_attention", "attention_gradient"}) {
      INFO(method);
      const auto expected = explained(method, on_grid).values;
      const auto found = explained(method, in_window).values;
      REQUIRE(found.size() == expected.size());
      for (std::size_t i = 0; i < found.size(); ++i)
        CHECK(found[i] == Approx(expected[i]).margin(1e-12));
    }
    // Windows of 3 x 3, shifted in the second block, and smaller ones at the edges: sum over the
    // map of A dA = sum u du, as u = A v.
    const auto some = swin(kind, "local", 3);
    const Subject subject(*some, x);
    const Recording seen = record(subject, {1, 2}, Wanted::kGradients, "test");
    REQUIRE(seen.layers.size() == 3);
    for (const RecordedLayer& layer : seen.layers) {
      INFO(layer.module);
      REQUIRE(layer.in_units());
      const auto u = host_doubles(layer.attended.result),
                 du = host_doubles(*layer.attended.gradient);
      REQUIRE(layer.attended.result.size(1) == layer.grid.count());
      for (std::int64_t item = 0; item < 2; ++item) {
        const std::size_t half = u.size() / 2;
        const auto from = static_cast<std::ptrdiff_t>(half) * item;
        const double expected = std::inner_product(
            u.begin() + from, u.begin() + from + static_cast<std::ptrdiff_t>(half),
            du.begin() + from, 0.0);
        // (Of a factor for each channel the map has the mean.)
        if (kind == "gated_differential_linear") continue;
        const double heads = static_cast<double>(layer.map.value.size(1));
        const double found =
            heads * sum_of(token_map_of(layer, item, Weighing::kSignedGradient).row_sums());
        CHECK(found == Approx(expected).margin(1e-12));
      }
    }
    CHECK(explained("generic_attention", subject).grid == GridSize{8, 8});
  }
}

TEST_CASE("grad_cam: modules inside windows are no layers of the image", "[explain]") {
  const auto model = swin("mala", "local", 3);
  const Subject subject(*model, random_tensor({1, 3, 32, 32}, 3));
  CHECK(explained("grad_cam", subject).grid == GridSize{4, 4});
  CHECK_THROWS_WITH(
      explained("grad_cam", subject,
                schema::Value::object(
                    {{"layer", schema::Value::array({"layers.1.blocks.0.attn.proj"})}})),
      Catch::Contains("no layer \"layers.1.blocks.0.attn.proj\""));
}

TEST_CASE("windows of linear attention: the network's result is the same with a probe",
          "[explain]") {
  const auto model = swin("mala", "local", 3);
  const Tensor x = random_tensor({2, 3, 32, 32}, 3);
  model->train(false);
  const autograd::NoGrad no_grad;
  attention::Probe probe;
  probe.with_values();
  const auto inputs = models::only_input(models::Interface::kImageClassifier, x);
  CHECK(host_doubles((*model)(inputs, &probe).logits) == host_doubles((*model)(inputs).logits));
  CHECK(probe.attended().size() == 3);
}
