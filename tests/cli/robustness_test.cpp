// inspect robustness: which part is read, and what makes a row.
#include <catch2/catch.hpp>

#include <fmt/format.h>

#include "base/file.h"
#include "tests/support/run_cli.h"

using namespace fovea;
using namespace fovea::test;

namespace {

// Texts whose first word tells the class, without a test part.
void write_texts(const TestFolder& folder, const std::string& name, int rows) {
  io::make_directories(folder.path(name));
  std::string text = "label,text\n";
  for (int i = 0; i < rows; ++i)
    text += fmt::format("{} w{}\n", i % 2 == 0 ? "yes,good" : "no,bad", i % 7);
  folder.write(name + "/train.csv", text);
}

// A run that is trained on a folder of data and scored under noise.
std::string scored(const TestFolder& folder, const std::string& experiment, const std::string& run,
                   const std::string& data, int seed) {
  const std::string out = folder.path(run).string();
  const CliResult trained = run_cli("train", {experiment, "--out", out, "--quiet", "--set",
                                              "dataset.root=" + folder.path(data).string(), "--set",
                                              fmt::format("seed={}", seed)});
  INFO(trained.err);
  REQUIRE(trained.code == 0);
  const CliResult result = run_cli("eval", {out, "--noise", "delete", "--level", "0.5"});
  INFO(result.err);
  REQUIRE(result.code == 0);
  return out;
}

}  // namespace

TEST_CASE("robustness: rows are told apart by their data, and the part is what runs report",
          "[cli]") {
  const TestFolder folder("cli-robustness");
  write_texts(folder, "one", 40);
  write_texts(folder, "copy", 40);
  write_texts(folder, "two", 48);
  const std::string experiment = folder.write("tiny.json", R"({"name": "tiny",
  "task": "text_classification", "dataset": {"type": "text_csv", "split": {"val": 0.25}},
  "model": {"type": "transformer", "embed_dim": 8, "depth": 1, "attention": {"num_heads": 2}},
  "train": {"epochs": 1, "batch_size": 16}})");
  const std::string a = scored(folder, experiment, "a", "one", 1);
  const std::string b = scored(folder, experiment, "b", "copy", 2);
  const std::string c = scored(folder, experiment, "c", "two", 1);
  const std::string plot = folder.path("r.svg").string();

  // The same data in another place is another seed of the same row; other data are another row.
  const CliResult seeds = run_cli("inspect", {"robustness", a, b, "--out", plot});
  INFO(seeds.err);
  REQUIRE(seeds.code == 0);
  CHECK_THAT(seeds.out, Catch::Contains("±"));
  const CliResult rows = run_cli("inspect", {"robustness", a, c, "--out", plot});
  INFO(rows.err);
  REQUIRE(rows.code == 0);
  CHECK_THAT(rows.out, Catch::Contains("tiny (data=") && !Catch::Contains("±"));

  const CliResult other = run_cli("inspect", {"robustness", a, "--split", "test", "--out", plot});
  CHECK(other.code == 1);
  CHECK_THAT(other.err, Catch::Contains("eval/test/results.json: not found"));
}
