// bench on weights and inputs from files.
#include <catch2/catch.hpp>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "autograd/mode.h"
#include "backend/devices.h"
#include "base/file.h"
#include "experiment/file/experiment.h"
#include "nn/ffn.h"
#include "ops/create.h"
#include "ops/elementwise.h"
#include "ops/losses/loss.h"
#include "ops/reduce.h"
#include "tests/support/run_cli.h"
#include "training/store/weights.h"

using namespace fovea;
using namespace fovea::test;
using nlohmann::json;

namespace {

constexpr const char* kExperiment = R"({
  "dataset": {"type": "synthetic", "img_size": 8, "num_classes": 3},
  "model": {"type": "dgvit", "patch_size": 4, "embed_dim": 16, "depth": 1,
            "attention": {"num_heads": 2}}})";

// A model, its weights in a file, and bench runs of its experiment.
class Bench {
 public:
  Bench()
      : folder_("cli-bench"),
        path_(folder_.write("tiny.json", kExperiment)),
        device_(make_cpu(1)),
        experiment_(experiment::parse(experiment::resolve(experiment::load_unresolved(path_, {})))),
        model_(experiment::make_model(experiment_, device_, experiment::data_shape(experiment_))) {}

  Tensor normal(const Shape& shape, std::uint64_t seed) const {
    return ops::random_normal(shape, 0, 1, RandomStream(seed), DType::kFloat32, device_);
  }
  Tensor labels(const std::vector<std::int64_t>& values) const {
    return Tensor::from(values, {static_cast<std::int64_t>(values.size())}, device_);
  }
  models::Model& model() { return *model_; }
  nn::Build build() const { return {device_, DType::kFloat32, RandomStream(5)}; }
  const schema::Value& options() const { return experiment_.model.options; }

  std::string save(const char* name, const std::map<std::string, Tensor>& tensors) const {
    write_safetensors(folder_.path(name), {tensors, {}});
    return folder_.path(name).string();
  }
  std::string weights(const nn::Module& module) const {
    return save("weights.safetensors", nn::named_tensors(module));
  }
  CliResult run(std::vector<std::string> words) const {
    words.insert(words.begin(), {path_, "--json", "--steps", "1", "--warm-up", "1"});
    return run_cli("bench", words);
  }
  json result(const std::vector<std::string>& words) const {
    const CliResult result = run(words);
    INFO(result.err);
    REQUIRE(result.code == 0);
    return json::parse(result.out);
  }

 private:
  TestFolder folder_;
  std::string path_;
  Device device_;
  experiment::Experiment experiment_;
  std::unique_ptr<models::Model> model_;
};

}  // namespace

TEST_CASE("bench: the loss is that of the given weights and inputs before any update", "[cli]") {
  Bench bench;
  const Tensor x = bench.normal({2, 3, 8, 8}, 1);
  const Tensor y = bench.labels({2, 1});
  const autograd::NoGrad no_grad;
  const float expected = ops::cross_entropy(bench.model()({.image = x}).logits, y).item<float>();
  const std::string weights = bench.weights(bench.model());
  const std::string inputs = bench.save("inputs.safetensors", {{"x", x}, {"y", y}});

  const json train = bench.result({"--init", weights, "--inputs", inputs});
  CHECK(train["loss"] == Approx(expected));
  CHECK(train["batch_size"] == 2);
  CHECK(train["peak_rss_bytes"] > train["start_rss_bytes"]);
  CHECK(train["start_up_s"] > 0);
  CHECK_FALSE(train["profile"].empty());

  const json infer =
      bench.result({"--init", weights, "--inputs", inputs, "--infer", "--no-profile"});
  CHECK(infer["loss"] == Approx(expected));
  CHECK(infer["profile"].empty());
  CHECK(bench.result({})["loss"] != Approx(expected));
}

TEST_CASE("bench: a part alone gives the mean of its output times the upstream gradient", "[cli]") {
  const Bench bench;
  const Tensor x = bench.normal({2, 5, 16}, 1);
  const Tensor upstream = bench.normal({2, 5, 16}, 2);
  const std::string inputs = bench.save("inputs.safetensors", {{"x", x}, {"upstream", upstream}});
  const autograd::NoGrad no_grad;
  const auto expected = [&](const Tensor& output) {
    return ops::mean(ops::mul(output, upstream)).item<float>();
  };
  const auto component = [&](const char* key) {
    const schema::Value& value = bench.options().at(key);
    return schema::Component{value.at("type").as_string(), value};
  };

  const auto attention =
      attention::make_attention(component("attention"), {bench.build(), 16, 1, 1});
  const json first = bench.result({"--attention-only", "--tokens", "5", "--init",
                                   bench.weights(*attention), "--inputs", inputs});
  CHECK(first["attention_only"] == true);
  CHECK(first["ffn_only"] == false);
  CHECK(first["loss"] == Approx(expected((*attention)(x, {}))));

  const auto ffn = nn::make_ffn(component("ffn"), bench.build(), 16, 0);
  const json second = bench.result(
      {"--ffn-only", "--tokens", "5", "--init", bench.weights(*ffn), "--inputs", inputs});
  CHECK(second["attention_only"] == false);
  CHECK(second["ffn_only"] == true);
  const json mixed = bench.result({"--ffn-only", "--tokens", "5", "--init", bench.weights(*ffn),
                                   "--inputs", inputs, "--set", "train.precision=bfloat16"});
  CHECK(mixed["loss"] != second["loss"]);
  CHECK(mixed["loss"] == Approx(second["loss"].get<float>()).epsilon(0.02));
  CHECK(second["loss"] == Approx(expected((*ffn)(x))));
}

TEST_CASE("bench: a part that needs a grid gets one", "[cli]") {
  const Bench bench;
  for (const char* tokens : {"9", "6"}) {
    const json result = bench.result({"--ffn-only", "--tokens", tokens, "--set",
                                      "model.ffn.type=mix_ffn", "--set", "model.ffn.expansion=2"});
    CHECK(result["ffn_only"] == true);
  }
}

TEST_CASE("bench: files that do not fit are refused", "[cli]") {
  Bench bench;
  const auto refused = [&](const std::vector<std::string>& words, int code, const char* message) {
    const CliResult result = bench.run(words);
    CHECK(result.code == code);
    CHECK(result.out.empty());
    CHECK_THAT(result.err, Catch::Contains(message));
  };
  const std::string small = bench.save("small.safetensors", {{"x", bench.normal({2, 3, 4, 4}, 1)}});
  refused({"--inputs", small}, 1, "x is float32 (2, 3, 4, 4); expected float32 (2, 3, 8, 8)");
  const std::string none = bench.save("none.safetensors", {{"images", bench.labels({1})}});
  refused({"--inputs", none}, 1, "x is missing");
  refused({"--init", none}, 1, "is missing");
  refused({"--inputs", small, "--batch-size", "2"}, 2, "excludes");
  refused({"--ffn-only", "--attention-only"}, 2, "excludes");
}

TEST_CASE("bench: a roofline has peaks, measured once, and a limit for every operation", "[cli]") {
  const Bench bench;
  const TestFolder folder("cli-roofline");
  const std::string picture = folder.path("roofline.svg").string();
  const CliResult first = bench.run({"--roofline", "--out", picture});
  INFO(first.err);
  REQUIRE(first.code == 0);
  const json result = json::parse(first.out);
  CHECK(result["peaks"]["operations_per_s"]["float32"]["registers"] > 1e8);
  CHECK(result["peaks"]["bytes_per_s"].back()["name"] == "memory");
  CHECK(result["least_ms"] > 0);
  CHECK(result["present_share"] > 0);
  CHECK(result["present_share"] < 1.5);  // (a processor may raise its clock afterwards)
  double lost = 0;
  bool updates = false;
  for (const json& row : result["profile"]) {
    INFO(row);
    CHECK(row["lost_ms"] >= 0);
    CHECK(row["lost_ms"] <= row["ms_per_step"]);
    lost += row["lost_ms"].get<double>();
    if (row["op"] == "linear") CHECK(row["limit"].is_string());
    updates = updates || (row["op"] == "optimiser" && row["bytes_per_step"] > 0);
  }
  CHECK(lost > 0);
  CHECK(updates);
  CHECK_THAT(io::read_text(picture), Catch::Contains("GFLOP/s"));

  const json peaks = json::parse(run_cli("bench", {"--roofline", "--json"}).out);
  CHECK(peaks["from"].get<std::string>().find("measured before") == 0);
  CHECK(peaks["operations_per_s"] == result["peaks"]["operations_per_s"]);
}

TEST_CASE("bench: what does not go with a roofline is refused", "[cli]") {
  const auto refused = [](const std::vector<std::string>& words, const char* message) {
    const CliResult result = run_cli("bench", words);
    CHECK(result.code == 2);
    CHECK(result.out.empty());
    CHECK_THAT(result.err, Catch::Contains(message));
  };
  refused({"--roofline", "--out", "roofline.txt"}, ".png or .svg");
  refused({"--roofline", "--network"}, "excludes");
  refused({"--roofline", "--no-profile"}, "excludes");
  refused({"--measure-again"}, "requires");
  refused({"--out", "roofline.png"}, "requires");
}
