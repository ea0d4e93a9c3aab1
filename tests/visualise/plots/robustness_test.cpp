#include "visualise/plots/robustness.h"

#include <catch2/catch.hpp>

#include <fmt/format.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "schema/json/parse.h"

using namespace fovea;
using namespace fovea::visualise;

namespace {

struct Folder {
  Folder()
      : path(std::filesystem::temp_directory_path() /
             ("fovea_robustness_" + std::to_string(::getpid()))) {
    std::filesystem::remove_all(path);
  }
  ~Folder() { std::filesystem::remove_all(path); }
  // A run with its configuration, and its results as eval writes them.
  ScoredRun run(const std::string& id, const std::string& config,
                const std::string& content) const {
    io::make_directories(path / id / "eval/test");
    io::write_atomic(path / id / "eval/test/results.json", content);
    ScoredRun run{path / id, schema::parse(config, "config.json"), {}};
    run.settings = run.config;
    run.settings.erase("train");
    return run;
  }
  std::filesystem::path path;
};

std::string noise(const std::string& metric, const std::string& type, double level, double value) {
  return fmt::format(R"({{"metric": "{}", "type": "{}", "level": {}, "value": {}}})", metric, type,
                     level, value);
}

// What eval writes: scores under noise, and which metric the means are of.
std::string results_of(double clean, const std::string& metric, const std::string& checkpoint,
                       const std::string& noise, const std::string& types) {
  return fmt::format(
      R"({{"checkpoint": "{}", "samples": 10, "metrics": {{"{}": {}}}, "noise": [{}],
          "robustness": {{"metric": "{}", "unit": "%", "decimals": 2, "larger_is_better": true,
                          "by_type": {{{}}}, "mean": 0.0, "retention": 0.0}}}})",
      checkpoint, metric, clean, noise, metric, types);
}

std::string results(double clean, double low, double high, const std::string& metric = "top1",
                    const std::string& checkpoint = "last") {
  return results_of(clean, metric, checkpoint,
                    noise(metric, "insert", 0.1, low) + ", " + noise(metric, "insert", 0.5, high) +
                        ", " + noise("loss", "insert", 0.5, 7) + ", " +
                        noise(metric, "delete", 0.1, low) + ", " +
                        noise(metric, "delete", 0.5, low),
                    R"("insert": 0.0, "delete": 0.0)");
}

std::string config(const std::string& name, int seed, double lr = 0.1) {
  return "{\"name\": \"" + name + "\", \"seed\": " + std::to_string(seed) +
         ", \"optimizer\": {\"lr\": " + std::to_string(lr) +
         "}, \"train\": {\"threads\": " + std::to_string(seed) + "}}";
}

}  // namespace

TEST_CASE("robustness: runs of one configuration are seeds, others are rows", "[visualise]") {
  const Folder folder;
  const auto a = folder.run("a", config("DGT", 1), results(80, 70, 50));
  const auto b = folder.run("b", config("DGT", 2), results(82, 72, 52));
  const auto c = folder.run("c", config("Transformer", 1), results(75, 60, 30));
  const Robustness r = read_robustness({a, c, b}, "test");
  CHECK(r.types == std::vector<std::string>{"insert", "delete"});
  CHECK(r.levels == std::vector<double>{0.1, 0.5});
  REQUIRE(r.rows.size() == 2);
  CHECK(r.rows[0].name == "DGT");
  CHECK(r.rows[0].clean.mean == Approx(81));
  CHECK(r.rows[0].clean.std == Approx(std::sqrt(2.0)));
  CHECK(r.rows[0].clean.n == 2);
  CHECK(r.rows[0].noisy[0][1].mean == Approx(51));
  CHECK(r.rows[1].mean.mean == Approx((60 + 30 + 60 + 60) / 4.0));
  CHECK(r.rows[1].retention.mean == Approx(52.5 / 75));
  CHECK(std::isnan(r.rows[1].clean.std));

  const auto table = robustness_table(r);
  REQUIRE(table.size() == 3);
  CHECK(table[0] ==
        std::vector<std::string>{"top1 (%)", "clean", "insert", "delete", "mean", "retention"});
  CHECK(table[2] ==
        std::vector<std::string>{"Transformer", "75.00", "45.00", "60.00", "52.50", "0.700"});
  CHECK_THAT(robustness_csv(r), Catch::Contains("\nTransformer,insert,0.5,30,,1\n"));
  const auto plots = robustness_plots(r);
  REQUIRE(plots.size() == 3);
  CHECK(plots[0].series[0].x == std::vector<double>{0, 0.1, 0.5});
  CHECK(plots[0].series[0].band.size() == 3);
  CHECK(plots[2].series[1].y[2] == Approx(45));
  write_robustness(folder.path / "r.png", r);
  CHECK(io::read_text(folder.path / "r.png").substr(1, 3) == "PNG");
  CHECK(io::fs::exists(folder.path / "r.csv"));
  CHECK_THROWS_WITH(write_robustness(folder.path / "r.gif", r), Catch::Contains(".png or .svg"));
}

TEST_CASE("robustness: the spread of a mean is that of the seeds' means", "[visualise]") {
  const Folder folder;
  // One seed is better at one level, the other at the other; their means are equal.
  const auto a = folder.run("a", config("DGT", 1), results(80, 70, 50));
  const auto b = folder.run("b", config("DGT", 2), results(80, 50, 70));
  const Robustness r = read_robustness({a, b}, "test");
  REQUIRE(r.rows.size() == 1);
  CHECK(r.rows[0].by_type[0].mean == Approx(60));
  CHECK(r.rows[0].by_type[0].std == Approx(0).margin(1e-12));
  CHECK(r.rows[0].by_type[1].std == Approx(std::sqrt(200.0)));  // 70 and 50
  CHECK(r.rows[0].by_level[0].std == Approx(std::sqrt(200.0)));
  CHECK(r.rows[0].by_level[1].std == Approx(0).margin(1e-12));  // 50 and 50; 70 and 70 -> 60, 60
  CHECK(robustness_table(r)[1][2] == "60.00 ± 0.00");
}

TEST_CASE("robustness: one name, two configurations: two rows that say what differs",
          "[visualise]") {
  const Folder folder;
  const auto a = folder.run("a", config("DGT", 1, 0.1), results(90, 80, 80));
  const auto b = folder.run("b", config("DGT", 1, 0.2), results(10, 8, 8));
  const auto c = folder.run("c", config("other", 1, 0.2), results(10, 8, 8));
  const Robustness r = read_robustness({a, b, c}, "test");
  REQUIRE(r.rows.size() == 3);
  CHECK(r.rows[0].name == "DGT (optimizer.lr=0.1)");
  CHECK(r.rows[1].name == "DGT (optimizer.lr=0.2)");
  CHECK(r.rows[2].name == "other");
  CHECK(r.rows[0].clean.mean == 90);
  CHECK(r.rows[0].clean.n == 1);
}

TEST_CASE("robustness: runs of segmentation are read by their own metric", "[visualise]") {
  const Folder folder;
  const auto a = folder.run("a", config("unet", 1), results(80, 70, 50, "dsc"));
  const Robustness r = read_robustness({a}, "test");
  CHECK(r.metric.name == "dsc");
  CHECK(robustness_table(r)[0][0] == "dsc (%)");
  CHECK(robustness_table(r)[1][1] == "80.00");
  CHECK_THAT(robustness_csv(r), Catch::Contains("run,type,level,dsc_mean,dsc_std,n\n"));
  CHECK(robustness_plots(r)[0].y_label == "dsc (%)");
  const auto b = folder.run("b", config("vit", 1), results(80, 70, 50));
  CHECK_THROWS_WITH(read_robustness({a, b}, "test"), Catch::Contains("draw them apart"));
}

TEST_CASE("robustness: runs without fitting scores are refused", "[visualise]") {
  const Folder folder;
  const auto a = folder.run("a", config("a", 1), results(80, 70, 50));
  const auto refuses = [&](const ScoredRun& other, const std::string& message) {
    CHECK_THROWS_WITH(read_robustness({a, other}, "test"), Catch::Contains(message));
  };
  const std::string b = config("b", 1);
  refuses({folder.path / "none", a.config, a.settings}, "run: fovea eval");
  refuses(folder.run("b", b, "{\"metrics\": {\"top1\": 1.0}}"), "no scores under noise");
  refuses(folder.run("c", b, "{\"metrics\": "), "cannot be read");
  refuses(folder.run("d", b,
                     results_of(1, "top1", "last", noise("top1", "mask", 0.1, 1), "\"mask\": 1.0")),
          "other types or levels");
  refuses(folder.run(
              "e", b,
              results_of(1, "top1", "last",
                         noise("top1", "insert", 0.1, 1) + ", " + noise("top1", "delete", 0.2, 1),
                         R"("insert": 1.0, "delete": 1.0)")),
          "insert was scored at levels 0.1, delete at 0.2");
  refuses(folder.run("f", b, results_of(1, "top1", "last", "", "")), "no type of noise");
  refuses(a, "name every run once");
  refuses(folder.run("g", config("a", 2), results(80, 70, 50, "top1", "best")),
          "score both in the same way");
}
