#include "training/tasks/classification.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "autograd/mode.h"
#include "base/error.h"
#include "explain/diagnostics/attention_diagnosis.h"
#include "ops/elementwise.h"
#include "ops/losses/loss.h"
#include "ops/reduce.h"
#include "ops/shape.h"
#include "training/store/weights.h"

namespace fovea::training {
namespace {

void append(auto& list, const auto& more) { list.insert(list.end(), more.begin(), more.end()); }

// Of rows of `width` numbers.
std::vector<float> reordered_rows(const std::vector<float>& rows, std::int64_t width,
                                  const std::vector<std::size_t>& order) {
  std::vector<float> all;
  all.reserve(rows.size());
  for (const std::size_t row : order) {
    const auto first = rows.begin() + static_cast<std::ptrdiff_t>(row) * width;
    all.insert(all.end(), first, first + width);
  }
  return all;
}

// Names of metrics by what measures them. Unknown ones are among the scores, where they are
// refused.
struct AskedMetrics {
  std::vector<std::string> scores, attention;
};
AskedMetrics sorted_metrics(const std::vector<std::string>& names) {
  AskedMetrics asked;
  for (const std::string& name : names) {
    const bool of_attention = explain::find_attention_metric(name) != nullptr;
    (of_attention ? asked.attention : asked.scores).push_back(name);
  }
  return asked;
}

// In the order of the lists, each once.
std::vector<metrics::MetricInfo> asked_infos(const std::vector<std::string>& scores,
                                             const std::vector<std::string>& attention) {
  std::vector<metrics::MetricInfo> all = metrics::class_scores_of(scores);
  for (const explain::AttentionMetric& metric : explain::attention_metrics()) {
    if (std::ranges::count(attention, metric.info.name) > 0) all.push_back(metric.info);
  }
  return all;
}

void check_head(const models::Model& model) {
  FOVEA_CHECK(model.has_head(), ConfigError,
              "model.num_classes: 0: the network has no head and gives features, which can be "
              "looked at, not trained or scored; give it classes");
}

}  // namespace

Classification::Classification(models::Model& model, std::shared_ptr<BatchSource> source,
                               const schema::Component& loss)
    : Task(model, std::move(source), {"label"}),
      loss_(make_loss(loss, Compares::kClasses,
                      has_source() ? this->source().class_counts() : std::vector<std::int64_t>())) {
}

Tensor Classification::loss_of(const models::Outputs& output, const data::Batch& batch) const {
  check_head(model());
  const Tensor* mixed = batch.find("target");
  return loss_(output, mixed != nullptr ? *mixed : batch.at("label"));
}

Tensor Classification::probabilities_of(const data::Batch& batch) {
  check_head(model());
  return ops::softmax(infer(batch).logits);
}

std::vector<metrics::MetricInfo> Classification::metrics() const {
  std::vector<metrics::MetricInfo> all = metrics::class_metrics(std::ssize(source().class_names()));
  append(all, asked_infos(asked_, attention_));
  return all;
}

std::vector<metrics::MetricInfo> Classification::asked_metrics(const metrics::CaseMetrics& asked,
                                                               const models::DataShape&) {
  const AskedMetrics names = sorted_metrics(asked.names);
  return asked_infos(names.scores, names.attention);
}

void Classification::add_metrics(const metrics::CaseMetrics& asked) {
  check_no_classes(asked);
  AskedMetrics names = sorted_metrics(asked.names);
  metrics::class_scores_of(names.scores);  // throws for unknown names
  asked_ = std::move(names.scores);
  attention_ = std::move(names.attention);
  check_attention();
}

// Runs one sample, so that a network without maps is refused before it is trained.
void Classification::check_attention() {
  if (attention_.empty() || !has_source() || source().parts().empty()) return;
  const data::Split part = source().parts().front();
  if (source().at(part).size() == 0) return;
  const bool training = model().training();
  model().train(false);
  const data::Batch batch = source().one(part, 0);
  explain::AttentionSample(attention_, 1).add(model(), batch.at(input_name()), batch.at("label"));
  model().train(training);
}

const std::string& Classification::input_name() const {
  return models::info_of(model().interface()).reads.front().name;
}

// Those of a batch that are looked at, in one pass.
void Classification::sample_attention(data::Split split, const data::Batch& batch,
                                      explain::AttentionSample& to) {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < batch.indices.size(); ++i) {
    if (to.wants(batch.indices[i])) places.push_back(i);
  }
  if (places.empty()) return;
  // (What another rank has read is read again.)
  const data::Batch whole = batch.has(input_name()) ? batch : source().these(split, batch.indices);
  std::vector<Tensor> looked_at;
  std::vector<std::int64_t> labels;
  for (const std::size_t i : places) {
    looked_at.push_back(ops::slice(whole.at(input_name()), 0, static_cast<std::int64_t>(i), 1));
    labels.push_back(batch.at("label").host_values<std::int64_t>()[i]);
  }
  const Tensor inputs = ops::concat(looked_at, 0);
  to.add(model(), inputs, Tensor::from(labels, {inputs.size(0)}, inputs.device()));
}

Classification::Evaluation Classification::evaluate(data::Split split,
                                                    const std::optional<NoiseLevel>& noise,
                                                    bool keep_logits) {
  check_head(model());
  const autograd::NoGrad no_grad;
  const auto classes = static_cast<std::int64_t>(source().class_names().size());
  Evaluation result{{}, metrics::ConfusionMatrix(classes), {}, {}, {}};
  metrics::RunningMean loss;
  std::vector<std::int64_t> ranks, labels, predictions;
  std::vector<float> logits_of_all;
  std::int64_t width = 0;
  explain::AttentionSample attention(attention_, source().at(split).size());
  for_each_batch(split, noise, [&](const data::Batch& batch, const models::Outputs& output) {
    const Tensor& logits = output.logits;
    const std::vector<std::int64_t> predicted = metrics::predictions(logits);
    const std::int64_t largest = *std::max_element(predicted.begin(), predicted.end());
    FOVEA_CHECK(
        largest < classes, ConfigError,
        fmt::format("model.num_classes: the network gives {} classes and predicts class {}; "
                    "the data set has {}",
                    logits.size(1), largest, classes));
    const auto truth = batch.at("label").host_values<std::int64_t>();
    loss.add(scalar_of(ops::cross_entropy(logits, batch.at("label"))),
             static_cast<double>(truth.size()));
    append(ranks, metrics::ranks(logits, batch.at("label")));
    append(labels, truth);
    append(predictions, predicted);
    append(result.indices, batch.indices);
    result.confusion.add(truth, predicted);
    width = logits.size(1);
    // (A mean of several networks attends to nothing.)
    if (!attention_.empty() && !has_members()) sample_attention(split, batch, attention);
    if (keep_logits) append(logits_of_all, ops::cast(logits, DType::kFloat32).host_values<float>());
  });
  const auto order = ascending(result.indices);
  result.indices = reordered(result.indices, order);
  result.predictions.num_classes = classes;
  result.predictions.width = width;
  result.predictions.labels = reordered(labels, order);
  result.predictions.predictions = reordered(predictions, order);
  result.metrics = metrics::measure_classes(loss.value(), reordered(ranks, order), classes);
  if (!keep_logits) {
    append(result.metrics, attention.measure());
    return result;
  }
  result.logits = reordered_rows(logits_of_all, width, order);
  result.predictions.probabilities = metrics::class_probabilities(result.logits, width);
  append(result.metrics, metrics::measure_class_scores(asked_, result.predictions));
  append(result.metrics, attention.measure());
  return result;
}

Tensor some_labels(std::int64_t batch_size, std::int64_t num_classes, const Device& device) {
  std::vector<std::int64_t> labels;
  for (std::int64_t i = 0; i < batch_size; ++i)
    labels.push_back(i % std::max<std::int64_t>(1, num_classes));  // 0: a network without a head
  return Tensor::from(labels, {batch_size}, device);
}

}  // namespace fovea::training
