#include "training/classification.h"

#include <catch2/catch.hpp>

#include <cmath>

#include "backend/devices.h"
#include "base/error.h"
#include "data/registry.h"
#include "tests/support/tensors.h"
#include "tests/training/toy_task.h"
#include "training/image_batches.h"

using namespace fovea;
using training::BatchOptions;
using training::Classification;
using training::ImageBatches;
using training::ImageSplits;

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
  return models::make(test::component(kModel), build, {3, 8, 8, 4});
}

struct Outcome {
  std::string weights;
  schema::Value metrics;
};

Outcome train(int threads, std::int64_t workers, bool overfit = false, std::int64_t epochs = 2) {
  const test::Folder folder("images");
  const Device device = make_cpu(threads);
  const auto model = small_model(device);
  BatchOptions options;
  options.train.batch_size = 16;
  options.train.num_workers = workers;
  options.seed = 7;
  options.host = device;
  options.overfit = overfit;
  const ImageSplits splits{synthetic(data::Split::kTrain), nullptr, synthetic(data::Split::kTest)};
  Classification task(*model, std::make_shared<ImageBatches>(splits, options));
  training::TrainerSetup trainer = test::toy_setup(folder.path, device);
  trainer.train.epochs = epochs;
  trainer.train.clip_grad = 0;
  trainer.seed = 7;
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

TEST_CASE("image classification: a small network learns its own samples by heart", "[training]") {
  const Outcome outcome = train(2, 1, true, 40);
  CHECK(outcome.metrics.at("train").at("top1").as_double() > 60);
}

TEST_CASE("image classification: the parts of the data and the numbers of a split", "[training]") {
  const auto model = small_model(test::cpu());
  const ImageSplits splits{synthetic(data::Split::kTrain, ", \"split\": {\"val\": 0.25}"),
                           synthetic(data::Split::kVal, ", \"split\": {\"val\": 0.25}"),
                           synthetic(data::Split::kTest)};
  BatchOptions options;
  options.train.batch_size = 7;
  options.host = test::cpu();
  Classification task(*model, std::make_shared<ImageBatches>(splits, options));
  CHECK(task.parts() == std::vector<std::string>{"val", "test"});
  CHECK(task.monitor().metric == "top1");
  CHECK_THROWS_WITH(task.evaluate("tset"), Catch::Contains("no split"));

  model->train(false);
  const Classification::Evaluation evaluation = task.evaluate_in_full("test");
  std::vector<std::string> names;
  for (const auto& [name, value] : evaluation.metrics) names.push_back(name);
  CHECK(task.metric_names() == names);
  CHECK(Classification::metric_names(5) == std::vector<std::string>{"loss", "top1"});
  CHECK(evaluation.confusion.total() == 20);
  CHECK(evaluation.labels.size() == 20);
  CHECK(evaluation.metrics[1].first == "top1");
  CHECK(evaluation.metrics[1].second == Approx(100 * evaluation.confusion.accuracy()));
  std::int64_t correct = 0;
  for (std::size_t i = 0; i < 20; ++i) {
    CHECK(evaluation.labels[i] == splits.test->label(evaluation.indices[i]));
    correct += evaluation.labels[i] == evaluation.predictions[i] ? 1 : 0;
  }
  CHECK(evaluation.metrics[1].second == Approx(100.0 * static_cast<double>(correct) / 20));
}

TEST_CASE("image classification: the metrics do not depend on the batch size", "[training]") {
  const auto model = small_model(test::cpu());
  model->train(false);
  const auto evaluate = [&](std::int64_t batch) {
    BatchOptions options;
    options.train.eval_batch_size = batch;
    options.host = test::cpu();
    const ImageSplits splits{nullptr, nullptr, synthetic(data::Split::kTest)};
    return Classification(*model, std::make_shared<ImageBatches>(splits, options)).evaluate("test");
  };
  CHECK(evaluate(3)[0].second == Approx(evaluate(20)[0].second).epsilon(1e-6));
  CHECK(evaluate(3)[1].second == evaluate(20)[1].second);
}

TEST_CASE("image batches: noise by name, and one sample as evaluation sees it", "[training]") {
  BatchOptions options;
  options.train.batch_size = 8;
  options.host = test::cpu();
  ImageBatches images({nullptr, nullptr, synthetic(data::Split::kTest)}, options);
  CHECK(images.target() == training::Target::kClasses);
  CHECK_FALSE(images.has("train"));
  CHECK(images.noise_types().size() == data::all_corruptions().size());
  CHECK_THROWS_WITH(images.images("train"), Catch::Contains("no split \"train\""));
  std::int64_t samples = 0;
  images.each_batch("test", {}, [&](const training::DataBatch& batch) {
    for (std::size_t i = 0; i < batch.indices.size(); ++i) {
      const auto row = static_cast<std::int64_t>(i);
      CHECK(test::max_difference(images.input("test", batch.indices[i]),
                                 batch.inputs.rows(row, row + 1)) == 0);
    }
    samples += batch.samples;
  });
  CHECK(samples == 20);
  CHECK_THROWS_WITH(
      images.each_batch("test", training::NoiseLevel{"replace", 0.5}, [](const auto&) {}),
      Catch::Contains("replace"));
}

TEST_CASE("losses: label smoothing is read from the configuration", "[training]") {
  const Tensor logits = test::random_tensor({5, 4}, 1);
  const Tensor labels = Tensor::from(std::vector<std::int64_t>{0, 1, 2, 3, 0}, {5}, test::cpu());
  const double plain =
      training::scalar_of(training::make_class_loss({"cross_entropy", {}})(logits, labels));
  const double smooth = training::scalar_of(training::make_class_loss(
      test::component(R"({"type": "cross_entropy", "label_smoothing": 0.1})"))(logits, labels));
  CHECK(plain == Approx(training::scalar_of(ops::cross_entropy(logits, labels))));
  CHECK(smooth ==
        Approx(training::scalar_of(ops::cross_entropy(logits, labels, {.label_smoothing = 0.1}))));
  CHECK(plain != smooth);
  CHECK_THROWS_WITH(training::make_class_loss({"cross_entrpy", {}}),
                    Catch::Contains("cross_entropy"));
}
