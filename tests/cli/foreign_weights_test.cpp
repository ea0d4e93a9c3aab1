// Weights of other programs, scored and looked at without training.
#include <catch2/catch.hpp>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "backend/devices.h"
#include "base/file.h"
#include "tensor/safetensors.h"
#include "tests/cli/refusal.h"
#include "tests/support/paths.h"
#include "tests/support/run_cli.h"

using namespace fovea;
using namespace fovea::test;
using nlohmann::json;

namespace {

std::string digits(int patch) {
  return fmt::format(
      R"({{"name": "digits", "seed": 3,
  "dataset": {{"type": "digits", "root": "{}/datasets/digits", "limit": {{"train": 200, "test": 60}}}},
  "model": {{"type": "vit", "patch_size": {}, "embed_dim": 16, "depth": 1,
             "attention": {{"num_heads": 2}}}},
  "optimizer": {{"type": "adamw", "lr": 3e-3}}, "train": {{"epochs": 1, "batch_size": 32}}}})",
      source_dir(), patch);
}

// Trains and returns summary.json.
json train(const TestFolder& folder, const std::string& experiment, const std::string& run,
           const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments = {experiment, "--out", folder.path(run).string(), "--json"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const CliResult result = run_cli("train", arguments);
  INFO(result.err);
  REQUIRE(result.code == 0);
  return json::parse(result.out);
}

TensorFile weights_of(const TestFolder& folder, const json& summary) {
  const std::string step = fmt::format("step-{:08}", summary["steps"].get<int>());
  return read_safetensors(folder.path("run/checkpoints") / step / "model.safetensors", make_cpu(1));
}

json scored(const std::vector<std::string>& arguments) {
  std::vector<std::string> all = arguments;
  all.emplace_back("--json");
  const CliResult result = run_cli("eval", all);
  INFO(result.err);
  REQUIRE(result.code == 0);
  return json::parse(result.out);
}

}  // namespace

TEST_CASE("eval, visualise-attention: weights of another program, by other names", "[cli]") {
  const TestFolder folder("cli-foreign");
  const std::string experiment = folder.write("digits.json", digits(4));
  const json summary = train(folder, experiment, "run");
  TensorFile foreign;
  for (const auto& [name, tensor] : weights_of(folder, summary).tensors) {
    std::string theirs = "net." + name;
    if (const auto at = theirs.find("mlp"); at != std::string::npos) theirs.replace(at, 3, "ffn");
    foreign.tensors[theirs] = tensor;
  }
  foreign.tensors["head_dist.weight"] = foreign.tensors["net.head.weight"];
  const std::string file = folder.path("foreign.safetensors").string();
  write_safetensors(file, foreign);

  const std::vector<std::string> reading = {"--weights", file,         "--strip-prefix",
                                            "net.",      "--rename",   "ffn=mlp",
                                            "--ignore",  "head_dist.*"};
  std::vector<std::string> eval = {experiment, "--out", folder.path("scores").string()};
  eval.insert(eval.end(), reading.begin(), reading.end());
  const json score = scored(eval);
  CHECK(score["metrics"] == summary["metrics"]["test"]);
  CHECK(score["weights"] == file);
  CHECK(score["random"].empty());
  CHECK(score["unused"] == json::array({"head_dist.weight"}));
  CHECK_FALSE(score.contains("checkpoint"));
  CHECK(json::parse(io::read_text(folder.path("scores/results.json"))) == score);

  std::vector<std::string> visualise = {
      experiment, folder.path("run").string(), "--input", "2", "--no-explorer",
      "--out",    folder.path("maps").string()};
  visualise.insert(visualise.end(), reading.begin(), reading.end());
  const CliResult drawn = run_cli("visualise-attention", visualise);
  INFO(drawn.err);
  REQUIRE(drawn.code == 0);
  CHECK_THAT(drawn.out, Catch::Contains("weights " + file) &&
                            Catch::Contains("digits (foreign.safetensors)") &&
                            Catch::Contains("checkpoint last, step 7"));
  const TensorFile maps = read_safetensors(folder.path("maps/maps.safetensors"), make_cpu(1));
  REQUIRE(maps.tensors.size() == 4);  // two networks, a layer and a rollout each
  const auto first = maps.tensors.begin()->second.values<double>();
  const auto same = std::next(maps.tensors.begin(), 2)->second.values<double>();
  CHECK(std::equal(first.begin(), first.end(), same.begin(), same.end()));
  CHECK(maps.metadata.size() == 2);

  // The same files twice are four maps all the same.
  const CliResult twice = run_cli(
      "visualise-attention", {folder.path("run").string(), folder.path("run").string(), "--input",
                              "2", "--no-explorer", "--out", folder.path("twice").string()});
  REQUIRE(twice.code == 0);
  CHECK(read_safetensors(folder.path("twice/maps.safetensors"), make_cpu(1)).tensors.size() == 4);

  // What does not fit is refused with what to do, and is never left random in silence.
  const std::string out = folder.path("none").string();
  check_refusal(run_cli("eval", {experiment, "--weights", file, "--out", out}), 1,
                "pass --strip-prefix net.");
  check_refusal(
      run_cli("eval", {experiment, "--weights", file, "--strip-prefix", "net.", "--out", out}), 1,
      "mlp.fc1.weight is missing");
  check_refusal(run_cli("eval", {experiment}), 2, "is an experiment file; give its weights");
  check_refusal(run_cli("eval", {folder.path("run").string(), "--weights", file}), 2,
                "--weights: needs an experiment file, e.g.");
  check_refusal(run_cli("visualise-attention", {experiment, "--out", out}), 2,
                "--weights: 0 given for 1 experiment files");
  CHECK_FALSE(io::fs::exists(out));
}

TEST_CASE("eval: random parts of a network are asked for and said", "[cli]") {
  const TestFolder folder("cli-foreign-random");
  const json summary = train(folder, folder.write("digits.json", digits(4)), "run");
  const std::string file = folder.path("twelve.safetensors").string();
  TensorFile weights = weights_of(folder, summary);
  const Device host = make_cpu(1);
  weights.tensors["head.weight"] = Tensor::from(std::vector<float>(12 * 16), {12, 16}, host);
  weights.tensors["head.bias"] = Tensor::from(std::vector<float>(12), {12}, host);
  write_safetensors(file, weights);
  const std::string ten = folder.path("digits.json").string();
  const std::string out = folder.path("scores").string();
  check_refusal(run_cli("eval", {ten, "--weights", file, "--out", out}), 1,
                "head.weight is (12, 16), model has (10, 16); 2 of 20 tensors differ; pass "
                "--allow-random head.* to leave random numbers there");
  const std::vector<std::string> asked = {ten, "--weights",      file,    "--out",
                                          out, "--allow-random", "head.*"};
  const CliResult printed = run_cli("eval", asked);
  REQUIRE(printed.code == 0);
  const auto other_shape =
      Catch::Contains("head.bias, head.weight: random, of another shape in the file");
  CHECK_THAT(printed.out, other_shape);
  CHECK(scored(asked)["random"] == json::array({"head.bias", "head.weight"}));

  // train says it too, and a run of no steps is scored as what it is.
  const std::vector<std::string> init = {"--init", file,    "--init-ignore",
                                         "head.*", "--set", "train.epochs=0"};
  const json untrained = train(folder, ten, "untrained", init);
  CHECK(untrained["init"]["random"] == json::array({"head.bias", "head.weight"}));
  CHECK(untrained["init"]["file"] == file);
  const json score = scored({folder.path("untrained").string()});
  CHECK(score["random"] == json::array({"head.bias", "head.weight"}));
  CHECK(score["metrics"] == untrained["metrics"]["test"]);
  std::vector<std::string> again = {ten, "--out", folder.path("again").string()};
  again.insert(again.end(), init.begin(), init.end());
  const CliResult said = run_cli("train", again);
  const auto left_out = Catch::Contains("head.bias, head.weight: random, left out as asked");
  CHECK_THAT(said.out, left_out);
  CHECK_THAT(said.err, Catch::Contains("tensors; ") && left_out);
  // Of the run that is there, too.
  const CliResult scored_again = run_cli("eval", {folder.path("untrained").string()});
  CHECK_THAT(scored_again.out, left_out);
  check_refusal(run_cli("train", {ten, "--init", file, "--out", out + "2"}), 1,
                "pass --init-ignore head.* to leave random numbers there");
}

TEST_CASE("train: no epochs make a complete run of the weights that were given", "[cli]") {
  const TestFolder folder("cli-no-epochs");
  const std::string experiment = folder.write("digits.json", digits(4));
  const json summary = train(folder, experiment, "run");
  const std::string file = folder.path("x.safetensors").string();
  write_safetensors(file, weights_of(folder, summary));
  const std::string val = GENERATE("0", "0.25");
  INFO("val_fraction " << val);
  const json given =
      train(folder, experiment, "given",
            {"--init", file, "--set", "train.epochs=0", "--set", "dataset.val_fraction=" + val});
  CHECK(given["metrics"]["test"] == summary["metrics"]["test"]);
  CHECK(given["metrics"].contains("val") == (val != "0"));
  CHECK(given["steps"] == 0);
  CHECK(given["init"]["random"].empty());
  for (const char* name : {"summary.json", "config.json", "metrics.csv", "init.json",
                           "checkpoints/step-00000000/model.safetensors"}) {
    CHECK(io::fs::exists(folder.path("given") / name));
  }
  const std::string run = folder.path("given").string();
  CHECK(scored({run})["metrics"] == summary["metrics"]["test"]);
  CHECK(run_cli("visualise-attention", {run, "--out", folder.path("maps").string()}).code == 0);
  // Nothing is left to do, and where the weights came from is not forgotten.
  const CliResult resumed = run_cli("train", {"--resume", "--out", run, "--json"});
  REQUIRE(resumed.code == 0);
  CHECK(json::parse(resumed.out)["init"] == given["init"]);
  CHECK(json::parse(resumed.out)["metrics"] == given["metrics"]);
  // Killed before its first checkpoint, it does not begin again with random numbers.
  for (const char* name : {"checkpoints", "summary.json", "metrics.jsonl"}) {
    io::remove_all(folder.path("given") / name);
  }
  check_refusal(run_cli("train", {"--resume", "--out", run, "--quiet"}), 1,
                "init.json: the run began with weights of a file and has no checkpoint yet");
  const CliResult begun = run_cli("train", {"--resume", "--out", run, "--init", file, "--json"});
  REQUIRE(begun.code == 0);
  CHECK(json::parse(begun.out)["metrics"] == given["metrics"]);
}

TEST_CASE("eval: positions of another grid on request", "[cli]") {
  const TestFolder folder("cli-foreign-positions");
  const json summary = train(folder, folder.write("digits.json", digits(4)), "run");
  TensorFile weights = weights_of(folder, summary);
  CHECK(weights.tensors.at("pos_embed").shape() == Shape{1, 5, 16});
  weights.tensors.erase("patch_embed.proj.weight");  // depends on the size of patches
  const std::string file = folder.path("x.safetensors").string();
  write_safetensors(file, weights);
  const std::string finer = folder.write("finer.json", digits(2));
  const std::vector<std::string> command = {finer,
                                            "--weights",
                                            file,
                                            "--out",
                                            folder.path("scores").string(),
                                            "--allow-random",
                                            "patch_embed.proj.weight"};
  check_refusal(run_cli("eval", command), 1,
                "pos_embed is (1, 5, 16), model has (1, 17, 16); 1 of 20 tensors differ; pass "
                "--interpolate-pos-embed to resample pos_embed");
  std::vector<std::string> asked = command;
  asked.emplace_back("--interpolate-pos-embed");
  CHECK(scored(asked)["random"] == json::array({"patch_embed.proj.weight"}));
  const json begun = train(folder, finer, "begun",
                           {"--init", file, "--init-ignore", "patch_embed.proj.weight",
                            "--interpolate-pos-embed", "--set", "train.epochs=0"});
  const auto now = read_safetensors(
      folder.path("begun/checkpoints/step-00000000/model.safetensors"), make_cpu(1));
  const auto before = weights.tensors.at("pos_embed").values<float>();
  const auto after = now.tensors.at("pos_embed").values<float>();
  REQUIRE(after.size() == 17 * 16);
  // The row of the class token is kept.
  CHECK(std::equal(before.begin(), before.begin() + 16, after.begin()));
}

TEST_CASE("visualise-attention: an encoder under Hugging Face's names, without a head", "[cli]") {
  const TestFolder folder("cli-foreign-hf");
  const std::string with_registers = R"("model": {"type": "vit", "patch_size": 4, "embed_dim": 16,
      "depth": 1, "reg_tokens": 2, "no_embed_class": true, "init_values": 0.5, )";
  const auto experiment = [&](const std::string& rest) {
    std::string text = digits(4);
    const std::string plain =
        R"("model": {"type": "vit", "patch_size": 4, "embed_dim": 16, "depth": 1,)";
    const auto at = text.find(plain);
    REQUIRE(at != std::string::npos);
    return text.replace(at, plain.size(), with_registers + rest);
  };
  const json summary = train(folder, folder.write("digits.json", experiment("")), "run");
  const Device host = make_cpu(1);
  TensorFile theirs;
  for (const auto& [name, tensor] : weights_of(folder, summary).tensors) {
    if (name.starts_with("head.")) continue;
    if (name == "pos_embed") {  // the class token has a position too, here 0
      std::vector<float> rows(16, 0.0F);
      const auto own = tensor.values<float>();
      rows.insert(rows.end(), own.begin(), own.end());
      theirs.tensors["embeddings.position_embeddings"] =
          Tensor::from(rows, {1, tensor.size(1) + 1, 16}, host);
      continue;
    }
    if (name.find("qkv") != std::string::npos) {
      const auto own = tensor.values<float>();
      const std::string kind = name.substr(name.rfind('.'));
      const std::int64_t third = std::ssize(own) / 3;
      const Shape shape = tensor.rank() == 2 ? Shape{16, 16} : Shape{16};
      for (std::int64_t i = 0; i < 3; ++i) {
        const char* const part[] = {"query", "key", "value"};
        theirs.tensors[fmt::format("encoder.layer.0.attention.attention.{}{}", part[i], kind)] =
            Tensor::from(std::vector<float>(own.begin() + i * third, own.begin() + (i + 1) * third),
                         shape, host);
      }
      continue;
    }
    const std::vector<std::pair<std::string, std::string>> names = {
        {"cls_token", "embeddings.cls_token"},
        {"reg_token", "embeddings.register_tokens"},
        {"patch_embed.proj", "embeddings.patch_embeddings.projection"},
        {"blocks.0.ls1.gamma", "encoder.layer.0.layer_scale1.lambda1"},
        {"blocks.0.ls2.gamma", "encoder.layer.0.layer_scale2.lambda1"},
        {"blocks.0.attn.proj", "encoder.layer.0.attention.output.dense"},
        {"blocks.0", "encoder.layer.0"},
        {"norm", "layernorm"}};
    for (const auto& [ours, other] : names) {
      if (!name.starts_with(ours)) continue;
      theirs.tensors[other + name.substr(ours.size())] = tensor;
      break;
    }
  }
  theirs.tensors["embeddings.mask_token"] = theirs.tensors.at("layernorm.weight");
  const std::string file = folder.path("hf.safetensors").string();
  write_safetensors(file, theirs);

  const std::string encoder = folder.write("encoder.json", experiment(R"("num_classes": 0, )"));
  const std::string out = folder.path("maps").string();
  const CliResult drawn =
      run_cli("visualise-attention", {encoder, folder.path("run").string(), "--weights", file,
                                      "--names", "hf", "--input", "2", "--out", out});
  INFO(drawn.err);
  REQUIRE(drawn.code == 0);
  CHECK_THAT(drawn.out, Catch::Contains("mask_token: not read, no part of this network uses them"));
  const TensorFile maps = read_safetensors(folder.path("maps/maps.safetensors"), host);
  REQUIRE(maps.tensors.size() == 4);
  const Tensor& first = maps.tensors.begin()->second;
  CHECK(first.shape() == Shape{2, 7, 7});
  const auto values = first.values<double>();
  const auto same = std::next(maps.tensors.begin(), 2)->second.values<double>();
  CHECK(std::equal(values.begin(), values.end(), same.begin(), same.end()));

  check_refusal(run_cli("visualise-attention",
                        {encoder, "--weights", file, "--input", "2", "--out", out + "2"}),
                1, "pass --names hf");
  check_refusal(run_cli("visualise-attention", {encoder, "--weights", file, "--names", "tim",
                                                "--input", "2", "--out", out + "2"}),
                2, "--names tim: expected timm, hf, torchvision; did you mean \"timm\"?");
  check_refusal(run_cli("eval", {encoder, "--weights", file, "--names", "hf", "--out", out + "2"}),
                2, "the network has no head");
}
