#include "experiment/inference/eval_results.h"

#include <catch2/catch.hpp>

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>

#include "backend/devices.h"
#include "base/file.h"
#include "metrics/classification.h"
#include "nn/linear.h"
#include "schema/json/parse.h"

using namespace fovea;
using experiment::EvalSubject;
using experiment::NoiseScore;
using schema::Value;

namespace {

struct Folder {
  Folder()
      : path(io::fs::temp_directory_path() / ("fovea_eval_results_" + std::to_string(::getpid()))) {
    io::fs::remove_all(path);
    io::make_directories(path);
  }
  ~Folder() { io::fs::remove_all(path); }
  Value read(const std::string& name = "results.json") const {
    return schema::parse(io::read_text(path / name), name);
  }
  std::vector<std::string> others() const {
    std::vector<std::string> names;
    for (const auto& entry : io::fs::directory_iterator(path)) {
      if (entry.path().filename() != "results.json")
        names.push_back(entry.path().filename().string());
    }
    return names;
  }
  io::fs::path path;
};

const metrics::MetricInfo kTop1 = metrics::kTop1;

Value clean(double top1, std::int64_t samples = 10, const std::string& split = "test") {
  return Value::object({{"name", "run"},
                        {"dataset", "digits"},
                        {"split", split},
                        {"samples", samples},
                        {"metrics", Value::object({{"top1", top1}, {"loss", 1.0}})}});
}

const EvalSubject kBest{"aaaa", {}};
const EvalSubject kLast{"bbbb", {}};

Value write_results(const Folder& folder, const Value& fresh, const EvalSubject& subject,
                    const std::vector<NoiseScore>& noise = {}) {
  return experiment::write_eval_results(folder.path, fresh, noise, kTop1, subject);
}

// "blur 0.1 60" of every score.
std::vector<std::string> lines_of(const Value& results) {
  std::vector<std::string> lines;
  for (const Value& score : results.at("noise").items()) {
    lines.push_back(fmt::format("{} {} {} {}", score.at("metric").as_string(),
                                score.at("type").as_string(), score.at("level").as_double(),
                                score.at("value").dump(0)));
  }
  return lines;
}

}  // namespace

TEST_CASE("eval results: a clean call keeps the noise scores of the same weights", "[experiment]") {
  const Folder folder;
  write_results(folder, clean(80), kBest,
                {{"top1", "blur", 0.1, 60}, {"top1", "blur", 0.2, 40}, {"loss", "blur", 0.2, 3}});
  const Value result = write_results(folder, clean(80), kBest);
  CHECK(result == folder.read());
  CHECK(lines_of(result) ==
        std::vector<std::string>{"top1 blur 0.1 60.0", "top1 blur 0.2 40.0", "loss blur 0.2 3.0"});
  const Value& robustness = result.at("robustness");
  CHECK(robustness.at("metric").as_string() == "top1");
  CHECK(robustness.at("by_type").at("blur").as_double() == 50);
  CHECK(robustness.at("mean").as_double() == 50);
  CHECK(robustness.at("retention").as_double() == Approx(50.0 / 80));
  CHECK(folder.others().empty());
}

TEST_CASE("eval results: conditions are merged by metric, type and level", "[experiment]") {
  const Folder folder;
  write_results(folder, clean(80), kBest, {{"top1", "blur", 0.1, 60}, {"top1", "shot", 0.1, 10}});
  const Value result = write_results(folder, clean(80), kBest,
                                     {{"top1", "blur", 0.05, 70}, {"top1", "blur", 0.1, 50}});
  // The new one at 0.1; types as they came, levels in order.
  CHECK(lines_of(result) == std::vector<std::string>{"top1 blur 0.05 70.0", "top1 blur 0.1 50.0",
                                                     "top1 shot 0.1 10.0"});
  CHECK(result.at("robustness").at("by_type").at("blur").as_double() == 60);
  CHECK(result.at("robustness").at("mean").as_double() == 35);
  // NaN is kept as JSON can.
  const Value with_nan =
      write_results(folder, clean(80), kBest, {{"top1", "shot", 0.1, std::nan("")}});
  CHECK(lines_of(with_nan).back() == "top1 shot 0.1 null");
  CHECK(with_nan.at("robustness").at("mean").is_null());
}

TEST_CASE("eval results: scores of other weights are not mixed and not lost", "[experiment]") {
  const Folder folder;
  write_results(folder, clean(80), kBest, {{"top1", "blur", 0.1, 60}});
  const Value last = write_results(folder, clean(70), kLast);
  CHECK(last.find("noise") == nullptr);
  REQUIRE(folder.others().size() == 1);
  CHECK(folder.read(folder.others()[0]).at("robustness").at("mean").as_double() == 60);
  const Value best = write_results(folder, clean(80), kBest);
  CHECK(best.at("robustness").at("mean").as_double() == 60);
  REQUIRE(folder.others().size() == 1);  // now that of the last weights
  CHECK(folder.read(folder.others()[0]).at("metrics").at("top1").as_double() == 70);
  // Other samples, settings or parts of the data are another subject, too.
  CHECK(write_results(folder, clean(80, 5), kBest).find("noise") == nullptr);
  CHECK(write_results(folder, clean(80), {"aaaa", {"dataset.limit=3"}}).find("noise") == nullptr);
  CHECK(write_results(folder, clean(80, 10, "val"), kBest).find("noise") == nullptr);
}

TEST_CASE("eval results: a file without subject or cut short is moved away", "[experiment]") {
  const Folder folder;
  for (const char* text : {R"({"noise": [{"metric": "top1"}]})", "{\"nois"}) {
    io::write_atomic(folder.path / "results.json", text);
    CHECK(write_results(folder, clean(80), kBest).find("noise") == nullptr);
    CHECK(io::read_text(folder.path / "results-unknown.json") == text);
    io::fs::remove(folder.path / "results.json");
  }
}

TEST_CASE("eval results: values of the samples are found by metric", "[experiment]") {
  const Folder folder;
  Value fresh = clean(50, 2);
  fresh.set("cases",
            Value::object({{"index", Value::array({3, 8})}, {"top1", Value::array({0.0, 100.0})}}));
  write_results(folder, fresh, kBest);
  const auto cases = experiment::read_case_scores(folder.path, "top1");
  REQUIRE(cases);
  CHECK(cases->indices == std::vector<std::int64_t>{3, 8});
  CHECK(cases->values == std::vector<double>{0, 100});
  CHECK(cases->value == 50);
  CHECK_FALSE(experiment::read_case_scores(folder.path, "loss"));
  CHECK_FALSE(experiment::read_case_scores(folder.path / "none", "top1"));
}

TEST_CASE("weights_hash: any changed value changes it", "[experiment]") {
  const Device cpu = make_cpu(1);
  const nn::Build build{cpu, DType::kFloat32, RandomStream(1), nn::Init::kTorch};
  nn::Linear a(build, 3, 2), b(build, 3, 2);
  CHECK(experiment::weights_hash(a) == experiment::weights_hash(b));
  b.bias().data<float>()[1] += 1e-6f;
  CHECK(experiment::weights_hash(a) != experiment::weights_hash(b));
}
