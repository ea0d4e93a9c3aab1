// Segmentation into several classes, or regions of them: scores, and what is said of them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "autograd/mode.h"
#include "base/error.h"
#include "data/volumes/volume_dataset.h"
#include "metrics/classification.h"
#include "ops/reduce.h"
#include "ops/shape.h"
#include "training/store/run_state.h"
#include "training/store/weights.h"
#include "training/tasks/segmentation/segmentation.h"

namespace fovea::training {
namespace {

using metrics::ClassCounts;

std::int64_t sum_of(const std::vector<std::int64_t>& counts, std::size_t first) {
  std::int64_t sum = 0;
  for (std::size_t c = first; c < counts.size(); ++c) sum += counts[c];
  return sum;
}

// Sizes of the mask of one sample, (spatial...), perhaps with the axis of a batch before them.
std::vector<std::int64_t> pixels_of(const Tensor& mask, bool volume) {
  const int axes = volume ? 3 : 2;
  return mask.shape().part(mask.rank() - axes, mask.rank()).to_vector();
}

}  // namespace

std::vector<metrics::MetricInfo> LabelledSegmentation::metrics() const {
  const std::vector<std::string>& names = scored_names();
  return with_cases(
      scores_every_pixel() ? metrics::label_map_metrics(names) : metrics::region_metrics(names),
      names);
}

double LabelledSegmentation::dice_of(const ClassCounts& sample) const {
  return metrics::image_share(sample, metrics::class_dice(sample), chosen_classes());
}

Table LabelledSegmentation::samples_table(const Evaluation& clean,
                                          const std::vector<std::string>& names) const {
  const std::size_t first = scores_every_pixel() ? 0 : first_scored();
  const std::vector<std::string> words = metrics::class_words(scored_names());
  std::vector<double> dice, iou, accuracy;
  std::vector<std::vector<double>> class_dice(words.size()), class_iou(words.size());
  for (const ClassCounts& counts : clean.by_sample) {
    const std::vector<double> dices = metrics::class_dice(counts),
                              ious = metrics::class_iou(counts);
    dice.push_back(metrics::image_share(counts, dices, chosen_classes()));
    iou.push_back(metrics::image_share(counts, ious, chosen_classes()));
    accuracy.push_back(static_cast<double>(sum_of(counts.both, 0)) /
                       static_cast<double>(sum_of(counts.truth, 0)));
    for (std::size_t c = first; c < words.size(); ++c) {
      class_dice[c].push_back(dices[c]);
      class_iou[c].push_back(ious[c]);
    }
  }
  Table table{"samples", {{"index", clean.indices}, {"name", names}, {"dice", dice}, {"iou", iou}}};
  if (scores_every_pixel()) table.columns.push_back({"accuracy", accuracy});
  for (std::size_t c = first; c < words.size(); ++c)
    table.columns.push_back({"dice_" + words[c], class_dice[c]});
  for (std::size_t c = first; c < words.size(); ++c)
    table.columns.push_back({"iou_" + words[c], class_iou[c]});
  return table;
}

schema::Value LabelledSegmentation::per_class_json(const Evaluation& clean) const {
  const std::vector<std::string>& names = scored_names();
  const ClassCounts counts = metrics::class_counts(clean.confusion, scored_labels());
  const std::vector<double> dice = metrics::class_dice(counts), iou = metrics::class_iou(counts);
  schema::Value list = schema::Value::array();
  for (std::size_t c = scores_every_pixel() ? 0 : first_scored(); c < names.size(); ++c) {
    schema::Value row = schema::Value::object({{"class", names[c]}});
    set_number(row, "dice", 100 * dice[c]);
    set_number(row, "iou", 100 * iou[c]);
    row.set("pixels", counts.truth[c]);
    row.set("predicted_pixels", counts.predicted[c]);
    list.push_back(row);
  }
  return list;
}

// Over the classes of every pixel.
Tensor LabelSegmentation::probabilities(const Tensor& map) const {
  std::vector<int> last{0}, back{0, map.rank() - 1};
  for (int axis = 2; axis < map.rank(); ++axis) {
    last.push_back(axis);
    back.push_back(axis - 1);
  }
  last.push_back(1);
  return ops::permute(ops::softmax(ops::permute(map, last)), back);
}

// Of sample i of a batch, (k, spatial...).
Tensor LabelledSegmentation::probabilities_of_sample(const Tensor& logits, std::int64_t i) const {
  const Tensor prob = probabilities(logits.rows(i, i + 1));
  return prob.alias(prob.shape().part(1, prob.rank()));
}

LabelledSegmentation::Evaluation LabelledSegmentation::evaluate_in_full(
    data::Split split, const std::optional<NoiseLevel>& noise, const Visit& also,
    const VisitLabels& visit_labels) {
  const autograd::NoGrad no_grad;
  const std::int64_t classes = std::ssize(source().class_names());
  const std::int64_t outputs = std::ssize(source().output_names());
  const metrics::LabelSets scored = scored_labels();
  Evaluation result{{}, metrics::ConfusionMatrix(classes), {}, {}, {}, {}};
  CaseCollector cases = collect_cases();
  metrics::RunningMean loss;
  for_each_batch(split, noise, [&](const data::Batch& batch, const models::Outputs& output) {
    const Tensor& logits = output.maps.front();
    FOVEA_CHECK(
        logits.size(1) == outputs, ConfigError,
        fmt::format("task: the network gives {} maps for the {} {} of the data set; "
                    "expected one each",
                    logits.size(1), outputs, source().has_regions() ? "regions" : "classes"));
    const data::VolumeDataset* volumes = data::find_volumes(source().at(split));
    if (also) also(batch, logits);
    const Tensor& masks = batch.at("mask");
    const Tensor predicted = labels_of(logits);
    const bool original = at_original_size(split);
    for (std::int64_t i = 0; i < batch.size(); ++i) {
      // One at a time: how many pixels count may differ.
      models::Outputs one;
      for (const Tensor& map : output.maps) one.maps.push_back(map.rows(i, i + 1));
      const Tensor mask = masks.rows(i, i + 1);
      // Without any pixel that counts the loss would be 0.
      const auto target = mask.host_values<std::int64_t>();
      if (std::any_of(target.begin(), target.end(),
                      [](std::int64_t label) { return label != data::kIgnoreLabel; }))
        loss.add(scalar_of(mean_loss(one, mask)));
      metrics::ConfusionMatrix confusion(classes);
      Tensor labels = predicted.rows(i, i + 1), own = masks.rows(i, i + 1);
      if (original) {
        labels = volumes == nullptr
                     ? labels_at_original(labels, batch, i, split)
                     : volumes->labels_at_original(probabilities_of_sample(logits, i),
                                                   batch.indices[static_cast<std::size_t>(i)]);
        own = original_truth(split, batch.indices[static_cast<std::size_t>(i)]);
      }
      const std::vector<std::int64_t> size = pixels_of(own, volumes != nullptr);
      labels = postprocessed_labels(labels, size, batch, i, split);
      if (visit_labels) visit_labels(own, labels, grid_of(size, batch, i, split));
      const auto truth = own.host_values<std::int64_t>();
      const auto found = labels.host_values<std::int64_t>();
      confusion.add(truth, found, data::kIgnoreLabel);
      result.confusion.add(confusion);
      result.by_sample.push_back(metrics::class_counts(confusion, scored));
      result.pixels.push_back(confusion.total());
      if (cases.wanted())
        cases.add(result.by_sample.back(), image_of(truth, found, size, batch, i, split));
    }
    result.indices.insert(result.indices.end(), batch.indices.begin(), batch.indices.end());
  });
  const auto order = ascending(result.indices);
  result.indices = reordered(result.indices, order);
  result.by_sample = reordered(result.by_sample, order);
  result.pixels = reordered(result.pixels, order);
  result.cases = cases.finish();
  const auto measure =
      scores_every_pixel() ? metrics::measure_label_maps : metrics::measure_regions;
  result.metrics = measure(loss.value(), result.by_sample, scored_names(), chosen_classes());
  add_cases(result.metrics, result.cases, scored_names());
  return result;
}

void LabelSegmentation::add_scores(Report& report, const Evaluation& clean) const {
  report.confusion = Confusion{source().class_names(), clean.confusion.counts()};
  report.details.set("confusion", to_value(*report.confusion));
}

Report LabelledSegmentation::report(const ReportRequest& request) {
  const bool volumes = data::find_volumes(source().at(request.split)) != nullptr;
  Visit keep;
  if (request.maps) {
    keep = [&](const data::Batch& batch, const Tensor& logits) {
      request.maps(batch, probabilities(logits), volumes ? Tensor() : labels_of(logits));
    };
  }
  const Evaluation clean = evaluate_in_full(request.split, std::nullopt, keep);
  const std::vector<std::string> names = names_of(clean.indices, request.split);
  const std::vector<std::string>& classes = scored_names();
  const std::vector<std::string> words = metrics::class_words(classes);
  Report report;
  report.metrics = clean.metrics;
  report.indices = clean.indices;
  add_tables(report, samples_table(clean, names), clean.cases,
             {words.begin() + static_cast<std::ptrdiff_t>(first_scored()), words.end()});
  report.counts = SampleCounts{clean.by_sample, clean.pixels};
  for (const std::size_t k :
       volumes ? std::vector<std::size_t>() : shown_places(request, names.size()))
    report.shown.push_back(
        {clean.indices[k], shown_label(names[k], "Dice", dice_of(clean.by_sample[k]))});
  add_score_size(report, request.split,
                 volumes ? "probabilities are taken from between the nearest voxels"
                         : "predicted labels are taken from the nearest pixel");
  add_cases(report, clean.cases, classes);
  report.details.set("per_class", per_class_json(clean));
  add_scores(report, clean);
  std::int64_t in_truth = 0, in_both = 0, ignored = 0;
  for (const ClassCounts& image : clean.by_sample) {
    if (!metrics::any_counts(image)) ++ignored;
    if (!metrics::any_counts(image) || sum_of(image.truth, first_scored()) > 0) continue;
    ++in_truth;
    in_both += sum_of(image.predicted, first_scored()) == 0 ? 1 : 0;
  }
  add_empty_images(report, in_truth, in_both);
  if (ignored > 0)
    report.lines.push_back(
        fmt::format("{} of the {} images are ignored as a whole: they are left out of the loss and "
                    "of the means over the images",
                    ignored, report.indices.size()));
  return report;
}

}  // namespace fovea::training
