#include "training/tasks/classification.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "autograd/mode.h"
#include "base/error.h"
#include "ops/losses/loss.h"
#include "ops/reduce.h"
#include "training/store/weights.h"

namespace fovea::training {

Classification::Classification(models::Model& model, std::shared_ptr<BatchSource> source,
                               const schema::Component& loss)
    : Task(model, std::move(source), {"label"}), loss_(make_loss(loss, Compares::kClasses)) {}

Tensor Classification::loss_of(const models::Outputs& output, const data::Batch& batch) const {
  const Tensor* mixed = batch.find("target");
  return loss_(output, mixed != nullptr ? *mixed : batch.at("label"));
}

Tensor Classification::probabilities_of(const data::Batch& batch) {
  return ops::softmax(infer(batch).logits);
}

std::vector<metrics::MetricInfo> Classification::metrics() const {
  return metrics::class_metrics(std::ssize(source().class_names()));
}

Classification::Evaluation Classification::evaluate_in_full(data::Split split,
                                                            const std::optional<NoiseLevel>& noise,
                                                            const Visit& also) {
  const autograd::NoGrad no_grad;
  const auto classes = static_cast<std::int64_t>(source().class_names().size());
  Evaluation result{{}, metrics::ConfusionMatrix(classes), {}, {}, {}};
  metrics::RunningMean loss;
  std::vector<std::int64_t> ranks;
  for_each_batch(split, noise, [&](const data::Batch& batch, const models::Outputs& output) {
    const Tensor& logits = output.logits;
    const Tensor& labels = batch.at("label");
    if (also) also(batch, logits);
    const std::vector<std::int64_t> predicted = metrics::predictions(logits);
    const std::int64_t largest = *std::max_element(predicted.begin(), predicted.end());
    FOVEA_CHECK(
        largest < classes, ConfigError,
        fmt::format("model.num_classes: the network gives {} classes and predicts class {}; "
                    "the data set has {}",
                    logits.size(1), largest, classes));
    const auto truth = labels.host_values<std::int64_t>();
    loss.add(scalar_of(ops::cross_entropy(logits, labels)), static_cast<double>(truth.size()));
    const std::vector<std::int64_t> own = metrics::ranks(logits, labels);
    ranks.insert(ranks.end(), own.begin(), own.end());
    result.confusion.add(truth, predicted);
    result.labels.insert(result.labels.end(), truth.begin(), truth.end());
    result.predictions.insert(result.predictions.end(), predicted.begin(), predicted.end());
    result.indices.insert(result.indices.end(), batch.indices.begin(), batch.indices.end());
  });
  const auto order = ascending(result.indices);
  result.indices = reordered(result.indices, order);
  result.labels = reordered(result.labels, order);
  result.predictions = reordered(result.predictions, order);
  result.metrics = metrics::measure_classes(loss.value(), reordered(ranks, order), classes);
  return result;
}

Tensor some_labels(std::int64_t batch_size, std::int64_t num_classes, const Device& device) {
  std::vector<std::int64_t> labels;
  for (std::int64_t i = 0; i < batch_size; ++i) labels.push_back(i % num_classes);
  return Tensor::from(labels, {batch_size}, device);
}

}  // namespace fovea::training
