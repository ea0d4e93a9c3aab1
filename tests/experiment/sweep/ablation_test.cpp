#include "experiment/sweep/ablation.h"

#include <catch2/catch.hpp>

#include "schema/compare.h"
#include "tests/experiment/fixture.h"

using namespace fovea;
using namespace fovea::experiment;
using namespace fovea::experiment::test;

namespace {

const char* const kPublished = R"({"tables": [
  {"table": "Table 1", "columns": ["A", "B"], "rows": [
    {"row": "deep", "values": {"A": {"mean": 78.06, "std": 0.41}, "B": 47}}]},
  {"table": "Table 5", "unit": "million", "rows": [{"row": "deep", "values": {"A": 3.77}}]}]})";

// What is wrong with an ablation file of this content.
std::string complaint_about(const std::string& text, const AblationOverrides& overrides = {}) {
  write("a.json", text);
  return complaint([&] { load_ablation("a.json", kind(), overrides); });
}

}  // namespace

TEST_CASE("ablation: rows, overrides, seeds and published numbers", "[experiment]") {
  const Folder folder("ablation");
  write("base.json", R"({"model": {"depth": 2}})");
  write("../paper/published.json", kPublished);
  write("a.json", R"({
    // comments are allowed
    "name": "table1", "base": "base.json", "set": {"train.epochs": 7},
    "rows": [{"name": "plain"},
             {"name": "Deep x4 λ", "set": {"model.depth": 12},
              "published": [{"table": "Table 1", "row": "deep", "columns": {"test_top1": "A"}},
                            {"table": "Table 5", "row": "deep", "columns": {"parameters": "A"}}]}],
    "seeds": [3, 1], "metrics": ["test_top1"], "published": "paper"})");
  const Ablation ablation = load_ablation("a.json", kind());
  CHECK(ablation.name == "table1");
  CHECK(ablation.metrics == std::vector<std::string>{"test_top1"});
  REQUIRE(ablation.rows.size() == 2);
  const Row& deep = ablation.rows[1];
  CHECK(deep.slug == "deep-x4");
  CHECK(deep.overrides.dump(0) == R"({"model.depth":12})");
  CHECK(deep.config.dump(0) ==
        R"({"name":"table1/Deep x4 λ","seed":3,"mode":"ok","root":"data","fold":"",)"
        R"("model":{"depth":12,"num_heads":2},)"
        R"("train":{"epochs":7,"threads":0}})");
  REQUIRE(deep.published.size() == 2);
  CHECK(deep.published[0].value == PublishedValue{78.06, 0.41});
  CHECK(deep.published[1].value.mean == Approx(3770000.0));
  CHECK_FALSE(deep.published[1].value.std);

  REQUIRE(ablation.jobs.size() == 4);
  const Job& job = ablation.jobs[3];
  CHECK(job.seed == 1);
  CHECK(job.row == 1);
  CHECK(job.config.at("seed").as_int() == 1);
  CHECK(job.hash == schema::content_hash(identity(kind(), job.config)));
  CHECK(job.id == "deep-x4-s1-" + job.hash.substr(0, 8));
}

TEST_CASE("ablation: axes make every combination, in every row", "[experiment]") {
  const Folder folder("axes");
  const auto names = [](const std::string& text) {
    write("a.json", text);
    std::string all;
    for (const Row& row : load_ablation("a.json", kind()).rows) all += row.name + "; ";
    return all;
  };
  CHECK(names(R"({"base": {}, "axes": {"model.depth": [1, 2], "mode": ["ok", "b"]}})") ==
        "depth=1, mode=ok; depth=1, mode=b; depth=2, mode=ok; depth=2, mode=b; ");
  CHECK(names(R"({"base": {}, "axes": {"model.depth": [1, 2]},
                  "rows": [{"name": "x"}, {"name": "y", "set": {"mode": "z"}}]})") ==
        "x, depth=1; x, depth=2; y, depth=1; y, depth=2; ");
  // Neither rows nor axes: the base over the seeds, called as the file.
  CHECK(names(R"({"base": {}})") == "a; ");
  write("a.json", R"({"base": {}, "axes": {"model.depth": [1, 2]}})");
  CHECK(load_ablation("a.json", kind()).rows[1].overrides.dump(0) == R"({"model.depth":2})");
  CHECK(load_ablation("a.json", kind()).seeds == std::vector<std::int64_t>{0, 1, 2, 3, 4});
}

TEST_CASE("ablation: files extend files, rows extend other experiments", "[experiment]") {
  const Folder folder("extends");
  write("../common/base.json", R"({"model": {"depth": 9}})");
  write("../common/ablation.json", R"({"base": "base.json", "seeds": [5]})");
  write("other.json", R"({"mode": "other"})");
  // The inherited "base" is meant relative to the file that names it.
  write("a.json", R"({"extends": "../common/ablation.json",
                      "rows": [{"name": "x"}, {"name": "y", "extends": "other.json"}]})");
  const Ablation ablation = load_ablation("a.json", kind());
  CHECK(ablation.seeds == std::vector<std::int64_t>{5});
  CHECK(ablation.rows[0].config.at("model").at("depth").as_int() == 9);
  CHECK(ablation.rows[1].config.at("model").at("depth").as_int() == 4);
  CHECK(ablation.rows[1].config.at("mode").as_string() == "other");
  // An experiment written inside may extend a file too.
  write("a.json", R"({"base": {"extends": "other.json", "model": {"depth": 3}}, "seeds": [0]})");
  const schema::Value config = load_ablation("a.json", kind()).rows[0].config;
  CHECK(config.at("mode").as_string() == "other");
  CHECK(config.at("model").at("depth").as_int() == 3);
}

TEST_CASE("ablation: the command line overrides rows and seeds", "[experiment]") {
  const Folder folder("override");
  write("a.json", R"({"base": {}, "rows": [{"name": "x", "set": {"train.epochs": 5}}]})");
  const Ablation ablation = load_ablation("a.json", kind(), {{"train.epochs=2"}, {7, 8}});
  CHECK(ablation.rows[0].config.at("train").at("epochs").as_int() == 2);
  CHECK(ablation.seeds == std::vector<std::int64_t>{7, 8});
  CHECK(ablation.rows[0].config.at("seed").as_int() == 7);
}

TEST_CASE("ablation: with folds every row has a run for each, with one seed", "[experiment]") {
  const Folder folder("folds");
  write("a.json", R"({"base": {}, "folds": 3, "rows": [{"name": "x"},
                      {"name": "y", "set": {"model.depth": 2}}]})");
  const Ablation ablation = load_ablation("a.json", kind());
  CHECK(ablation.folds == 3);
  CHECK(ablation.seeds == std::vector<std::int64_t>{0});
  REQUIRE(ablation.jobs.size() == 6);
  const Job& job = ablation.jobs[3];  // fold by fold
  CHECK(job.row == 1);
  CHECK(job.fold == 1);
  CHECK(job.repeat() == 1);
  CHECK(job.config.at("fold").as_string() == "1/3");
  CHECK(job.id == "y-s0-f1-" + job.hash.substr(0, 8));
  CHECK(job.hash == schema::content_hash(identity(kind(), job.config)));
  CHECK(job.hash != ablation.jobs[1].hash);
  CHECK(ablation.rows[0].config.at("fold").as_string().empty());

  CHECK(load_ablation("a.json", kind(), {{}, {7}, 5}).jobs.size() == 10);
  CHECK(load_ablation("a.json", kind(), {{}, {7}, 5}).jobs[0].seed == 7);
  // Columns of test are those of val, unless the file was written for folds.
  const auto column = [](const std::string& folds) {
    write("b.json", R"({"base": {}, "metrics": ["test_top1"])" + folds + "}");
    return load_ablation("b.json", kind(), {{}, {}, 3}).metrics[0];
  };
  CHECK(column("") == "val_top1");
  CHECK(column(R"(, "folds": 5)") == "test_top1");
  CHECK(complaint([] {
          load_ablation("a.json", kind(), {{}, {0, 1}, 0});
        }) ==
        "--seeds: 2 seeds with 3 folds; every row is trained once for each fold, expected one "
        "seed, e.g. --seeds 0");
  CHECK(complaint_about(R"({"base": {}, "seeds": [0, 1], "folds": 3})") ==
        "a.json:1:23: seeds: 2 seeds with 3 folds; every row is trained once for each fold, "
        "expected one seed, e.g. --seeds 0");
  CHECK(complaint_about(R"({"base": {}, "seeds": [0, 1]})", {{}, {0}, 3}) == "(accepted)");
  CHECK_THAT(complaint_about(R"({"base": {}, "folds": 1})"),
             Catch::Contains("a.json:1:23: folds") && Catch::Contains("expected integer >= 2"));
  // One line, however many rows give a fold.
  CHECK(complaint_about(R"({"base": {}, "folds": 3, "axes": {"fold": ["0/3", "1/3"]}})") ==
        R"(fold: is given (rows "fold=0/3", "fold=1/3"))");
}

TEST_CASE("ablation: threads and names do not make another run, settings do", "[experiment]") {
  const Folder folder("identity");
  const auto hash = [](const std::string& base) {
    write("a.json", R"({"base": )" + base + R"(, "seeds": [0]})");
    return load_ablation("a.json", kind()).jobs[0].hash;
  };
  const std::string plain = hash("{}");
  CHECK(hash(R"({"train": {"threads": 8}})") == plain);
  CHECK(hash(R"({"name": "another"})") == plain);
  CHECK(hash(R"({"train": {"epochs": 8}})") != plain);
}

TEST_CASE("ablation: mistakes are named with file, line and column", "[experiment]") {
  const Folder folder("bad");
  write("base.json", "{}");
  write("../paper/published.json", kPublished);
  CHECK(
      complaint_about(R"({"base": "base.json", "row": []})") ==
      R"(a.json:1:23: row: unknown key; did you mean "rows"? (known: name, base, set, rows, axes, )"
      "seeds, folds, metrics, detect, equivalent, published, differs)");
  CHECK(complaint_about(R"({"base": "base.json", "rows": [{"name": "x", "sets": {}}]})") ==
        R"(a.json:1:46: rows.0.sets: unknown key; did you mean "set"? (known: name, extends, set, )"
        "published, differs)");
  CHECK(complaint_about(R"({"base": "bose.json"})") == "a.json:1:10: base: bose.json: not found");
  CHECK(complaint_about(R"({"base": "../../secret.json"})") ==
        R"(a.json:1:10: base: "../../secret.json" leaves the folder above that of the ablation, )"
        "expected a file inside it");
  CHECK(complaint_about(R"({"base": "/etc/passwd"})") ==
        R"(a.json:1:10: base: expected a path relative to this file, got "/etc/passwd" (string))");
  CHECK(complaint_about("{}") ==
        R"(a.json:1:1: missing key "base", expected the name of an experiment file)");
  CHECK(complaint_about(R"({"rows": [{"name": "x"}]})") ==
        R"(a.json:1:20: rows.0: no experiment to start from; give the ablation "base", or the row )"
        R"("extends")");
  CHECK(complaint_about(R"({"base": {}, "axes": {"model.depth": 3}})") ==
        "a.json:1:38: axes.model.depth: expected array of at least one value, got 3 (integer)");
  CHECK(complaint_about(R"({"base": {}, "axes": {"model.depth": []}})") ==
        "a.json:1:38: axes.model.depth: expected array of at least one value, got an empty one");
  CHECK(complaint_about(R"({"base": {}, "axes": {"seed": [1]}})") ==
        R"(a.json:1:23: axes: the seed cannot be set here; use the key "seeds" of the ablation)");
  CHECK(complaint_about(R"({"base": {}, "seeds": [1, 1]})") ==
        "a.json:1:27: seeds: 1 is given twice");
  CHECK(complaint_about(R"({"base": {}, "seeds": [1.5]})") ==
        "a.json:1:24: seeds: expected integer >= 0, got 1.5 (number)");
  CHECK(complaint_about(R"({"base": {}, "rows": [{"name": "x"}, {"name": "x"}]})") ==
        R"(a.json:1:47: rows.1.name: two rows are called "x")");
  CHECK(
      complaint_about(R"({"base": {}, "published": "../x"})") ==
      R"(a.json:1:27: published: expected the key of a paper such as "dgsa", got "../x" (string))");
  CHECK(complaint_about(R"({"base": {}, "published": "no_paper"})") ==
        "a.json:1:27: published: ../no_paper/published.json: not found");
}

TEST_CASE("ablation: a setting an experiment does not have is named with its row", "[experiment]") {
  const Folder folder("setting");
  CHECK(complaint_about(R"({"base": {}, "rows": [
  {"name": "good"},
  {"name": "bad one", "set": {"model.dept": 3}}]})") ==
        R"(a.json:3:45: model.dept: unknown key; did you mean "depth"? (known: depth, num_heads) )"
        R"((row "bad one"))");
  CHECK(complaint_about(R"({"base": {}, "axes": {"model.depth": [1, 0]}})") ==
        R"(a.json:1:42: model.depth: expected integer >= 1, got 0 (integer) (row "depth=0"))");
  CHECK(complaint_about(R"({"base": {}})", {{"model.dept=1"}, {}}) ==
        R"(--set model.dept=1: unknown key model.dept; did you mean model.depth? (row "a"))");
  CHECK(complaint_about(R"({"base": {}, "rows": [{"name": "x"}, {"name": "y"}]})") ==
        R"(a.json: rows "x" and "y" have the same configuration)");
  CHECK(complaint_about(R"({"base": {}})", {{}, {1, 1}}) ==
        "--seeds: 1 is given twice; expected different integers >= 0");
}

TEST_CASE("ablation: published numbers that do not exist are refused", "[experiment]") {
  const Folder folder("published");
  write("../paper/published.json", kPublished);
  const auto with = [](const std::string& published, const std::string& key = "\"paper\"") {
    return complaint_about(R"({"base": {}, "published": )" + key +
                           R"(, "rows": [{"name": "x", "published": )" + published + "}]}");
  };
  CHECK(with(R"({"table": "Table 7", "row": "deep", "columns": {"m": "A"}})") ==
        R"(a.json:1:82: published.table: ../paper/published.json has no table "Table 7"; did you )"
        R"(mean "Table 1"? (known: Table 1, Table 5))");
  CHECK(with(R"({"table": "Table 1", "row": "dep", "columns": {"m": "A"}})") ==
        R"(a.json:1:100: published.row: Table 1 has no row "dep"; did you mean "deep"? )"
        "(known: deep)");
  CHECK(
      with(R"({"table": "Table 1", "row": "deep", "columns": {"m": "C"}})") ==
      R"(a.json:1:125: published.column: Table 1, row "deep" has no column "C"; did you mean "A"? )"
      "(known: A, B)");
  CHECK(with(R"({"table": "Table 1", "row": "deep", "columns": {"m": "A"}})", "null") ==
        R"(a.json:1:79: rows.0.published: which paper is meant: the ablation has no key )"
        R"("published", expected one such as "dgsa")");
}

TEST_CASE("ablation: rows are found by name or slug", "[experiment]") {
  Ablation ablation;
  ablation.rows.resize(2);
  ablation.rows[0].name = "DGViT x4";
  ablation.rows[0].slug = slug_of("DGViT x4");
  ablation.rows[1].name = "ViT";
  ablation.rows[1].slug = slug_of("ViT");
  CHECK(find_rows(ablation, {"ViT", "dgvit-x4", "vit"}) == std::vector<std::size_t>{0, 1});
  CHECK(find_rows(ablation, {}).empty());
  CHECK(
      complaint([&] { find_rows(ablation, {"dgvit-x3"}); }) ==
      R"(--only dgvit-x3: no row called so; did you mean "dgvit-x4"?; run with --list to see all)");
  CHECK(slug_of("  λ = 0.8 (paper) ") == "0-8-paper");
  CHECK(slug_of("λ") == "row");
}

TEST_CASE("ablation: differences to detect and margins, of the file and of the command line",
          "[experiment]") {
  const Folder folder("margins");
  write("a.json", R"({"base": {}, "detect": {"test_top1": 0.5, "test_loss": 2},
                      "equivalent": {"test_top1": 1}})");
  const Ablation ablation = load_ablation("a.json", kind(), {.detect = {"test_top1=0.25"}});
  CHECK(ablation.detect == std::map<std::string, double>{{"test_loss", 2}, {"test_top1", 0.25}});
  CHECK(ablation.equivalent == std::map<std::string, double>{{"test_top1", 1}});
  CHECK(complaint_about(R"({"base": {}, "detect": {"test_top1": 0}})") ==
        "a.json:1:38: detect.test_top1: expected number > 0, got 0 (integer)");
  for (const char* text : {"top1", "=1", "test_top1=", "test_top1=-1", "test_top1=1%"}) {
    INFO(text);
    CHECK(complaint_about(R"({"base": {}})", {.equivalent = {text}}) ==
          "--equivalent: expected COLUMN=NUMBER with a number above 0, such as test_top1=0.5, got "
          "\"" +
              std::string(text) + "\"");
  }
}
