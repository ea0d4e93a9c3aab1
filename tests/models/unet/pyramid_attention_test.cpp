#include "base/error.h"
#include "models/token_decoder.h"
#include "ops/create.h"
#include "ops/elementwise.h"
#include "ops/reduce.h"
#include "ops/shape.h"
#include "schema/json/parse.h"
#include "tests/models/network.h"
#include "tests/support/mixed_precision.h"

using namespace fovea;
using namespace fovea::test;

namespace {

schema::Value pyramid_options(const std::string& json) { return schema::parse(json, "test.json"); }

struct Counts {
  std::int64_t parameters, macs_paper, macs;
  bool operator==(const Counts&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Counts& c) {
  return out << c.parameters << ", " << c.macs_paper << ", " << c.macs;
}

Counts counts_of(const std::string& json, std::int64_t channels, std::int64_t classes) {
  const Device meta = make_meta();
  const auto model = build(pyramid_options(json), meta, {channels, 224, 224, classes});
  autograd::Profiler profiler;
  const autograd::NoGrad no_grad;
  const autograd::Profile scope(profiler);
  (*model)({.image = Tensor::empty({1, channels, 224, 224}, DType::kFloat32, meta)});
  return {model->parameter_count(), model->paper_macs(profiler.events()).value_or(0),
          profiler.forward_macs()};
}

const char* const kTinyBackbone =
    R"("backbone": {"type": "pvt_v2_b0", "embed_dims": [8, 16], "depths": [1, 1],
                    "num_heads": [1, 2], "mlp_ratios": [2, 2], "sr_ratios": [2, 1]},
       "num_heads": [2])";

std::string tiny(const char* type, const std::string& more = "") {
  return std::string(R"({"type": ")") + type + "\", " + kTinyBackbone + more + "}";
}

constexpr const char* kNetworks[] = {"pvt_gdla", "pvt_self_attn", "pvt_linear_attn",
                                     "pvt_diff_attn"};

}  // namespace

TEST_CASE("pvt decoders: parameters and both counts of the paper's tables", "[models]") {
  // gdla 4: one channel, 9 classes.
  CHECK(counts_of(R"({"type": "pvt_self_attn"})", 1, 9) ==
        Counts{28258159, 5407509709, 6281571072});
  CHECK(counts_of(R"({"type": "pvt_linear_attn"})", 1, 9) ==
        Counts{28258159, 5386453037, 4864462848});
  CHECK(counts_of(R"({"type": "pvt_diff_attn"})", 1, 9) ==
        Counts{28751695, 5611244653, 6464613120});
  CHECK(counts_of(R"({"type": "pvt_gdla"})", 1, 9) == Counts{32134607, 6853774893, 6345971968});
  // The ablation: three channels, 2 classes.
  const auto ablation = [](const char* gate, const char* local) {
    return counts_of(std::string(R"({"type": "pvt_gdla", "attention": {"type":
                "gated_differential_linear", "gate": ")") +
                         gate + R"(", "local": )" + local + "}}",
                     3, 2);
  };
  CHECK(ablation("none", "false") == Counts{29893375, 6056019466, 5529583360});
  CHECK(ablation("silu", "false") == Counts{30016767, 6102143754, 5575343872});
  CHECK(ablation("none", "true") == Counts{31139583, 6526356746, 6020655872});
}

TEST_CASE("pvt decoders: counts of variants", "[models]") {
  const std::string gdla = R"("attention": {"type": "gated_differential_linear")";
  const auto check = [](const std::string& more, std::int64_t parameters, std::int64_t macs_paper) {
    INFO(more);
    const Counts found = counts_of(R"({"type": "pvt_gdla", )" + more + "}", 1, 9);
    CHECK(found.parameters == parameters);
    CHECK(found.macs_paper == macs_paper);
  };
  check(gdla + R"(, "dwc_kernel": 5})", 32167375, 6877056557);
  check(R"("us_ks": 5)", 35542479, 8292421165);
  check(R"("us_ks": 5, )" + gdla + R"(, "dwc_kernel": 5})", 35575247, 8315702829);
  check(R"("ffn": {"type": "mlp"})", 31600591, 6639084333);
  check(R"("ffn": {"type": "swiglu", "expansion": 8, "gate_last": true})", 32094159, 6820671277);
  check(gdla + R"(, "gate": "sigmoid"})", 32134607, 6853774893);
  check(gdla + R"(, "pwc_groups": true})", 30660047, 6304648749);
  check(R"("preconv": false)", 31028175, 6441202733);
  check(R"("preconv": false, )" + gdla + R"(, "pwc_groups": true})", 29553615, 5892076589);

  const auto pair = [](const Counts& found) {
    return std::pair{found.parameters, found.macs_paper};
  };
  using Pair = std::pair<std::int64_t, std::int64_t>;
  CHECK(pair(counts_of(R"({"type": "pvt_linear_attn"})", 3, 2)) == Pair{28252319, 5429484298});
  CHECK(pair(counts_of(R"({"type": "pvt_gdla"})", 3, 2)) == Pair{32128767, 6896806154});
  CHECK(pair(counts_of(R"({"type": "pvt_self_attn"})", 3, 2)) == Pair{28252319, 5450540970});
  CHECK(pair(counts_of(R"({"type": "pvt_diff_attn"})", 3, 2)) == Pair{28745855, 5654275914});
  const auto alone = [](const char* type) {
    return counts_of(std::string(R"({"type": ")") + type + R"(", "deep_supervision": false})", 1, 9)
        .parameters;
  };
  CHECK(alone("pvt_self_attn") == 28249492);
  CHECK(alone("pvt_linear_attn") == 28249492);
  CHECK(alone("pvt_diff_attn") == 28743028);
  CHECK(alone("pvt_gdla") == 32125940);
}

TEST_CASE("pvt decoders: gradients of every parameter", "[models][long]") {
  for (const char* type : kNetworks) {
    INFO(type);
    const auto model = build(pyramid_options(tiny(type)), cpu(), {1, 16, 16, 2}, DType::kFloat64);
    const Tensor image = random_tensor({1, 1, 16, 16}, 1);
    check_directions(*model, [&] {
      Tensor loss;
      for (const Tensor& map : (*model)({.image = image}).maps) {
        const Tensor term = ops::mean(ops::square(ops::add(map, -1)));
        loss = loss.defined() ? ops::add(loss, term) : term;
      }
      return loss;
    });
  }
}

TEST_CASE("pvt decoders: maps of the image's size, over any backbone", "[models]") {
  for (const char* type : kNetworks) {
    for (const char* backbone : {"resnet18", "resnet18_reduced", "pvt_v2_b0"}) {
      INFO(type << " over " << backbone);
      const Device meta = make_meta();
      const std::string json =
          std::string(R"({"type": ")") + type + R"(", "backbone": {"type": ")" + backbone + "\"}}";
      const auto model = build(pyramid_options(json), meta, {1, 64, 96, 4});
      const Tensor image = Tensor::empty({2, 1, 64, 96}, DType::kFloat32, meta);
      for (const Tensor& map : (*model)({.image = image}).maps)
        CHECK(map.shape() == Shape{2, 4, 64, 96});
    }
  }
}

TEST_CASE("pvt decoders: what does not fit is refused", "[models]") {
  const auto model = build(pyramid_options(tiny("pvt_gdla")), cpu(), {1, 16, 16, 2});
  CHECK_THROWS_WITH((*model)({.image = random_tensor({1, 1, 12, 16}, 1, DType::kFloat32)}),
                    Catch::Contains("this network needs multiples of 8"));
  CHECK_THROWS_WITH(
      build(pyramid_options(tiny("pvt_gdla", R"(, "us_ks": 4)")), cpu(), {1, 16, 16, 2}),
      Catch::Contains("model.us_ks: 4; expected an odd number"));
  CHECK_THROWS_WITH(
      build(pyramid_options(R"({"type": "pvt_gdla", "num_heads": [2, 4]})"), cpu(), {1, 32, 32, 2}),
      Catch::Contains("2 numbers for the 4 levels"));
}

TEST_CASE("pvt decoders: a probe sees what goes into a block, its attention and what comes out",
          "[models]") {
  const auto model = build(pyramid_options(tiny("pvt_gdla")), cpu(), {1, 16, 16, 2});
  const Tensor image = random_tensor({1, 1, 16, 16}, 3, DType::kFloat32);
  attention::Probe probe;
  const Tensor probed = (*model)({.image = image}, &probe).maps.front();
  CHECK(max_difference(probed, (*model)({.image = image}).maps.front()) == 0.0);
  CHECK(probe.all("block_input")[0].shape() == Shape{1, 16, 8});
  CHECK(probe.all("attn_delta")[0].shape() == Shape{1, 16, 8});
  REQUIRE(probe.all("features").size() == 3);  // of two blocks of the encoder, and the decoder's
  CHECK(probe.all("features")[1].shape() == Shape{1, 16, 2, 2});
  CHECK(probe.all("features")[2].shape() == Shape{1, 8, 4, 4});
  CHECK(probe.all("attn")[0].shape() == Shape{1, 2, 16, 16});
}

TEST_CASE("TransposedUp: exactly as many times as large", "[models]") {
  const nn::Build init{cpu(), DType::kFloat64, RandomStream(1), nn::Init::kTorch};
  for (const std::int64_t kernel : {3, 5}) {
    for (const std::int64_t factor : {1, 2, 4}) {
      models::TransposedUp up(init, 2, 3, kernel, factor);
      CHECK(up(random_tensor({1, 2, 5, 3}, 1)).shape() == Shape{1, 3, 5 * factor, 3 * factor});
    }
  }
}

TEST_CASE("pvt decoders: mixed precision trains as float32 does", "[models]") {
  const Tensor image = random_tensor({2, 1, 32, 32}, 1, DType::kFloat32);
  const Tensor weight = random_tensor({2, 2, 32, 32}, 2, DType::kFloat32);
  for (const char* type : kNetworks) {
    INFO(type);
    const auto run = [&](DType activations) {
      const auto model =
          build(pyramid_options(tiny(type)), cpu(), {1, 32, 32, 2}, DType::kFloat32, activations);
      model->train(true);
      const Tensor map = (*model)({.image = image}).maps.front();
      CHECK(map.dtype() == DType::kFloat32);
      autograd::backward(ops::sum(ops::mul(map, weight)));
      std::vector<double> gradient;
      for (const nn::NamedTensor& named : model->parameters()) {
        // (Deep supervision's heads have none here.)
        if (!named.tensor.grad().defined()) continue;
        const auto values = to_doubles(named.tensor.grad());
        gradient.insert(gradient.end(), values.begin(), values.end());
      }
      return std::pair{map, gradient};
    };
    const auto [map, gradient] = run(DType::kFloat32);
    const auto [half, half_gradient] = run(DType::kBFloat16);
    CHECK(max_difference(half, map) > 0);
    CHECK(max_difference(half, map) < 0.1);
    CHECK(cosine(half_gradient, gradient) > 0.95);
  }
}
