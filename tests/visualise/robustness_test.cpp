#include "visualise/robustness.h"

#include <catch2/catch.hpp>

#include <unistd.h>

#include "base/error.h"
#include "base/file.h"

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
  // A run's results as eval writes them.
  std::filesystem::path run(const std::string& id, const std::string& content) const {
    io::make_directories(path / id / "eval/test");
    io::write_atomic(path / id / "eval/test/results.json", content);
    return path / id;
  }
  std::filesystem::path path;
};

std::string results(const std::string& name, double clean, double low, double high) {
  const auto text = [](double value) { return std::to_string(value); };
  return "{\"name\": \"" + name + "\", \"metrics\": {\"top1\": " + text(clean) +
         "}, \"corruption\": {\"top1\": {\"insert\": {\"0.1\": " + text(low) +
         ", \"0.5\": " + text(high) + ", \"mean\": 0.0}, \"delete\": {\"0.1\": " + text(low) +
         ", \"0.5\": " + text(low) + ", \"mean\": 0.0}}}}";
}

}  // namespace

TEST_CASE("robustness: runs of one name are seeds, others are rows", "[visualise]") {
  const Folder folder;
  const auto a = folder.run("a", results("DGT", 80, 70, 50));
  const auto b = folder.run("b", results("DGT", 82, 72, 52));
  const auto c = folder.run("c", results("Transformer", 75, 60, 30));
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
  CHECK(r.rows[1].clean.std == 0);

  const auto table = robustness_table(r);
  REQUIRE(table.size() == 3);
  CHECK(table[0] ==
        std::vector<std::string>{"top-1 in %", "clean", "insert", "delete", "mean", "retention"});
  CHECK(table[2] ==
        std::vector<std::string>{"Transformer", "75.00", "45.00", "60.00", "52.50", "0.700"});
  CHECK_THAT(robustness_csv(r), Catch::Contains("\"Transformer\",insert,0.5,30,0,1\n"));
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

TEST_CASE("robustness: runs without fitting scores are refused", "[visualise]") {
  const Folder folder;
  const auto a = folder.run("a", results("a", 80, 70, 50));
  const auto refuses = [&](const std::filesystem::path& other, const std::string& message) {
    CHECK_THROWS_WITH(read_robustness({a, other}, "test"), Catch::Contains(message));
  };
  refuses(folder.path / "none", "run: eval");
  refuses(folder.run("b", "{\"metrics\": {\"top1\": 1.0}}"), "no scores under noise");
  refuses(folder.run("c", "{\"metrics\": "), "damaged");
  refuses(folder.run("d",
                     "{\"name\": \"d\", \"metrics\": {\"top1\": 1.0}, \"corruption\": "
                     "{\"top1\": {\"mask\": {\"0.1\": 1.0}}}}"),
          "other types or levels");
}
