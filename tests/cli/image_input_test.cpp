// The real programs on pictures of every kind: by their number and by their name the same.
#include <catch2/catch.hpp>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include <map>
#include <sstream>

#include "base/file.h"
#include "data/files/pictures/image_file.h"
#include "tests/data/files.h"
#include "tests/data/tiny_jpeg.h"
#include "tests/support/run_cli.h"

using namespace fovea;
using namespace fovea::test;
using nlohmann::json;

namespace {

// Two classes, files of every kind, none square, and one that is not read. The parts are alike.
void write_pictures(const TestFolder& folder) {
  std::vector<std::uint16_t> deep;
  for (int i = 0; i < 9 * 14; ++i) deep.push_back(static_cast<std::uint16_t>(i * 509));
  const std::string colours("\x10\x20\x30\xff\x00\x00\x00\xff\x00\x00\x00\xff", 12);
  for (const std::string part : {"pictures/train/", "pictures/test/"}) {
    folder.write(part + "a/x.png", encode_png(data::test::pattern(9, 14, 4)));
    folder.write(part + "a/y.png", encode_png(data::test::pattern(14, 9, 2)));
    folder.write(part + "a/old.gif", "RIFF");
    folder.write(part + "b/x.png", data::test::png16(9, 14, deep));
    folder.write(
        part + "b/y.png",
        data::test::png(3, 8, 2, 3, {"\x1b\xe4", std::string("\x00\xff", 2), "\xd8\x27"}, colours));
    folder.write(part + "b/z.jpg", data::test::tiny_jpeg());
  }
}

std::string experiment(const TestFolder& folder) {
  return fmt::format(
      R"({{"name": "pictures", "seed": 3,
  "dataset": {{"type": "image_folder", "root": "{}", "img_size": 8, "crop_pct": 0.8,
              "interpolation": "bicubic", "exif": true}},
  "model": {{"type": "dgvit", "patch_size": 4, "embed_dim": 16, "depth": 1,
            "attention": {{"num_heads": 2}}}},
  "optimizer": {{"type": "adamw", "lr": 3e-3}}, "train": {{"epochs": 1, "batch_size": 4}}}})",
      folder.path("pictures").string());
}

// weights.csv by input: prediction and weights, without the input's name.
std::map<std::string, std::string> weights_by_input(const std::filesystem::path& file) {
  std::istringstream lines(io::read_text(file));
  std::map<std::string, std::string> found;
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line)) {
    const std::size_t first = line.find(',');
    const std::size_t second = line.find(',', first + 1);
    found[line.substr(first + 1, second - first - 1)] += line.substr(second) + "\n";
  }
  return found;
}

}  // namespace

TEST_CASE("train: says how many samples could not be read", "[cli]") {
  const TestFolder folder("cli-left-out");
  write_pictures(folder);
  folder.write("pictures/test/a/damaged.png", "no picture");
  const std::string file = folder.write("pictures.json", experiment(folder));
  std::vector<std::string> words = {file, "--out", folder.path("run").string(), "--set",
                                    "dataset.on_bad_sample=skip"};
  const auto left_out =
      Catch::Contains("left out: one sample that could not be read (dataset.on_bad_sample)");
  const CliResult skipped = run_cli("train", words);
  INFO(skipped.err);
  REQUIRE(skipped.code == 0);
  CHECK_THAT(skipped.out, left_out);
  io::remove_all(folder.path("pictures/test/a/damaged.png"));
  words[2] = folder.path("whole").string();
  const CliResult whole = run_cli("train", words);
  REQUIRE(whole.code == 0);
  CHECK_THAT(whole.out, !left_out);
}

TEST_CASE("visualise-attention: a file is seen as the sample it is, and under its own name",
          "[cli]") {
  const TestFolder folder("cli-image-input");
  write_pictures(folder);
  const std::string run = folder.path("run").string();
  const CliResult trained =
      run_cli("train", {folder.write("pictures.json", experiment(folder)), "--out", run, "--json"});
  INFO(trained.err);
  REQUIRE(trained.code == 0);
  // What was left out is said once for each part, and kept.
  CHECK_THAT(trained.err, Catch::Contains("train: 1 file left out: .gif 1; convert it to PNG"));
  CHECK(json::parse(trained.out).at("data_notes").size() == 2);
  CHECK_THAT(io::read_text(folder.path("run/log.txt")), Catch::Contains("test: 1 file left out"));

  const auto test = [&](const char* name) {
    return (folder.path("pictures/test") / name).string();
  };
  const CliResult drawn = run_cli("visualise-attention", {run,
                                                          "--input",
                                                          "0",
                                                          "--input",
                                                          "1",
                                                          "--input",
                                                          "2",
                                                          "--input",
                                                          "3",
                                                          "--input",
                                                          "4",
                                                          "--input",
                                                          test("a/x.png"),
                                                          "--input",
                                                          test("a/y.png"),
                                                          "--input",
                                                          test("b/x.png"),
                                                          "--input",
                                                          test("b/y.png"),
                                                          "--input",
                                                          test("b/z.jpg"),
                                                          "--heads",
                                                          "--out",
                                                          folder.path("maps").string()});
  INFO(drawn.err);
  REQUIRE(drawn.code == 0);
  const auto weights = weights_by_input(folder.path("maps/weights.csv"));
  CHECK(weights.size() == 10);
  const std::vector<std::pair<std::string, std::string>> same = {{"0__a", "a_x.png"},
                                                                 {"1__a", "a_y.png"},
                                                                 {"2__b", "b_x.png"},
                                                                 {"3__b", "b_y.png"},
                                                                 {"4__b", "z"}};
  const auto heads = [&](const std::string& input) {
    return folder.path("maps") / fmt::format("heads-pictures-{}.png", input);
  };
  for (const auto& [sample, file] : same) {
    INFO(sample << " and " << file);
    REQUIRE(weights.count(sample) == 1);
    REQUIRE(weights.count(file) == 1);
    CHECK(weights.at(sample) == weights.at(file));
    CHECK(io::fs::exists(heads(sample)));
    CHECK(io::fs::exists(heads(file)));
  }
  CHECK(weights.at("a_x.png") != weights.at("b_x.png"));
  // The maps are there under every name.
  CHECK_THAT(
      io::read_text(folder.path("maps/maps.safetensors")),
      Catch::Contains("pictures/a_x.png/rollout") && Catch::Contains("pictures/b_x.png/rollout"));
}

TEST_CASE("visualise-attention: one file twice, and runs of one folder name, stay apart", "[cli]") {
  const TestFolder folder("cli-image-twice");
  write_pictures(folder);
  const std::string file = folder.write("pictures.json", experiment(folder));
  for (const char* run : {"one/run", "two/run"}) {
    REQUIRE(run_cli("train", {file, "--out", folder.path(run).string(), "--quiet"}).code == 0);
  }
  const std::string picture = folder.path("pictures/test/a/x.png").string();
  const CliResult drawn = run_cli(
      "visualise-attention",
      {folder.path("one/run").string(), folder.path("two/run").string(), "--input", picture,
       "--input", picture, "--heads", "--no-explorer", "--out", folder.path("maps").string()});
  INFO(drawn.err);
  REQUIRE(drawn.code == 0);
  int heads = 0;
  for (const auto& entry : io::fs::directory_iterator(folder.path("maps"))) {
    heads += entry.path().filename().string().rfind("heads-", 0) == 0 ? 1 : 0;
  }
  CHECK(heads == 4);
}

TEST_CASE("visualise-attention: runs that prepare pictures otherwise see their own", "[cli]") {
  const TestFolder folder("cli-image-own");
  write_pictures(folder);
  const std::string file = folder.write("pictures.json", experiment(folder));
  const std::string whole = folder.path("whole").string();
  const std::string part = folder.path("part").string();
  REQUIRE(run_cli("train", {file, "--out", whole, "--quiet", "--set", "name=whole"}).code == 0);
  REQUIRE(run_cli("train", {file, "--out", part, "--quiet", "--set", "name=part", "--set",
                            "dataset.crop_pct=0.5"})
              .code == 0);
  const auto weights = [&](const std::vector<std::string>& runs, const std::string& out) {
    std::vector<std::string> words = runs;
    const std::vector<std::string> rest = {"--input", "2", "--no-explorer", "--out",
                                           folder.path(out).string()};
    words.insert(words.end(), rest.begin(), rest.end());
    REQUIRE(run_cli("visualise-attention", words).code == 0);
    return io::read_text(folder.path(out) / "weights.csv");
  };
  // Beside the other, each gives what it gives alone.
  const std::string both = weights({whole, part}, "both");
  const std::string alone = weights({part}, "alone");
  CHECK_THAT(both, Catch::EndsWith(alone.substr(alone.find('\n') + 1)));
}
