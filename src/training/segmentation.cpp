#include "training/segmentation.h"

#include <utility>

#include "autograd/mode.h"
#include "metrics/classification.h"
#include "ops/elementwise.h"
#include "training/weights.h"

namespace fovea::training {

Segmentation::Segmentation(models::Model& model, std::shared_ptr<BatchSource> source,
                           const schema::Component& loss)
    : DataTask(model, std::move(source), Target::kMasks), loss_(make_mask_loss(loss)) {}

Tensor Segmentation::loss(const Batch& batch) {
  const DataBatch& data = data_of(batch);
  return loss_(output(data.inputs), ops::to(data.targets, device()));
}

Segmentation::Evaluation Segmentation::evaluate_in_full(const std::string& split,
                                                        const std::optional<NoiseLevel>& noise,
                                                        const Visit& also) {
  const autograd::NoGrad no_grad;
  Evaluation result;
  metrics::RunningMean loss, dice, iou;
  for_each_batch(split, noise, [&](const DataBatch& batch, const Tensor& prob) {
    if (also) also(batch, prob);
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
  const auto order = ascending(result.indices);
  result.indices = reordered(result.indices, order);
  result.by_sample = reordered(result.by_sample, order);
  for (const metrics::MaskCounts& image : result.by_sample) {
    dice.add(image.dice(1));
    iou.add(image.iou(1));
    result.truth_empty += image.truth_is_empty() ? 1 : 0;
    result.both_empty += image.both_are_empty() ? 1 : 0;
  }
  const metrics::MaskCounts& counts = result.counts;
  result.metrics = {{"loss", loss.value()},
                    {"iou_pooled", 100 * counts.iou()},
                    {"miou", 50 * (counts.iou() + counts.background_iou())},
                    {"dsc", 100 * counts.dice()},
                    {"dice_per_image", 100 * dice.value()},
                    {"iou_per_image", 100 * iou.value()},
                    {"accuracy", 100 * counts.accuracy()},
                    {"sensitivity", 100 * counts.sensitivity()},
                    {"specificity", 100 * counts.specificity()}};
  return result;
}

std::vector<std::string> Segmentation::mask_metric_names() {
  return {"loss",          "iou_pooled", "miou",        "dsc",        "dice_per_image",
          "iou_per_image", "accuracy",   "sensitivity", "specificity"};
}

std::vector<float> Segmentation::predict(const std::string& split, std::int64_t i) {
  check_split(split);
  const autograd::NoGrad no_grad;
  const Tensor prob = ops::to(output(source().input(split, i)), host());
  const auto values = prob.values<float>();
  return {values.begin(), values.end()};
}

}  // namespace fovea::training
