#include "models/pyramids/swin.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "models/pyramids/grid_windows.h"
#include "nn/weights.h"
#include "ops/create.h"
#include "ops/elementwise.h"
#include "ops/in_place.h"
#include "ops/losses/loss.h"
#include "ops/reduce.h"
#include "ops/shape.h"
#include "schema/json/parse.h"
#include "tests/models/network.h"

using namespace fovea;
using namespace fovea::test;

namespace {

// 36 x 28 pixels are grids of 9 x 7, 5 x 4 and 3 x 2 tokens.
std::unique_ptr<models::Model> tiny_swin(const std::string& more = "",
                                         DType dtype = DType::kFloat64) {
  const std::string json = fmt::format(
      R"({{"type": "swin_t", "embed_dim": 4, "depths": [2, 2, 1], "num_heads": [1, 2, 4],
           "mlp_ratio": 2, "window_size": 4, "drop_path_rate": 0{}}})",
      more);
  return build(schema::parse(json, "test.json"), cpu(), {3, 36, 28, 3}, dtype);
}

Tensor logits(models::Model& model, const Tensor& image) { return model({.image = image}).logits; }

// Random values in every parameter, so that no bias and no table is zero.
void scatter_values(const models::Model& model) {
  std::uint64_t seed = 50;
  for (const nn::NamedTensor& named : model.parameters()) {
    set_values(named.tensor, ops::mul(random_tensor(named.tensor.shape(), ++seed), 0.3));
  }
}

struct SwinCounts {
  std::int64_t parameters = 0;
  double all = 0, without_attention = 0;  // 10^9 multiply-adds
};

SwinCounts swin_counts(const char* type, const char* kind) {
  const Device meta = make_meta();
  schema::Value given = schema::Value::object({{"type", type}});
  given.set("kinds", schema::Value::array({kind}));
  const auto model = build(given, meta, {3, 224, 224, 1000});
  autograd::Profiler profiler;
  const autograd::NoGrad no_grad;
  const autograd::Profile scope(profiler);
  (*model)({.image = Tensor::empty({1, 3, 224, 224}, DType::kFloat32, meta)});
  SwinCounts counts;
  counts.parameters = model->parameter_count();
  for (const autograd::Event& event : profiler.events()) {
    counts.all += static_cast<double>(event.macs) / 1e9;
    if (event.op == "linear" || event.op == "conv")
      counts.without_attention += static_cast<double>(event.macs) / 1e9;
  }
  return counts;
}

}  // namespace

TEST_CASE("swin: parameters and both counts of the published sizes", "[models]") {
  // mala 5.1, 5.2.
  const SwinCounts tiny_softmax = swin_counts("swin_t", "softmax");
  CHECK(tiny_softmax.parameters == 28288354);
  CHECK(fmt::format("{:.3f}", tiny_softmax.all) == "4.491");
  CHECK(fmt::format("{:.3f}", tiny_softmax.without_attention) == "4.350");
  const SwinCounts small_softmax = swin_counts("swin_s", "softmax");
  CHECK(small_softmax.parameters == 49606258);
  CHECK(fmt::format("{:.3f}", small_softmax.all) == "8.741");
  const SwinCounts tiny_linear = swin_counts("swin_t", "linear");
  CHECK(tiny_linear.parameters == 28265032);
  CHECK(fmt::format("{:.3f}", tiny_linear.without_attention) == "4.350");
  CHECK(fmt::format("{:.3f}", tiny_linear.all) == "4.443");
  const SwinCounts small_linear = swin_counts("swin_s", "linear");
  CHECK(small_linear.parameters == 49558600);
  CHECK(fmt::format("{:.3f}", small_linear.all) == "8.664");
  const SwinCounts tiny_mala = swin_counts("swin_t", "mala");
  CHECK(tiny_mala.parameters == 28265032);
  CHECK(fmt::format("{:.3f}", tiny_mala.all) == "4.443");
  CHECK(fmt::format("{:.3f}", swin_counts("swin_s", "mala").all) == "8.664");
  CHECK(swin_counts("swin_t", "linear_angular").parameters == 28266274);
  CHECK(swin_counts("swin_t", "enhanced_linear").parameters == 28441672);
  CHECK(swin_counts("swin_b", "softmax").parameters == 87768224);  // timm's
}

TEST_CASE("swin: gradients of every parameter", "[models][long]") {
  const char* more = GENERATE("", R"(, "kinds": ["linear", "softmax", "softmax"])",
                              R"(, "kinds": ["linear"], "linear_window": "local")");
  const auto model = tiny_swin(more);
  scatter_values(*model);
  const Tensor image = random_tensor({2, 3, 36, 28}, 1);
  const Tensor labels = Tensor::from(std::vector<std::int64_t>{2, 0}, {2}, cpu());
  check_directions(*model, [&] { return ops::cross_entropy(logits(*model, image), labels); });
}

TEST_CASE("swin: windows are no larger than the grid where that is known", "[models]") {
  const auto model = tiny_swin();
  std::map<std::string, Shape> tables;
  for (const nn::NamedTensor& named : model->parameters()) {
    if (named.name.ends_with("table")) tables[named.name] = named.tensor.shape();
  }
  CHECK(tables.at("layers.0.blocks.1.attn.relative_position_bias_table") == Shape{49, 1});
  CHECK(tables.at("layers.2.blocks.0.attn.relative_position_bias_table") == Shape{5 * 3, 4});
}

TEST_CASE("swin: timm's names load as well as its own, and buffers are left out", "[models]") {
  const auto from = tiny_swin("", DType::kFloat32);
  std::map<std::string, Tensor> timm, official;
  for (const auto& [name, tensor] : nn::named_tensors(*from)) {
    std::string other = name;
    if (name.starts_with("layers.0.downsample")) other[7] = '1';
    if (name.starts_with("layers.1.downsample")) other[7] = '2';
    if (name.starts_with("head.")) other = "head.fc." + name.substr(5);
    timm[other] = official[name] = tensor;
  }
  CHECK(timm.contains("layers.2.downsample.reduction.weight"));
  official["layers.0.blocks.1.attn_mask"] = ops::zeros({6, 16, 16}, DType::kFloat32, cpu());
  official["layers.0.blocks.1.attn.relative_position_index"] =
      ops::zeros({16, 16}, DType::kInt64, cpu());
  const Tensor image = random_tensor({1, 3, 36, 28}, 2, DType::kFloat32);
  for (const auto& file : {timm, official}) {
    const auto to = tiny_swin("", DType::kFloat32);
    for (const nn::NamedTensor& named : to->parameters()) ops::fill(named.tensor, 0.5);
    nn::load_weights(*to, file, "swin.safetensors");
    CHECK(max_difference(logits(*from, image), logits(*to, image)) == 0.0);
  }
}

TEST_CASE("swin: as a backbone it takes the classifier's weights and keeps norms of its own",
          "[models]") {
  const schema::Value given = schema::parse(
      R"({"type": "swin_t", "embed_dim": 4, "depths": [2, 2], "num_heads": [1, 2],
          "window_size": 4})",
      "test.json");
  const auto classifier = build(given, cpu(), {3, 64, 64, 3});
  const models::BackboneEntry& entry = models::backbones().find("swin_t");
  const nn::Build init{cpu(), DType::kFloat32, RandomStream(1), nn::Init::kTorch};
  const auto backbone =
      entry.make(init, {"swin_t", entry.fields->resolve_component(given, "b")}, 3);
  nn::LoadOptions options;
  options.ignore = entry.head;
  options.random = entry.fresh;
  const auto report =
      nn::load_weights(*backbone, nn::named_tensors(*classifier), "swin.safetensors", options);
  CHECK(report.random ==
        std::vector<std::string>{"norm0.bias", "norm0.weight", "norm1.bias", "norm1.weight"});
  const auto maps = (*backbone)(random_tensor({1, 3, 30, 50}, 1, DType::kFloat32));
  REQUIRE(maps.size() == 2);
  CHECK(maps[0].shape() == Shape{1, 4, 8, 13});
  CHECK(maps[1].shape() == Shape{1, 8, 4, 7});
}

TEST_CASE("swin: a probe sees maps of windows, and features of blocks", "[models]") {
  const auto model = tiny_swin("", DType::kFloat32);
  attention::Probe probe;
  (*model)({.image = random_tensor({1, 3, 36, 28}, 2, DType::kFloat32)}, &probe);
  REQUIRE(probe.records().size() == 10);
  CHECK(probe.records()[2].module == "layers.0.blocks.1.attn");
  CHECK(probe.records()[2].value.shape() == Shape{1, 1, 6, 16, 16});
  CHECK(probe.records()[2].tokens.shape() == Shape{6, 16});
  CHECK(probe.all("features").back().shape() == Shape{1, 16, 3, 2});
}

TEST_CASE("swin: maps of other attentions inside windows are those of the window alone",
          "[models]") {
  const std::string kind = GENERATE("linear", "mala", "m_dgsa");
  models::SwinOptions o;
  o.embed_dim = 4;
  o.depths = {2};
  o.num_heads = {2};
  o.window_size = 4;
  o.kinds = {{kind, schema::Value::object({{"type", kind}})}};
  o.linear_window = models::LinearWindow::kLocal;
  const nn::Build init{cpu(), DType::kFloat32, RandomStream(3), nn::Init::kTorch};
  models::SwinStages stages(init, o, 3, {9, 7});
  stages.train(false);
  const Tensor image = random_tensor({2, 3, 36, 28}, 2, DType::kFloat32);
  const auto first_of = [&](const Tensor& seen) {
    attention::Probe probe;
    stages(seen, &probe);
    REQUIRE(probe.records().size() == 4);
    CHECK(probe.records()[2].name == "unit_attn");  // the shifted ones
    return probe.records()[0];
  };
  const attention::Probe::Record whole = first_of(image);
  CHECK(whole.module == "layers.0.blocks.0.attn");
  CHECK(whole.name == "unit_attn");
  CHECK(whole.is_signed == (kind != "linear"));
  REQUIRE(whole.value.shape() == Shape{2, 2, 6, 16, 16});
  std::vector<std::int64_t> tokens;
  const auto places = whole.tokens.host_values<std::int64_t>();
  for (const std::int64_t token : places) {
    if (token >= 0) tokens.push_back(token);
  }
  // The windows at (0, 0), (4, 0), (0, 4), (4, 4), (8, 0), (8, 4), the last four smaller.
  CHECK(places[16] == 4 * 7);
  CHECK(places[2 * 16 + 11] == 3 * 7 + 6);
  CHECK(places[2 * 16 + 12] == -1);
  std::sort(tokens.begin(), tokens.end());
  REQUIRE(tokens.size() == 63);
  for (std::int64_t i = 0; i < 63; ++i) CHECK(tokens[static_cast<std::size_t>(i)] == i);

  // What the third one shows, 4 x 3 tokens, a network shows that sees nothing else.
  const attention::Probe::Record alone =
      first_of(ops::slice(ops::slice(image, 2, 0, 16), 3, 16, 12));
  REQUIRE(alone.value.shape() == Shape{2, 2, 1, 12, 12});
  const Tensor window = ops::slice(whole.value, 2, 2, 1);
  const Tensor part = ops::slice(ops::slice(window, 3, 0, 12), 4, 0, 12);
  CHECK(max_difference(part, alone.value) < 1e-6);
  const Tensor rest = ops::slice(window, 4, 12, 4);
  CHECK(max_difference(rest, ops::mul(rest, 0)) == 0.0);
  // Looking changes nothing, and nothing is recorded where no map is wanted.
  attention::Probe blind;
  blind.without_maps();
  const Tensor seen = stages(image, &blind)[0].x;
  CHECK(blind.records().size() == 2);
  CHECK(max_difference(seen, stages(image, nullptr)[0].x) == 0.0);
}

TEST_CASE("swin: bad options are refused", "[models]") {
  CHECK_THROWS_WITH(tiny_swin(R"(, "kinds": ["softmax", "linear"])"),
                    Catch::Contains("kinds has 2 attentions for 3 stages"));
  CHECK_THROWS_WITH(tiny_swin(R"(, "kinds": [{"type": "softmax", "attn_drop": 0.1}])"),
                    Catch::Contains("softmax has no options here"));
  CHECK_THROWS_WITH(tiny_swin(R"(, "kinds": ["sofmax"])"),
                    Catch::Contains("did you mean \"softmax\""));
  const schema::Value given =
      schema::parse(R"({"type": "swin_t", "depths": [1, 1, 1]})", "test.json");
  CHECK_THROWS_WITH(build(given, cpu(), {3, 32, 32, 3}),
                    Catch::Contains("num_heads has 4 numbers for 3 stages"));
}

TEST_CASE("grid windows: shifted ones are cut where Swin masks", "[models]") {
  const bool shifted = GENERATE(false, true);
  const nn::Grid grid{9, 7};
  const std::int64_t side = 4, n = grid.h * grid.w;
  const Tensor x = random_tensor({2, n, 3}, 1);
  const models::GridWindows windows(grid, side, shifted);
  const auto copy = [](const Tensor& t, const nn::Grid&) { return t; };
  CHECK(max_difference(windows.map(x, copy), x) == 0.0);
  // Means over what Swin's partition lets see each other.
  const auto mean = [](const Tensor& t, const nn::Grid& window) {
    CHECK(t.size(1) == window.h * window.w);
    return ops::add(ops::mul(t, 0), ops::mean(t, {1}, true));
  };
  const std::vector<double> got = to_doubles(windows.map(x, mean));
  ops::UnitPlan plan{.grid = {grid.h, grid.w}, .unit = {side, side}};
  if (shifted) plan.shift = {side / 2, side / 2};
  const ops::Units units(plan, cpu());
  const auto tokens = units.tokens().host_values<std::int64_t>();
  std::vector<std::int64_t> regions(tokens.size(), 0);
  if (shifted) {
    const auto labels = units.regions().host_values<std::int64_t>();
    regions.assign(labels.begin(), labels.end());
  }
  const std::vector<double> values = to_doubles(x);
  double largest = 0;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] < 0) continue;
    const std::size_t first = i / 16 * 16;
    double sum = 0, count = 0;
    for (std::size_t j = first; j < first + 16; ++j) {
      if (tokens[j] < 0 || regions[j] != regions[i]) continue;
      sum += values[static_cast<std::size_t>(tokens[j]) * 3];
      count += 1;
    }
    largest =
        std::max(largest, std::abs(got[static_cast<std::size_t>(tokens[i]) * 3] - sum / count));
  }
  CHECK(largest < 1e-13);
}
