#include "experiment/tables/published.h"

#include <catch2/catch.hpp>

#include <cmath>

#include "tests/experiment/fixture.h"
#include "tests/support/paths.h"

using namespace fovea;
using namespace fovea::experiment;
using namespace fovea::experiment::test;

TEST_CASE("published: files with mistakes are refused with the position", "[experiment]") {
  const Folder folder("numbers");
  const auto complaint_about = [](const std::string& text) {
    write("p.json", text);
    return complaint([] { Published("p.json"); });
  };
  CHECK(
      complaint_about(R"({"tables": [{"table": "T", "unit": "billion"}]})") ==
      R"(p.json:1:36: tables.0.unit: expected one of "", "million", got "billion" (string); did you )"
      R"(mean "million"?)");
  CHECK(
      complaint_about(R"({"tables": [{"table": "T", "rows": [{"row": "r"}]}]})") ==
      R"(p.json:1:37: tables.0.rows.0: missing key "values", expected anything: numbers by column)");
  CHECK(complaint_about(
            R"({"tables": [{"table": "T", "rows": [{"row": "r", "values": {"c": "x"}}]}]})")
            .find("p.json:1:66") == 0);
  CHECK(complaint_about(R"({"tables": [{"table": "T"}, {"table": "U"}, {"table": "T"}]})") ==
        "p.json: has T twice");
  CHECK(complaint([] { Published("none.json"); }) == "none.json: not found");
}

TEST_CASE("published: a table may state how its numbers were made, by column too", "[experiment]") {
  const Folder folder("protocol");
  write("p.json", R"({"tables": [{"table": "T", "protocol": {"epochs": 300, "seeds": 5},
    "protocols": {"c": {"epochs": 100, "train_samples": 50000}},
    "rows": [{"row": "r", "values": {"b": 1, "c": 2}}]}]})");
  const Published paper("p.json");
  CHECK(paper.protocol("T", "b").epochs == 300);
  CHECK_FALSE(paper.protocol("T", "b").train_samples);
  CHECK(paper.protocol("T", "c").epochs == 100);
  CHECK(paper.protocol("T", "c").seeds == 5);
  CHECK(paper.protocol("T", "c").train_samples == 50000);
  CHECK_FALSE(paper.protocol("U", "c").epochs);
}

TEST_CASE("published: a run that diverged is NaN, backbones may be pretrained", "[experiment]") {
  const Folder folder("diverged");
  write("p.json", R"({"tables": [{"table": "T", "protocol": {"pretrained": "ImageNet"},
    "protocols": {"c": {"pretrained": "ImageNet-22K"}},
    "rows": [{"row": "r", "values": {"b": "NaN", "c": 2}}]}]})");
  const Published paper("p.json");
  CHECK(std::isnan(paper.find("T", "r", "b").mean));
  CHECK(paper.protocol("T", "b").pretrained == "ImageNet");
  CHECK(paper.protocol("T", "c").pretrained == "ImageNet-22K");
}

TEST_CASE("published: the shipped numbers of dgsa are those of its tables", "[experiment]") {
  const Published paper(io::fs::path(fovea::test::source_dir()) /
                        "experiments/dgsa/published.json");
  CHECK(paper.find("Table 1", "ViT", "CIFAR-10") == PublishedValue{75.9, 0.09});
  CHECK(paper.find("Table 1", "DGViT proj x4, dropout x2", "CIFAR-100") ==
        PublishedValue{47.72, 0.35});
  CHECK(paper.find("Table 2", "DGT proj x16/3", "20 Newsgroups") == PublishedValue{63.53, 0.87});
  CHECK(paper.find("Table 5", "DGViT proj x2", "CIFAR-10").mean == Approx(3.77e6));
}
