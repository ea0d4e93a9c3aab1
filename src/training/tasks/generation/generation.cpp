#include "training/tasks/generation/generation.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "autograd/mode.h"
#include "base/error.h"
#include "data/images/image_dataset.h"
#include "metrics/classification.h"
#include "ops/create.h"
#include "ops/elementwise.h"
#include "ops/reduce.h"
#include "ops/shape.h"
#include "tensor/host.h"
#include "training/tasks/classification.h"
#include "training/tasks/task_registry.h"

namespace fovea::training {
namespace {

// Of evaluations of every run, whatever its seed.
const RandomStream& evaluation_stream() {
  static const RandomStream stream = RandomStream(0).fork("generation evaluation");
  return stream;
}

models::Denoiser& denoiser_of(models::Model& model) {
  auto* denoiser = dynamic_cast<models::Denoiser*>(&model);
  FOVEA_CHECK(denoiser != nullptr, ConfigError,
              fmt::format("task: generation needs {}; the network is {}",
                          models::info_of(models::Interface::kDenoiser).name,
                          models::info_of(model.interface()).name));
  return *denoiser;
}

void check_range(const data::Dataset& samples) {
  const data::ImageDataset& images = data::images_of(samples);
  const auto is_half = [](double value) { return value == 0.5; };
  FOVEA_CHECK(std::all_of(images.mean().begin(), images.mean().end(), is_half) &&
                  std::all_of(images.std().begin(), images.std().end(), is_half),
              ConfigError,
              "dataset.mean: a diffusion is of images in [-1, 1]; expected dataset.mean=[0.5] and "
              "dataset.std=[0.5]");
}

}  // namespace

Generation::Generation(models::Model& model, std::shared_ptr<BatchSource> source,
                       const schema::Component&)
    : Task(model, std::move(source), {}), denoiser_(denoiser_of(model)), chain_(denoiser_.chain()) {
  if (has_source()) check_range(this->source().any());
}

std::vector<metrics::MetricInfo> Generation::metrics_of(const models::DataShape&) {
  return {metrics::kLoss, kNoiseMse, kNoiseVb};
}

std::vector<metrics::MetricInfo> Generation::metrics() const {
  std::vector<metrics::MetricInfo> all = metrics_of({});
  if (!denoiser_.learns_variance()) all.pop_back();
  return all;
}

data::Batch Generation::random_batch(const models::DataShape& shape, std::int64_t size,
                                     const Device& device) {
  const Tensor images = random_images(shape, size, device);
  std::vector<std::int64_t> steps;
  for (std::int64_t i = 0; i < size; ++i) steps.push_back(i % 2);
  return batch_of({{"image", images},
                   {"timestep", Tensor::from(steps, {size}, device)},
                   {"label", some_labels(size, shape.num_classes, device)},
                   {"clean", images},
                   {"noise", images}});
}

data::Batch Generation::noisy(const data::Batch& batch, const Tensor& timestep,
                              const Tensor& noise) const {
  const Tensor clean = ops::to(batch.at("image"), device());
  data::Batch result = batch;
  result.set("image", ops::noised(chain_, clean, timestep, noise));
  result.set("timestep", timestep);
  result.set("clean", clean);
  result.set("noise", noise);
  return result;
}

data::Batch Generation::prepared(const data::Batch& batch, const RandomStream& random) const {
  // A batch that was made up holds what it needs beside its clean images.
  data::Batch clean = batch;
  if (batch.has("clean")) clean.set("image", batch.at("clean"));
  const RandomStream draws = random.fork("timestep");
  std::vector<std::int64_t> steps;
  for (std::int64_t i = 0; i < batch.size(); ++i)
    steps.push_back(draws.below(chain_.steps(), static_cast<std::uint64_t>(i)));
  const Shape& shape = clean.at("image").shape();
  return noisy(clean, Tensor::from(steps, {batch.size()}, device()),
               ops::random_normal(shape, 0, 1, random.fork("noise"), DType::kFloat32, device()));
}

Task::LossParts Generation::loss_parts_of(const models::Outputs& output,
                                          const data::Batch& batch) const {
  const ops::DiffusionLoss loss =
      ops::diffusion_loss(chain_, denoiser_.variance(), output.maps.front(), batch.at("clean"),
                          batch.at("image"), batch.at("timestep"), batch.at("noise"));
  LossParts all{ops::mean(loss.loss)};
  if (!loss.vb.defined()) return all;
  all.parts = {{kNoiseMse.name, ops::mean(loss.mse.detach())},
               {kNoiseVb.name, ops::mean(loss.vb.detach())}};
  return all;
}

Generation::Evaluation Generation::evaluate_in_full(data::Split split,
                                                    const std::optional<NoiseLevel>& noise) {
  check_split(split);
  const autograd::NoGrad no_grad;
  const RandomStream of_split = evaluation_stream().fork(data::name_of(split));
  Evaluation result;
  source().each_batch(split, noise, [&](const data::Batch& batch) {
    std::vector<std::int64_t> steps;
    std::vector<Tensor> each;
    Shape one = batch.at("image").shape();
    one[0] = 1;
    for (const std::int64_t i : batch.indices) {
      const RandomStream own = of_split.fork(static_cast<std::uint64_t>(i));
      steps.push_back(own.fork("timestep").below(chain_.steps(), 0));
      each.push_back(ops::random_normal(one, 0, 1, own.fork("noise"), DType::kFloat32, device()));
    }
    const data::Batch seen =
        noisy(batch, Tensor::from(steps, {batch.size()}, device()), ops::concat(each, 0));
    const ops::DiffusionLoss loss = ops::diffusion_loss(
        chain_, denoiser_.variance(), output(seen).maps.front(), seen.at("clean"), seen.at("image"),
        seen.at("timestep"), seen.at("noise"));
    const auto append = [](std::vector<double>& to, const Tensor& values) {
      if (!values.defined()) return;
      const std::vector<double> own = host_doubles(values);
      to.insert(to.end(), own.begin(), own.end());
    };
    append(result.mse, loss.mse);
    append(result.vb, loss.vb);
    result.steps.insert(result.steps.end(), steps.begin(), steps.end());
    result.indices.insert(result.indices.end(), batch.indices.begin(), batch.indices.end());
  });
  const std::vector<std::size_t> order = ascending(result.indices);
  result.indices = reordered(result.indices, order);
  result.steps = reordered(result.steps, order);
  result.mse = reordered(result.mse, order);
  if (!result.vb.empty()) result.vb = reordered(result.vb, order);
  const auto mean_of = [](const std::vector<double>& values) {
    metrics::RunningMean mean;
    for (const double value : values) mean.add(value);
    return mean.value();
  };
  const double mse = mean_of(result.mse);
  if (result.vb.empty()) {
    result.metrics = {{metrics::kLoss, mse}, {kNoiseMse, mse}};
  } else {
    const double vb = mean_of(result.vb);
    result.metrics = {{metrics::kLoss, mse + vb}, {kNoiseMse, mse}, {kNoiseVb, vb}};
  }
  return result;
}

Report Generation::report(const ReportRequest& request) {
  constexpr std::int64_t kParts = 10;
  Evaluation all = evaluate_in_full(request.split);
  Table table{"loss_by_step", {}};
  std::vector<std::int64_t> first, count;
  std::vector<double> mse, vb;
  for (std::int64_t part = 0; part < kParts; ++part) {
    metrics::RunningMean own_mse, own_vb;
    for (std::size_t i = 0; i < all.steps.size(); ++i) {
      if (all.steps[i] * kParts / chain_.steps() != part) continue;
      own_mse.add(all.mse[i]);
      if (!all.vb.empty()) own_vb.add(all.vb[i]);
    }
    first.push_back((part * chain_.steps() + kParts - 1) / kParts);
    count.push_back(static_cast<std::int64_t>(own_mse.weight()));
    mse.push_back(own_mse.value());
    vb.push_back(own_vb.value());
  }
  table.columns = {{"first_step", first}, {"samples", count}, {kNoiseMse.name, mse}};
  if (!all.vb.empty()) table.columns.push_back({kNoiseVb.name, vb});
  Report report;
  report.metrics = std::move(all.metrics);
  report.indices = std::move(all.indices);
  report.tables.push_back(std::move(table));
  return report;
}

Tensor Generation::generate_images(const ImageRequest& request) {
  const bool training = denoiser_.training();
  denoiser_.train(false);
  const Tensor images = sample_images(denoiser_, request, device());
  denoiser_.train(training);
  return shown_images(images);
}

}  // namespace fovea::training

namespace {

constexpr fovea::training::TaskInfo kInfo{.help = "images of classes, from noise",
                                          .data = fovea::data::Kind::kImages,
                                          .network = fovea::models::Interface::kDenoiser,
                                          .gives = "images",
                                          .loss = "",
                                          .usual = {"dit_s", 32}};

}  // namespace

FOVEA_TASK(generation, fovea::training::Generation, kInfo)
