#include "training/segmentation.h"

#include <utility>

#include "autograd/mode.h"
#include "metrics/classification.h"
#include "ops/create.h"
#include "ops/elementwise.h"
#include "training/task_registry.h"
#include "training/weights.h"

namespace fovea::training {

Segmentation::Segmentation(models::Model& model, std::shared_ptr<BatchSource> source,
                           const schema::Component& loss)
    : DataTask(model, std::move(source), {"mask"}),
      loss_(make_loss(loss, Compares::kMasks)) {}

data::Batch Segmentation::random_batch(const models::DataShape& shape, std::int64_t size,
                                       const Device& device) {
  return batch_of(
      {{"image", random_images(shape, size, device)},
       {"mask", ops::zeros({size, 1, shape.height, shape.width}, DType::kFloat32, device)}});
}

Tensor Segmentation::loss_of(const models::Outputs& output, const data::Batch& batch) const {
  return loss_(output, batch.at("mask"));
}

Segmentation::Evaluation Segmentation::evaluate_in_full(const std::string& split,
                                                        const std::optional<NoiseLevel>& noise,
                                                        const Visit& also) {
  const autograd::NoGrad no_grad;
  Evaluation result;
  metrics::RunningMean loss;
  for_each_batch(split, noise, [&](const data::Batch& batch, const models::Outputs& output) {
    const Tensor prob = ops::sigmoid(output.maps.front());
    if (also) also(batch, prob);
    const Tensor& masks = batch.at("mask");
    const std::int64_t b = batch.size();
    // Images are of one size, so the loss of a batch is the mean over its images.
    loss.add(scalar_of(loss_(output, masks)), static_cast<double>(b));
    for (std::int64_t i = 0; i < b; ++i) {
      metrics::MaskCounts counts;
      counts.add(prob.rows(i, i + 1).host_values<float>(),
                 masks.rows(i, i + 1).host_values<float>());
      result.counts.add(counts);
      result.by_sample.push_back(counts);
    }
    result.indices.insert(result.indices.end(), batch.indices.begin(), batch.indices.end());
  });
  const auto order = ascending(result.indices);
  result.indices = reordered(result.indices, order);
  result.by_sample = reordered(result.by_sample, order);
  for (const metrics::MaskCounts& image : result.by_sample) {
    result.truth_empty += image.truth_is_empty() ? 1 : 0;
    result.both_empty += image.both_are_empty() ? 1 : 0;
  }
  result.metrics = metrics::measure_masks(loss.value(), result.by_sample);
  return result;
}

std::vector<float> Segmentation::predict(const std::string& split, std::int64_t i) {
  check_split(split);
  const autograd::NoGrad no_grad;
  const Tensor prob = ops::sigmoid(infer(source().one(split, i)).maps.front());
  const auto values = prob.host_values<float>();
  return {values.begin(), values.end()};
}

}  // namespace fovea::training

namespace {

constexpr fovea::training::TaskInfo kInfo{.help = "one mask for each image",
                                          .data = fovea::data::Kind::kMaskedImages,
                                          .network = fovea::models::Interface::kDenseNetwork,
                                          .loss = "bce_dice"};

}  // namespace

FOVEA_TASK(segmentation, fovea::training::Segmentation, kInfo)
