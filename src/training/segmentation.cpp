#include "training/segmentation.h"

#include "autograd/mode.h"
#include "metrics/classification.h"
#include "ops/elementwise.h"
#include "training/weights.h"

namespace fovea::training {

Segmentation::Segmentation(models::Model& model, const DataTaskSetup& setup)
    : DataTask(model, setup, true), loss_(make_mask_loss(setup.loss)) {}

Tensor Segmentation::loss(const Batch& batch) {
  const data::Batch& data = data_of(batch);
  return loss_(output(data.images), ops::to(data.targets, device()));
}

Metrics Segmentation::evaluate(const std::string& split) { return evaluate_in_full(split).metrics; }

Segmentation::Evaluation Segmentation::evaluate_in_full(
    const std::string& split, std::optional<data::CorruptionLevel> corruption) {
  const autograd::NoGrad no_grad;
  Evaluation result;
  metrics::RunningMean loss;
  for_each_batch(split, corruption, [&](const data::Batch& batch, const Tensor& prob) {
    const std::int64_t b = batch.targets.size(0);
    // Images are of one size, so the loss of a batch is the mean over its images.
    loss.add(scalar_of(loss_(prob, batch.targets)), static_cast<double>(b));
    for (std::int64_t i = 0; i < b; ++i) {
      metrics::MaskCounts counts;
      counts.add(prob.rows(i, i + 1).values<float>(), batch.targets.rows(i, i + 1).values<float>());
      result.counts.add(counts);
      result.by_sample.push_back(counts);
    }
    result.indices.insert(result.indices.end(), batch.indices.begin(), batch.indices.end());
  });
  const metrics::MaskCounts& counts = result.counts;
  result.metrics = {{"loss", loss.value()},
                    {"miou", 100 * counts.iou()},
                    {"dsc", 100 * counts.dice()},
                    {"accuracy", 100 * counts.accuracy()},
                    {"sensitivity", 100 * counts.sensitivity()},
                    {"specificity", 100 * counts.specificity()}};
  return result;
}

Segmentation::Prediction Segmentation::predict(const std::string& split, std::int64_t index) {
  const autograd::NoGrad no_grad;
  const data::Dataset& samples = *dataset(split);
  Shape shape{1};
  for (const std::int64_t axis : samples.image_shape()) shape.push_back(axis);
  const Tensor image = Tensor::empty(shape, DType::kFloat32, setup().host);
  samples.prepare(index, {.seed = setup().seed}, image.data<float>());
  const Tensor prob = ops::to(output(image), setup().host);
  const auto values = prob.values<float>();
  return {samples.get(index), {values.begin(), values.end()}};
}

}  // namespace fovea::training
