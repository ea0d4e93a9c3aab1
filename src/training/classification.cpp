#include "training/classification.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "autograd/mode.h"
#include "base/error.h"
#include "ops/elementwise.h"
#include "ops/loss.h"
#include "training/weights.h"

namespace fovea::training {
namespace {

constexpr std::int64_t kClassesOfTop5 = 5;  // with so few, top5 would always be 100 %

}  // namespace

Classification::Classification(models::Model& model, std::shared_ptr<BatchSource> source,
                               const schema::Component& loss)
    : DataTask(model, std::move(source), Target::kClasses), loss_(make_class_loss(loss)) {}

Tensor Classification::loss(const Batch& batch) {
  const DataBatch& data = data_of(batch);
  return loss_(output(data.inputs), ops::to(data.targets, device()));
}

Classification::Evaluation Classification::evaluate_in_full(const std::string& split,
                                                            const std::optional<NoiseLevel>& noise,
                                                            const Visit& also) {
  const autograd::NoGrad no_grad;
  const auto classes = static_cast<std::int64_t>(source().class_names().size());
  Evaluation result{{}, metrics::ConfusionMatrix(classes), {}, {}, {}};
  metrics::RunningMean loss;
  std::int64_t top1 = 0;
  std::int64_t top5 = 0;
  for_each_batch(split, noise, [&](const DataBatch& batch, const Tensor& scores) {
    if (also) also(batch, scores);
    const std::vector<std::int64_t> predicted = metrics::predictions(scores);
    const std::int64_t largest = *std::max_element(predicted.begin(), predicted.end());
    FOVEA_CHECK(
        largest < classes, ConfigError,
        fmt::format("model.num_classes: the network gives {} classes and predicts class {}; "
                    "the data set has {}",
                    scores.size(1), largest, classes));
    const auto truth = batch.targets.values<std::int64_t>();
    loss.add(scalar_of(ops::cross_entropy(scores, batch.targets)),
             static_cast<double>(truth.size()));
    top1 += metrics::top_k_correct(scores, batch.targets, 1);
    top5 += metrics::top_k_correct(scores, batch.targets, 5);
    result.confusion.add(truth, predicted);
    result.labels.insert(result.labels.end(), truth.begin(), truth.end());
    result.predictions.insert(result.predictions.end(), predicted.begin(), predicted.end());
    result.indices.insert(result.indices.end(), batch.indices.begin(), batch.indices.end());
  });
  const auto order = ascending(result.indices);
  result.indices = reordered(result.indices, order);
  result.labels = reordered(result.labels, order);
  result.predictions = reordered(result.predictions, order);
  const auto percent = [&](std::int64_t correct) {
    return 100.0 * static_cast<double>(correct) / loss.weight();
  };
  result.metrics = {{"loss", loss.value()}, {"top1", percent(top1)}};
  if (classes > kClassesOfTop5) result.metrics.emplace_back("top5", percent(top5));
  return result;
}

std::vector<std::string> Classification::metric_names(std::int64_t num_classes) {
  std::vector<std::string> names = {"loss", "top1"};
  if (num_classes > kClassesOfTop5) names.emplace_back("top5");
  return names;
}

std::vector<std::string> Classification::metric_names() const {
  return metric_names(static_cast<std::int64_t>(source().class_names().size()));
}

}  // namespace fovea::training
