#include "training/tasks/task_registry.h"

#include <catch2/catch.hpp>

#include <cmath>
#include <vector>

#include "autograd/graph.h"
#include "backend/devices.h"
#include "base/error.h"
#include "tests/training/toy_task.h"
#include "training/monitor.h"

using namespace fovea;

namespace {

models::DataShape small_shape() {
  models::DataShape shape{3, 16, 16, 4, 12, 6};
  shape.mels = 8;
  shape.frames = 40;
  return shape;
}

// A small network of the kind that a task drives.
std::unique_ptr<models::Model> network_for(const training::TaskInfo& info, const Device& device,
                                           std::int64_t classes = 1) {
  const nn::Build build{device, DType::kFloat32, RandomStream(1), nn::Init::kTorch};
  const models::DataShape shape{3, 16, 16, 4, 12, 6};
  if (info.network == models::Interface::kDenseNetwork)
    return models::make_model(
        test::component(R"({"type": "unet", "widths": [2, 4], "decoder_channels": [2]})"), build,
        {3, 16, 16, classes});
  if (info.network == models::Interface::kDetector)
    return models::make_model(test::component(R"({"type": "mask_rcnn", "fpn_channels": 8,
                            "backbone": {"type": "resnet18", "planes": [4, 4, 4, 4],
                                         "depths": [1, 1, 1, 1], "stem_width": 4},
                            "rcnn": {"fc_channels": 8, "head_conv_channels": 8}})"),
                              build, {3, 16, 16, 4});
  if (info.network == models::Interface::kLanguageModel)
    return models::make_model(
        test::component(R"({"type": "language_model", "embed_dim": 8, "depth": 1, "hidden_dim": 8,
                            "attention": {"type": "mala", "num_heads": 2}})"),
        build, shape);
  if (info.network == models::Interface::kDenoiser)
    return models::make_model(
        test::component(R"({"type": "dit_s", "patch_size": 4, "embed_dim": 8, "depth": 1,
                            "attention": {"num_heads": 2}})"),
        build, shape);
  if (info.network == models::Interface::kTranscriber)
    return models::make_model(
        test::component(R"({"type": "conformer_s", "embed_dim": 8, "depth": 1, "kernel_size": 3,
                            "attention": {"num_heads": 2}})"),
        build, small_shape());
  const bool texts = info.network == models::Interface::kTextClassifier;
  return models::make_model(
      test::component(texts ? R"({"type": "transformer", "embed_dim": 8, "depth": 1,
                                  "attention": {"num_heads": 2}})"
                            : R"({"type": "vit", "patch_size": 4, "embed_dim": 8, "depth": 1,
                                  "attention": {"num_heads": 2}})"),
      build, shape);
}

}  // namespace

TEST_CASE("tasks: every one makes a batch that its loss takes, on a device and without one",
          "[training]") {
  for (const training::TaskEntry& task : training::tasks()) {
    INFO(task.name);
    for (const Device& device : {make_cpu(1), make_meta()}) {
      const auto model = network_for(task.info, device);
      model->train(true);
      model->set_random(RandomStream(1));
      const auto made = task.make(*model, nullptr, {task.info.loss, {}});
      const data::Batch batch = task.random_batch(small_shape(), 5, device);
      CHECK(batch.size() == 5);
      const Tensor loss = made->loss(batch);
      CHECK(loss.shape() == Shape{});
      autograd::backward(loss);
      if (device.is_host() && device.type() == DeviceType::kCpu)
        CHECK(std::isfinite(training::scalar_of(loss)));
    }
  }
}

TEST_CASE("tasks: the other kind of data has its batch, its loss and its metrics", "[training]") {
  int found = 0;
  for (const training::TaskEntry& task : training::tasks()) {
    if (!task.info.also) continue;
    INFO(task.name);
    ++found;
    CHECK(task.info.reads(task.info.data));
    CHECK(task.info.reads(task.info.also->data));
    CHECK(task.info.loss_for(task.info.also->data) != std::string(task.info.loss));
    models::DataShape shape{3, 16, 16, 4};
    shape.label_maps = true;
    for (const Device& device : {make_cpu(1), make_meta()}) {
      const auto model = network_for(task.info, device, 4);
      const auto made = task.make(*model, nullptr, {task.info.also->loss, {}});
      const data::Batch batch = task.random_batch(shape, 3, device);
      const Tensor loss = made->loss(batch);
      autograd::backward(loss);
      if (device.is_host() && device.type() == DeviceType::kCpu)
        CHECK(std::isfinite(training::scalar_of(loss)));
      const auto known = task.metrics(shape);
      CHECK(metrics::find_metric(known, made->monitor().name) != nullptr);
      CHECK(metrics::find_metric(known, made->headline().name) != nullptr);
    }
  }
  CHECK(found == 1);
}

TEST_CASE("tasks: a made-up batch of volumes goes through a network and its loss", "[training]") {
  models::DataShape shape{1, 8, 6, 3};
  shape.depth = 4;
  shape.label_maps = true;
  const Device device = make_cpu(1);
  const auto model = models::make_model(
      test::component(R"({"type": "unet3d", "f_maps": [2, 4], "num_groups": 1})"),
      {device, DType::kFloat32, RandomStream(1), nn::Init::kTorch}, shape);
  const training::TaskEntry& task = training::tasks().find("segmentation");
  const auto made = task.make(*model, nullptr, {"nnunet", {}});
  const data::Batch batch = task.random_batch(shape, 2, device);
  CHECK(batch.at("image").shape() == Shape{2, 1, 4, 8, 6});
  CHECK(batch.at("mask").shape() == Shape{2, 4, 8, 6});
  const Tensor loss = made->loss(batch);
  autograd::backward(loss);
  CHECK(std::isfinite(training::scalar_of(loss)));
}

TEST_CASE("tasks: metrics have names of their own, and the main ones are among them",
          "[training]") {
  const Device device = make_cpu(1);
  for (const training::TaskEntry& task : training::tasks()) {
    INFO(task.name);
    const auto model = network_for(task.info, device);
    const auto made = task.make(*model, nullptr, {task.info.loss, {}});
    const std::vector<metrics::MetricInfo> all = task.metrics({3, 16, 16, 10, 12, 6});
    for (const metrics::MetricInfo& metric : all) {
      CHECK(*metrics::find_metric(all, metric.name) == metric);
      CHECK_FALSE(training::is_of_averages(metric.name));
    }
    CHECK(metrics::find_metric(all, made->monitor().name) != nullptr);
    CHECK(metrics::find_metric(all, made->headline().name) != nullptr);
  }
}

TEST_CASE("tasks: an unknown name is refused with the nearest", "[training]") {
  CHECK_THROWS_WITH(training::tasks().find("segmentatoin"),
                    "task: no task called \"segmentatoin\"; did you mean \"segmentation\"? run: "
                    "fovea inspect --list task");
  CHECK_THROWS_WITH(training::tasks().add(training::tasks().find("segmentation")),
                    Catch::Contains("there are two called"));
}

TEST_CASE("log probabilities: a last bit apart stays apart, softmax gives them back",
          "[training]") {
  // Of two images with three classes and two places; classes 0 and 1 of the first place of the
  // first image differ in the last bit.
  const float p = 0.4f, next = std::nextafter(p, 1.0f);
  const std::vector<float> values = {p,    0.5f, next, 0.25f, 0.2f, 0.25f,
                                     0.1f, 0.0f, 0.6f, 1.0f,  0.3f, 0.0f};
  const Tensor log = training::log_probabilities(Tensor::from(values, {2, 3, 2}, make_cpu(1)));
  CHECK(log.shape() == Shape{2, 3, 2});
  const auto found = log.values<float>();
  CHECK(found[2] == 0);
  CHECK(found[0] < 0);
  CHECK(std::exp(found[4]) == Approx(0.2 / 0.4));
  CHECK(std::isfinite(found[7]));
  CHECK(found[9] == 0);
  for (std::size_t image : {0, 6}) {
    double sum = 0;
    for (std::size_t c : {0, 2, 4}) sum += std::exp(found[image + c]);
    for (std::size_t c : {0, 2, 4})
      CHECK(std::exp(found[image + c]) / sum == Approx(values[image + c]).epsilon(1e-5));
  }
}
