// Layer attention from depth to depth: inspect --across-depth, and from layer to layer of a trained
// network: visualise-attention --across-depth.
#include <catch2/catch.hpp>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include <map>
#include <sstream>

#include "base/file.h"
#include "tests/cli/refusal.h"
#include "tests/support/paths.h"
#include "tests/support/run_cli.h"

using namespace fovea;
using namespace fovea::test;
using nlohmann::json;

namespace {

// A ResNet of three narrow stages on 8 x 8 images.
std::string tiny(const std::string& layer_attention) {
  return fmt::format(
      R"({{"name": "tiny", "seed": 5,
  "dataset": {{"type": "synthetic", "img_size": 8, "num_classes": 3, "train_size": 48, "test_size": 24}},
  "model": {{"type": "resnet20", "planes": [4, 8, 16], "layer_attention": {}}},
  "optimizer": {{"type": "sgd", "lr": 0.05}},
  "train": {{"epochs": 1, "batch_size": 4, "threads": 1}}}})",
      layer_attention);
}

bool is_png(const io::fs::path& file) { return io::read_text(file).substr(1, 3) == "PNG"; }

// (std::stod refuses the tiny shares that a softmax may give.)
double number(const std::string& text) { return std::strtod(text.c_str(), nullptr); }

// Lines of a CSV file without the header, as cells.
std::vector<std::vector<std::string>> rows_of(const io::fs::path& file) {
  std::vector<std::vector<std::string>> rows;
  std::istringstream lines(io::read_text(file));
  for (std::string line; std::getline(lines, line);) {
    std::vector<std::string> cells;
    std::istringstream text(line);
    for (std::string cell; std::getline(text, cell, ',');) cells.push_back(cell);
    rows.push_back(cells);
  }
  rows.erase(rows.begin());
  return rows;
}

std::vector<std::string> words_for(const std::string& experiment, const std::string& picture,
                                   std::vector<std::string> more) {
  more.insert(more.begin(), {experiment, "--picture", picture});
  return more;
}

}  // namespace

TEST_CASE("inspect --across-depth: what each layer attention adds, and how fast it grows",
          "[cli]") {
  const TestFolder folder("cli-growth");
  const std::string file = folder.write("tiny.json", tiny("\"kcla\""));
  const std::string picture = folder.path("growth.png").string();
  const CliResult result = run_cli(
      "inspect",
      words_for(file, picture,
                {"--across-depth", "2,8,22", "--layer-attention", "kcla,standard", "--json"}));
  INFO(result.err);
  REQUIRE(result.code == 0);
  const json object = json::parse(result.out);
  CHECK(object.at("memory") == "counted");
  REQUIRE(object.at("backbone").size() == 3);
  CHECK(object.at("backbone")[2].at("layers") == 200);
  std::map<std::string, json> attentions;
  for (const json& one : object.at("layer_attention")) attentions[one.at("name")] = one;
  REQUIRE(attentions.size() == 2);
  for (const auto& [name, one] : attentions) {
    REQUIRE(one.at("depths").size() == 3);
    for (const json& depth : one.at("depths")) {
      CHECK(depth.at("added_macs") > 0);
      CHECK(depth.at("added_train_peak_bytes") > 0);
      CHECK(depth.at("added_ms").is_null());
    }
    CHECK(one.at("growth").at("ms").at("exponent").is_null());
  }
  const auto growth = [&](const char* name, const char* what, const char* rate) {
    return attentions.at(name).at("growth").at(what).at(rate).get<double>();
  };
  for (const char* what : {"macs", "train_peak_bytes"}) {
    CHECK(growth("kcla", what, "exponent") < 1.1);
    CHECK(std::abs(growth("kcla", what, "square_part")) < 0.1);
    CHECK(growth("standard", what, "exponent") > 1.5);
    CHECK(growth("standard", what, "last_exponent") > growth("standard", what, "exponent"));
    CHECK(growth("standard", what, "square_part") > 0.7);
  }
  CHECK(is_png(picture));
}

TEST_CASE("inspect --across-depth: tables, the experiment's own attention, one depth", "[cli]") {
  const TestFolder folder("cli-growth-table");
  const std::string file = folder.write("tiny.json", tiny(R"({"type": "mrla_b", "head_dim": 4})"));
  const std::string picture = folder.path("growth.svg").string();
  const CliResult result = run_cli("inspect", words_for(file, picture, {"--across-depth", "1,2"}));
  INFO(result.err);
  REQUIRE(result.code == 0);
  CHECK_THAT(result.out, Catch::Contains("(backbone)") && Catch::Contains("mrla_b") &&
                             Catch::Contains("Exponent") && Catch::Contains(picture));
  CHECK_THAT(io::read_text(picture), Catch::Contains("∝ layers²"));
  const CliResult one = run_cli("inspect", words_for(file, picture, {"--across-depth", "2"}));
  REQUIRE(one.code == 0);
  CHECK_THAT(one.out, !Catch::Contains("Exponent"));
}

TEST_CASE("inspect --across-depth --time: runs the networks and measures", "[cli]") {
  const TestFolder folder("cli-growth-time");
  const std::string file = folder.write("tiny.json", tiny("\"kcla\""));
  const std::string picture = folder.path("growth.png").string();
  const std::vector<std::string> words = {"--across-depth", "1,3",    "--layer-attention",
                                          "kcla,mrla_l",    "--time", "3"};
  std::vector<std::string> as_json = words;
  as_json.emplace_back("--json");
  const CliResult result = run_cli("inspect", words_for(file, picture, as_json));
  INFO(result.err);
  REQUIRE(result.code == 0);
  const json object = json::parse(result.out);
  CHECK(object.at("memory") == "measured");
  CHECK(object.at("timed_steps") == 3);
  CHECK(object.at("batch_size") == 4);
  for (const json& depth : object.at("backbone")) {
    CHECK(depth.at("ms") > 0);
    CHECK(depth.at("ms_spread") >= 0);
    CHECK(depth.at("train_peak_bytes") > 0);
  }
  for (const json& one : object.at("layer_attention")) {
    for (const json& depth : one.at("depths")) {
      CHECK(depth.at("added_ms").is_number());
      CHECK(depth.at("added_train_peak_bytes") > 0);
    }
    CHECK(one.at("growth").at("train_peak_bytes").at("exponent") > 0.5);
    CHECK(one.at("growth").at("macs").at("square_part").is_null());  // of two depths
  }
  CHECK(is_png(picture));
  const CliResult table = run_cli("inspect", words_for(file, picture, words));
  REQUIRE(table.code == 0);
  CHECK_THAT(table.out, Catch::Contains("ms") && Catch::Contains("time"));
}

TEST_CASE("inspect --across-depth: refusals", "[cli]") {
  const TestFolder folder("cli-growth-bad");
  const std::string file = folder.write("tiny.json", tiny("\"kcla\""));
  const std::string plain = folder.write("plain.json", tiny("null"));
  const std::string picture = folder.path("growth.png").string();
  const auto refused = [&](const std::string& experiment, const std::vector<std::string>& more,
                           const std::string& message) {
    check_refusal(run_cli("inspect", words_for(experiment, picture, more)), 2, message);
    CHECK_FALSE(io::fs::exists(picture));
  };
  refused(file, {"--across-depth", "2,x"}, "--across-depth");
  refused(file, {"--across-depth", "0,2"}, "--across-depth");
  refused(file, {"--across-depth", "4,2"}, "2 after 4; expected ascending numbers of blocks");
  refused(file, {"--across-depth", "2,2"}, "expected ascending");
  refused(file, {"--across-depth", "2", "--layer-attention", "klca"}, "did you mean \"kcla\"?");
  refused(file, {"--across-depth", "2", "--time", "0"}, "--time");
  refused(file, {"--time", "3"}, "--across-depth");
  refused(plain, {"--across-depth", "2"}, "no model.layer_attention");
  refused(test::source_dir() + "/experiments/smoke/dgvit.json",
          {"--across-depth", "2", "--layer-attention", "kcla"}, "expected a ResNet");
  check_refusal(run_cli("inspect", {file, "--across-depth", "2", "--picture", "growth.gif"}), 2,
                "expected a name that ends in .png or .svg");
}

TEST_CASE("visualise-attention --across-depth: layers of trained networks", "[cli]") {
  const TestFolder folder("cli-layers");
  std::map<std::string, std::string> runs;
  for (const char* type : {"kcla", "standard", "mrla_l", "null"}) {
    const std::string value = type == std::string("null") ? "null" : fmt::format("\"{}\"", type);
    const std::string file = folder.write(fmt::format("{}.json", type), tiny(value));
    runs[type] = folder.path(type).string();
    const CliResult trained = run_cli("train", {file, "--out", runs[type], "--quiet"});
    INFO(trained.err);
    REQUIRE(trained.code == 0);
  }
  const std::string out = folder.path("pictures").string();
  const CliResult drawn =
      run_cli("visualise-attention", {runs["kcla"], runs["standard"], runs["mrla_l"],
                                      "--across-depth", "--samples", "20", "--out", out});
  INFO(drawn.err);
  REQUIRE(drawn.code == 0);
  CHECK_THAT(drawn.out, Catch::Contains("scores.png") && Catch::Contains("keys.png") &&
                            Catch::Contains("decay.png"));
  for (const char* file : {"kcla/scores.png", "standard/keys.png", "mrla_l/decay.png"}) {
    CHECK(is_png(folder.path("pictures") / file));
  }

  // Each layer's weights of the layers up to it sum to 1: stage, head, divisor, layer, weighs,
  // share.
  std::map<std::string, double> sums;
  for (const auto& row : rows_of(folder.path("pictures/kcla/scores.csv"))) {
    REQUIRE(row.size() == 6);
    CHECK(std::stoi(row[4]) <= std::stoi(row[3]));
    sums[row[0] + " " + row[1] + " " + row[3]] += number(row[5]);
  }
  CHECK(sums.size() == (1 + 2 + 4) * 2);  // heads of the stages, layers
  for (const auto& [row, sum] : sums) CHECK(sum == Approx(1));

  // Histograms over [-1, 1]: pairs, low, high, share.
  std::map<std::string, double> shares;
  const auto bins = rows_of(folder.path("pictures/standard/keys.csv"));
  CHECK(bins.size() == 200);
  for (const auto& row : bins) shares[row.at(0)] += number(row.at(3));
  CHECK(shares.at("adjacent") == Approx(1));
  CHECK(shares.at("arbitrary") == Approx(1));

  // stage, distance, mean, std, abs_mean, abs_std: the layer itself counts in full.
  for (const auto& row : rows_of(folder.path("pictures/mrla_l/decay.csv"))) {
    if (row.at(1) == "0") CHECK(number(row.at(2)) == Approx(1));
  }

  check_refusal(run_cli("visualise-attention", {runs["null"], "--across-depth", "--out", out}), 2,
                "neither keys of several layers");
}
