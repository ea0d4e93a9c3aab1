#include "training/tasks/classification.h"

#include <catch2/catch.hpp>

#include <atomic>
#include <cmath>

#include "backend/devices.h"
#include "base/error.h"
#include "data/registry.h"
#include "tests/support/tensors.h"
#include "tests/training/toy_task.h"
#include "training/tasks/task_registry.h"

using namespace fovea;
using training::BatchOptions;
using training::BatchSource;
using training::Classification;

namespace {

constexpr const char* kModel =
    R"({"type": "dgvit", "patch_size": 4, "embed_dim": 16, "depth": 1, "drop_rate": 0.1,
        "attention": {"type": "m_dgsa", "num_heads": 2}})";

std::shared_ptr<const data::Dataset> synthetic(data::Split split, const std::string& extra = "") {
  return data::make_dataset(
      test::component(R"({"type": "synthetic", "img_size": 8, "train_size": 44, "test_size": 20)" +
                      extra + "}"),
      split);
}

std::unique_ptr<models::Model> small_model(const Device& device) {
  const nn::Build build{device, DType::kFloat32, RandomStream(1).fork("init"), nn::Init::kTorch};
  return models::make_model(test::component(kModel), build, {3, 8, 8, 4});
}

struct StopAfterSteps final : training::ProgressSink {
  explicit StopAfterSteps(std::int64_t after) : steps(after) {}
  void update(const training::Progress& progress) override {
    if (progress.step == steps) stop = true;
  }
  void message(const std::string&) override {}
  std::int64_t steps;
  std::atomic<bool> stop = false;
};

struct Outcome {
  std::string weights;
  schema::Value metrics;
};

constexpr const char* kMixed =
    ", \"augment\": [\"rand_augment\", {\"type\": \"random_erasing\", \"fill\": \"pixel\"}],"
    " \"aug_repeats\": 3, \"mix\": {\"mixup\": 0.8, \"cutmix\": 1}";

Outcome train(int threads, std::int64_t workers, bool overfit = false, std::int64_t epochs = 2,
              const std::string& extra = "", std::int64_t stop_after = 0,
              training::Sampler sampler = training::Sampler::kShuffle) {
  const test::Folder folder("images");
  const Device device = make_cpu(threads);
  const auto model = small_model(device);
  BatchOptions options;
  options.train.batch_size = 16;
  options.train.num_workers = workers;
  options.train.sampler = sampler;
  options.seed = 7;
  options.host = device;
  options.overfit = overfit;
  const data::Splits splits{synthetic(data::Split::kTrain, extra), nullptr,
                            synthetic(data::Split::kTest)};
  const schema::Component loss =
      test::component(R"({"type": "cross_entropy", "label_smoothing": 0.1})");
  Classification task(*model, std::make_shared<BatchSource>(splits, options), loss);
  training::TrainerSetup trainer = test::toy_setup(folder.path, device);
  trainer.train.epochs = epochs;
  trainer.train.clip_grad = 0;
  trainer.train.ema_decay = 0.9;
  trainer.seed = 7;
  if (stop_after > 0) {
    // Stopped by a signal after some steps, in the middle of an epoch; then another process goes
    // on.
    StopAfterSteps counter{stop_after};
    trainer.stop = &counter.stop;
    trainer.progress = &counter;
    CHECK_THROWS_AS(training::Trainer(task, trainer).run(), Interrupted);
    trainer.stop = nullptr;
    trainer.progress = nullptr;
    trainer.resume = true;
  }
  training::Trainer(task, trainer).run();
  const schema::Value summary =
      schema::parse(io::read_text(folder.path / "summary.json"), "summary");
  return {
      training::hash_bytes(io::read_text(test::in_checkpoint(folder.path, "model.safetensors"))),
      summary.at("metrics")};
}

}  // namespace

TEST_CASE("image classification: same bits for any number of threads and workers", "[training]") {
  const Outcome one = train(1, 0);
  CHECK(one.metrics.at("test").at("top1").as_double() >= 0);
  CHECK(one.metrics.find("train") == nullptr);
  CHECK(train(3, 2).weights == one.weights);
  CHECK(train(2, 1).metrics == one.metrics);
}

TEST_CASE("image classification: mixed and repeated images, stopped and resumed, the same bits",
          "[training]") {
  const Outcome one = train(1, 0, false, 2, kMixed);
  CHECK(one.weights != train(1, 0).weights);
  CHECK(train(3, 2, false, 2, kMixed).weights == one.weights);
  const Outcome resumed = train(2, 1, false, 2, kMixed, 4);
  CHECK(resumed.weights == one.weights);
  CHECK(resumed.metrics == one.metrics);
}

TEST_CASE("image classification: balanced draws, stopped and resumed, the same bits",
          "[training]") {
  const auto balanced = [](int threads, std::int64_t workers, std::int64_t stop_after) {
    return train(threads, workers, false, 2, kMixed, stop_after, training::Sampler::kBalanced);
  };
  const Outcome one = balanced(1, 0, 0);
  CHECK(one.weights != train(1, 0, false, 2, kMixed).weights);
  const Outcome resumed = balanced(3, 2, 4);
  CHECK(resumed.weights == one.weights);
  CHECK(resumed.metrics == one.metrics);
}

TEST_CASE("image classification: a small network learns its own samples by heart", "[training]") {
  const Outcome outcome = train(2, 1, true, 40);
  CHECK(outcome.metrics.at("train").at("top1").as_double() > 60);
}

TEST_CASE("image classification: the parts of the data and the numbers of a split", "[training]") {
  const auto model = small_model(test::cpu());
  const data::Splits splits{synthetic(data::Split::kTrain, ", \"split\": {\"val\": 0.25}"),
                            synthetic(data::Split::kVal, ", \"split\": {\"val\": 0.25}"),
                            synthetic(data::Split::kTest)};
  BatchOptions options;
  options.train.batch_size = 7;
  options.host = test::cpu();
  Classification task(*model, std::make_shared<BatchSource>(splits, options));
  CHECK(task.source().parts() == std::vector{data::Split::kVal, data::Split::kTest});
  CHECK(task.monitor().name == "top1");
  Classification without(*model, std::make_shared<BatchSource>(
                                     data::Splits{splits.train, nullptr, splits.test}, options));
  CHECK_THROWS_WITH(without.measure(data::Split::kVal, {}), Catch::Contains("no split \"val\""));

  model->train(false);
  const Classification::Evaluation evaluation = task.evaluate_in_full(data::Split::kTest);
  CHECK(task.metrics() == metrics::infos_of(evaluation.metrics));
  CHECK(evaluation.confusion.total() == 20);
  CHECK(evaluation.predictions.size() == 20);
  const metrics::Measurement& top1 = evaluation.metrics[1];
  CHECK(top1.info == task.headline());
  CHECK(top1.value == Approx(100 * evaluation.confusion.accuracy()));
  REQUIRE(top1.per_sample.size() == 20);
  std::int64_t correct = 0;
  for (std::size_t i = 0; i < 20; ++i) {
    CHECK(evaluation.predictions.labels[i] == splits.test->label(evaluation.indices[i]));
    const bool right = evaluation.predictions.labels[i] == evaluation.predictions.predictions[i];
    CHECK(top1.per_sample[i] == (right ? 100 : 0));
    correct += right ? 1 : 0;
  }
  CHECK(top1.value == Approx(100.0 * static_cast<double>(correct) / 20));
}

TEST_CASE("image classification: further scores are measured where they are asked for",
          "[training]") {
  const auto model = small_model(test::cpu());
  model->train(false);
  BatchOptions options;
  options.train.eval_batch_size = 7;
  options.host = test::cpu();
  const data::Splits splits{nullptr, nullptr, synthetic(data::Split::kTest)};
  Classification task(*model, std::make_shared<BatchSource>(splits, options));
  CHECK(task.evaluate_in_full(data::Split::kTest).logits.empty());
  task.add_metrics({{"ece", "balanced_accuracy"}});
  const auto evaluation = task.evaluate_in_full(data::Split::kTest);
  CHECK(task.metrics() == metrics::infos_of(evaluation.metrics));
  CHECK(task.metrics()[2].name == "balanced_accuracy");
  CHECK(evaluation.logits.size() == 20 * 4);
  CHECK(metrics::value_of(evaluation.metrics, "ece") > 0);
  CHECK(training::tasks().find("image_classification").asked_metrics({{"ece"}}, {}).size() == 1);

  training::Report report = task.report({.split = data::Split::kTest});
  CHECK(metrics::value_of(report.metrics, "ece") == metrics::value_of(evaluation.metrics, "ece"));
  REQUIRE(report.curves.size() == 1);
  CHECK(report.curves[0].name == "reliability");
  REQUIRE(report.tables.size() == 1);
  std::int64_t samples = 0;
  for (const std::int64_t bin : std::get<0>(report.tables[0].columns[2].values)) samples += bin;
  CHECK(samples == 20);
  CHECK_THROWS_WITH(task.add_metrics({{"hd95"}}),
                    Catch::Contains("no metric of classifications called \"hd95\""));
  CHECK_THROWS_WITH(task.add_metrics({.names = {}, .classes = {"a"}}),
                    Catch::Contains("eval.classes"));
}

TEST_CASE("image classification: what a mean is taken without is said", "[training]") {
  const auto model = small_model(test::cpu());
  model->train(false);
  BatchOptions options;
  options.host = test::cpu();
  // Of the four classes the only sample has one.
  const data::Splits splits{nullptr, nullptr,
                            synthetic(data::Split::kTest, R"(, "limit": {"test": 1})")};
  Classification task(*model, std::make_shared<BatchSource>(splits, options));
  task.add_metrics({{"balanced_accuracy", "auroc"}});
  const std::vector<std::string> lines = task.report({.split = data::Split::kTest}).lines;
  const std::vector<std::string> last(lines.end() - 2, lines.end());
  CHECK(last[0] ==
        "balanced_accuracy: undefined for classes without samples; the mean is over 1 of 4");
  CHECK(last[1] ==
        "auroc: undefined for classes without samples, or without others; it has no value");
}

TEST_CASE("image classification: the metrics do not depend on the batch size", "[training]") {
  const auto model = small_model(test::cpu());
  model->train(false);
  const auto evaluate = [&](std::int64_t batch) {
    BatchOptions options;
    options.train.eval_batch_size = batch;
    options.host = test::cpu();
    const data::Splits splits{nullptr, nullptr, synthetic(data::Split::kTest)};
    return Classification(*model, std::make_shared<BatchSource>(splits, options))
        .measure(data::Split::kTest, {});
  };
  CHECK(evaluate(3)[0].value == Approx(evaluate(20)[0].value).epsilon(1e-6));
  CHECK(evaluate(3)[1].value == evaluate(20)[1].value);
}

TEST_CASE("losses: label smoothing is read from the configuration", "[training]") {
  const Tensor logits = test::random_tensor({5, 4}, 1);
  const Tensor labels = Tensor::from(std::vector<std::int64_t>{0, 1, 2, 3, 0}, {5}, test::cpu());
  const auto value = [&](const schema::Component& loss) {
    return training::scalar_of(
        training::make_loss(loss, training::Compares::kClasses)({.logits = logits}, labels));
  };
  const double plain = value({"cross_entropy", {}});
  const double smooth =
      value(test::component(R"({"type": "cross_entropy", "label_smoothing": 0.1})"));
  CHECK(plain == Approx(training::scalar_of(ops::cross_entropy(logits, labels))));
  CHECK(smooth ==
        Approx(training::scalar_of(ops::cross_entropy(logits, labels, {.label_smoothing = 0.1}))));
  CHECK(plain != smooth);
  CHECK_THROWS_WITH(value({"cross_entrpy", {}}), Catch::Contains("cross_entropy"));
  CHECK_THROWS_WITH(value({"dice", {}}), Catch::Contains("dice does not compare classes; choose "
                                                         "cross_entropy"));
  CHECK_THROWS_WITH(value(test::component(R"({"type": "cross_entropy", "map_weights": [1, 0.5]})")),
                    Catch::Contains("loss.map_weights: given, but the network gives classes"));
}

TEST_CASE("image classification: diagnostics of attention are measured where they are asked for",
          "[training]") {
  const auto model = small_model(test::cpu());
  model->train(false);
  BatchOptions options;
  options.host = test::cpu();
  const data::Splits splits{nullptr, nullptr, synthetic(data::Split::kTest)};
  const auto measured = [&](std::int64_t batch_size) {
    options.train.eval_batch_size = batch_size;
    Classification task(*model, std::make_shared<BatchSource>(splits, options));
    task.add_metrics({{"sink_rate", "ece", "attention_entropy", "attention_effective_rank"}});
    CHECK_FALSE(model->training());
    const auto evaluation = task.evaluate_in_full(data::Split::kTest);
    CHECK(task.metrics() == metrics::infos_of(evaluation.metrics));
    return evaluation.metrics;
  };
  const auto seven = measured(7);
  // 2 x 2 patches and a class token.
  const double entropy = metrics::value_of(seven, "attention_entropy");
  CHECK((entropy > 0 && entropy <= std::log(5)));
  const double rank = metrics::value_of(seven, "attention_effective_rank");
  CHECK((rank >= 1 && rank <= 5));
  CHECK(metrics::value_of(measured(20), "attention_entropy") == Approx(entropy).epsilon(1e-6));
  CHECK(metrics::value_of(seven, "sink_rate") >= 0);

  // Every second one of 20 samples is looked at; the mean of two networks has no attention.
  options.train.eval_batch_size = 7;
  Classification task(*model, std::make_shared<BatchSource>(splits, options));
  Classification other(*model, std::make_shared<BatchSource>(splits, options));
  task.add_metrics({{"sink_rate"}});
  const auto said = [&] {
    std::string lines;
    for (const std::string& line : task.report({.split = data::Split::kTest}).lines)
      lines += line + "\n";
    return lines;
  };
  CHECK_THAT(said(), Catch::Contains("sink_rate: of 10 of the 20 samples"));
  task.set_members({&other});
  CHECK_THAT(said(), Catch::Contains("sink_rate: the mean of several networks has none"));
  CHECK(std::isnan(
      metrics::value_of(task.evaluate_in_full(data::Split::kTest).metrics, "sink_rate")));

  const auto asked =
      training::tasks().find("image_classification").asked_metrics({{"sink_rate", "ece"}}, {});
  REQUIRE(asked.size() == 2);
  CHECK((asked[0].name == "ece" && asked[1].name == "sink_rate"));

  const auto resnet = models::make_model(
      test::component(R"({"type": "resnet20", "depths": [1, 1, 1]})"),
      {test::cpu(), DType::kFloat32, RandomStream(1), nn::Init::kTorch}, {3, 8, 8, 4});
  Classification without(*resnet, std::make_shared<BatchSource>(splits, options));
  CHECK_THROWS_WITH(without.add_metrics({{"sink_rate"}}),
                    Catch::Contains("eval.metrics: sink_rate needs attention of all tokens"));
}
