#include "training/tasks/language_modelling/language_modelling.h"

#include <fmt/format.h>

#include <cmath>
#include <numeric>
#include <utility>

#include "autograd/mode.h"
#include "base/error.h"
#include "data/streams/stream_dataset.h"
#include "ops/losses/loss.h"
#include "tensor/host.h"
#include "training/tasks/task_registry.h"

namespace fovea::training {

LanguageModelling::LanguageModelling(models::Model& model, std::shared_ptr<BatchSource> source,
                                     const schema::Component& loss)
    : Task(model, std::move(source), {"next", "bytes"}),
      loss_(make_loss(loss, Compares::kClasses)) {}

Tensor LanguageModelling::loss_of(const models::Outputs& output, const data::Batch& batch) const {
  return loss_(output, batch.at("next"));
}

data::Batch LanguageModelling::random_batch(const models::DataShape& shape, std::int64_t batch_size,
                                            const Device& device) {
  const Tensor tokens = random_texts(shape, batch_size, device);
  const std::vector<std::int64_t> bytes(static_cast<std::size_t>(batch_size), shape.max_len);
  return batch_of(
      {{"tokens", tokens}, {"next", tokens}, {"bytes", Tensor::from(bytes, {batch_size}, device)}});
}

LanguageModelling::Evaluation LanguageModelling::evaluate(data::Split split,
                                                          const std::optional<NoiseLevel>& noise) {
  const autograd::NoGrad no_grad;
  Evaluation result;
  for_each_batch(split, noise, [&](const data::Batch& batch, const models::Outputs& output) {
    const Tensor& next = batch.at("next");
    const std::vector<double> losses =
        host_doubles(ops::cross_entropy(output.logits, next, {.reduction = ops::Reduction::kNone}));
    const auto truth = next.host_values<std::int64_t>();
    const auto bytes = batch.at("bytes").host_values<std::int64_t>();
    const auto places = static_cast<std::size_t>(next.size(1));
    result.by_place.resize(places);
    for (std::size_t row = 0; row < bytes.size(); ++row) {
      double nats = 0;
      std::int64_t tokens = 0;
      for (std::size_t place = 0; place < places; ++place) {
        const std::size_t at = row * places + place;
        if (truth[at] == data::StreamDataset::kNoToken) continue;
        nats += losses[at];
        ++tokens;
        result.by_place[place].add(losses[at], 1, 0);
      }
      result.score.add(nats, tokens, bytes[row]);
    }
  });
  return result;
}

Metrics LanguageModelling::measure(data::Split split, const std::optional<NoiseLevel>& noise) {
  return measured(evaluate(split, noise));
}

Metrics LanguageModelling::measured(const Evaluation& evaluation) {
  Metrics all = evaluation.score.measure();
  if (questions_.empty()) return all;
  const autograd::NoGrad no_grad;
  const auto network = [&](const Tensor& tokens) {
    data::Batch batch;
    batch.set("tokens", tokens);
    return infer(batch).logits;
  };
  for (metrics::Measurement& one :
       questions_.measure(network, source().options().eval_batch_size(), host()))
    all.push_back(std::move(one));
  return all;
}

void LanguageModelling::set_questions(const std::vector<schema::Component>& sets) {
  questions_ = {};
  if (sets.empty()) return;
  const data::StreamDataset* stream = data::find_stream(source().any());
  FOVEA_CHECK(stream != nullptr, ConfigError,
              "eval.questions: need a data set that is one text, whose tokeniser they are read by");
  questions_ = QuestionScorer(sets, stream->tokeniser(), stream->shape().max_len);
}

std::vector<metrics::MetricInfo> LanguageModelling::metrics() const {
  std::vector<metrics::MetricInfo> all = metrics::language_metrics();
  for (metrics::MetricInfo& info : questions_.metrics()) all.push_back(std::move(info));
  return all;
}

Report LanguageModelling::report(const ReportRequest& request) {
  const Evaluation found = evaluate(request.split, std::nullopt);
  Report report;
  report.metrics = measured(found);
  report.indices.resize(static_cast<std::size_t>(source().at(request.split).size()));
  std::iota(report.indices.begin(), report.indices.end(), std::int64_t{0});
  report.lines.push_back(fmt::format("{} tokens of {} bytes were predicted", found.score.tokens(),
                                     found.score.bytes()));
  report.details.set("tokens", found.score.tokens());
  report.details.set("bytes", found.score.bytes());
  if (!questions_.empty()) report.details.set("questions", questions_.describe());
  for (std::string& note : questions_.notes()) report.lines.push_back(std::move(note));
  Table table{"loss_by_place",
              {{"place", std::vector<std::int64_t>{}},
               {"tokens", std::vector<std::int64_t>{}},
               {"loss", std::vector<double>{}}}};
  Curve curve{"loss", {}, {}};
  double most = 0;
  for (std::size_t place = 0; place < found.by_place.size(); ++place) {
    const metrics::LanguageScore& here = found.by_place[place];
    if (here.tokens() == 0) continue;
    const double loss = metrics::value_of(here.measure(), metrics::kLoss.name);
    std::get<0>(table.columns[0].values).push_back(static_cast<std::int64_t>(place));
    std::get<0>(table.columns[1].values).push_back(here.tokens());
    std::get<1>(table.columns[2].values).push_back(loss);
    curve.x.push_back(static_cast<double>(place));
    curve.y.push_back(loss);
    most = std::max(most, loss);
  }
  report.tables.push_back(std::move(table));
  report.curves.push_back({"loss_by_place",
                           "tokens before it in the sample",
                           "loss of a token",
                           0,
                           std::ceil(most),
                           {std::move(curve)}});
  return report;
}

}  // namespace fovea::training

namespace {

constexpr fovea::training::TaskInfo kLanguageModelling{
    .help = "the next token of a text",
    .data = fovea::data::Kind::kStreams,
    .network = fovea::models::Interface::kLanguageModel,
    .gives = "next tokens",
    .loss = "cross_entropy",
    .usual = {"language_model", 8}};

}  // namespace

FOVEA_TASK(language_modelling, fovea::training::LanguageModelling, kLanguageModelling)
