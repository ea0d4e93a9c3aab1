// Predictions leave the program: eval --save.
#include <catch2/catch.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "backend/devices.h"
#include "base/file.h"
#include "data/files/pictures/image_file.h"
#include "tensor/safetensors.h"
#include "tests/cli/lines.h"
#include "tests/cli/refusal.h"
#include "tests/support/paths.h"
#include "tests/support/run_cli.h"

using namespace fovea;
using namespace fovea::test;
using nlohmann::json;

namespace {

std::vector<std::string> cells_of(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> cells;
  for (std::string cell; std::getline(stream, cell, ',');) cells.push_back(cell);
  return cells;
}

json saved(const std::string& run, const std::string& what) {
  const CliResult result =
      run_cli("eval", {run, "--save", what, "--no-noise", "--overlays", "0", "--json"});
  INFO(result.err);
  REQUIRE(result.code == 0);
  return json::parse(result.out);
}

// Logits, probabilities and predictions.csv must say the same of the same samples.
void check_scores(const io::fs::path& folder, const json& result) {
  CHECK(result["saved"] == json::array({"logits.safetensors", "logits.csv",
                                        "probabilities.safetensors", "probabilities.csv"}));
  const TensorFile logits = read_safetensors(folder / "logits.safetensors", make_cpu(1));
  const TensorFile prob = read_safetensors(folder / "probabilities.safetensors", make_cpu(1));
  const auto n = result["samples"].get<std::int64_t>();
  const auto classes = static_cast<std::int64_t>(result["confusion"]["classes"].size());
  const Tensor& x = logits.tensors.at("logits");
  REQUIRE(x.shape() == Shape{n, classes});
  REQUIRE(prob.tensors.at("probabilities").shape() == Shape{n, classes});
  const json names = json::parse(logits.metadata.at("names"));
  CHECK(json::parse(logits.metadata.at("classes")) == result["confusion"]["classes"]);
  const auto table = lines_of(folder / "logits.csv");
  const auto probabilities = lines_of(folder / "probabilities.csv");
  const auto predictions = lines_of(folder / "predictions.csv");
  REQUIRE(std::ssize(table) == n + 1);
  REQUIRE(std::ssize(predictions) == n + 1);
  CHECK(predictions[0].starts_with(
      "name,file,label,label_index,prediction,prediction_index,probability,index,"));
  double loss = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const auto row = static_cast<std::size_t>(i);
    const auto cells = cells_of(table[row + 1]);
    const auto shares = cells_of(probabilities[row + 1]);
    const auto predicted = cells_of(predictions[row + 1]);
    REQUIRE(std::ssize(cells) == classes + 3);
    CHECK(logits.tensors.at("index").values<std::int64_t>()[row] == i);
    REQUIRE(std::ssize(predicted) == classes + 8);
    CHECK(cells[0] == predicted[7]);
    CHECK(cells[1] == predicted[0]);
    CHECK(names[row] == predicted[0]);
    CHECK(predicted[0].starts_with(predicted[1]));  // a record of a file
    CHECK_FALSE(predicted[1].empty());
    CHECK(cells[2] == predicted[3]);
    const auto label = logits.tensors.at("label").values<std::int64_t>()[row];
    CHECK(cells[2] == std::to_string(label));
    const float* values = x.data<float>() + i * classes;
    const auto best = std::max_element(values, values + classes) - values;
    CHECK(predicted[5] == std::to_string(best));
    const json& named = result["confusion"]["classes"];
    CHECK(predicted[2] == named[static_cast<std::size_t>(label)].get<std::string>());
    CHECK(predicted[4] == named[static_cast<std::size_t>(best)].get<std::string>());
    CHECK(predicted[6] == shares[static_cast<std::size_t>(best) + 3]);
    double sum = 0;
    for (std::int64_t c = 0; c < classes; ++c) {
      const auto column = static_cast<std::size_t>(c) + 3;
      CHECK(std::stof(cells[column]) == values[c]);  // every digit is there
      sum += std::stod(shares[column]);
      CHECK(shares[column] == predicted[column + 5]);
      CHECK(std::stof(shares[column]) ==
            prob.tensors.at("probabilities").data<float>()[i * classes + c]);
    }
    CHECK(sum == Approx(1).margin(1e-5));
    loss -= std::log(std::stod(shares[static_cast<std::size_t>(label) + 3]));
  }
  CHECK(result["metrics"]["loss"] == Approx(loss / static_cast<double>(n)).epsilon(1e-4));
}

}  // namespace

TEST_CASE("eval --save: logits and probabilities of images", "[cli]") {
  const TestFolder folder("cli-save-images");
  const std::string experiment = folder.write("tiny.json", fmt::format(R"({{"name": "tiny",
  "dataset": {{"type": "digits", "root": "{}/datasets/digits", "limit": {{"train": 64, "test": 40}}}},
  "model": {{"type": "vit", "patch_size": 4, "embed_dim": 16, "depth": 1, "attention": {{"num_heads": 2}}}},
  "train": {{"epochs": 0, "batch_size": 16}}}})",
                                                                       source_dir()));
  const std::string run = folder.path("run").string();
  REQUIRE(run_cli("train", {experiment, "--out", run, "--quiet"}).code == 0);
  const json result = saved(run, "logits,logits.csv,probabilities.csv,probabilities.safetensors");
  check_scores(folder.path("run/eval/test"), result);
  // Only what is asked for.
  const CliResult plain =
      run_cli("eval", {run, "--out", folder.path("plain").string(), "--save", "logits.csv"});
  REQUIRE(plain.code == 0);
  CHECK_THAT(plain.out, Catch::Contains("saved " + folder.path("plain/logits.csv").string()));
  CHECK_FALSE(io::fs::exists(folder.path("plain/logits.safetensors")));
  CHECK_FALSE(io::fs::exists(folder.path("plain/probabilities.csv")));
  check_refusal(run_cli("eval", {run, "--save", "masks"}), 2,
                "a network that gives classes has nothing of that name");
  check_refusal(run_cli("eval", {run, "--save", "logit"}), 2, "did you mean \"logits\"?");
}

TEST_CASE("eval --save: logits and probabilities of texts, in the order of the split", "[cli]") {
  const TestFolder folder("cli-save-texts");
  for (const char* part : {"train.csv", "test.csv"}) {
    std::string table = "label,text\n";
    for (int i = 0; i < 30; ++i) {
      table += i % 2 == 0 ? "yes,good" : "no,bad";
      for (int k = 0; k <= i * 5 % 7; ++k) table += fmt::format(" w{}", (i * 3 + k * k) % 11);
      table += "\n";
    }
    folder.write(part, table);
  }
  const std::string experiment =
      folder.write("tiny.json", fmt::format(R"({{"name": "tiny", "task": "text_classification",
  "dataset": {{"type": "text_csv", "root": "{}"}},
  "model": {{"type": "transformer", "embed_dim": 8, "depth": 1, "attention": {{"num_heads": 2}}}},
  "train": {{"epochs": 0, "batch_size": 8}}}})",
                                            folder.path().string()));
  const std::string run = folder.path("run").string();
  REQUIRE(run_cli("train", {experiment, "--out", run, "--quiet"}).code == 0);
  const json result = saved(run, "logits,logits.csv,probabilities.csv,probabilities.safetensors");
  check_scores(folder.path("run/eval/test"), result);
  // Weights go with the vocabulary beside them, not with that of the data.
  folder.write("train.csv", "label,text\nyes,other\nno,words\n");
  const CliResult foreign =
      run_cli("eval", {experiment, "--weights",
                       folder.path("run/checkpoints/step-00000000/model.safetensors").string(),
                       "--out", folder.path("scores").string(), "--json"});
  INFO(foreign.err);
  REQUIRE(foreign.code == 0);
  CHECK(json::parse(foreign.out)["metrics"] == result["metrics"]);
}

TEST_CASE("eval --save: masks at both sizes, none over another", "[cli]") {
  const TestFolder folder("cli-save-masks");
  for (const char* part : {"images", "masks"}) io::make_directories(folder.path("train") / part);
  for (const char* part : {"images", "masks"}) io::make_directories(folder.path("test") / part);
  for (int n = 0; n < 8; ++n) {
    // 20 x 30, so that the network's size is another one.
    data::Image image{20, 30, 1, {}}, mask{20, 30, 1, {}};
    for (int i = 0; i < 600; ++i) {
      const bool inside = i % 30 > 5 + n && i % 30 < 20 && i / 30 > 4 && i / 30 < 15;
      mask.pixels.push_back(inside ? 255 : 0);
      image.pixels.push_back(inside ? 220 : 40);
    }
    const std::string part = n < 5 ? "train" : "test";
    // Of the test part, two have names that differ in what is no letter.
    const std::string name = n == 6 ? "disc 6" : n == 7 ? "disc+6" : fmt::format("disc{}", n);
    const std::string ending = n == 7 ? ".pgm" : ".png";
    if (n == 7) {
      std::string pgm = "P5\n30 20\n255\n";
      pgm.append(image.pixels.begin(), image.pixels.end());
      io::write_atomic(folder.path(part + "/images") / (name + ending), pgm);
    } else {
      data::write_png(folder.path(part + "/images") / (name + ending), image);
    }
    data::write_png(folder.path(part + "/masks") / (name + ".png"), mask);
  }
  const std::string experiment = folder.write("discs.json", fmt::format(R"({{"name": "discs",
  "task": "segmentation", "seed": 1,
  "dataset": {{"type": "paired_folder", "root": "{}", "layout": "by_split", "img_size": 16}},
  "model": {{"type": "unet", "widths": [4, 8], "decoder_channels": [4]}},
  "loss": {{"type": "bce_dice"}}, "optimizer": {{"type": "adamw", "lr": 0.02}},
  "train": {{"epochs": 6, "batch_size": 2}}}})",
                                                                        folder.path().string()));
  const std::string run = folder.path("run").string();
  const CliResult trained = run_cli("train", {experiment, "--out", run, "--quiet"});
  INFO(trained.err);
  REQUIRE(trained.code == 0);
  const json result = saved(run, "masks,original_masks,probabilities");
  CHECK(result["saved"] ==
        json::array({"predicted_masks", "predicted_masks_original", "probabilities.safetensors"}));
  const io::fs::path out = folder.path("run/eval/test");
  const TensorFile file = read_safetensors(out / "probabilities.safetensors", make_cpu(1));
  const Tensor& prob = file.tensors.at("probabilities");
  REQUIRE(prob.shape() == Shape{3, 1, 16, 16});
  const json names = json::parse(file.metadata.at("names"));
  const auto index = lines_of(out / "predicted_masks/index.csv");
  const auto samples = lines_of(out / "samples.csv");
  REQUIRE(index.size() == 4);
  std::int64_t foreground = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    const auto cells = cells_of(index[i + 1]);
    CHECK(names[i] == cells[1]);
    CHECK(cells[1] == cells_of(samples[i + 1])[1]);
    CHECK(cells[2] == std::vector<std::string>{"disc 6.png", "disc+6.png", "disc5.png"}[i]);
    const data::Image mask = data::read_image(out / "predicted_masks" / cells[2]);
    REQUIRE((mask.height == 16 && mask.width == 16 && mask.channels == 1));
    for (std::size_t k = 0; k < 256; ++k) {
      const bool inside = prob.data<float>()[i * 256 + k] >= 0.5f;
      CHECK(mask.pixels[k] == (inside ? 255 : 0));
      foreground += inside ? 1 : 0;
    }
    const data::Image original = data::read_image(out / "predicted_masks_original" / cells[2]);
    CHECK((original.height == 20 && original.width == 30 && original.channels == 1));
    // The same shape, larger.
    const auto share = [](const data::Image& m) {
      return static_cast<double>(std::count(m.pixels.begin(), m.pixels.end(), 255)) /
             static_cast<double>(m.pixels.size());
    };
    CHECK(share(original) == Approx(share(mask)).margin(0.05));
  }
  const json& pixels = result["pixels"];
  CHECK(foreground == pixels["true_positives"].get<int>() + pixels["false_positives"].get<int>());
  check_refusal(run_cli("eval", {run, "--save", "logits"}), 2,
                "a network that gives masks has nothing of that name");
}
