#include "models/pyramids/pvt_v2.h"

#include <fmt/format.h>

#include "base/error.h"
#include "ops/create.h"
#include "ops/elementwise.h"
#include "ops/losses/loss.h"
#include "ops/reduce.h"
#include "schema/json/parse.h"
#include "tests/models/network.h"

using namespace fovea;
using namespace fovea::test;

namespace {

const char* const kTiny = R"("embed_dims": [2, 4], "depths": [1, 2], "num_heads": [1, 2],
                             "mlp_ratios": [2, 2], "sr_ratios": [2, 1])";

std::unique_ptr<models::Model> tiny(const std::string& more = "", DType dtype = DType::kFloat64) {
  const std::string json = fmt::format(R"({{"type": "pvt_v2_b0", {}{}}})", kTiny, more);
  const schema::Value given = schema::parse(json, "test.json");
  return build(given, cpu(), {3, 16, 16, 3}, dtype);
}

}  // namespace

TEST_CASE("pvt_v2: parameters and both counts of every size", "[models]") {
  struct Expected {
    const char* type;
    std::int64_t parameters, without_head, macs_paper, macs;
  };
  // gdla 3.1.
  for (const Expected& e : {Expected{"pvt_v2_b0", 3666760, 3409760, 541674856, 566065664},
                            Expected{"pvt_v2_b1", 14009000, 13496000, 2059572968, 2108355584},
                            Expected{"pvt_v2_b2", 25362856, 24849856, 3932580328, 4026734592},
                            Expected{"pvt_v2_b2_li", 22553512, 22040512, 3817834088, 3888850944},
                            Expected{"pvt_v2_b3", 45238696, 44725696, 6745948648, 6897303552},
                            Expected{"pvt_v2_b4", 62556072, 62043072, 9882475496, 10101116416},
                            Expected{"pvt_v2_b5", 81956008, 81443008, 11429577192, 11717260288}}) {
    INFO(e.type);
    const Device meta = make_meta();
    const schema::Value given = schema::Value::object({{"type", e.type}});
    const auto model = build(given, meta, {3, 224, 224, 1000});
    autograd::Profiler profiler;
    {
      const autograd::NoGrad no_grad;
      const autograd::Profile scope(profiler);
      (*model)({.image = Tensor::empty({1, 3, 224, 224}, DType::kFloat32, meta)});
    }
    CHECK(model->parameter_count() == e.parameters);
    CHECK(profiler.forward_macs() == e.macs);
    CHECK(model->paper_macs(profiler.events()) == e.macs_paper);
    const models::BackboneEntry& entry = models::backbones().find(e.type);
    const nn::Build init{meta, DType::kFloat32, RandomStream(1), nn::Init::kTorch};
    CHECK(entry.make(init, {e.type, entry.fields->resolve_component(given, "b")}, 3)
              ->parameter_count() == e.without_head);
  }
}

TEST_CASE("pvt_v2: gradients of every parameter, plain and linear", "[models]") {
  for (const char* more : {"", R"(, "linear": true)"}) {
    const auto model = tiny(more);
    const Tensor image = random_tensor({2, 3, 16, 16}, 1);
    const Tensor labels = Tensor::from(std::vector<std::int64_t>{2, 0}, {2}, cpu());
    check_directions(*model,
                     [&] { return ops::cross_entropy((*model)({.image = image}).logits, labels); });
  }
}

TEST_CASE("pvt_v2: timm's names load as well as its own", "[models]") {
  const auto from = tiny("", DType::kFloat32);
  std::map<std::string, Tensor> timm;
  const auto replaced = [](std::string name, const std::string& what, const std::string& by) {
    const std::size_t at = name.find(what);
    return at == std::string::npos ? name : name.replace(at, what.size(), by);
  };
  for (const auto& [name, tensor] : nn::named_tensors(*from)) {
    std::string other = replaced(name, "patch_embed1.", "patch_embed.");
    other = replaced(other, "patch_embed2.", "stages.1.downsample.");
    for (const char* stage : {"1", "2"}) {
      const std::string before = std::string("stages.") + (stage[0] == '1' ? "0" : "1");
      if (other.starts_with(std::string("block") + stage))
        other = before + ".blocks" + other.substr(6);
      if (other.starts_with(std::string("norm") + stage))
        other = before + ".norm" + other.substr(5);
    }
    timm[replaced(other, "dwconv.dwconv", "dwconv")] = tensor;
  }
  CHECK(timm.contains("stages.1.blocks.1.mlp.dwconv.weight"));
  CHECK(timm.contains("stages.0.norm.bias"));
  const auto to = tiny(R"(, "drop_path_rate": 0.2)", DType::kFloat32);
  const Tensor image = random_tensor({1, 3, 16, 16}, 2, DType::kFloat32);
  nn::load_weights(*to, timm, "timm.safetensors");
  CHECK(max_difference((*from)({.image = image}).logits, (*to)({.image = image}).logits) == 0.0);
}

TEST_CASE("pvt_v2: lists of different lengths are refused", "[models]") {
  const schema::Value given =
      schema::parse(R"({"type": "pvt_v2_b0", "depths": [1, 1, 1]})", "test.json");
  CHECK_THROWS_WITH(build(given, cpu(), {3, 32, 32, 3}),
                    Catch::Contains("embed_dims has 4 numbers for 3 stages"));
}

TEST_CASE("pvt_v2: convolutions begin with the variance of their fan-out", "[models]") {
  const schema::Value given = schema::Value::object({{"type", "pvt_v2_b0"}});
  const auto model = build(given, cpu(), {3, 32, 32, 10});
  for (const nn::NamedTensor& named : model->parameters()) {
    double squares = 0;
    for (const double value : to_doubles(named.tensor)) squares += value * value;
    const double deviation = std::sqrt(squares / static_cast<double>(named.tensor.numel()));
    INFO(named.name);
    if (named.name == "patch_embed1.proj.weight")
      CHECK(deviation == Approx(std::sqrt(2.0 / (49 * 32))).epsilon(0.05));
    if (named.name == "block2.0.mlp.dwconv.dwconv.weight")
      CHECK(deviation == Approx(std::sqrt(2.0 / 9)).epsilon(0.05));
    if (named.name == "block3.0.mlp.fc1.weight") CHECK(deviation == Approx(0.02).epsilon(0.05));
    if (named.name == "head.bias" || named.name == "patch_embed1.proj.bias") CHECK(deviation == 0);
  }
}
