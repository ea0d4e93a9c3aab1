// A complete task, as docs/adding-a-task.md describes it: which way an image of a class points, as
// a point on the unit circle. In src/training/ it would be one file, one line in tasks.def and one
// experiment file.
#include <catch2/catch.hpp>

#include <cmath>
#include <numbers>

#include "autograd/mode.h"
#include "metrics/classification.h"
#include "ops/elementwise.h"
#include "ops/reduce.h"
#include "ops/shape.h"
#include "training/store/weights.h"
#include "training/tasks/task_registry.h"

namespace {

using namespace fovea;

constexpr double kRightAngle = std::numbers::pi / 2;

constexpr training::TaskInfo kInfo{
    .help = "the angle of an image whose class is a quarter turn (toy)",
    .data = data::Kind::kImages,
    .network = models::Interface::kImageClassifier,
    .gives = "angles",
    .loss = ""};  // its own: the squared distance

// The mean over the samples of how far the network's angle is away.
const metrics::MetricInfo kAngleError{.name = "angle_error_deg",
                                      .unit = "deg",
                                      .larger_is_better = false,
                                      .decimals = 1,
                                      .per_sample = true};

// (b) labels -> (b, 2) cosine and sine.
Tensor points_of(const Tensor& labels) {
  const Tensor angle = ops::affine(ops::cast(labels, DType::kFloat32), kRightAngle, 0);
  const Tensor column = ops::reshape(angle, {labels.size(0), 1});
  return ops::concat({ops::cos(column), ops::sin(column)}, 1);
}

class ToyAngle final : public training::Task {
 public:
  ToyAngle(models::Model& model, std::shared_ptr<training::BatchSource> source,
           const schema::Component&)
      : Task(model, std::move(source), {"label"}) {}

  static std::vector<metrics::MetricInfo> metrics_of(const models::DataShape&) {
    return {metrics::kLoss, kAngleError};
  }
  static data::Batch random_batch(const models::DataShape& shape, std::int64_t size,
                                  const Device& device) {
    const std::vector<std::int64_t> quarters(static_cast<std::size_t>(size), 1);
    return training::batch_of({{"image", training::random_images(shape, size, device)},
                               {"label", Tensor::from(quarters, {size}, device)}});
  }

  Tensor loss_of(const models::Outputs& output, const data::Batch& batch) const override {
    return ops::mean(ops::square(ops::sub(output.logits, points_of(batch.at("label")))));
  }
  std::vector<metrics::MetricInfo> metrics() const override { return metrics_of({}); }
  metrics::MetricInfo monitor() const override { return kAngleError; }
  training::Metrics measure(data::Split split,
                            const std::optional<training::NoiseLevel>& noise) override {
    return evaluate_in_full(split, noise).metrics;
  }
  training::Report report(const training::ReportRequest& request) override {
    training::Report report = evaluate_in_full(request.split, {});
    report.tables = {
        {"angles", {{"index", report.indices}, {"error", report.metrics[1].per_sample}}}};
    report.lines = {"every class is a quarter turn"};
    report.details.set("turns", 4);
    return report;
  }

 private:
  training::Report evaluate_in_full(data::Split split,
                                    const std::optional<training::NoiseLevel>& noise) {
    const autograd::NoGrad no_grad;
    metrics::RunningMean loss, mean;
    std::vector<std::int64_t> indices;
    std::vector<double> errors;
    for_each_batch(split, noise, [&](const data::Batch& batch, const models::Outputs& output) {
      const auto size = static_cast<double>(batch.indices.size());
      loss.add(training::scalar_of(loss_of(output, batch)), size);
      const auto labels = batch.at("label").host_values<std::int64_t>();
      const auto points = output.logits.host_values<float>();
      for (std::size_t i = 0; i < labels.size(); ++i) {
        const double given = std::atan2(points[2 * i + 1], points[2 * i]);
        const double turn = given - kRightAngle * static_cast<double>(labels[i]);
        errors.push_back(std::abs(std::remainder(turn, 4 * kRightAngle)) * 90 / kRightAngle);
        mean.add(errors.back());
      }
      indices.insert(indices.end(), batch.indices.begin(), batch.indices.end());
    });
    const auto order = training::ascending(indices);
    training::Report report;
    report.indices = training::reordered(indices, order);
    report.metrics = {{metrics::kLoss, loss.value(), {}},
                      {kAngleError, mean.value(), training::reordered(errors, order)}};
    return report;
  }
};

}  // namespace

FOVEA_TASK(toy_angle, ToyAngle, kInfo)

// All below is the test; tasks are there before the first experiment is read.
#include "base/error.h"
#include "base/file.h"
#include "experiment/costs/profile.h"
#include "experiment/inference/evaluation.h"
#include "experiment/run/preflight.h"
#include "experiment/tables/results.h"
#include "schema/json/parse.h"
#include "tests/experiment/fixture.h"
#include "tests/support/paths.h"
#include "tests/support/tensors.h"

namespace {

#define FOVEA_ENTRY(name) training::tasks().add(fovea_task_##name());
const bool kRegistered = [] {
#include "tests/experiment/toy_tasks.def"
  return true;
}();
#undef FOVEA_ENTRY

schema::Value toy(const std::vector<std::string>& overrides = {}) {
  const auto path = test::source_dir() + "/tests/experiment/toy_angle.json";
  return experiment::resolve(experiment::load_unresolved(path, overrides));
}

struct Listener final : experiment::EvalObserver {
  std::vector<std::string> lines;
  std::vector<experiment::NoiseScore> scores;
  void reported(const training::Report& report, const std::vector<std::string>&) override {
    lines = report.lines;
  }
  void scored(const experiment::NoiseScore& score) override { scores.push_back(score); }
};

}  // namespace

TEST_CASE("toy task: trains, selects by its metric, evaluates and reports", "[experiment]") {
  REQUIRE(kRegistered);
  const experiment::test::Folder folder("toy-task");
  experiment::RunOptions options;
  options.folder = "run";
  options.threads = 1;
  experiment::Run run(toy(), options);
  const schema::Value summary = run.train();
  const schema::Value& test = summary.at("metrics").at("test");
  CHECK(test.at("angle_error_deg").as_double() < 70);  // chance: 90
  CHECK(summary.at("best").at("metric").as_string() == "angle_error_deg");

  std::vector<experiment::Opened> all;
  all.push_back(experiment::open_run({.folder = "run", .threads = 1}));
  const experiment::Opened& opened = all.front();
  experiment::EvalRequest request;
  request.runs = {"run"};
  request.report = {data::Split::kTest, "eval", "toy", {}, 0};
  request.noise = experiment::noise_grid(opened.run->task().source(), {"gaussian"}, {0.1, 0.3});
  io::make_directories("eval");
  Listener listener;
  const schema::Value result = experiment::evaluate(all, request, listener);
  CHECK(result.at("metrics") == test);
  CHECK(result.at("turns").as_int() == 4);
  CHECK(listener.lines == std::vector<std::string>{"every class is a quarter turn"});
  CHECK(listener.scores.size() == 2);
  CHECK(result.at("noise").size() == 4);  // two metrics at two levels
  CHECK(result.at("robustness").at("metric").as_string() == "angle_error_deg");
  CHECK(result.at("cases").at("angle_error_deg").size() == 24);
  CHECK(io::read_text("eval/angles.csv").starts_with("index,error\n0,"));
  CHECK(io::read_text("eval/cases.csv").starts_with("index,name,angle_error_deg\n0,"));
  request.report.save = {"angels"};
  CHECK_THROWS_WITH(experiment::evaluate(all, request, listener),
                    Catch::Contains("a network that gives angles has nothing of that name"));
}

TEST_CASE("toy task: bench, profile and preflight build its step as any other's", "[experiment]") {
  const auto e = experiment::parse(toy());
  const auto profile = experiment::profile_step(e, test::cpu());
  CHECK(profile.peak_bytes > profile.parameter_bytes);
  experiment::OpenData data;
  const experiment::Preflight found = experiment::look_ahead(toy(), data);
  CHECK(found.problems.empty());
  CHECK(found.columns == std::vector<std::string>{"val_loss", "val_angle_error_deg", "test_loss",
                                                  "test_angle_error_deg"});
  CHECK(found.peak_bytes > 0);
}

TEST_CASE("toy task: what it is about decides what fits it", "[experiment]") {
  CHECK(toy().at("loss").is_null());
  CHECK_THROWS_WITH(toy({"loss.type=cross_entropy"}),
                    Catch::Contains("toy_angle has a loss of its own; remove this one"));
  CHECK_THROWS_WITH(toy({"task=toy_angel"}), Catch::Contains("toy_angle"));
  const auto known = experiment::columns_of(experiment::metrics_of(experiment::parse(toy())));
  CHECK(known[1].name == "test_angle_error_deg");
  CHECK_FALSE(known[1].info.larger_is_better);
}
