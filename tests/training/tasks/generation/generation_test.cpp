#include "training/tasks/generation/generation.h"

#include <catch2/catch.hpp>

#include <atomic>
#include <cmath>

#include "autograd/graph.h"
#include "backend/devices.h"
#include "base/error.h"
#include "data/registry.h"
#include "ops/create.h"
#include "ops/in_place.h"
#include "tests/support/tensors.h"
#include "tests/training/toy_task.h"

using namespace fovea;
using training::BatchOptions;
using training::BatchSource;
using training::Generation;

namespace {

constexpr const char* kGenerator =
    R"({"type": "dit_s", "patch_size": 4, "embed_dim": 8, "depth": 1, "noise": {"steps": 40},
        "attention": {"type": "mala", "num_heads": 2}})";
constexpr const char* kGeneratorWithoutMore =
    R"({"type": "dit_s", "patch_size": 4, "embed_dim": 8, "depth": 1, "noise": {"steps": 40},
        "learn_sigma": false, "class_dropout_prob": 0, "attention": {"num_heads": 2}})";

std::shared_ptr<const data::Dataset> images(data::Split split, const char* range = "0.5") {
  return data::make_dataset(
      test::component(
          std::string(R"({"type": "synthetic", "img_size": 8, "train_size": 24, "test_size": 10,
                          "mean": [)") +
          range + R"(], "std": [0.5]})"),
      split);
}

std::unique_ptr<models::Model> generator(const Device& device, const char* options = kGenerator) {
  const nn::Build build{device, DType::kFloat32, RandomStream(1).fork("init"), nn::Init::kTorch};
  auto model = models::make_model(test::component(options), build, {3, 8, 8, 4});
  // A new one multiplies all it knows by 0.
  std::uint64_t seed = 20;
  for (const nn::NamedTensor& named : model->parameters()) {
    if (!named.tensor.requires_grad()) continue;
    const Tensor shaken = ops::random_normal(named.tensor.shape(), 0, 0.2, RandomStream(++seed),
                                             DType::kFloat32, make_cpu(1));
    ops::copy_into(shaken, named.tensor);
  }
  model->train(false);
  return model;
}

std::shared_ptr<BatchSource> source_of(const Device& device, std::int64_t batch_size = 8) {
  BatchOptions options;
  options.train.batch_size = batch_size;
  options.train.num_workers = 0;
  options.seed = 7;
  options.host = device;
  return std::make_shared<BatchSource>(
      data::Splits{images(data::Split::kTrain), nullptr, images(data::Split::kTest)}, options);
}

std::vector<double> made(const Device& device, const training::ImageRequest& request,
                         const char* options = kGenerator) {
  const auto model = generator(device, options);
  Generation task(*model, nullptr, {});
  return test::to_doubles(task.generate_images(request));
}

training::ImageRequest request_of(const std::vector<std::int64_t>& labels) {
  training::ImageRequest request{.labels = labels, .sampler = {}, .random = RandomStream(3)};
  request.sampler.steps = "5";
  return request;
}

struct StopAtStep final : training::ProgressSink {
  void update(const training::Progress& progress) override { stop = stop || progress.step == 4; }
  void message(const std::string&) override {}
  std::atomic<bool> stop = false;
};

// The files that a run leaves.
std::vector<std::string> trained(int threads, bool stopped) {
  const test::Folder folder("generation");
  const Device device = make_cpu(threads);
  const auto model = generator(device);
  Generation task(*model, source_of(device), {});
  training::TrainerSetup setup = test::toy_setup(folder.path, device);
  setup.train.epochs = 3;
  setup.train.clip_grad = 0;
  setup.train.ema_decay = 0.9;
  setup.seed = 7;
  std::vector<std::int64_t> told;
  setup.evaluated = [&](std::int64_t epoch) { told.push_back(epoch); };
  StopAtStep stop;
  if (stopped) {
    training::TrainerSetup first = setup;
    first.stop = &stop.stop;
    first.progress = &stop;
    CHECK_THROWS_AS(training::Trainer(task, first).run(), Interrupted);
    setup.resume = true;
  }
  training::Trainer(task, setup).run();
  CHECK(told == std::vector<std::int64_t>{1, 2, 3});
  std::vector<std::string> files;
  for (const char* name : {"model.safetensors", "ema.safetensors", "optimiser.safetensors"})
    files.push_back(io::read_text(test::in_checkpoint(folder.path, name)));
  return files;
}

}  // namespace

TEST_CASE("generation: the same bits for any number of threads, and resumed", "[training]") {
  const std::vector<std::string> one = trained(1, false);
  CHECK((trained(3, false) == one));
  CHECK((trained(2, true) == one));
}

TEST_CASE("generation: an evaluation draws the same noise for a sample every time", "[training]") {
  const auto model = generator(test::cpu());
  Generation few(*model, source_of(test::cpu(), 3), {});
  Generation many(*model, source_of(test::cpu(), 10), {});
  const auto a = few.evaluate_in_full(data::Split::kTest);
  const auto b = many.evaluate_in_full(data::Split::kTest);
  CHECK(a.steps == b.steps);
  CHECK(a.indices.size() == 10);
  for (std::size_t i = 0; i < 10; ++i) {
    CHECK(a.mse[i] == Approx(b.mse[i]).epsilon(1e-5));
    CHECK(a.vb[i] == Approx(b.vb[i]).epsilon(1e-4));
  }
  CHECK(few.evaluate_in_full(data::Split::kTest).metrics == a.metrics);
  CHECK(metrics::infos_of(a.metrics) == few.metrics());
  CHECK(metrics::value_of(a.metrics, "loss") ==
        Approx(metrics::value_of(a.metrics, "mse") + metrics::value_of(a.metrics, "vb")));
  const training::Report report = few.report({data::Split::kTest});
  REQUIRE(report.tables.size() == 1);
  const auto& counts = std::get<std::vector<std::int64_t>>(report.tables[0].columns[1].values);
  std::int64_t all = 0;
  for (const std::int64_t count : counts) all += count;
  CHECK(all == 10);
}

TEST_CASE("generation: the loss of a step follows from its stream", "[training]") {
  const auto model = generator(test::cpu());
  Generation task(*model, source_of(test::cpu()), {});
  task.source().start_epoch(0, 0);
  const data::Batch batch = *task.source().next();
  model->train(true);
  const auto loss = [&](std::uint64_t step) {
    task.set_random(RandomStream(5).fork(step));
    return training::scalar_of(task.loss(batch));
  };
  const double first = loss(1);
  CHECK(loss(2) != first);
  CHECK(loss(1) == first);
  task.set_random(RandomStream(5));
  const training::Task::LossParts parts = task.loss_parts(batch);
  REQUIRE(parts.parts.size() == 2);
  CHECK(training::scalar_of(parts.sum) == Approx(training::scalar_of(parts.parts[0].second) +
                                                 training::scalar_of(parts.parts[1].second)));
}

TEST_CASE("generation: without a learned variance the loss is that of the noise", "[training]") {
  const auto model = generator(test::cpu(), kGeneratorWithoutMore);
  Generation task(*model, source_of(test::cpu()), {});
  CHECK(task.metrics().size() == 2);
  const auto measured = task.measure(data::Split::kTest, {});
  CHECK(metrics::value_of(measured, "loss") == metrics::value_of(measured, "mse"));
  CHECK(metrics::infos_of(measured) == task.metrics());
}

TEST_CASE("sampler: the same images for any number of threads and any batch", "[training]") {
  training::ImageRequest request = request_of({0, 3, -1, 1, 2});
  const std::vector<double> one = made(make_cpu(1), request);
  CHECK(one.size() == 5 * 3 * 8 * 8);
  for (const double value : one) CHECK((value >= 0 && value <= 1));
  CHECK(made(make_cpu(3), request) == one);
  request.batch_size = 2;
  const std::vector<double> parts = made(make_cpu(2), request);
  for (std::size_t i = 0; i < one.size(); ++i) CHECK(parts[i] == Approx(one[i]).margin(1e-4));
  request.random = RandomStream(4);
  CHECK(made(make_cpu(1), request) != one);
}

TEST_CASE("sampler: DDIM without eta depends on the first noise alone; guidance matters",
          "[training]") {
  training::ImageRequest request = request_of({1, 2});
  request.sampler.kind = training::SamplerKind::kDdim;
  std::vector<std::int64_t> steps;
  request.watch = [&](const training::Denoised& now) {
    steps.push_back(now.step);
    CHECK(now.steps == 5);
    CHECK(now.x.shape() == Shape{2, 3, 8, 8});
    CHECK(now.x_start.shape() == now.x.shape());
  };
  const std::vector<double> plain = made(test::cpu(), request);
  CHECK(steps == std::vector<std::int64_t>{1, 2, 3, 4, 5});
  request.sampler.guidance = 3;
  const std::vector<double> led = made(test::cpu(), request);
  CHECK(led != plain);
  request.sampler.guidance = 0;  // as without classes
  const std::vector<double> none = made(test::cpu(), request);
  request.labels = {-1, -1};
  request.sampler.guidance = 1;
  const std::vector<double> without = made(test::cpu(), request);
  for (std::size_t i = 0; i < none.size(); ++i) CHECK(none[i] == Approx(without[i]).margin(1e-5));
}

TEST_CASE("sampler: what cannot be made is refused", "[training]") {
  CHECK_THROWS_WITH(made(test::cpu(), request_of({4})),
                    "sampler: class 4; the network knows 0 to 3");
  CHECK_THROWS_AS(made(test::cpu(), request_of({-1}), kGeneratorWithoutMore), ConfigError);
  training::ImageRequest request = request_of({0});
  request.sampler.guidance = 2;
  CHECK_THROWS_AS(made(test::cpu(), request, kGeneratorWithoutMore), ConfigError);
  request = request_of({0});
  request.sampler.steps = "41";
  CHECK_THROWS_AS(made(test::cpu(), request), ConfigError);
  request = request_of({0});
  request.stop = [] { return true; };
  CHECK_THROWS_AS(made(test::cpu(), request), Interrupted);
  CHECK(made(test::cpu(), request_of({})).empty());
}

TEST_CASE("generation: images in another range are refused", "[training]") {
  const auto model = generator(test::cpu());
  BatchOptions options;
  options.host = test::cpu();
  const auto source = std::make_shared<BatchSource>(
      data::Splits{images(data::Split::kTrain, "0.4"), nullptr, images(data::Split::kTest, "0.4")},
      options);
  CHECK_THROWS_WITH(Generation(*model, source, {}), Catch::StartsWith("dataset.mean: "));
}
