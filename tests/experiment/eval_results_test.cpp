#include "experiment/eval_results.h"

#include <catch2/catch.hpp>

#include <unistd.h>

#include <cmath>

#include "backend/devices.h"
#include "base/file.h"
#include "nn/linear.h"
#include "schema/parse.h"

using namespace fovea;
using experiment::EvalSubject;
using experiment::write_eval_results;
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

Value clean(double top1, std::int64_t samples = 10) {
  return Value::object({{"name", "run"},
                        {"samples", samples},
                        {"metrics", Value::object({{"top1", top1}, {"loss", 1.0}})}});
}

Value noisy(double top1, const std::string& types) {
  Value result = clean(top1);
  result.set("corruption", schema::parse("{\"top1\": " + types + "}", "types"));
  return result;
}

const EvalSubject kBest{"aaaa", {}};
const EvalSubject kLast{"bbbb", {}};

}  // namespace

TEST_CASE("eval results: a clean call keeps the noise scores of the same weights", "[experiment]") {
  const Folder folder;
  write_eval_results(folder.path, noisy(80, "{\"blur\": {\"0.1\": 60.0, \"0.2\": 40.0}}"), kBest);
  const Value result = write_eval_results(folder.path, clean(80), kBest);
  CHECK(result == folder.read());
  const Value& corruption = result.at("corruption");
  CHECK(corruption.at("top1").at("blur").at("0.2").as_double() == 40);
  CHECK(corruption.at("top1").at("blur").at("mean").as_double() == 50);
  CHECK(corruption.at("mean_top1").as_double() == 50);
  CHECK(corruption.at("retention").as_double() == Approx(50.0 / 80));
  CHECK(folder.others().empty());
}

TEST_CASE("eval results: conditions are merged by metric, type and level", "[experiment]") {
  const Folder folder;
  write_eval_results(
      folder.path,
      noisy(80, "{\"blur\": {\"0.1\": 60.0, \"mean\": 60.0}, \"shot\": {\"0.1\": 10.0}}"), kBest);
  const Value result = write_eval_results(
      folder.path, noisy(80, "{\"blur\": {\"0.05\": 70.0, \"0.1\": 50.0}}"), kBest);
  const Value& top1 = result.at("corruption").at("top1");
  CHECK(top1.at("blur").at("0.1").as_double() == 50);  // the new one
  CHECK(top1.at("blur").members()[0].key == "0.05");   // in order
  CHECK(top1.at("blur").at("mean").as_double() == 60);
  CHECK(top1.at("shot").at("0.1").as_double() == 10);
  CHECK(result.at("corruption").at("mean_top1").as_double() == 35);
  // NaN is kept as JSON can.
  Value broken = clean(80);
  Value levels = Value::object();
  levels.set("0.1", Value());
  broken.set("corruption", Value::object({{"top1", Value::object({{"shot", levels}})}}));
  const Value with_nan = write_eval_results(folder.path, broken, kBest);
  CHECK(with_nan.at("corruption").at("top1").at("shot").at("0.1").is_null());
  CHECK(with_nan.at("corruption").at("mean_top1").is_null());
}

TEST_CASE("eval results: scores of other weights are not mixed and not lost", "[experiment]") {
  const Folder folder;
  write_eval_results(folder.path, noisy(80, "{\"blur\": {\"0.1\": 60.0}}"), kBest);
  const Value last = write_eval_results(folder.path, clean(70), kLast);
  CHECK(last.find("corruption") == nullptr);
  REQUIRE(folder.others().size() == 1);
  CHECK(folder.read(folder.others()[0]).at("corruption").at("mean_top1").as_double() == 60);
  const Value best = write_eval_results(folder.path, clean(80), kBest);
  CHECK(best.at("corruption").at("mean_top1").as_double() == 60);
  REQUIRE(folder.others().size() == 1);  // now that of the last weights
  CHECK(folder.read(folder.others()[0]).at("metrics").at("top1").as_double() == 70);
  // Other samples or settings are another subject, too.
  CHECK(write_eval_results(folder.path, clean(80, 5), kBest).find("corruption") == nullptr);
  CHECK(write_eval_results(folder.path, clean(80), {"aaaa", {"dataset.limit=3"}})
            .find("corruption") == nullptr);
}

TEST_CASE("eval results: a file without subject or cut short is moved away", "[experiment]") {
  const Folder folder;
  for (const char* text : {"{\"corruption\": {\"top1\": {\"blur\": {\"0.1\": 1.0}}}}", "{\"corr"}) {
    io::write_atomic(folder.path / "results.json", text);
    CHECK(write_eval_results(folder.path, clean(80), kBest).find("corruption") == nullptr);
    CHECK(io::read_text(folder.path / "results-unknown.json") == text);
    io::fs::remove(folder.path / "results.json");
  }
}

TEST_CASE("weights_hash: any changed value changes it", "[experiment]") {
  const Device cpu = make_cpu(1);
  const nn::Build build{cpu, DType::kFloat32, RandomStream(1), nn::Init::kTorch};
  nn::Linear a(build, 3, 2), b(build, 3, 2);
  CHECK(experiment::weights_hash(a) == experiment::weights_hash(b));
  b.bias().data<float>()[1] += 1e-6f;
  CHECK(experiment::weights_hash(a) != experiment::weights_hash(b));
}
