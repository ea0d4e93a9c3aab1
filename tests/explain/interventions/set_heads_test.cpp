#include "explain/interventions/set_heads.h"

#include <catch2/catch.hpp>

#include <map>

#include "autograd/hooks.h"
#include "base/error.h"
#include "explain/diagnostics/head_importance.h"
#include "nn/weights.h"
#include "ops/elementwise.h"
#include "tests/explain/interventions/small_networks.h"

using namespace fovea;
using namespace fovea::test;
using explain::head_settings;
using explain::SetHeads;

namespace {

const Shape kImage{1, 3, 8, 8};

void refuses(const std::vector<explain::HeadSite>& sites, const std::string& setting,
             const std::string& message) {
  CHECK_THROWS_WITH(SetHeads(sites, head_settings({setting})), Catch::Contains(message));
}

}  // namespace

TEST_CASE("set heads: all heads off leave of the attention what its projection adds to nothing",
          "[explain]") {
  for (const char* attention : {"softmax", "differential", "m_dgsa"}) {
    INFO(attention);
    // M-DGSA adds its queries to what heads give.
    const bool gated = std::string(attention) == "m_dgsa";
    Options more;
    if (gated)
      more = {{"attention", schema::Value::object(
                                {{"type", attention}, {"num_heads", 2}, {"q_residual", false}})}};
    const auto model = small_vit(attention, more);
    const Tensor x = normal_images(kImage, 3);
    const auto sites = explain::head_sites(*model, {.image = x});
    REQUIRE(sites.size() == 2);
    const std::vector<double> whole = logits_of_images(*model, x);
    // What the projection of the second block gives, replaced by its bias alone.
    const auto parameters = nn::named_tensors(*model);
    const auto bias = parameters.find(sites[1].linear + ".bias");
    const autograd::ModuleHook replace = [&](const std::string& module, const Tensor& y) {
      if (module != sites[1].linear) return y;
      const Tensor nothing = ops::mul(y, 0.0);
      return bias == parameters.end() ? nothing : ops::add(nothing, bias->second);
    };
    std::vector<double> expected;
    {
      const autograd::HookModules hooks(replace);
      expected = logits_of_images(*model, x);
    }
    CHECK(expected != whole);
    {
      const SetHeads set(sites, head_settings({"blocks.1:*=off"}));
      const std::vector<double> found = logits_of_images(*model, x);
      for (std::size_t i = 0; i < found.size(); ++i)
        CHECK(found[i] == Approx(expected[i]).margin(1e-6));
    }
    CHECK(logits_of_images(*model, x) == whole);
  }
}

TEST_CASE("set heads: a head that is off is that of an ablation; weights come back", "[explain]") {
  const auto model = small_vit("softmax");
  const Tensor x = normal_images({3, 3, 8, 8}, 4);
  const Tensor labels = Tensor::from(std::vector<std::int64_t>{2, 0, 1}, {3}, make_cpu(1));
  std::map<std::string, std::vector<double>> before;
  for (const auto& [name, tensor] : nn::named_tensors(*model)) before[name] = host_doubles(tensor);
  const auto sites = explain::head_sites(*model, {.image = x});
  const auto whole = explain::head_importance(*model, {.image = x}, labels);
  {
    const SetHeads set(sites,
                       head_settings({"blocks.*.attn:*=off", "blocks.0:*=1", "blocks.1:1=1"}));
    const auto rest = explain::head_importance(*model, {.image = x}, labels);
    CHECK(rest.loss == Approx(whole.loss + whole.ablation_loss[1][0]));
    CHECK(rest.loss != Approx(whole.loss));
    // Off twice is off.
    CHECK(rest.ablation_loss[1][0] == 0);
    CHECK(rest.importance[1][1] > 0);
  }
  for (const auto& [name, tensor] : nn::named_tensors(*model)) {
    INFO(name);
    CHECK(host_doubles(tensor) == before[name]);
  }
}

TEST_CASE("set heads: a factor scales", "[explain]") {
  const auto model = small_vit("softmax");
  const Tensor x = normal_images(kImage, 5);
  const auto sites = explain::head_sites(*model, {.image = x});
  const std::vector<double> whole = host_doubles(sites[0].projection);
  const SetHeads set(sites, head_settings({"blocks.0.attn:0-1=0.5", "blocks.0.attn:1=-2"}));
  const std::vector<double> scaled = host_doubles(sites[0].projection);
  for (std::size_t k = 0; k < whole.size(); ++k)
    CHECK(scaled[k] == Approx(whole[k] * (k % 8 < 4 ? 0.5 : -2)));
  CHECK(host_doubles(sites[1].projection) != scaled);
}

TEST_CASE("set heads: the local branch of gated differential linear attention has the same heads",
          "[explain]") {
  const auto model =
      small_vit("gated_differential_linear", {{"class_token", false}, {"global_pool", "avg"}});
  const auto sites = explain::head_sites(*model, {.image = normal_images(kImage, 2)});
  CHECK(sites[0].branches == 2);
  std::vector<std::int64_t> heads;
  for (std::int64_t channel = 0; channel < 16; ++channel)
    heads.push_back(sites[0].head_of(channel));
  CHECK(heads == std::vector<std::int64_t>{0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1, 1});
}

TEST_CASE("set heads: what is not there is refused with what is", "[explain]") {
  const auto model = small_vit("softmax");
  const auto sites = explain::head_sites(*model, {.image = normal_images(kImage, 2)});
  refuses(sites, "block.1:0=off",
          "--set-heads block.1:0=off: no attention called \"block.1\"; did you mean \"blocks.1\"?");
  refuses(sites, "blocks.2:0=off", "the first is blocks.0.attn, the last blocks.1.attn");
  refuses(sites, "blocks.1:0,2=off", "blocks.1.attn has no head 2; expected heads from 0 to 1");
  refuses(sites, "blocks.1:0-9999999999999999999=off", "is no head and no range of heads");
  refuses(sites, "blocks.1:1-0=off", "\"1-0\" is no head and no range of heads");
  refuses(sites, "blocks.1:0,=off", "\"\" is no head and no range of heads");
  refuses(sites, "blocks.1:0=of", "\"of\" is neither off nor a number");
  refuses(sites, "blocks.1:0=nan", "\"nan\" is neither off nor a number");
  refuses(sites, "blocks.1:0", "says not what becomes of the heads");
  refuses(sites, "blocks.1=off", "names no module, or no heads of it");
  refuses(sites, ":0=off", "names no module, or no heads of it");
  refuses(sites, "blocks.1:=off", "names no module, or no heads of it");
}
